package import GRDB
package import GRDBSQLite

/// A prepared statement of SQLite whose rows are read in place, without objects for their values.
///
/// The maker of the statement finalizes it.
package struct RawStatement {
  /// SQLite's own object, which is valid as long as its maker keeps it.
  package let handle: OpaquePointer

  /// `SQLITE_TRANSIENT`: SQLite copies the bytes that it is given.
  ///
  /// Swift does not import it. The cast is safe: SQLite compares this pointer and never calls it.
  package static var copiesBytes: sqlite3_destructor_type {
    unsafeBitCast(-1, to: sqlite3_destructor_type.self)
  }

  /// Takes a statement of SQLite's.
  package init(_ handle: OpaquePointer) { self.handle = handle }

  /// Takes a statement of GRDB's, which has to outlive this one.
  package init(_ statement: Statement) { self.init(statement.sqliteStatement) }

  /// Goes to the next row; false after the last one.
  ///
  /// - Throws: `DatabaseError`; the statement is then to be reset.
  package func step() throws -> Bool {
    let code = sqlite3_step(handle)
    if code == SQLITE_ROW { return true }
    guard code != SQLITE_DONE else { return false }
    throw DatabaseError(
      resultCode: ResultCode(rawValue: code),
      message: sqlite3_db_handle(handle).flatMap { sqlite3_errmsg($0) }.map { String(cString: $0) },
      sql: sqlite3_sql(handle).map { String(cString: $0) })
  }

  /// Begins again.
  package func reset() { sqlite3_reset(handle) }
}
