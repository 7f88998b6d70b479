package import GRDB
import GRDBSQLite
import Synchronization

/// The answers to questions about the schema of a database, which all databases of the same schema
/// share.
///
/// To prepare a statement about the schema takes longer than to read the rows of a small store.
package final class SchemaFacts: Sendable {
  private let answers = Mutex<[String: any Sendable]>([:])

  private static let known = Mutex<[[UInt8]: SchemaFacts]>([:])
  /// The schemas that are kept; a fleet has one per version and order of its tables.
  private static let capacity = 64

  /// The facts of a database whose schema equals that of others to the byte, root pages included.
  ///
  /// - Parameter name: the name under which the database is attached.
  /// - Throws: `DatabaseError`.
  package static func of(_ name: String = "main", in db: Database) throws -> SchemaFacts {
    let schema = try contents(of: name, in: db)
    return known.withLock { known in
      if let facts = known[schema] { return facts }
      if known.count >= capacity { known = [:] }
      let made = SchemaFacts()
      known[schema] = made
      return made
    }
  }

  /// The bytes of all rows of `sqlite_schema`, with their types and lengths.
  private static func contents(of name: String, in db: Database) throws -> [UInt8] {
    let statement = try db.makeStatement(
      sql: "SELECT type, name, tbl_name, rootpage, sql FROM \(name).sqlite_schema")
    let rows = RawStatement(statement)
    defer { rows.reset() }
    var bytes: [UInt8] = []
    while try rows.step() {
      for column in Int32(0)..<5 {
        bytes.append(UInt8(truncatingIfNeeded: sqlite3_column_type(rows.handle, column)))
        let start = sqlite3_column_blob(rows.handle, column)
        let value = UnsafeRawBufferPointer(
          start: start, count: Int(sqlite3_column_bytes(rows.handle, column)))
        withUnsafeBytes(of: value.count) { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: value)
      }
    }
    return bytes
  }

  /// The answer to a question; `find` finds it for the first database of a schema.
  package func answer<Answer: Sendable>(
    _ question: String, find: () throws -> Answer
  ) rethrows -> Answer {
    // In two steps: cast to an optional type, an answer that is missing is one that is nil.
    if let known = answers.withLock({ $0[question] }), let answer = known as? Answer {
      return answer
    }
    let found = try find()
    answers.withLock { _ = $0.updateValue(found, forKey: question) }
    return found
  }
}
