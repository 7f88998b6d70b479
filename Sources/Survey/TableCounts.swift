package import Schema
package import StoreFormat
import Synchronization

/// Rows of a store's tables by entity number; those that only their leaves show are counted on
/// request.
///
/// Of a table that has no index the header of each leaf is read, which takes as long as all else
/// where a large table stays as it is. An estimate needs some pages of it.
package final class TableCounts: Sendable {
  /// A table of one entity without an index.
  struct Bare {
    let table: String
    let number: EntityNumber
    let estimate: Int64
  }

  private let known: [String: [EntityNumber: Int64]]
  private let bare: [String: Bare]
  private let count: @Sendable ([Bare]) throws(StoreError) -> [Int64]
  private let counted = Mutex<[String: Int64]>([:])

  /// - Parameter count: counts the rows of some tables.
  init(
    known: [String: [EntityNumber: Int64]], bare: [Bare],
    count: @escaping @Sendable ([Bare]) throws(StoreError) -> [Int64]
  ) {
    self.known = known
    self.bare = Dictionary(
      bare.map { ($0.table, $0) }, uniquingKeysWith: { first, _ in first })
    self.count = count
  }

  /// The rows of a table by entity number, nil if the model has no such table; an estimate if they
  /// cannot be counted, which is an error for their reader.
  package subscript(table: String) -> [EntityNumber: Int64]? {
    guard let one = bare[table] else { return known[table] }
    if let rows = counted.withLock({ $0[table] }) { return [one.number: rows] }
    let rows = (try? count([one]))?.first ?? one.estimate
    counted.withLock { $0[table] = rows }
    return [one.number: rows]
  }

  /// The same, as an estimate if they were not counted.
  package func estimate(_ table: String) -> [EntityNumber: Int64]? {
    guard let one = bare[table] else { return known[table] }
    return [one.number: counted.withLock { $0[table] } ?? one.estimate]
  }

  /// Counts all tables that were not counted yet, on all processors.
  ///
  /// - Throws: `StoreError` where a table is damaged.
  package func countAll() throws(StoreError) {
    let missing = counted.withLock { counted in bare.values.filter { counted[$0.table] == nil } }
      .sorted { $0.table < $1.table }
    guard !missing.isEmpty else { return }
    let rows = try count(missing)
    counted.withLock { counted in
      for (one, rows) in zip(missing, rows) { counted[one.table] = rows }
    }
  }

  /// All rows of all tables.
  ///
  /// - Throws: `StoreError` where a table is damaged.
  package func total() throws(StoreError) -> Int64 {
    try countAll()
    return estimatedTotal
  }

  /// All rows of all tables, as an estimate if they were not counted.
  package var estimatedTotal: Int64 {
    (Array(known.keys) + bare.keys).reduce(0) {
      $0 + (estimate($1)?.values.reduce(0, +) ?? 0)
    }
  }
}
