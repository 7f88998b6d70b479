import Foundation
import GRDBSQLite
import Schema
import StoreFormat

/// Blobs that are too long to be held, and are compared in parts.
///
/// A query has NULL in their place and a last column that tells whether a row has any: for both,
/// SQLite reads no more than the header of the row.
enum LongBlobs {
  /// The most bytes of a blob that is held.
  static let mostBytes = 1 << 18
  /// Stores of fewer bytes have none that is worth it.
  static let leastStoreBytes: Int64 = 8 << 20

  /// The columns of a query as it selects them, followed by the flag.
  static func selection(_ columns: [Column], names: [String]) -> [String] {
    let tests = zip(columns, names).map { column, name in
      name != "NULL" && (column.type == .blob || column.type == .varchar) ? test(name) : nil
    }
    let values = zip(names, tests).map { name, test in
      test.map { "CASE WHEN \($0) THEN NULL ELSE \(name) END" } ?? name
    }
    let flags = tests.compactMap(\.self)
    return values + [flags.isEmpty ? "0" : flags.joined(separator: " OR ")]
  }

  /// Whether the value of a column is one.
  static func test(_ name: String) -> String {
    "(typeof(\(name)) = 'blob' AND length(\(name)) > \(mostBytes))"
  }
}

extension RawStore {
  /// Whether the value of a column in a row is a blob that is not held.
  func isLong(_ column: String, of table: String, key: Int64) throws(StoreError) -> Bool {
    try number(
      sql: "SELECT \(LongBlobs.test(SQL.identifier(name: column))) "
        + "FROM \(SQL.identifier(name: table)) WHERE Z_PK = \(key)") == 1
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
