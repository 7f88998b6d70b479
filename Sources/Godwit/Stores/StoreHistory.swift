public import Foundation
import Schema
import StoreFormat

extension StoreInspection {
  /// The persistent history of a store.
  public struct History: Hashable, Sendable, Encodable {
    /// The changes of one entity's objects.
    public struct Changes: Hashable, Sendable, Encodable {
      /// The entity; its number where the store's model is not known.
      public var entity: String
      /// Objects that were inserted, updated and deleted.
      public var inserted, updated, deleted: Int64
    }

    /// Transactions with one author.
    public struct Author: Hashable, Sendable, Encodable {
      /// The name of the author, nil where transactions have none.
      public var name: String?
      /// How many there are.
      public var transactions: Int64
    }

    /// All changes.
    public var changes: Int64
    /// All transactions.
    public var transactions: Int64
    /// When the first and the last transaction were made.
    public var first, last: Date?
    /// The transactions by author, most first.
    public var authors: [Author]
    /// The changes by entity, in the order of their numbers.
    public var entities: [Changes]

    init(_ overview: HistoryOverview, numbers: EntityNumbers?) {
      (changes, transactions) = (overview.changes, overview.transactions)
      first = overview.first.map { Date(timeIntervalSinceReferenceDate: $0) }
      last = overview.last.map { Date(timeIntervalSinceReferenceDate: $0) }
      authors = overview.authors.map { Author(name: $0.name, transactions: $0.transactions) }
      entities = overview.entities.map {
        Changes(
          entity: numbers?[$0.number] ?? "\($0.number.rawValue)", inserted: $0.inserted,
          updated: $0.updated, deleted: $0.deleted)
      }
    }

    /// The lines of `godwit inspect`.
    var lines: [String] {
      let times = [first, last].compactMap { $0?.formatted(.iso8601) }
      var lines = [
        "  history: \(CountText(changes, "change")) in \(CountText(transactions, "transaction"))"
          + (times.isEmpty ? "" : ", \(times.joined(separator: " to "))")
      ]
      lines += authors.map { author in
        "    \(author.transactions) by \(author.name ?? "no author")"
      }
      lines += entities.map {
        "    \($0.entity): \($0.inserted) inserted, \($0.updated) updated, \($0.deleted) deleted"
      }
      return lines
    }
  }
}
