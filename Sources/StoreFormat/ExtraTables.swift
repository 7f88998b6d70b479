package import GRDB
import Schema
package import SystemPackage

/// Tables of a store that its model knows nothing of, to be copied whole.
package struct ExtraTables: Hashable, Sendable {
  /// The store to copy them from, or a copy of it.
  package var source: FilePath
  /// The names of the tables.
  package var names: [String]
  /// Columns with entity numbers, which are to be those of another model; by table.
  package var renumbered: [String: Renumbering] = [:]
  /// The rows of `Z_PRIMARYKEY` that are copied, by entity number; nil for none.
  package var keyNumbers: ClosedRange<Int64>?

  /// Names the tables of a store.
  package init(of source: FilePath, names: [String]) {
    self.source = source
    self.names = names
  }

  /// What becomes of the entity numbers in a column.
  package struct Renumbering: Hashable, Sendable {
    /// The column.
    package var column: String
    /// The numbers that stay or change; rows with any other value but NULL are left out.
    package var numbers: [Int64: Int64]

    /// Pairs the numbers of two models.
    package init(column: String, numbers: [Int64: Int64]) {
      (self.column, self.numbers) = (column, numbers)
    }

    /// The condition for the rows that are copied.
    package func condition(table: String = "") -> String {
      let name = table + SQL.quoted(name: column)
      let kept = numbers.keys.sorted().map { "\($0)" }.joined(separator: ", ")
      return "(\(name) IS NULL OR typeof(\(name)) = 'integer' AND \(name) IN (\(kept)))"
    }
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
      sql: "ATTACH ? AS extra", arguments: [StoreConnection.uri(reading: source)])
    for name in names { try copy(name, db: db) }
    if let keyNumbers {
      try db.execute(
        sql: """
          INSERT INTO main.Z_PRIMARYKEY (Z_ENT, Z_NAME, Z_SUPER, Z_MAX)
          SELECT Z_ENT, Z_NAME, Z_SUPER, Z_MAX FROM extra.Z_PRIMARYKEY WHERE Z_ENT BETWEEN ? AND ?
          """, arguments: [keyNumbers.lowerBound, keyNumbers.upperBound])
    }
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
    let change = renumbered[name]
    let condition = change?.condition() ?? "1"
    var values = columns
    if let change, let place = columns.firstIndex(of: SQL.quoted(name: change.column)) {
      // Rows come with their new numbers, so that a unique index never has old and new ones
      // together.
      try fill(change.numbers, db: db)
      values[place] = "(SELECT new FROM temp.numbers WHERE old = \(columns[place]))"
    }
    try db.execute(
      sql: """
        INSERT INTO main.\(table) (\(list)) SELECT \(values.joined(separator: ", "))
        FROM extra.\(table) NOT INDEXED WHERE \(condition)
        """)
    for statement in statements.dropFirst() { try db.execute(sql: statement) }
    try copySequence(of: name, db: db)
    let counts = try ["extra.\(table) NOT INDEXED WHERE \(condition)", "main.\(table) NOT INDEXED"]
      .map { try Int64.fetchOne(db, sql: "SELECT count(*) FROM \($0)") ?? 0 }
    guard counts[0] == counts[1] else {
      throw RowsDiffer(table: name, expected: counts[0], found: counts[1])
    }
  }

  private func fill(_ numbers: [Int64: Int64], db: Database) throws {
    try db.execute(
      sql: """
        CREATE TEMP TABLE IF NOT EXISTS numbers (old INTEGER PRIMARY KEY, new INTEGER);
        DELETE FROM temp.numbers
        """)
    let insert = try db.makeStatement(sql: "INSERT INTO temp.numbers VALUES (?, ?)")
    for (old, new) in numbers.sorted(by: { $0.key < $1.key }) {
      try insert.execute(arguments: [old, new])
    }
  }

  private static func hasRowNumbers(_ name: String, db: Database) throws -> Bool {
    try Bool.fetchOne(
      db, sql: "SELECT wr = 0 FROM pragma_table_list WHERE schema = 'extra' AND name = ?",
      arguments: [name]) ?? false
  }

  /// Copies the highest number that an `AUTOINCREMENT` ever gave.
  private func copySequence(of name: String, db: Database) throws {
    // SQLite makes it with the first table that needs it, in each database.
    let sequences = try ["extra", "main"].count { schema in
      try Int64.fetchOne(
        db, sql: "SELECT 1 FROM \(schema).sqlite_schema WHERE name = 'sqlite_sequence'") != nil
    }
    guard sequences == 2 else { return }
    try db.execute(
      sql: """
        UPDATE main.sqlite_sequence SET seq = (
          SELECT seq FROM extra.sqlite_sequence WHERE name = ?1) WHERE name = ?1
        """, arguments: [name])
  }
}
