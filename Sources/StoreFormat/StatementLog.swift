package import GRDB
import SystemCalls
import SystemPackage

/// Prints SQL statements with their values, plans and times to standard error, on request.
package enum StatementLog {
  /// Prints every statement that ends on this connection, with the time it took.
  package static func attach(to db: Database) {
    db.trace(options: .profile) { event in write(event.expandedDescription) }
  }

  /// Prints SQLite's query plan for a statement.
  package static func explain(_ sql: String, in db: Database) throws {
    for row in try Row.fetchAll(db, sql: "EXPLAIN QUERY PLAN \(sql)") {
      write("  plan: \(String.fromDatabaseValue(row["detail"]) ?? "")")
    }
  }

  private static func write(_ text: String) {
    // A closed standard error must not end the migration.
    let shown = ObeyedCharacters.escaped(text, keeping: "\n")
    _ = try? FileDescriptor.standardError.writeAll(Array("sql: \(shown)\n".utf8))
  }
}
