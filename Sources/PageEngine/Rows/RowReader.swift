import GRDB
import GRDBSQLite
import StoreFormat

/// Reads rows through SQLite, value by value, without making Swift objects of them.
final class RowReader {
  private let statement: Statement
  private let rows: RawStatement
  private let handle: OpaquePointer
  private let count: Int
  private let scratch: UnsafeMutableRawPointer
  /// The values of the row; valid until the next one.
  let fields: UnsafeMutablePointer<Field>

  init(sql: String, in db: Database) throws {
    statement = try db.makeStatement(sql: sql)
    rows = RawStatement(statement)
    handle = rows.handle
    count = Int(sqlite3_column_count(handle))
    scratch = .allocate(byteCount: max(1, count) * 8, alignment: 8)
    fields = .allocate(capacity: max(1, count))
    fields.initialize(repeating: .null, count: max(1, count))
  }

  deinit {
    sqlite3_reset(handle)
    scratch.deallocate()
    fields.deallocate()
  }

  /// Advances to the next row; false after the last one.
  func next() throws -> Bool {
    guard try rows.step() else { return false }
    for index in 0..<count { fields[index] = read(index) }
    return true
  }

  @inline(__always)
  private func read(_ index: Int) -> Field {
    let column = Int32(truncatingIfNeeded: index)
    let own = scratch + index * 8
    switch sqlite3_column_type(handle, column) {
    case SQLITE_INTEGER: return Field(value: sqlite3_column_int64(handle, column), scratch: own)
    case SQLITE_FLOAT: return Field(real: sqlite3_column_double(handle, column), scratch: own)
    case SQLITE_TEXT: return bytes(column, type: 13)
    case SQLITE_BLOB: return bytes(column, type: 12)
    default: return .null
    }
  }

  /// The bytes as they are: SQLite converts no text that is requested as a blob.
  private func bytes(_ column: Int32, type: UInt64) -> Field {
    let start = sqlite3_column_blob(handle, column)
    let size = UInt64(truncatingIfNeeded: sqlite3_column_bytes(handle, column))
    return Field(type: size * 2 + type, body: start)
  }

  /// Begins again.
  func reset() { rows.reset() }

  /// Binds the values of another reader's row to the parameters, from one of its columns on.
  func bind(row other: RowReader, from first: Int32) {
    sqlite3_reset(handle)
    for column in first..<Int32(other.count) {
      sqlite3_bind_value(handle, column + 1 - first, sqlite3_column_value(other.handle, column))
    }
  }

  /// Begins again with a value for a parameter.
  func bind(_ value: Int64, parameter: Int32) {
    sqlite3_reset(handle)
    sqlite3_bind_int64(handle, parameter, value)
  }
}
