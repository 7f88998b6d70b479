import Foundation
package import GRDB
package import SystemPackage

/// What a store holds, as text in an order that does not depend on how it came to be.
package enum StoreDump {
  /// The tables of entities and joins, and the maxima; NULLs are left out.
  package static func text(of store: FilePath) throws -> String {
    var configuration = Configuration()
    configuration.readonly = true
    let queue = try DatabaseQueue(
      path: "file:\(store)?immutable=1", configuration: configuration)
    return try queue.read { try text(of: $0) }
  }

  private static func text(of db: Database) throws -> String {
    let tables = try String.fetchAll(
      db,
      sql: """
        SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'Z%'
        AND name NOT IN ('Z_METADATA', 'Z_MODELCACHE') ORDER BY name
        """)
    return try tables.map { table in
      let rows = try Row.fetchAll(db, sql: "SELECT * FROM \"\(table)\"").map(line).sorted {
        $0.localizedStandardCompare($1) == .orderedAscending
      }
      return ([table] + rows.map { "  \($0)" }).joined(separator: "\n")
    }.joined(separator: "\n") + "\n"
  }

  private static func line(_ row: Row) -> String {
    row.filter { !$0.1.isNull }.map { "\($0.0)=\(text(of: $0.1))" }.joined(separator: " ")
  }

  package static func text(of value: DatabaseValue) -> String {
    switch value.storage {
    case .null: return "NULL"
    case .int64(let number): return "\(number)"
    case .double(let number): return "\(number)"
    case .string(let text): return "'\(text)'"
    case .blob(let data):
      let digits = data.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
      return "x'\(digits.joined())'"
    }
  }
}
