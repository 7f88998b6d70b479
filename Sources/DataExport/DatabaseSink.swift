import GRDB
import GRDBSQLite
import ObjectModel
import Schema
import StoreFormat
import SystemPackage

/// Writes rows into one table of a new SQLite database.
final class DatabaseSink: RowSink {
  private let db: Database
  private var statement: OpaquePointer?
  private var place: Int32 = 0

  /// Creates the table.
  init(_ table: ExportTable, named name: String, in db: Database) throws {
    self.db = db
    let name = SQL.quoted(name: name)
    let columns = table.columns.map { "\(SQL.quoted(name: $0.name)) \($0.declaration)" }
    try db.execute(sql: "CREATE TABLE \(name) (\(columns.joined(separator: ", ")))")
    let values = table.columns.map { _ in "?" }.joined(separator: ", ")
    try check(
      sqlite3_prepare_v3(
        db.sqliteConnection, "INSERT INTO \(name) VALUES (\(values))", -1,
        UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil))
  }

  deinit { sqlite3_finalize(statement) }

  private func check(_ code: Int32) throws {
    guard code != SQLITE_OK else { return }
    throw DatabaseError(resultCode: ResultCode(rawValue: code), message: db.lastErrorMessage)
  }

  private func next() -> Int32 {
    place += 1
    return place
  }

  func putNull() throws { try check(sqlite3_bind_null(statement, next())) }

  func put(integer: Int64) throws { try check(sqlite3_bind_int64(statement, next(), integer)) }

  func put(boolean: Bool) throws { try put(integer: boolean ? 1 : 0) }

  func put(real: Double) throws { try check(sqlite3_bind_double(statement, next(), real)) }

  func put(digits: UnsafeBufferPointer<UInt8>) throws { try put(text: digits) }

  func put(text: UnsafeBufferPointer<UInt8>) throws {
    let place = next()
    guard let start = text.baseAddress, !text.isEmpty else {
      return try check(sqlite3_bind_text(statement, place, "", 0, RawStatement.copiesBytes))
    }
    try start.withMemoryRebound(to: CChar.self, capacity: text.count) {
      try check(
        sqlite3_bind_text64(
          statement, place, $0, UInt64(text.count), RawStatement.copiesBytes, UInt8(SQLITE_UTF8)))
    }
  }

  func put(bytes: UnsafeRawBufferPointer) throws {
    let place = next()
    if bytes.isEmpty { return try check(sqlite3_bind_zeroblob(statement, place, 0)) }
    try check(
      sqlite3_bind_blob64(
        statement, place, bytes.baseAddress, UInt64(bytes.count), RawStatement.copiesBytes))
  }

  func put(json: [UInt8]) throws { try put(text: json) }

  func put(file path: String) throws { try put(text: Array(path.utf8)) }

  func endRow() throws {
    place = 0
    let code = sqlite3_step(statement)
    let reset = sqlite3_reset(statement)
    guard code == SQLITE_DONE else { return try check(reset == SQLITE_OK ? code : reset) }
  }

  func close() {
    sqlite3_finalize(statement)
    statement = nil
  }
}

extension ExportColumn {
  /// The declared type, whose affinity keeps each value as it is.
  fileprivate var declaration: String {
    switch kind {
    case .key: "INTEGER PRIMARY KEY"
    case .reference, .order: "INTEGER"
    case .entity: "TEXT"
    case .attribute(let type):
      switch type {
      case .integer16, .integer32, .integer64, .boolean: "INTEGER"
      case .double, .float: "REAL"
      case .string, .uri, .date, .uuid: "TEXT"
      // Digits stay a text: as a number they could lose some.
      case .decimal: "TEXT"
      case .binary, .transformable, .undefined, .objectID, .composite: "BLOB"
      }
    }
  }
}
