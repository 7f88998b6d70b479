import GRDB
import MigrationEngine
import Planning
import SQLEngine
import Schema
import StoreFormat
import SystemCalls
import SystemPackage

/// A result that begins as a clone of the source: what stays is found under its new name in the
/// end, and what does not stay goes before anything is made.
struct SourceClone: AssemblyBase {
  let source: FilePath
  /// The names in the source of tables and indexes that stay, by those in the result.
  let names: [String: String]

  func make(_ result: FilePath) throws {
    try SourceFile.copy(source, to: result)
    let file = try Files.open(result, mode: .readWrite)
    try file.closeAfter {
      // Numbers of the app's own are not Core Data's, and nobody keeps a log of the clone.
      for (place, bytes) in [
        (HeaderField.writeVersion, [1, 1]), (HeaderField.cacheSize, [0, 0, 0, 0]),
        (HeaderField.userVersion, [0, 0, 0, 0]), (HeaderField.applicationID, [0, 0, 0, 0]),
      ] as [(Int, [UInt8])] {
        try bytes.withUnsafeBytes { try file.writeAll($0, at: Int64(place)) }
      }
    }
  }

  // MARK: What goes

  /// Drops whatever does not stay; SQLite gives the pages to the tables that are made next.
  ///
  /// - Throws: `CloneError`, where some of these pages may belong to what stays.
  func clear(_ db: Database, order: AssemblyOrder) throws {
    let kept = Set(names.values)
    try requireOwned(order.result, besides: kept, db: db)
    let rows = try Row.fetchAll(
      db,
      sql: """
        SELECT CAST(type AS TEXT), CAST(name AS TEXT), sql IS NULL FROM sqlite_schema ORDER BY rowid
        """)
    // Dropping a table drops its indexes and triggers as well.
    for type in ["trigger", "view", "index", "table"] {
      for row in rows where String.fromDatabaseValue(row[0]) == type {
        guard let name = String.fromDatabaseValue(row[1]), !kept.contains(name),
          !(type == "index" && Bool.fromDatabaseValue(row[2]) == true)
        else { continue }
        try db.execute(sql: "DROP \(type.uppercased()) IF EXISTS main.\(SQL.quoted(name: name))")
      }
    }
  }

  private func requireOwned(
    _ result: FilePath, besides kept: Set<String>, db: Database
  ) throws {
    let pages = try PageOwnership(result)
    guard try pages.ownsFreePages() else { throw CloneError() }
    let rows = try Row.fetchAll(
      db,
      sql: """
        SELECT CAST(name AS TEXT), CAST(rootpage AS INTEGER), CAST(type AS TEXT) = 'index'
        FROM sqlite_schema
        """)
    for row in rows where String.fromDatabaseValue(row[0]).map(kept.contains) != true {
      guard let root = UInt32.fromDatabaseValue(row[1]), root > 0 else { continue }
      let isIndex = Bool.fromDatabaseValue(row[2]) == true
      guard try pages.ownsTree(root: root, isIndex: isIndex) else { throw CloneError() }
    }
  }

  // MARK: What stays

  /// Lists all tables and indexes as a store has them that was made from nothing.
  func arrange(_ db: Database, order: AssemblyOrder) throws {
    let roots = try StoreWriter.roots(in: db)
    let (entries, version) = try Self.entries(of: order.schema)
    try requireStaying(order.result, roots: roots)
    try db.execute(sql: "PRAGMA writable_schema = ON")
    try db.execute(sql: "DELETE FROM sqlite_schema")
    for entry in entries {
      let (type, name, table): (String, String, String) = (entry[0], entry[1], entry[2])
      let sql: String? = entry[3]
      guard let root = roots[names[name] ?? name] else { throw AssemblyError.damaged([name]) }
      try db.execute(
        sql:
          "INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql) VALUES (?, ?, ?, ?, ?)",
        arguments: [type, name, table, root, sql])
    }
    try db.execute(sql: "PRAGMA schema_version = \(version)")
    try db.execute(sql: "PRAGMA writable_schema = RESET")
    guard entries.count == roots.count else {
      throw AssemblyError.damaged(roots.keys.sorted())
    }
  }

  /// The list of a store without objects, and how often it has changed.
  private static func entries(of schema: StoreSchema) throws -> ([Row], Int64) {
    let empty = try StoreConnection.scratch(":memory:", cacheBytes: 2 << 20)
    return try empty.run { db in
      try StoreWriter.createTables(schema, in: db)
      try StoreWriter.createIndexes(schema, in: db)
      return (
        try Row.fetchAll(
          db, sql: "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid"),
        try Int64.fetchOne(db, sql: "PRAGMA schema_version") ?? 0
      )
    }
  }

  /// Throws unless each b-tree that stays has the root that it has in the source, wherever SQLite
  /// moved it to: its kind and how many cells it has tell one from another.
  func requireStaying(_ result: FilePath, roots: [String: UInt32]) throws {
    let connection = try StoreConnection.immutable(source)
    let before = try connection.run { try StoreWriter.roots(in: $0) }
    let (old, new) = (try SourceFile(source), try SourceFile(result))
    for name in names.values {
      guard let one = before[name], let other = roots[name],
        try Self.head(old, page: one) == Self.head(new, page: other)
      else { throw AssemblyError.damaged([name]) }
    }
  }

  private static func head(_ file: SourceFile, page: UInt32) throws -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 8)
    let count = try bytes.withUnsafeMutableBytes {
      try file.read($0, at: (Int64(page) - 1) * 4096)
    }
    return Array(bytes.prefix(count))
  }
}
