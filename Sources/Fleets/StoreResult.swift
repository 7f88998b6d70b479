import Planning

/// The result of one store: a record of `state.mdb`, or a line of a results file.
package struct StoreResult: ResumableFile, Hashable, Sendable {
  package static let formatVersion = 1

  /// How the migration of a store ended.
  package enum Outcome: String, Codable, Hashable, Sendable, CaseIterable {
    /// The store was migrated.
    case migrated
    /// The store had the model and was copied to its output.
    case copied
    /// The store had the model.
    case current
    /// The store was not migrated.
    case failed
    /// The store was migrated, and the old one is back in its place.
    case rolledBack

    /// Whether the store needs nothing more.
    package var isDone: Bool { [.migrated, .copied, .current].contains(self) }
  }

  /// The place of the store in the list, from 0.
  package var number: Int
  /// The path of the store.
  package var store: String
  /// How the migration ended.
  package var outcome: Outcome
  /// Whether an earlier run had done it, and was stopped before it recorded that.
  package var wasFound: Bool?
  /// The kind of a failure, by which failures are grouped.
  package var reason: String?
  /// The exit status of a failure, 0 otherwise.
  package var exitStatus: Int32 = 0
  /// The sentences of a failure.
  package var sentences: [String] = []
  /// Whether another attempt may succeed.
  package var isRetryable: Bool?
  /// The rows of the new store.
  package var rows: Int64?
  /// The bytes of the store before.
  package var bytes: Int64
  /// The name or the checksum of the version that the store had.
  package var version: String?
  /// The number of losses that were reported.
  package var losses: Int?
  /// The losses, summed by kind, cause and name; nil if there are none.
  package var lost: [FleetLoss]?
  /// Whether the store had journal mode WAL and no `-wal`; nil where it had not.
  package var lacksLog: Bool?
  /// The path under which the old store is kept.
  package var oldStore: String?
  /// The time that the last attempt took, in seconds.
  package var seconds: Double = 0
  /// The number of attempts.
  package var attempts = 1
  /// The name of the machine.
  package var node: String?
  /// The time of the result, in seconds since 1970.
  package var time: Double = 0

  /// Creates a result.
  package init(number: Int, store: String, outcome: Outcome, bytes: Int64) {
    self.number = number
    self.store = store
    self.outcome = outcome
    self.bytes = bytes
  }

  /// The first sentence about the result, with the next one where it announces reasons.
  package var summary: String { Self.summary(of: sentences) }

  /// The first of some sentences, with the next one where it announces reasons.
  package static func summary(of sentences: [String]) -> String {
    guard let first = sentences.first else { return "" }
    guard first.hasSuffix(":"), sentences.count > 1 else { return first }
    return "\(first) \(sentences[1])"
  }

  /// Whether this result counts, of two of one store.
  ///
  /// The later one does, but for a store that is found current after it was migrated.
  package func replaces(_ other: StoreResult) -> Bool {
    replaces(outcome: other.outcome, at: other.time)
  }

  func replaces(outcome other: Outcome, at otherTime: Double) -> Bool {
    let (first, last) = time >= otherTime ? (other, outcome) : (outcome, other)
    let keepsFirst = last == .current && [.migrated, .copied].contains(first)
    return (time >= otherTime) != keepsFirst
  }
}
