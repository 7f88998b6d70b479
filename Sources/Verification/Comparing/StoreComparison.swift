package import Mapping
package import ObjectMigration
package import ObjectModel
import StoreFormat
package import SystemPackage

/// Which stores to compare, and how the old one should have become the new one.
package struct VerificationOrder: Sendable {
  /// A store, and the file to read it from.
  package struct Store: Sendable {
    /// The path of the store; its external files are next to it.
    package var path: FilePath
    /// The store itself or a copy, with every committed change and not written meanwhile.
    package var readable: FilePath

    /// Names a store and the file to read.
    package init(path: FilePath, readable: FilePath) {
      self.path = path
      self.readable = readable
    }
  }

  /// One step of the route.
  package struct Step: Sendable {
    /// The model before the step.
    package var source: ManagedObjectModel
    /// The model after the step.
    package var destination: ManagedObjectModel
    /// The mapping models in the order of their execution; empty if the step is inferred.
    package var mappings: [MappingModel]

    /// Creates a step between two models.
    package init(
      source: ManagedObjectModel, destination: ManagedObjectModel, mappings: [MappingModel]
    ) {
      self.source = source
      self.destination = destination
      self.mappings = mappings
    }
  }

  /// The store before the migration.
  package var old: Store
  /// The store after the migration.
  package var new: Store
  /// The steps of the route; empty if both stores are of one version, so that the new one is a
  /// copy.
  package var steps: [Step]
  /// The version hashes that the new store should have.
  package var hashes: [String: VersionHash]
  /// The version identifiers that the new store should have.
  package var versionIdentifiers: [String]
  /// Whether the new store should have an identifier of its own.
  package var expectsNewUUID = false
  /// Whether the new store should be in WAL mode, nil for the mode of the old one.
  package var usesWAL: Bool?
  /// Whether rows of no entity of the old model may be missing, by the name of an entity of their
  /// table, or `Entity.relationship` of their join table.
  package var mayLoseRows: @Sendable (String) -> Bool = { _ in false }
  /// Whether the migration dropped the persistent history.
  package var dropsHistory = false
  /// A folder for temporary files, which the caller removes.
  package var scratch: FilePath
  /// How many differences the report keeps.
  package var limit = 100
  /// The memory for executing steps object by object, in bytes.
  package var memory: Int64 = 128 << 20
  /// Features of the old store that cannot be compared, in words.
  package var unsupported: [String] = []
  /// Whether the last model comes from the new store itself, where it may lack indexes that model
  /// caches cannot contain.
  package var takesNewAtItsWord = false
  /// The model of both stores if they are of one version, nil if it is not known.
  package var copyModel: ManagedObjectModel?
  /// Applies choices for defects to the store with which a step begins, by the number of the step
  /// from 0.
  ///
  /// They are already applied to the old store itself.
  package var repairs: [Int: @Sendable (FilePath) throws -> Void] = [:]
  /// Creates migration policies, by class name.
  package var policies: [String: @Sendable () -> any MigrationPolicy] = [:]
  /// Whether rows may be shown to be as they should be without SQLite; it makes no difference to
  /// what is found.
  package var readsLeaves = true
  /// The value of `now()`, in seconds since 2001.
  package var now: Double = 0

  /// Creates an order with defaults for everything else.
  package init(
    old: Store, new: Store, steps: [Step], hashes: [String: VersionHash],
    versionIdentifiers: [String], scratch: FilePath
  ) {
    self.old = old
    self.new = new
    self.steps = steps
    self.hashes = hashes
    self.versionIdentifiers = versionIdentifiers
    self.scratch = scratch
  }
}

/// The progress of a verification.
package struct VerificationProgress: Sendable {
  /// What is being done, in words.
  package var what: String
  /// The completed share, 0...1, which never falls.
  package var fraction: Double
}

/// Compares a store with what another one should have become, and changes neither.
package enum StoreComparison {
  /// Compares the stores.
  ///
  /// - Throws: `StoreError` or `VerificationError`, if the old store cannot be read or a step not
  ///   be executed. Faults of the new store are differences.
  package static func compare(
    _ order: VerificationOrder, progress: @escaping (VerificationProgress) -> Void = { _ in }
  ) throws -> VerificationReport {
    do {
      let run = try VerificationRun(order: order, progress: progress)
      if order.steps.isEmpty {
        try run.compareCopies()
      } else {
        try run.compareMigrated()
      }
      return run.report
    } catch let error as StoreError
      where error.store == order.new.readable && error.store != order.old.readable
      && error.problem != .deviceFailed
    {
      // Not even the schema can be read.
      var report = VerificationReport(limit: order.limit)
      report.note(Difference(.page, actual: error.cause.map { "\($0)" } ?? "it cannot be read"))
      return report
    }
  }
}
