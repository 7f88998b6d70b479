public import Foundation
import MigrationCoordinator
import MigrationStatus
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
  /// The store after the migration.
  public var new: FilePath
  /// How many differences the report keeps; all are counted.
  public var limit = 100
  /// The migration that made the new store, as far as its request is known.
  private var migration: StoreMigration
  /// Whether `migration` is complete without a record.
  var saysAll = false
  /// Whether this process has made the new store, and no other one writes it.
  var isOwn = false
  /// The value of `now()` in the migration, as far as it is known.
  var now: Double?

  /// Creates a comparison of a new store with the one from which it was made.
  public init(of new: FilePath, madeFrom old: FilePath) {
    self.init(of: new, madeBy: StoreMigration(store: old, toMerged: []))
  }

  /// Creates a comparison of a new store with the one from which it was made.
  public init(of new: URL, madeFrom old: URL) {
    self.init(of: FilePath(new), madeFrom: FilePath(old))
  }

  /// Creates a comparison of a new store with the one from which a migration made it, which takes
  /// over its models, its mapping models and its choices.
  public init(of new: FilePath, madeBy migration: StoreMigration) {
    (self.new, self.migration) = (new, migration)
  }

  /// The store before the migration.
  public var old: FilePath {
    get { migration.store }
    set { migration.store = newValue }
  }

  /// The models that the new store should have, merged; empty takes the model that its metadata
  /// name.
  public var target: [FilePath] {
    get { migration.target }
    set { migration.target = newValue }
  }

  /// The configuration that the new store should have, nil for all entities.
  public var configuration: String? {
    get { migration.configuration }
    set { migration.configuration = newValue }
  }

  /// Places to search for the models of both stores, and for mapping models next to them.
  public var models: [FilePath] {
    get { migration.models }
    set { migration.models = newValue }
  }

  /// The mapping models and the versions by which the migration went.
  ///
  /// If nothing is named, the record next to the new store decides.
  public var routing: MigrationRouting {
    get { migration.routing }
    set { migration.routing = newValue }
  }

  /// The policies that mapping models name.
  public var policies: MigrationPolicies {
    get { migration.policies }
    set { migration.policies = newValue }
  }

  /// The journal mode that the new store should have, nil for that of the old one.
  public var journalMode: JournalMode? {
    get { migration.handover.journalMode }
    set { migration.handover.journalMode = newValue }
  }

  /// What became of persistent history in the migration.
  public var history: StoreMigration.HistoryChoice {
    get { migration.choices.history }
    set { migration.choices.history = newValue }
  }

  /// Whether a damaged old store is compared as far as it can be read; it is refused otherwise.
  public var salvagesDamaged: Bool {
    get { migration.choices.salvagesDamaged }
    set { migration.choices.salvagesDamaged = newValue }
  }

  /// Whether the new store should have an identifier of its own.
  public var expectsNewUUID: Bool {
    get { migration.handover.givesNewUUID }
    set { migration.handover.givesNewUUID = newValue }
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
  ) async throws(MigrationFailure) -> Report {
    try MigrationFailure.catching {
      guard try Files.fileStatusIfPresent(new) != nil else {
        throw MigrationFailure(missing: new)
      }
      return try compare(known, progress)
    }
  }

  private func compare(
    _ known: MigrationTarget?, _ progress: @escaping (Progress) -> Void
  ) throws -> Report {
    var request = migration.request(for: known)
    (request.workers, request.memory) = (1, 256 << 20)
    let asked = VerificationRequest(
      migration: request, target: target, isOwn: isOwn, saysAll: saysAll)
    var stores: VerificationStores?
    do {
      let opened = try VerificationStores(old: old, new: new, request: asked)
      stores = opened
      try requireOrder(opened.record)
      let inputs = try VerificationInputs(opened)
      var order = inputs.order
      order.limit = max(0, limit)
      order.now =
        now ?? opened.record.found?.way.now ?? Date().timeIntervalSinceReferenceDate
      return try withExtendedLifetime(inputs) {
        let core = try StoreComparison.compare(order) {
          progress(Progress(phase: $0.what, fraction: $0.fraction))
        }
        try inputs.requireUnchanged()
        return Report(old: old, new: new, core: core, way: VerifiedWay(inputs, of: opened))
      }
    } catch let error as VerificationStores.Unreadable {
      // A new store that cannot be opened is a single difference.
      var core = VerificationReport(limit: max(1, limit))
      core.note(
        Verification.Difference(
          error.cause.kind, table: "\(new)",
          actual: MigrationFailure(error.cause).sentences.joined(separator: " ")))
      return Report(old: old, new: new, core: core, way: VerifiedWay())
    } catch let error as VerificationError {
      throw MigrationFailure(error, of: self, record: stores?.record, request: stores?.request)
    } catch let error as StatedWayError {
      throw MigrationFailure(error, of: self, record: stores?.record)
    } catch let error as MigrationError {
      throw MigrationFailure(error, of: self, record: stores?.record, request: stores?.request)
    }
  }

  /// Checks that the stores are not given the wrong way round.
  private func requireOrder(_ record: VerificationRecord) throws {
    guard record.isReverse else { return }
    throw MigrationFailure(
      .usage, "\(old) was made from \(new): name the store before the migration first.")
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
