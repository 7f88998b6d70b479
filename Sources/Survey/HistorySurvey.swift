package import Schema
package import StoreFormat

/// What a store keeps of its persistent history.
package struct HistorySurvey: Hashable, Sendable {
  /// The tables, with the tombstones that the store has.
  package let tables: HistoryTables
  /// The rows of each table, by an index if one has entries.
  package let rows: [String: Int64]
  /// The highest primary key ever assigned in each table; none of a table that never had rows.
  package let maxima: [String: Int64]

  /// Counts the rows of the tables.
  ///
  /// - Parameter recorded: the highest keys in `Z_PRIMARYKEY`, by number.
  package init(
    _ tables: HistoryTables, recorded: [EntityNumber: Int64], reader: StoreReader
  ) throws(StoreError) {
    self.tables = tables
    var rows: [String: Int64] = [:]
    var maxima: [String: Int64] = [:]
    for name in HistoryTables.names {
      rows[name] = try reader.estimatedRowCount(of: name)
      let used = try reader.number(sql: "SELECT max(Z_PK) FROM \(name)")
      let known = HistoryTables.entity(ofTable: name).flatMap { recorded[$0.number] }
      if known != nil || used > 0 { maxima[name] = max(used, known ?? 0) }
    }
    self.rows = rows
    self.maxima = maxima
  }

  /// Whether there ever was a transaction that somebody may know of.
  package var isEmpty: Bool { maxima.isEmpty && rows.values.allSatisfy { $0 == 0 } }
}
