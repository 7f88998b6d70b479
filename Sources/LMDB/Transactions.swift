import CLMDB
import SystemPackage

/// A named table of an environment, `MDB_dbi`.
package struct LMDBTable: Sendable {
  let handle: MDB_dbi
}

/// A change of the tables, committed when the closure that receives it returns, undone if it
/// throws.
///
/// It belongs to its thread, so it can neither be copied nor cross an `await`.
package struct WriteTransaction: ~Copyable {
  let handle: OpaquePointer
  let path: FilePath

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

  /// The value of a key, nil if it is not there.
  ///
  /// The corresponding C function is `mdb_get`.
  package borrowing func value(
    at key: [UInt8], in table: LMDBTable
  ) throws(LMDBError) -> [UInt8]? {
    var found = MDB_val()
    let code = withValue(key) { mdb_get(handle, table.handle, &$0, &found) }
    if code == MDB_NOTFOUND { return nil }
    try check(code, operation: .get, path: path)
    return Array(UnsafeRawBufferPointer(start: found.mv_data, count: found.mv_size))
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

/// Passes bytes to LMDB, whose pointers are mutable though it writes to none of these.
private func withValue(_ bytes: [UInt8], body: (inout MDB_val) -> Int32) -> Int32 {
  bytes.withUnsafeBytes { bytes in
    var value = MDB_val(
      mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
    return body(&value)
  }
}
