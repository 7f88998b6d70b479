package import GRDB
import GRDBSQLite
package import Schema
import StoreFormat

/// One SQL statement for loops over millions of objects: values go in and out without boxes.
///
/// It is reset after every use, so none may be used while it is being used.
package final class PreparedStatement {
  private var handle: OpaquePointer?
  private let db: Database
  private let sql: String
  private let isUTF16: Bool
  private let inserts: RowInserts
  /// What became of values that were refused since the last step, or `SQLITE_OK`.
  private var refusal = SQLITE_OK

  /// - Parameters:
  ///   - isUTF16: whether the database's texts are encoded so.
  ///   - inserts: what has to be in before the connection is used.
  init(sql: String, db: Database, isUTF16: Bool, inserts: RowInserts) throws {
    self.db = db
    self.sql = sql
    self.isUTF16 = isUTF16
    self.inserts = inserts
    inserts.finish()
    let code = sqlite3_prepare_v3(
      db.sqliteConnection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil)
    guard code == SQLITE_OK else { throw failure(code: code) }
  }

  deinit { close() }

  /// Ends it; a connection closes only without any.
  package func close() {
    inserts.finish()
    sqlite3_finalize(handle)
    handle = nil
  }

  private func failure(code: Int32) -> DatabaseError {
    DatabaseError(resultCode: ResultCode(rawValue: code), message: db.lastErrorMessage, sql: sql)
  }

  // MARK: Values in; places count from 1

  /// Sets a parameter to a whole number.
  package func bind(_ number: Int64, at place: Int) {
    inserts.finish()
    sqlite3_bind_int64(handle, Int32(place), number)
  }

  /// Sets the parameters from the first on.
  package func bind(all numbers: [Int64]) {
    for (index, number) in numbers.enumerated() { bind(number, at: index + 1) }
  }

  /// Sets a parameter; the next step reports a value that is too long.
  func bind(_ value: StoredValue, at place: Int) {
    inserts.finish()
    put(value, at: Int32(place))
  }

  private func put(_ value: StoredValue, at place: Int32) {
    let code = code(binding: value, at: place)
    if code != SQLITE_OK, refusal == SQLITE_OK { refusal = code }
  }

  private func code(binding value: StoredValue, at place: Int32) -> Int32 {
    let copies = RawStatement.copiesBytes
    switch value {
    case .null: return sqlite3_bind_null(handle, place)
    case .integer(let number): return sqlite3_bind_int64(handle, place, number)
    case .real(let number): return sqlite3_bind_double(handle, place, number)
    case .text(var text):
      return text.withUTF8 { bytes in
        bytes.withMemoryRebound(to: CChar.self) {
          // Without an address it would be NULL.
          guard let start = $0.baseAddress else {
            return sqlite3_bind_text(handle, place, "", 0, copies)
          }
          return sqlite3_bind_text64(
            handle, place, start, UInt64($0.count), copies, UInt8(SQLITE_UTF8))
        }
      }
    case .rawText(let bytes, let isUTF16):
      return bytes.withUnsafeBytes {
        let start = $0.baseAddress?.assumingMemoryBound(to: CChar.self)
        return sqlite3_bind_text64(
          handle, place, start, UInt64($0.count), copies,
          UInt8(isUTF16 ? SQLITE_UTF16 : SQLITE_UTF8))
      }
    case .blob(let bytes):
      guard !bytes.isEmpty else { return sqlite3_bind_zeroblob(handle, place, 0) }
      return bytes.withUnsafeBytes {
        sqlite3_bind_blob64(handle, place, $0.baseAddress, UInt64($0.count), copies)
      }
    }
  }

  // MARK: Running

  /// Goes to the next row; resets itself where there is none.
  package func step() throws -> Bool {
    inserts.finish()
    return try advance()
  }

  private func advance() throws -> Bool {
    guard let handle else { preconditionFailure("a statement is used until it is closed") }
    let rows = RawStatement(handle)
    guard refusal == SQLITE_OK else {
      defer { refusal = SQLITE_OK }
      rows.reset()
      throw failure(code: refusal)
    }
    do {
      if try rows.step() { return true }
    } catch {
      rows.reset()
      throw error
    }
    rows.reset()
    return false
  }

  /// What `step(longest:)` finds.
  package enum Step {
    /// A row, or the end.
    case row, end
    /// A row with a longer value, at which the statement was reset.
    case tooLong
  }

  /// Goes to the next row, unless that one has a text or blob of more bytes than these.
  ///
  /// SQLite reads no more than the header of a value that is longer than its limit.
  package func step(longest: Int) throws -> Step {
    inserts.finish()
    let connection = db.sqliteConnection
    let before = sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, Int32(longest))
    defer { sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, before) }
    do {
      return try advance() ? .row : .end
    } catch let error as DatabaseError where error.resultCode == .SQLITE_TOOBIG {
      return .tooLong
    }
  }

  /// Runs a statement without rows.
  func execute() throws { while try step() {} }

  /// Inserts a key and the values behind it, whatever is still to be inserted: for `RowInserts`,
  /// and for callers that have finished the pending ones.
  func insert(_ key: Int64, _ values: [StoredValue]) throws {
    sqlite3_bind_int64(handle, 1, key)
    for index in values.indices { put(values[index], at: Int32(index + 2)) }
    while try advance() {}
  }

  /// Begins again.
  package func reset() {
    inserts.finish()
    sqlite3_reset(handle)
  }

  // MARK: Values out; columns count from 0

  /// The whole number in a column; 0 where it holds something else.
  package func integer(column: Int) -> Int64 { sqlite3_column_int64(handle, Int32(column)) }

  /// The number in a column; nil where it holds something else.
  package func key(column: Int) -> Int64? {
    guard sqlite3_column_type(handle, Int32(column)) == SQLITE_INTEGER else { return nil }
    return sqlite3_column_int64(handle, Int32(column))
  }

  /// The value in a column, as a copy.
  package func value(column: Int) -> StoredValue {
    let column = Int32(column)
    switch sqlite3_column_type(handle, column) {
    case SQLITE_INTEGER: return .integer(sqlite3_column_int64(handle, column))
    case SQLITE_FLOAT: return .real(sqlite3_column_double(handle, column))
    case SQLITE_TEXT:
      // Requesting another encoding would make SQLite repair texts that are not well-formed.
      if isUTF16 {
        let start = sqlite3_column_text16(handle, column)
        let count = Int(sqlite3_column_bytes16(handle, column))
        return StoredValue(
          textBytes: UnsafeRawBufferPointer(start: start, count: count), isUTF16: true)
      }
      let start = sqlite3_column_text(handle, column)
      let count = Int(sqlite3_column_bytes(handle, column))
      return StoredValue(textBytes: UnsafeRawBufferPointer(start: start, count: count))
    case SQLITE_BLOB:
      let start = sqlite3_column_blob(handle, column)
      let count = Int(sqlite3_column_bytes(handle, column))
      return .blob([UInt8](UnsafeRawBufferPointer(start: start, count: count)))
    default: return .null
    }
  }

  /// The first byte of a blob; nil where the column holds something else, or nothing is in it.
  package func firstByte(column: Int) -> UInt8? {
    let column = Int32(column)
    guard sqlite3_column_type(handle, column) == SQLITE_BLOB,
      sqlite3_column_bytes(handle, column) > 0
    else { return nil }
    return sqlite3_column_blob(handle, column)?.load(as: UInt8.self)
  }

  /// Whether a column of this row and one of another's hold the same: numbers by value, texts in
  /// UTF-8 whatever the encoding of their database, the rest by their bytes.
  package func isSame(column: Int, as other: PreparedStatement) -> Bool {
    let column = Int32(column)
    let (one, two) = (handle, other.handle)
    let type = sqlite3_column_type(one, column)
    let otherType = sqlite3_column_type(two, column)
    switch (type, otherType) {
    case (SQLITE_NULL, SQLITE_NULL): return true
    case (SQLITE_INTEGER, SQLITE_INTEGER):
      return sqlite3_column_int64(one, column) == sqlite3_column_int64(two, column)
    case (SQLITE_INTEGER, SQLITE_FLOAT):
      return Int64(exactly: sqlite3_column_double(two, column))
        == sqlite3_column_int64(one, column)
    case (SQLITE_FLOAT, SQLITE_INTEGER):
      return Int64(exactly: sqlite3_column_double(one, column))
        == sqlite3_column_int64(two, column)
    case (SQLITE_FLOAT, SQLITE_FLOAT):
      return sqlite3_column_double(one, column) == sqlite3_column_double(two, column)
    case (SQLITE_TEXT, SQLITE_TEXT):
      return Self.isSame(
        sqlite3_column_text(one, column), sqlite3_column_bytes(one, column),
        sqlite3_column_text(two, column), sqlite3_column_bytes(two, column))
    case (SQLITE_BLOB, SQLITE_BLOB):
      return Self.isSame(
        sqlite3_column_blob(one, column), sqlite3_column_bytes(one, column),
        sqlite3_column_blob(two, column), sqlite3_column_bytes(two, column))
    default: return false
    }
  }

  private static func isSame(
    _ one: UnsafeRawPointer?, _ count: Int32, _ other: UnsafeRawPointer?, _ otherCount: Int32
  ) -> Bool {
    guard count == otherCount, count > 0 else { return count == otherCount }
    return UnsafeRawBufferPointer(start: one, count: Int(count))
      .elementsEqual(UnsafeRawBufferPointer(start: other, count: Int(count)))
  }

  /// The values of the columns from one on.
  func values(from first: Int, count: Int) -> [StoredValue] {
    // Safe: all of the `count` elements are initialized, and nothing in between throws.
    [StoredValue](unsafeUninitializedCapacity: count) { buffer, initialized in
      for index in 0..<count {
        buffer.initializeElement(at: index, to: value(column: first + index))
      }
      initialized = count
    }
  }
}

/// The statements of a run, each prepared once.
package final class PreparedStatements {
  private let connection: Database
  /// What is inserted by another thread meanwhile.
  let inserts = RowInserts()
  private var known: [String: PreparedStatement] = [:]
  /// Whether texts of the database are in UTF-16.
  package let isUTF16: Bool

  /// Takes the connection on which all of them run.
  package init(_ db: Database) {
    connection = db
    let encoding = try? String.fetchOne(db, sql: "PRAGMA encoding")
    isUTF16 = encoding?.hasPrefix("UTF-16") ?? false
  }

  /// The connection, with all rows in.
  package var db: Database {
    inserts.finish()
    return connection
  }

  /// The statement of a text, made once.
  package func statement(sql: String) throws -> PreparedStatement {
    if let statement = known[sql] { return statement }
    let made = try PreparedStatement(
      sql: sql, db: connection, isUTF16: isUTF16, inserts: inserts)
    known[sql] = made
    return made
  }

  /// Ends them all; a connection closes only without any.
  package func close() {
    inserts.end()
    for statement in known.values { statement.close() }
    known = [:]
  }
}
