package import GRDB
import GRDBSQLite
import ObjectMigration
import Schema

/// Reads cells of a table by the keys of their rows; of a text or blob only the requested part,
/// however long it is.
final class CellReader {
  let table: String
  /// The columns, by which cells are counted.
  let columns: [String]
  let isUTF16: Bool
  private let statements: PreparedStatements
  private var handles: [Int: BlobHandle] = [:]

  init(table: String, columns: [String], statements: PreparedStatements, isUTF16: Bool) {
    (self.table, self.columns, self.statements) = (table, columns, statements)
    self.isUTF16 = isUTF16
  }

  /// How many bytes of a text or blob are read for people to see.
  static let headBytes = 512

  /// The cell of a row; nil where there is no such row.
  ///
  /// Only the type is requested before a text or blob: SQLite would read all of it.
  func cell(column: Int, key: Int64, head: Int = CellReader.headBytes) throws -> StoredCell? {
    let name = "c.\(SQL.identifier(name: columns[column]))"
    let statement = try statements.statement(
      sql: """
        SELECT CASE typeof(\(name)) WHEN 'text' THEN '' WHEN 'blob' THEN x'' ELSE \(name) END \
        FROM main.\(SQL.identifier(name: table)) AS c WHERE c.Z_PK = ?1
        """)
    statement.bind(key, at: 1)
    guard try statement.step() else { return nil }
    let value = statement.value(column: 0)
    statement.reset()
    switch value {
    case .null: return .null
    case .integer(let number): return .integer(number)
    case .real(let number): return .real(number)
    case .text, .rawText:
      let handle = try handle(column: column, key: key)
      return .text(head: try handle.bytes(from: 0, count: head), bytes: handle.count)
    case .blob:
      let handle = try handle(column: column, key: key)
      return .blob(head: try handle.bytes(from: 0, count: head), bytes: handle.count)
    }
  }

  /// The bytes of a text or blob, to be read in parts; valid until the next call for the column.
  func handle(column: Int, key: Int64) throws -> BlobHandle {
    if let known = handles[column] {
      try known.move(to: key)
      return known
    }
    let made = try BlobHandle(
      table: table, column: columns[column], key: key, db: statements.db)
    handles[column] = made
    return made
  }

  func close() { handles = [:] }
}

/// An open value of a row (`sqlite3_blob`), read in parts.
package final class BlobHandle {
  private var handle: OpaquePointer?
  private let db: Database
  private let name: String

  /// Opens the value of a row, which has to be a text or blob.
  package init(table: String, column: String, key: Int64, db: Database) throws {
    self.db = db
    name = "\(table).\(column)"
    try check(sqlite3_blob_open(db.sqliteConnection, "main", table, column, key, 0, &handle))
  }

  deinit { sqlite3_blob_close(handle) }

  /// How many bytes the value has.
  package var count: Int64 { Int64(sqlite3_blob_bytes(handle)) }

  func move(to key: Int64) throws { try check(sqlite3_blob_reopen(handle, key)) }

  /// Bytes from a place on, fewer where the value ends.
  package func bytes(from place: Int64, count wanted: Int) throws -> [UInt8] {
    let size = max(0, min(Int64(wanted), count - place))
    if size == 0 { return [] }
    var bytes = [UInt8](repeating: 0, count: Int(size))
    try bytes.withUnsafeMutableBytes {
      try check(sqlite3_blob_read(handle, $0.baseAddress, Int32(size), Int32(place)))
    }
    return bytes
  }

  private func check(_ code: Int32) throws {
    guard code != SQLITE_OK else { return }
    throw DatabaseError(
      resultCode: ResultCode(rawValue: code), message: "\(name): \(db.lastErrorMessage ?? "")")
  }
}
