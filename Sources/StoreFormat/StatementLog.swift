package import GRDB
import SystemPackage

/// Prints statements with their plans and times on standard error, for whoever asked for it.
package enum StatementLog {
  /// Prints every statement that ends on this connection, with the time that it took.
  package static func attach(to db: Database) {
    db.trace(options: .profile) { event in write("\(event)") }
  }

  /// Prints how SQLite would carry the statement out.
  package static func explain(_ sql: String, in db: Database) throws {
    for row in try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN \(sql)") {
      write("  plan: \(String.fromDatabaseValue(row["detail"]) ?? "")")
    }
  }

  private static func write(_ text: String) {
    // A log that nobody reads any more stops nothing.
    _ = try? FileDescriptor.standardError.writeAll(Array("sql: \(text)\n".utf8))
  }
}
