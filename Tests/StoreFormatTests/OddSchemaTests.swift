import GRDB
import StoreFormat
import SystemPackage
import TestSupport
import Testing

/// SQLite opens files whose schema has blobs in the place of texts and numbers, which read alike.
@Suite(.scratchFolder) struct OddSchemaTests {
  /// The connection to a database in which some columns of the schema are blobs.
  private func odd(_ columns: String..., tables: String...) throws -> StoreConnection {
    let path = ScratchFolder.current.appending("odd.sqlite")
    let made = try StoreConnection.writable(path)
    try made.run { db in
      for table in tables { try db.execute(sql: table) }
      try db.execute(sql: "PRAGMA writable_schema = ON")
      for column in columns {
        try db.execute(sql: "UPDATE sqlite_schema SET \(column) = CAST(\(column) AS BLOB)")
      }
    }
    try made.queue.close()
    return try StoreConnection.writable(path)
  }

  @Test func `roots are found whatever the type of their numbers and names`() throws {
    let connection = try odd(
      "rootpage", "name", tables: "CREATE TABLE a (b)", "CREATE INDEX c ON a (b)")
    #expect(try connection.run { try StoreWriter.roots(in: $0) } == ["a": 2, "c": 3])
    try connection.queue.close()
  }

  @Test func `triggers stand aside and come back whatever the type of their statements`() throws {
    let connection = try odd(
      "sql", "name", tables: "CREATE TABLE a (b)",
      "CREATE TRIGGER t AFTER INSERT ON a BEGIN SELECT RAISE(ABORT, 'fired'); END")
    try connection.run { db in
      try StoreWriter.withoutTriggers(in: db) { try db.execute(sql: "INSERT INTO a VALUES (1)") }
      #expect(throws: DatabaseError.self) { try db.execute(sql: "INSERT INTO a VALUES (2)") }
    }
    try connection.queue.close()
  }

  @Test func `a row that is too long is told where a column hides its number`() throws {
    let connection = try odd(
      tables: "CREATE TABLE a (rowid TEXT, b)",
      "INSERT INTO a VALUES ('x', zeroblob(2000000))")
    try connection.queue.close()
    let row = LongRow.first(in: connection.path, memory: 3 << 20)
    #expect(row == LongRow(table: "a", key: 0, bytes: 2_000_001, memory: 3 << 20))
  }
}
