/// The journal mode of a store, as its header states it and `PRAGMA journal_mode` names it.
package enum JournalMode: String, Hashable, Sendable, CaseIterable {
  /// A rollback journal that is deleted after each transaction.
  case delete
  /// A write-ahead log.
  case wal
}
