package import ObjectModel
import Planning
package import Schema

/// What a migration did.
package struct MigrationReport: Codable, Sendable {
  package enum Outcome: String, Codable, Sendable { case migrated, alreadyCurrent }

  package struct Order: Codable, Sendable {
    package var number: Int
    package var partition: Int
    package var attempts: Int
    package var rows: Int64
    package var bytes: Int64
    package var peakMemory: Int64
    package var seconds: Double
  }

  package var outcome: Outcome
  package var store: String
  package var destination: String
  /// Where the old store is kept, if it is.
  package var oldStore: String?
  package var rows: Int64 = 0
  package var workOrders: [Order] = []
  /// What wrote the rows, unless there was nothing to do.
  package var engine: MigrationRequest.Engine?
  /// Why SQL wrote them although pages were asked for.
  package var engineDeclined: String?
  package var losses: [Loss] = []
  package var omittedIndexes: [StoreSchema.Omission] = []
  /// Why the result carries no model of its own, if it does not.
  package var modelCacheOmitted: String?
  package var danglingReferences: [DanglingReference] = []
  /// External files that the store names and that are not there.
  package var missingExternalFiles: [String] = []
  /// Tables of the source that its model knows nothing of, and that stay behind.
  package var extraTables: [String] = []
  /// Violations of the destination model, where they were only to be reported.
  package var violations = 0
  /// The first of them.
  package var firstViolations: [Violation] = []
  /// Seconds in each phase.
  package var seconds: [String: Double] = [:]
  /// Whether work of an interrupted migration was taken over.
  package var resumed = false
}
