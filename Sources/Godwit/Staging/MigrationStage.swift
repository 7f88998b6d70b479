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
}

/// The migrations that a store still has to go through, over all stages.
struct StagedRoute {
  /// The migrations in their order; empty if the store has the last version.
  private(set) var steps: [StagedStep] = []
  /// The last version of all.
  private(set) var last: FilePath
  /// The hashes of all versions in their order, by which a later run recognizes the stages.
  private(set) var versions: [[String: String]] = []

  /// Concatenates the stages, and finds the store's version among them.
  ///
  /// - Throws: `MigrationFailure`, if they do not connect, repeat a version, or do not include the
  ///   store's.
  init(stages: [MigrationStage], store: FilePath) throws {
    var paths: [FilePath] = []
    var all: [StagedStep] = []
    for (number, stage) in zip(1..., stages) {
      guard let first = stage.versions.first else { continue }
      var rest = stage.versions[...]
      let hashes = try Self.hashes(of: first)
      if stage.isCustom {
        if let before = paths.last, versions.last != hashes {
          throw MigrationFailure(stage: number, begins: first, after: before)
        }
        if paths.isEmpty { (paths, versions) = ([first], [hashes]) }
        rest = rest.dropFirst()
      }
      for version in rest {
        let hashes = try Self.hashes(of: version)
        if let index = versions.firstIndex(of: hashes) {
          throw MigrationFailure(stage: number, repeats: paths[index], as: version)
        }
        if let before = paths.last { all.append(.init(stage: stage, from: before, to: version)) }
        (paths, versions) = (paths + [version], versions + [hashes])
      }
    }
    guard let last = paths.last else { throw MigrationFailure.noStages }
    self.last = last
    let own = try StoreInspection(of: store).model.hashes
    guard let index = versions.firstIndex(of: own) else {
      throw MigrationFailure(stagedStore: store)
    }
    steps = Array(all[index...])
  }

  private static func hashes(of version: FilePath) throws -> [String: String] {
    try MigrationTarget([version]).core.hashes.mapValues(\.hexadecimal)
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
