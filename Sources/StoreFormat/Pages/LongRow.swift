import GRDB
import Schema
package import SystemPackage

/// A row that is longer than SQLite may hold in the memory of a process.
package struct LongRow: Hashable, Sendable {
  /// The table of the row.
  package var table: String
  /// The number of the row: its primary key, where the table has one.
  package var key: Int64
  /// The bytes of its texts and blobs.
  package var bytes: Int64
  /// The bytes that the process may occupy.
  package var memory: Int64

  /// Describes a row by its place and its size.
  package init(table: String, key: Int64, bytes: Int64, memory: Int64) {
    (self.table, self.key, self.bytes, self.memory) = (table, key, bytes, memory)
  }

  /// The longest row and value, in bytes, for a process that may occupy so many.
  ///
  /// SQLite holds a row that it copies up to three times: its values, the new record, and what it
  /// compares both by.
  package static func limit(memory: Int64) -> Int64 { max(1 << 20, memory / 3) }

  /// The memory for a process that copies the row, in bytes.
  package var memoryNeeded: Int64 { bytes.multipliedReportingOverflow(by: 3).partialValue }

  /// The first row of a store that is too long; nil if there is none, or SQLite cannot read it.
  package static func first(in store: FilePath, memory: Int64) -> LongRow? {
    // If the store can no longer be read, the caller's own error reports it.
    guard let connection = try? StoreConnection.immutable(store) else { return nil }
    return try? connection.run { db in
      let tables = try String.fetchAll(
        db, sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'")
      for table in tables {
        let name = SQL.quoted(name: table)
        let columns = try db.columns(in: table).map(\.name)
        // The length of a blob is in its record; that of a text is the length of its characters.
        let bytes = columns.map(SQL.quoted).map {
          "CASE typeof(\($0)) WHEN 'blob' THEN length(\($0)) WHEN 'text' "
            + "THEN length(CAST(\($0) AS BLOB)) ELSE 0 END"
        }.joined(separator: " + ")
        guard !columns.isEmpty else { continue }
        let row = try Row.fetchOne(
          db,
          sql: "SELECT rowid, \(bytes) AS b FROM \(name) NOT INDEXED WHERE b > ? LIMIT 1",
          arguments: [limit(memory: memory) * 9 / 10])
        if let row, let bytes = Int64.fromDatabaseValue(row[1]) {
          // A column of that name hides the row's number.
          return LongRow(
            table: table, key: Int64.fromDatabaseValue(row[0]) ?? 0, bytes: bytes, memory: memory)
        }
      }
      return nil
    }
  }
}
