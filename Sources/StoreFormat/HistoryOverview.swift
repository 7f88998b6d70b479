import GRDB
package import Schema

/// A summary of a store's history: the number of changes by entity, author and time.
package struct HistoryOverview: Sendable {
  /// The changes of the objects with one entity number.
  package struct Changes: Sendable {
    /// The number, 0 for what is none.
    package var number: EntityNumber
    /// Objects that were inserted, updated and deleted.
    package var inserted, updated, deleted: Int64
  }

  /// All changes and all transactions.
  package let changes, transactions: Int64
  /// When the first and the last transaction were made, in seconds since 2001-01-01 UTC.
  package let first, last: Double?
  /// The transactions by author, most first; nil for those without one.
  package let authors: [(name: String?, transactions: Int64)]
  /// The changes by entity number.
  package let entities: [Changes]

  /// Reads the history; nil if a store keeps none, or there never was a transaction.
  package init?(reader: StoreReader, catalog: Catalog) throws(StoreError) {
    guard HistoryTables(in: catalog) != nil else { return nil }
    changes = try reader.estimatedRowCount(of: HistoryTables.changes)
    transactions = try reader.estimatedRowCount(of: HistoryTables.transactions)
    if changes + transactions == 0 { return nil }
    let times = try reader.connection.run { db in
      try Row.fetchOne(
        db, sql: "SELECT min(ZTIMESTAMP), max(ZTIMESTAMP) FROM \(HistoryTables.transactions)")
    }
    first = times.flatMap { Double.fromDatabaseValue($0[0]) }
    last = times.flatMap { Double.fromDatabaseValue($0[1]) }
    authors = try reader.connection.run { db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT s.ZNAME, count(*) FROM \(HistoryTables.transactions) AS t
          LEFT JOIN \(HistoryTables.strings) AS s ON s.Z_PK = t.ZAUTHORTS
          GROUP BY t.ZAUTHORTS ORDER BY 2 DESC, 1
          """
      ).map { (String.fromDatabaseValue($0[0]), $0[1]) }
    }
    entities = try reader.connection.run { db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT ZENTITY, count(*) FILTER (WHERE ZCHANGETYPE = 0),
            count(*) FILTER (WHERE ZCHANGETYPE = 1), count(*) FILTER (WHERE ZCHANGETYPE = 2)
          FROM \(HistoryTables.changes) GROUP BY ZENTITY ORDER BY ZENTITY
          """
      ).map { row in
        Changes(
          number: EntityNumber(rawValue: Int64.fromDatabaseValue(row[0]) ?? 0), inserted: row[1],
          updated: row[2], deleted: row[3])
      }
    }
  }
}
