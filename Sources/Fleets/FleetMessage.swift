import Foundation

/// A message of the process that runs a fleet to one of its workers, in JSON on a line.
package enum FleetMessage: Codable, Hashable, Sendable {
  /// The first message.
  case setUp(FleetSetup)
  /// A store to migrate.
  case migrate(FleetOrder)
  /// Stops all migrations at a safe point.
  case cancel

  /// The line.
  package func encoded() throws -> [UInt8] {
    Array(try JSONEncoder().encode(self)) + [UInt8(ascii: "\n")]
  }
}

/// The work of a fleet that all stores have in common.
package struct FleetSetup: Codable, Hashable, Sendable {
  /// The options of all migrations.
  package var settings: FleetSettings
  /// The time of creation of the fleet: what was migrated since was migrated for it.
  package var created: Double
  /// The most stores that are migrated at a time.
  package var threads: Int

  /// Creates the setup of a worker.
  package init(settings: FleetSettings, created: Double, threads: Int) {
    self.settings = settings
    self.created = created
    self.threads = threads
  }
}

/// The order to migrate one store.
package struct FleetOrder: Codable, Hashable, Sendable {
  /// The place of the store in the list.
  package var number: Int
  /// The store.
  package var store: FleetStore
  /// The number of worker processes for this store alone; 0 migrates it in the worker.
  package var workers = 0
  /// The memory for the migration, in bytes.
  package var memory: Int64
  /// Whether the result is verified completely, independent of the settings.
  package var verifiesFully = false
  /// The number of attempts so far, this one included.
  package var attempt = 1
  /// The number of worker processes that have crashed while they migrated the store alone.
  package var crashes = 0

  /// Creates the order to migrate a store.
  package init(number: Int, store: FleetStore, memory: Int64) {
    self.number = number
    self.store = store
    self.memory = memory
  }
}

/// The answer of a worker, in JSON on a line.
package enum FleetAnswer: Codable, Hashable, Sendable {
  /// The worker takes orders.
  case ready
  /// The migration ended.
  case ended(StoreResult)
  /// The migration was cancelled, and the next run resumes it.
  case cancelled(number: Int)

  /// The line.
  package func encoded() throws -> [UInt8] {
    Array(try JSONEncoder().encode(self)) + [UInt8(ascii: "\n")]
  }
}
