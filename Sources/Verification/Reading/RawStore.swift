import Foundation
import GRDBSQLite
import StoreFormat
import SystemCalls
import SystemPackage

/// A direct connection to an SQLite file, which converts no values.
final class RawStore {
  let path: FilePath
  private let handle: OpaquePointer

  /// Opens an unchanging file, and creates no file next to it.
  init(reading path: FilePath) throws(StoreError) {
    self.path = path
    let uri: String
    do throws(SystemCallError) {
      uri = try StoreConnection.uri(reading: path)
    } catch {
      throw StoreError(reading: path, cause: error)
    }
    handle = try Self.open(uri, flags: SQLITE_OPEN_READONLY, path: path)
    // Without it SQLite masks a cell's pointer and reads what lies behind the page in memory.
    try execute("PRAGMA cell_size_check = ON")
  }

  /// Opens or creates a temporary file.
  init(making path: FilePath, encoding: String) throws(StoreError) {
    self.path = path
    handle = try Self.open(
      StoreConnection.uri(path: path), flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, path: path
    )
    for pragma in [
      "encoding = '\(encoding)'", "journal_mode = OFF", "synchronous = OFF",
      "locking_mode = EXCLUSIVE",
    ] {
      try execute("PRAGMA \(pragma)")
    }
  }

  /// Opens a database in memory; `path` is its name in errors.
  init(inMemory path: FilePath) throws(StoreError) {
    self.path = path
    handle = try Self.open(
      "file::memory:", flags: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, path: path)
  }

  deinit { sqlite3_close_v2(handle) }

  /// The connection of SQLite, which is this one's as long as it is there.
  var connection: OpaquePointer { handle }

  private static func open(
    _ uri: String, flags: Int32, path: FilePath
  ) throws(StoreError) -> OpaquePointer {
    DatabaseCalls.install()
    DatabaseCalls.openError = nil
    var handle: OpaquePointer?
    let code = sqlite3_open_v2(uri, &handle, flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, nil)
    guard code == SQLITE_OK, let handle else {
      let failure = failure(code: code, handle: handle, path: path)
      sqlite3_close_v2(handle)
      throw failure
    }
    return handle
  }

  private static func failure(
    code: Int32, handle: OpaquePointer?, path: FilePath
  ) -> StoreError {
    let message = handle.map { String(cString: sqlite3_errmsg($0)) } ?? "SQLite error \(code)"
    if code & 0xFF == SQLITE_CANTOPEN, let errno = DatabaseCalls.openError {
      return StoreError(reading: path, cause: errno)
    }
    let problem: StoreError.Problem =
      switch code & 0xFF {
      case SQLITE_IOERR: .deviceFailed
      case SQLITE_NOMEM: .outOfMemory
      case SQLITE_BUSY, SQLITE_LOCKED: .inUse
      case SQLITE_FULL: .diskFull
      case SQLITE_READONLY: .cannotWrite
      case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH: .cannotRead
      case SQLITE_NOTADB: .unrecognized
      default: .damaged
      }
    return StoreError(
      problem: problem, store: path, cause: SQLiteMessage(code: code, text: message))
  }

  func failure(code: Int32) -> StoreError { Self.failure(code: code, handle: handle, path: path) }

  func prepare(_ sql: String) throws(StoreError) -> RawStatement {
    var statement: OpaquePointer?
    let code = sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
    guard code == SQLITE_OK, let statement else { throw failure(code: code) }
    return RawStatement(handle: statement, store: self)
  }

  func execute(_ sql: String) throws(StoreError) {
    let code = sqlite3_exec(handle, sql, nil, nil, nil)
    guard code == SQLITE_OK else { throw failure(code: code) }
  }

  /// All rows of a query with few.
  func rows(sql: String, bindings: [RawValue] = []) throws(StoreError) -> [[RawValue]] {
    let statement = try prepare(sql)
    statement.bind(bindings)
    var rows: [[RawValue]] = []
    while try statement.step() { rows.append(statement.values) }
    return rows
  }

  /// The number that a query returns, 0 if it returns none.
  func number(sql: String) throws(StoreError) -> Int64 {
    try rows(sql: sql).first?.first?.integer ?? 0
  }
}

/// SQLite's code and message for a failure.
struct SQLiteMessage: Error, CustomStringConvertible {
  var code: Int32
  var text: String

  var description: String { "SQLite error \(code): \(text)" }
}

/// A prepared statement; columns and parameters count from 0.
final class RawStatement {
  private let handle: OpaquePointer
  private let store: RawStore

  fileprivate init(handle: OpaquePointer, store: RawStore) {
    self.handle = handle
    self.store = store
  }

  deinit { sqlite3_finalize(handle) }

  /// Advances to the next row; false if there is none.
  func step() throws(StoreError) -> Bool {
    switch sqlite3_step(handle) {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    case let code: throw store.failure(code: code)
    }
  }

  /// What `step(longest:)` finds.
  enum Step {
    /// A row, or the end.
    case row, end
    /// A row with a longer value, at which the statement has stopped.
    case tooLong
  }

  /// Advances to the next row, unless that one has a text or blob of more bytes than these.
  ///
  /// SQLite reads no more than the header of a value that is longer than its limit.
  func step(longest: Int) throws(StoreError) -> Step {
    let before = sqlite3_limit(store.connection, SQLITE_LIMIT_LENGTH, Int32(longest))
    defer { sqlite3_limit(store.connection, SQLITE_LIMIT_LENGTH, before) }
    switch sqlite3_step(handle) {
    case SQLITE_ROW: return .row
    case SQLITE_DONE: return .end
    case SQLITE_TOOBIG: return .tooLong
    case let code: throw store.failure(code: code)
    }
  }

  func reset() { sqlite3_reset(handle) }

  var count: Int { Int(sqlite3_column_count(handle)) }

  var values: [RawValue] { (0..<count).map(value) }

  func value(column: Int) -> RawValue {
    let column = Int32(column)
    switch sqlite3_column_type(handle, column) {
    case SQLITE_INTEGER: return .integer(sqlite3_column_int64(handle, column))
    case SQLITE_FLOAT: return .double(number: sqlite3_column_double(handle, column))
    case SQLITE_TEXT:
      let start = UnsafeRawPointer(sqlite3_column_text(handle, column))
      return .text(bytes(start: start, column: column))
    case SQLITE_BLOB:
      return .blob(bytes(start: sqlite3_column_blob(handle, column), column: column))
    default: return .null
    }
  }

  private func bytes(start: UnsafeRawPointer?, column: Int32) -> [UInt8] {
    guard let start else { return [] }
    return Array(
      UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
  }

  /// The INTEGER in a column, nil for any other value.
  func integer(column: Int) -> Int64? {
    let column = Int32(column)
    guard sqlite3_column_type(handle, column) == SQLITE_INTEGER else { return nil }
    return sqlite3_column_int64(handle, column)
  }

  func isNull(_ column: Int) -> Bool {
    sqlite3_column_type(handle, Int32(column)) == SQLITE_NULL
  }

  /// Whether two columns have the same value to the byte; texts in the encoding of their files.
  func isSame(_ column: Int, as other: RawStatement, otherColumn: Int) -> Bool {
    let (mine, theirs) = (Int32(column), Int32(otherColumn))
    let type = sqlite3_column_type(handle, mine)
    guard type == sqlite3_column_type(other.handle, theirs) else { return false }
    switch type {
    case SQLITE_INTEGER:
      return sqlite3_column_int64(handle, mine) == sqlite3_column_int64(other.handle, theirs)
    case SQLITE_FLOAT:
      return sqlite3_column_double(handle, mine).bitPattern
        == sqlite3_column_double(other.handle, theirs).bitPattern
    case SQLITE_TEXT, SQLITE_BLOB:
      // For TEXT these are the bytes in the file, in its own encoding.
      let (first, second) = (
        sqlite3_column_blob(handle, mine), sqlite3_column_blob(other.handle, theirs)
      )
      let size = sqlite3_column_bytes(handle, mine)
      guard size == sqlite3_column_bytes(other.handle, theirs) else { return false }
      guard size > 0, let first, let second else { return true }
      return memcmp(first, second, Int(size)) == 0
    default: return true
    }
  }

  func bind(_ values: [RawValue]) {
    for (index, value) in values.enumerated() { bind(value, at: index) }
  }

  func bind(_ value: RawValue, at place: Int) {
    let place = Int32(place + 1)
    // `SQLITE_TRANSIENT`, which Swift does not import: SQLite copies the bytes, since they live no
    // longer than the call. The cast is safe, for SQLite compares this pointer and never calls it.
    let copies = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    switch value {
    case .null: sqlite3_bind_null(handle, place)
    case .integer(let number): sqlite3_bind_int64(handle, place, number)
    case .real(let bits): sqlite3_bind_double(handle, place, Double(bitPattern: bits))
    case .text(let bytes):
      bytes.withUnsafeBytes { bytes in
        // Without an address it would be NULL.
        guard let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self) else {
          _ = sqlite3_bind_text(handle, place, "", 0, copies)
          return
        }
        _ = sqlite3_bind_text(handle, place, start, Int32(bytes.count), copies)
      }
    case .blob(let bytes):
      bytes.withUnsafeBytes { bytes in
        guard let start = bytes.baseAddress else {
          _ = sqlite3_bind_zeroblob(handle, place, 0)
          return
        }
        _ = sqlite3_bind_blob(handle, place, start, Int32(bytes.count), copies)
      }
    }
  }

  /// Executes the statement once with these values.
  func execute(_ values: [RawValue]) throws(StoreError) {
    bind(values)
    defer { reset() }
    _ = try step()
  }

  /// The first row of the statement with these values, nil if there is none.
  func row(values: [RawValue]) throws(StoreError) -> [RawValue]? {
    bind(values)
    defer { reset() }
    return try step() ? self.values : nil
  }
}
