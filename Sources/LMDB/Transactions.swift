import CLMDB
import SystemPackage

/// A named table of an environment, `MDB_dbi`.
package struct LMDBTable: Sendable {
  let handle: MDB_dbi
}

/// One state of the tables, valid during the closure that receives it.
package struct ReadTransaction: ~Copyable {
  let handle: OpaquePointer
  let path: FilePath

  /// A copy of the value, because its page belongs to the transaction; nil if the key is not there.
  ///
  /// The corresponding C function is `mdb_get`.
  package borrowing func value(
    at key: [UInt8], in table: LMDBTable
  ) throws(LMDBError) -> [UInt8]? {
    try get(key, table: table, transaction: handle, path: path)
  }

  /// Copies of all keys and values, sorted by the bytes of the keys.
  package borrowing func entries(
    of table: LMDBTable
  ) throws(LMDBError) -> [(key: [UInt8], value: [UInt8])] {
    try copyEntries(table, transaction: handle, path: path)
  }
}

/// A change of the tables, committed when the closure that receives it returns, undone if it
/// throws.
///
/// It belongs to its thread, so it can neither be copied nor cross an `await`.
package struct WriteTransaction: ~Copyable {
  let handle: OpaquePointer
  let path: FilePath

  /// A copy of the value, with the changes made so far; nil if the key is not there.
  package borrowing func value(
    at key: [UInt8], in table: LMDBTable
  ) throws(LMDBError) -> [UInt8]? {
    try get(key, table: table, transaction: handle, path: path)
  }

  /// Copies of all keys and values, with the changes made so far, sorted by the bytes of the keys.
  package borrowing func entries(
    of table: LMDBTable
  ) throws(LMDBError) -> [(key: [UInt8], value: [UInt8])] {
    try copyEntries(table, transaction: handle, path: path)
  }

  /// Sets the value of a key.
  ///
  /// The corresponding C function is `mdb_put`.
  package borrowing func put(
    _ value: [UInt8], at key: [UInt8], in table: LMDBTable
  ) throws(LMDBError) {
    let code = withValue(key) { key in
      withValue(value) { value in mdb_put(handle, table.handle, &key, &value, 0) }
    }
    try check(code, operation: .put, path: path)
  }

  /// Removes a key; returns false if it was not there.
  ///
  /// The corresponding C function is `mdb_del`.
  @discardableResult
  package borrowing func delete(
    _ key: [UInt8], in table: LMDBTable
  ) throws(LMDBError) -> Bool {
    let code = withValue(key) { mdb_del(handle, table.handle, &$0, nil) }
    if code == MDB_NOTFOUND { return false }
    try check(code, operation: .delete, path: path)
    return true
  }
}

private func get(
  _ key: [UInt8], table: LMDBTable, transaction: OpaquePointer, path: FilePath
) throws(LMDBError) -> [UInt8]? {
  var found = MDB_val()
  let code = withValue(key) { mdb_get(transaction, table.handle, &$0, &found) }
  if code == MDB_NOTFOUND { return nil }
  try check(code, operation: .get, path: path)
  return copy(found)
}

private func copyEntries(
  _ table: LMDBTable, transaction: OpaquePointer, path: FilePath
) throws(LMDBError) -> [(key: [UInt8], value: [UInt8])] {
  var cursor: OpaquePointer?
  try check(mdb_cursor_open(transaction, table.handle, &cursor), operation: .iterate, path: path)
  defer { mdb_cursor_close(cursor) }
  var entries: [(key: [UInt8], value: [UInt8])] = []
  var (key, value) = (MDB_val(), MDB_val())
  while true {
    let code = mdb_cursor_get(cursor, &key, &value, MDB_NEXT)
    if code == MDB_NOTFOUND { return entries }
    try check(code, operation: .iterate, path: path)
    entries.append((copy(key), copy(value)))
  }
}

private func copy(_ value: MDB_val) -> [UInt8] {
  [UInt8](UnsafeRawBufferPointer(start: value.mv_data, count: value.mv_size))
}

/// Passes bytes to LMDB, whose pointers are mutable though it writes to none of these.
private func withValue(_ bytes: [UInt8], body: (inout MDB_val) -> Int32) -> Int32 {
  bytes.withUnsafeBytes { bytes in
    var value = MDB_val(
      mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
    return body(&value)
  }
}
