package import GRDB
import Schema
package import SystemPackage

/// Tables of a store that its model knows nothing of, to be copied whole.
package struct ExtraTables: Hashable, Sendable {
  /// The store to copy them from, or a copy of it.
  package var source: FilePath
  /// The names of the tables.
  package var names: [String]

  /// Names the tables of a store.
  package init(of source: FilePath, names: [String]) {
    self.source = source
    self.names = names
  }

  /// Why the copies are not what the source holds.
  package struct RowsDiffer: Error, Hashable, Sendable {
    /// The table.
    package var table: String
    /// Rows in the source, and in the copy.
    package var expected, found: Int64
  }

  /// Copies tables, rows and indexes into a database.
  ///
  /// - Throws: `RowsDiffer`; `DatabaseError` where a table of that name is there.
  package func copy(into db: Database) throws {
    guard !names.isEmpty else { return }
    try db.execute(
      sql: "ATTACH ? AS extra", arguments: [StoreConnection.uri(path: source) + "?immutable=1"])
    for name in names { try copy(name, db: db) }
    try db.execute(sql: "DETACH extra")
  }

  private func copy(_ name: String, db: Database) throws {
    let statements = try String.fetchAll(
      db,
      sql: """
        SELECT sql FROM extra.sqlite_schema
        WHERE tbl_name = ? AND type IN ('table', 'index') AND sql IS NOT NULL ORDER BY rowid
        """, arguments: [name])
    let table = SQL.quoted(name: name)
    // The statements name the table alone, and so mean the main database.
    if let first = statements.first { try db.execute(sql: first) }
    let stored = try String.fetchAll(
      db, sql: "SELECT name FROM pragma_table_xinfo(?, 'extra') WHERE hidden = 0",
      arguments: [name])
    var columns = stored.map(SQL.quoted)
    if try Self.hasRowNumbers(name, db: db), !stored.map({ $0.lowercased() }).contains("rowid") {
      columns.insert("rowid", at: 0)
    }
    let list = columns.joined(separator: ", ")
    try db.execute(
      sql: "INSERT INTO main.\(table) (\(list)) SELECT \(list) FROM extra.\(table) NOT INDEXED")
    for statement in statements.dropFirst() { try db.execute(sql: statement) }
    try copySequence(of: name, db: db)
    let counts = try ["extra", "main"].map {
      try Int64.fetchOne(db, sql: "SELECT count(*) FROM \($0).\(table) NOT INDEXED") ?? 0
    }
    guard counts[0] == counts[1] else {
      throw RowsDiffer(table: name, expected: counts[0], found: counts[1])
    }
  }

  private static func hasRowNumbers(_ name: String, db: Database) throws -> Bool {
    try Bool.fetchOne(
      db, sql: "SELECT wr = 0 FROM pragma_table_list WHERE schema = 'extra' AND name = ?",
      arguments: [name]) ?? false
  }

  /// Copies the highest number that an `AUTOINCREMENT` ever gave.
  private func copySequence(of name: String, db: Database) throws {
    let sequence = try Int64.fetchOne(
      db, sql: "SELECT 1 FROM extra.sqlite_schema WHERE name = 'sqlite_sequence'")
    guard sequence != nil else { return }
    try db.execute(
      sql: """
        UPDATE main.sqlite_sequence SET seq = (
          SELECT seq FROM extra.sqlite_sequence WHERE name = ?1) WHERE name = ?1
        """, arguments: [name])
  }
}
