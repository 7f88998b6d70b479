package import GRDB
import Schema

/// What a migration leaves in the history of a store: the keys ever assigned, and that it happened.
package struct HistoryRecord: Hashable, Sendable {
  /// A transaction without changes, by which readers of the history learn of a migration.
  package struct Entry: Hashable, Sendable {
    /// The author of the transaction.
    package var author: String
    /// The name of the program, as bundle and as process.
    package var program: String
    /// The time of the transaction, in seconds since 2001-01-01 UTC.
    package var time: Double

    /// Names who migrated, and when.
    package init(author: String, program: String, time: Double) {
      self.author = author
      self.program = program
      self.time = time
    }
  }

  /// The highest primary keys ever assigned, by history table; none of a table without rows.
  package var maxima: [String: Int64]
  /// The transaction to add; nil for none.
  package var entry: Entry?

  /// Takes what is known of the source's history.
  package init(maxima: [String: Int64], entry: Entry?) {
    self.maxima = maxima
    self.entry = entry
  }

  /// Adds the transaction, and the rows of `Z_PRIMARYKEY`, to a store whose history is complete.
  package func write(in db: Database) throws {
    var maxima = maxima
    if let entry { try write(entry, maxima: &maxima, db: db) }
    for table in HistoryTables.names {
      guard let maximum = maxima[table], let (number, name) = HistoryTables.entity(ofTable: table)
      else { continue }
      try db.execute(
        sql: "INSERT INTO Z_PRIMARYKEY VALUES (?, ?, 0, ?)",
        arguments: [number.rawValue, name, maximum])
    }
  }

  private func write(_ entry: Entry, maxima: inout [String: Int64], db: Database) throws {
    let author = try key(of: entry.author, maxima: &maxima, db: db)
    let program = try key(of: entry.program, maxima: &maxima, db: db)
    let key = try Self.next(HistoryTables.transactions, maxima: &maxima, db: db)
    try db.execute(
      sql: """
        INSERT INTO \(HistoryTables.transactions)
          (Z_PK, Z_ENT, ZAUTHORTS, ZBUNDLEIDTS, ZPROCESSIDTS, ZTIMESTAMP) VALUES (?, ?, ?, ?, ?, ?)
        """,
      arguments: [
        key, HistoryTables.entity(ofTable: HistoryTables.transactions)?.number.rawValue, author,
        program, program, entry.time,
      ])
  }

  /// The key of a string, which is added unless it is there.
  private func key(of name: String, maxima: inout [String: Int64], db: Database) throws -> Int64 {
    let table = HistoryTables.strings
    let found = try Int64.fetchOne(
      db, sql: "SELECT Z_PK FROM \(table) WHERE ZNAME = ?", arguments: [name])
    if let found { return found }
    let key = try Self.next(table, maxima: &maxima, db: db)
    try db.execute(
      sql: "INSERT INTO \(table) (Z_PK, Z_ENT, ZNAME) VALUES (?, ?, ?)",
      arguments: [key, HistoryTables.entity(ofTable: table)?.number.rawValue, name])
    return key
  }

  /// The key of a new row, higher than any that was ever assigned.
  private static func next(
    _ table: String, maxima: inout [String: Int64], db: Database
  ) throws -> Int64 {
    let used = try Int64.fetchOne(db, sql: "SELECT max(Z_PK) FROM \(table)") ?? 0
    let (key, overflow) = max(used, maxima[table] ?? 0).addingReportingOverflow(1)
    guard !overflow else {
      throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "no key is left in \(table)")
    }
    maxima[table] = key
    return key
  }
}
