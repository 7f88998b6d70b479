import Foundation
import GRDBSQLite
import Schema
import StoreFormat

/// Texts and blobs that are too long to be held, and are compared in parts.
enum LongValues {
  /// The most bytes of a value that is held.
  static let mostBytes = 1 << 18
  /// Stores of fewer bytes have none that is worth it.
  static let leastStoreBytes: Int64 = 8 << 20
}

/// The rows of a table in key order; of a row with a long value only the key and the entity are
/// read.
///
/// SQLite stops at such a row without reading the value, and the query begins again behind it.
final class KeyedRows {
  /// The primary key of the present row, nil where it is no integer.
  private(set) var key: Int64?
  /// The entity's number in the present row, nil where it is no integer.
  private(set) var entity: Int64?
  /// Whether the present row has a long value; `row` has no columns of it then.
  private(set) var hasLong = false
  /// The statement, at the present row.
  private(set) var row: RawStatement
  private let store: RawStore
  private let selection: String
  private let source: String
  private var keys: ClosedRange<Int64>
  private var leavesLong: Bool

  /// Takes the rows between two keys.
  ///
  /// - Parameters:
  ///   - columns: the columns as a query selects them, `Z_PK` and `Z_ENT` first.
  ///   - leavesLong: whether long values are left out.
  init(
    _ store: RawStore, table: String, columns: [String], keys: ClosedRange<Int64>,
    leavesLong: Bool
  ) throws(StoreError) {
    (self.store, self.keys, self.leavesLong) = (store, keys, leavesLong)
    selection = columns.joined(separator: ", ")
    source = "FROM \(SQL.identifier(name: table)) "
    row = try Self.rows(in: store, selection: selection, source: source, keys: keys)
  }

  private static func rows(
    in store: RawStore, selection: String, source: String, keys: ClosedRange<Int64>
  ) throws(StoreError) -> RawStatement {
    try store.prepare("SELECT \(selection) \(source)\(keys.condition(of: "Z_PK"))ORDER BY Z_PK")
  }

  /// Advances to the next row; false if there is none.
  func step() throws(StoreError) -> Bool {
    if hasLong {
      hasLong = false
      guard let key, key < keys.upperBound else { return false }
      keys = key + 1...keys.upperBound
      try restart()
    }
    guard leavesLong else { return try advance() }
    switch try row.step(longest: LongValues.mostBytes) {
    case .end: return false
    case .row:
      read()
      return true
    case .tooLong: return try stepToLong()
    }
  }

  private func advance() throws(StoreError) -> Bool {
    guard try row.step() else { return false }
    read()
    return true
  }

  private func read() {
    key = row.integer(column: 0)
    entity = row.integer(column: 1)
  }

  /// Goes to the row at which the statement has stopped.
  private func stepToLong() throws(StoreError) -> Bool {
    if let key, key >= keys.lowerBound {
      guard key < keys.upperBound else { return false }
      keys = key + 1...keys.upperBound
    }
    let next = try store.prepare(
      "SELECT Z_PK, Z_ENT \(source)\(keys.condition(of: "Z_PK"))ORDER BY Z_PK LIMIT 1")
    guard try next.step() else { return false }
    guard let found = next.integer(column: 0), try isRowNumber() else {
      // Rows that are sorted by another key are read in any order, so they are held as a whole.
      leavesLong = false
      try restart()
      return try advance()
    }
    (key, entity, hasLong) = (found, next.integer(column: 1), true)
    return true
  }

  private func restart() throws(StoreError) {
    row = try Self.rows(in: store, selection: selection, source: source, keys: keys)
  }

  /// Whether `Z_PK` is the key by which SQLite keeps the rows.
  private func isRowNumber() throws(StoreError) -> Bool {
    // SQLite sorts no rows that it keeps in this order.
    try !store.rows(sql: "EXPLAIN QUERY PLAN SELECT Z_PK, Z_ENT \(source)ORDER BY Z_PK")
      .contains { $0.contains { "\($0)".contains("TEMP B-TREE") || "\($0)".contains("INDEX") } }
  }
}

extension RawStore {
  /// The value of a column in a row, if it is a text or blob that is too long to be held.
  func longValue(_ column: String, of table: String, key: Int64) throws(StoreError) -> RawBlob? {
    let isBytes = try number(
      sql: "SELECT typeof(\(SQL.identifier(name: column))) IN ('text', 'blob') "
        + "FROM \(SQL.identifier(name: table)) WHERE Z_PK = \(key)")
    guard isBytes == 1 else { return nil }
    let value = try RawBlob(self, table: table, column: column, key: key)
    return value.bytes > LongValues.mostBytes ? value : nil
  }
}

/// A blob or text in a row, which is read in parts.
final class RawBlob {
  private let handle: OpaquePointer
  private let store: RawStore
  /// Its length in bytes.
  let bytes: Int

  /// Opens the value of a column in the row with that key.
  init(_ store: RawStore, table: String, column: String, key: Int64) throws(StoreError) {
    self.store = store
    let row = try store.number(
      sql: "SELECT rowid FROM \(SQL.identifier(name: table)) WHERE Z_PK = \(key)")
    var found: OpaquePointer?
    let code = sqlite3_blob_open(store.connection, "main", table, column, row, 0, &found)
    guard code == SQLITE_OK, let found else {
      sqlite3_blob_close(found)
      throw store.failure(code: code)
    }
    handle = found
    bytes = Int(sqlite3_blob_bytes(found))
  }

  deinit { sqlite3_blob_close(handle) }

  /// Whether another one has the same bytes.
  func isSame(as other: RawBlob) throws(StoreError) -> Bool {
    guard bytes == other.bytes else { return false }
    let size = min(bytes, 1 << 16)
    let mine = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, size), alignment: 16)
    let theirs = UnsafeMutableRawBufferPointer.allocate(byteCount: max(1, size), alignment: 16)
    defer {
      mine.deallocate()
      theirs.deallocate()
    }
    var offset = 0
    while offset < bytes {
      let count = min(size, bytes - offset)
      try read(into: mine, count: count, at: offset)
      try other.read(into: theirs, count: count, at: offset)
      guard let one = mine.baseAddress, let another = theirs.baseAddress,
        memcmp(one, another, count) == 0
      else { return false }
      offset += count
    }
    return true
  }

  private func read(
    into buffer: UnsafeMutableRawBufferPointer, count: Int, at offset: Int
  ) throws(StoreError) {
    let code = sqlite3_blob_read(handle, buffer.baseAddress, Int32(count), Int32(offset))
    guard code == SQLITE_OK else { throw store.failure(code: code) }
  }
}
