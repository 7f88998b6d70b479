package import Mapping
package import ObjectMigration
package import ObjectModel
import StoreFormat
package import SystemPackage

/// What is to be compared, and how the old store should have become the new one.
package struct VerificationOrder: Sendable {
  /// A store, and a file with every committed change that nobody writes.
  package struct Store: Sendable {
    package var path: FilePath
    package var readable: FilePath

    package init(path: FilePath, readable: FilePath) {
      self.path = path
      self.readable = readable
    }
  }

  /// One step; without mapping models it is inferred.
  package struct Step: Sendable {
    package var source: ManagedObjectModel
    package var destination: ManagedObjectModel
    /// In running order.
    package var mappings: [MappingModel]

    package init(
      source: ManagedObjectModel, destination: ManagedObjectModel, mappings: [MappingModel]
    ) {
      self.source = source
      self.destination = destination
      self.mappings = mappings
    }
  }

  package var old: Store
  package var new: Store
  /// None where both are of one version: the new store is then a copy of the old one.
  package var steps: [Step]
  /// What the new store should say of its version.
  package var hashes: [String: VersionHash]
  package var versionIdentifiers: [String]
  /// Whether the new store keeps a write-ahead log; nil has it as the old one does.
  package var usesWAL: Bool?
  /// A folder for what is needed while the verification runs, and thrown away by whoever made it.
  package var scratch: FilePath
  /// How many differences are kept.
  package var limit = 100
  package var memory: Int64 = 128 << 20
  /// What of the old store cannot be judged, in words.
  package var unsupported: [String] = []
  /// Whether the last model is the one that the new store carries, which may leave indexes out that
  /// no archive is known to hold.
  package var takesNewAtItsWord = false
  /// The model of both stores where they are of one version.
  package var copyModel: ManagedObjectModel?
  /// Makes the policy of a class name.
  package var policies: [String: @Sendable () -> any MigrationPolicy] = [:]
  /// Seconds since 2001, for `now()`.
  package var now: Double = 0

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

/// How far a verification is.
package struct VerificationProgress: Sendable {
  package var what: String
  /// From 0 to 1.
  package var fraction: Double
}

/// Compares a store with what another one should have become, and leaves both as they are.
package enum StoreComparison {
  /// Throws where the old store cannot be read; what is wrong with the new one is a difference.
  package static func run(
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
    {
      // Not even the schema can be read.
      var report = VerificationReport(limit: order.limit)
      report.note(Difference(.page, actual: error.cause.map { "\($0)" } ?? "it cannot be read"))
      return report
    }
  }
}
