public import Foundation
import MigrationCoordinator
import ObjectModel
public import SystemPackage

/// A stage of a staged migration, like `NSLightweightMigrationStage` and `NSCustomMigrationStage`.
public struct MigrationStage: Sendable {
  /// Code of a stage, which may read and change its store by any means, such as SQLite.
  ///
  /// The store is a copy for the stage alone, never the one that is migrated. After an interruption
  /// the code may be called again, with a new copy.
  public typealias Handler = @Sendable (_ store: FilePath) async throws -> Void

  /// The models that the stage migrates through, in their order.
  public let versions: [FilePath]
  /// The losses to accept in the stage, beyond those that its models imply.
  public var allowedLoss: StoreMigration.AllowedLoss = []
  let willMigrate: Handler?
  let didMigrate: Handler?

  /// Whether the stage has code, and so begins with the version before it.
  let isCustom: Bool

  private init(
    versions: [FilePath], isCustom: Bool, willMigrate: Handler? = nil, didMigrate: Handler? = nil
  ) {
    self.versions = versions
    self.isCustom = isCustom
    self.willMigrate = willMigrate
    self.didMigrate = didMigrate
  }

  /// A stage that migrates through versions one by one, each by inference.
  public static func lightweight(_ versions: [FilePath]) -> MigrationStage {
    MigrationStage(versions: versions, isCustom: false)
  }

  /// A stage that migrates through versions one by one, each by inference.
  public static func lightweight(_ versions: [URL]) -> MigrationStage {
    lightweight(versions.map { FilePath($0) })
  }

  /// A stage from one version to the next by inference, with code before and after.
  ///
  /// - Parameters:
  ///   - current: the version that the store has before.
  ///   - next: the version that it gets.
  ///   - willMigrate: is called with a store of the current version.
  ///   - didMigrate: is called with the store of the next version made from it.
  public static func custom(
    from current: FilePath, to next: FilePath, willMigrate: Handler? = nil,
    didMigrate: Handler? = nil
  ) -> MigrationStage {
    MigrationStage(
      versions: [current, next], isCustom: true, willMigrate: willMigrate, didMigrate: didMigrate)
  }

  /// A stage from one version to the next, by inference, with code before and after.
  public static func custom(
    from current: URL, to next: URL, willMigrate: Handler? = nil, didMigrate: Handler? = nil
  ) -> MigrationStage {
    custom(
      from: FilePath(current), to: FilePath(next), willMigrate: willMigrate,
      didMigrate: didMigrate)
  }
}

/// One migration of a staged one.
struct StagedStep {
  var stage: MigrationStage
  var from: FilePath
  var to: FilePath
  /// The checksum of the model at `to`, by which a later run recognizes the stage.
  var checksum: String
}

/// The migrations that a store still has to go through, over all stages.
struct StagedRoute {
  /// The migrations in their order; empty if the store has the last version.
  private(set) var steps: [StagedStep] = []
  /// The last version of all.
  private(set) var last: FilePath
  /// The checksum of the store's own version.
  private(set) var start: String

  /// Concatenates the stages, and finds the store's version among them.
  ///
  /// - Throws: `MigrationFailure`, if they do not connect, repeat a version, or do not include the
  ///   store's.
  init(stages: [MigrationStage], store: FilePath, configuration: String?) throws {
    func read(_ version: FilePath) throws -> Version {
      Version(
        path: version,
        model: try MigrationTarget([version], configuration: configuration).core)
    }
    var versions: [Version] = []
    var all: [StagedStep] = []
    for (number, stage) in zip(1..., stages) {
      guard let first = stage.versions.first else { continue }
      var rest = stage.versions[...]
      if stage.isCustom {
        let first = try read(first)
        if let before = versions.last, before.hashes != first.hashes {
          throw MigrationFailure(stage: number, begins: first.path, after: before.path)
        }
        if versions.isEmpty { versions = [first] }
        rest = rest.dropFirst()
      }
      for version in try rest.map(read) {
        if let same = versions.first(where: { $0.hashes == version.hashes }) {
          throw MigrationFailure(stage: number, repeats: same.path, as: version.path)
        }
        if let before = versions.last {
          let checksum = try MigrationFailure.catching { try version.model.checksum }
          all.append(
            .init(stage: stage, from: before.path, to: version.path, checksum: checksum))
        }
        versions.append(version)
      }
    }
    guard let last = versions.last else { throw MigrationFailure.noStages }
    self.last = last.path
    let own = try StoreInspection(of: store).model.hashes
    guard let index = versions.firstIndex(where: { $0.hashes == own }) else {
      throw MigrationFailure(stagedStore: store)
    }
    start = try MigrationFailure.catching { try versions[index].model.checksum }
    steps = Array(all[index...])
  }

  /// A version that the stages name.
  private struct Version {
    var path: FilePath
    var model: TargetModel
    var hashes: [String: String]

    init(path: FilePath, model: TargetModel) {
      (self.path, self.model) = (path, model)
      hashes = model.hashes.mapValues(\.hexadecimal)
    }
  }
}

extension MigrationFailure {
  static let noStages = MigrationFailure(
    .usage, "the stages name no version: name at least one.")

  init(stage: Int, begins version: FilePath, after before: FilePath) {
    self.init(
      .usage,
      "stage \(stage) begins with \(version), and the one before it ends with \(before), which has "
        + "other hashes: put a lightweight stage between them.")
  }

  init(stage: Int, repeats earlier: FilePath, as version: FilePath) {
    self.init(
      .usage,
      "stage \(stage) names \(version), which has the same hashes as \(earlier) before it: leave "
        + "one of them out."
    )
  }

  init(stagedStore store: FilePath) {
    self.init(
      .impossible, kind: .sourceModelMissing,
      "\(store) has none of the versions that the stages name [134504]: add its version to them.",
      code: 134504)
  }

  init(stagedOutputMissing store: FilePath) {
    self.init(
      .usage,
      "a staged migration of \(store) needs an output: name the file for the new store.")
  }
}
