public import Foundation
import MigrationCoordinator
import Planning
import StoreFormat
import Survey
import SystemCalls
public import SystemPackage
import Verification

/// A comparison of a migrated store with the old one, object by object.
///
/// It computes what the old store should have become, by inference or by the mapping models of the
/// migration, and compares it with the new store to the last byte: rows, relationships, orders,
/// keys, metadata, indexes, pages, external files. Neither store is changed.
///
/// ```swift
/// let verification = StoreVerification(of: "New.sqlite", madeFrom: "Shop.sqlite")
/// let report = try await verification.run()
/// guard report.isAlike else { throw report.failure }
/// ```
public struct StoreVerification: Sendable {
  /// The store before the migration.
  public var old: FilePath
  /// The store after the migration.
  public var new: FilePath
  /// The models that the new store should have, merged; empty takes the model that its metadata
  /// name.
  public var target: [FilePath] = []
  /// The configuration that the new store should have, nil for all entities.
  public var configuration: String?
  /// Places to search for the models of both stores, and for mapping models beside them.
  public var models: [FilePath] = []
  /// The mapping models and the versions by which the migration went.
  public var routing = MigrationRouting()
  /// The policies that mapping models name.
  public var policies = MigrationPolicies()
  /// The journal mode that the new store should have, nil for that of the old one.
  public var journalMode: JournalMode?
  /// What became of persistent history in the migration.
  public var history = StoreMigration.HistoryChoice.keep
  /// Whether a damaged old store is compared as far as it can be read; it is refused otherwise.
  public var salvagesDamaged = false
  /// How many differences the report keeps; all are counted.
  public var limit = 100
  /// Whether this process has made the new store, and nobody else writes it.
  var isOwn = false

  /// Creates a comparison of a new store with the one from which it was made.
  public init(of new: FilePath, madeFrom old: FilePath) {
    (self.old, self.new) = (old, new)
  }

  /// Creates a comparison of a new store with the one from which it was made.
  public init(of new: URL, madeFrom old: URL) {
    self.init(of: FilePath(new), madeFrom: FilePath(old))
  }

  /// The progress of a verification.
  public struct Progress: Hashable, Sendable {
    /// What is being done, in words.
    public var phase: String
    /// The completed share, 0...1, which never falls.
    public var fraction: Double
  }

  /// Compares the stores.
  ///
  /// - Parameters:
  ///   - known: the model that the new store should have, if it was read before; nil reads it.
  ///   - progress: is called repeatedly, on the calling thread.
  /// - Throws: `MigrationFailure`, if the old store or a model cannot be read, or if no route is
  ///   known. Faults of the new store are differences.
  public func run(
    for known: MigrationTarget? = nil, progress: @escaping (Progress) -> Void = { _ in }
  ) async throws -> Report {
    try MigrationFailure.catching {
      guard try Files.fileStatusIfPresent(new) != nil else {
        throw MigrationFailure(.notFound, "\(new) is not there: check the path.")
      }
      return try compare(known, progress)
    }
  }

  private func compare(
    _ known: MigrationTarget?, _ progress: @escaping (Progress) -> Void
  ) throws -> Report {
    var migration = MigrationRequest(store: old, target: [new], workers: 1, memory: 256 << 20)
    if let known { migration.library = known.core.library }
    migration.configuration = configuration
    migration.models = models
    migration.policies = policies.factories
    migration.take(routing)
    migration.salvages = salvagesDamaged
    do {
      let inputs = try VerificationInputs(
        old: old, new: new,
        request: .init(
          migration: migration, target: target, configuration: configuration, isOwn: isOwn))
      var order = inputs.order
      order.limit = max(0, limit)
      order.usesWAL = journalMode.map { $0 == .wal }
      order.dropsHistory = history == .drop
      order.policies = policies.factories
      order.now = Date().timeIntervalSinceReferenceDate
      return try withExtendedLifetime(inputs) {
        var core = try StoreComparison.run(order) {
          progress(Progress(phase: $0.what, fraction: $0.fraction))
        }
        try inputs.requireUnchanged()
        if let salvaged = inputs.salvaged {
          core.remark("the old store is damaged, and compared as far as it can be read")
          for sentence in salvaged.lossSentences { core.remark(sentence) }
        }
        return Report(old: old, new: new, core: core, steps: inputs.steps)
      }
    } catch VerificationError.notInferable(let places) {
      throw MigrationFailure(
        .impossible,
        "\(new) cannot have come from \(old) by inference (\(places.joined(separator: ", "))): name "
          + "the mapping models with --mapping, or the versions between with --progressive.")
    } catch let error as VerificationInputs.Unreadable {
      // A new store that cannot be opened is a single difference.
      var core = VerificationReport(limit: max(1, limit))
      core.note(
        Verification.Difference(
          error.cause.kind, table: "\(new)",
          actual: MigrationFailure(error.cause).sentences.joined(separator: " ")))
      return Report(old: old, new: new, core: core, steps: [])
    }
  }
}

extension StoreError {
  /// The kind of difference for a new store that cannot be opened.
  fileprivate var kind: Verification.Difference.Kind {
    switch problem {
    case .metadataUnreadable, .hashVersionUnknown, .notCoreData: .metadata
    case .modelCacheUnreadable: .modelCache
    default: .page
    }
  }
}
