package import GRDB
import GRDBSQLite

/// A prepared statement of SQLite whose rows are read in place, without objects for their values.
///
/// Whoever made the statement finalizes it.
package struct RawStatement {
  /// SQLite's own object, which is valid as long as its maker keeps it.
  package let handle: OpaquePointer
  private let sql: String

  /// Takes a statement and its text, which errors quote.
  package init(_ handle: OpaquePointer, sql: String) {
    self.handle = handle
    self.sql = sql
  }

  /// Takes a statement of GRDB's, which has to outlive this one.
  package init(_ statement: Statement) {
    self.init(statement.sqliteStatement, sql: statement.sql)
  }

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
      sql: sql)
  }

  /// Begins again.
  package func reset() { sqlite3_reset(handle) }
}
