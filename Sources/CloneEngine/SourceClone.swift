import GRDB
import MigrationEngine
import PageEngine
import Planning
import RowPrograms
import SQLEngine
import Schema
import StoreFormat
import StoreNames
import SystemCalls
import SystemPackage

/// A result that begins as a clone of the source, or as an edit of it: what does not stay goes
/// before anything is made, and what stays has its new name then.
struct SourceClone: AssemblyBase {
  let source: FilePath
  let trees: StayingTrees
  /// Whether changes go to pages next to the source (`PageEdit`) instead of a clone of it.
  let isEdit: Bool

  /// The names in the source of tables and indexes that stay, by those in the result.
  private var names: [String: String] { trees.names }

  var indexes: Set<String> { Set(names.keys) }

  func make(_ result: FilePath) throws {
    if isEdit {
      try PageEdit.make(of: source, at: result)
    } else {
      try SourceFile.copy(source, to: result)
    }
    // The clone has no log. A new store suggests no size of a cache.
    try SourceFile.setHeader(
      [(HeaderField.writeVersion, [1, 1]), (HeaderField.cacheSize, [0, 0, 0, 0])], of: result)
  }

  // MARK: What goes

  /// Drops whatever does not stay; SQLite gives the pages to the tables that are made next.
  ///
  /// Core Data's own tables are emptied: a root that goes has SQLite move another one to its place,
  /// which may be that of a large table, and note all below it in the map of pages.
  ///
  /// - Throws: `CloneError`, where some of these pages may belong to what stays.
  func clear(_ db: Database, order: AssemblyOrder) throws -> Set<String> {
    try requireOwned(order.result, besides: Set(names.values), db: db)
    var own: Set<String> = []
    for (name, statement) in StoreWriter.ownTables {
      let found = try String.fetchOne(
        db, sql: "SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?",
        arguments: [name])
      if found == statement { own.insert(name) }
    }
    let kept = own.union(names.values)
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
    let roots = try StoreWriter.roots(in: db)
    try requireStaying(names.values, in: order.result, roots: roots)
    let entries = try entries(of: order.schema).list
      .filter { names[$0.name] != nil || own.contains($0.name) }
    try list(entries, roots: roots, named: names, in: db)
    guard entries.count == kept.count, roots.count == kept.count else {
      throw AssemblyError.damaged(roots.keys.sorted())
    }
    for name in own { try db.execute(sql: "DELETE FROM \(name)") }
    return own
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

  /// The number of rows from which sorting keys outside SQLite is faster.
  private static let leastRows: Int64 = 100_000

  /// The indexes of large tables that stay.
  func filled(_ order: AssemblyOrder) -> [Index] {
    let rows = order.plan.staying.reduce(into: [:]) { $0[$1.table] = $1.rows }
    return order.schema.allIndexes.filter { index in
      names[index.name] == nil && rows[index.table] ?? 0 >= Self.leastRows
        && IndexFilling.covers(index, schema: order.schema)
    }
  }

  /// Fills them by the leaves of the tables.
  func fill(
    _ indexes: [Index], order: AssemblyOrder, each: (Index) throws -> Void
  ) throws -> [Index] {
    try IndexFilling(
      order.result, scratch: WorkFile.keys.path(in: order.folder), memory: order.memory
    ).fill(indexes, of: order.schema, each: each)
  }

  /// The rows that one statement updates: those that were read stay in memory.
  private static let rowsAtOnce = 20_000

  /// Changes rows where they are.
  ///
  /// - Throws: `CloneError`, where it is not known what becomes of one of them.
  func update(_ db: Database, done: (_ rows: Int64) throws -> Void) throws {
    for update in trees.updates {
      try StoreWriter.together(in: db) {
        let ranges = try db.makeStatement(sql: update.rangeQuery)
        let doubts = try db.makeStatement(sql: update.doubtQuery)
        let statement = try db.makeStatement(sql: update.statement)
        var first = Int64.min
        while let row = try Row.fetchOne(ranges, arguments: [first, Self.rowsAtOnce]),
          let from = Int64.fromDatabaseValue(row[0]), let last = Int64.fromDatabaseValue(row[1])
        {
          if try Bool.fetchOne(doubts, arguments: [from, last]) == true { throw CloneError() }
          try statement.execute(arguments: [from, last])
          try done(Int64(db.changesCount))
          if last == .max { break }
          first = last + 1
        }
      }
    }
  }

  /// Lists all tables and indexes as a store has them that was made from nothing.
  func arrange(_ db: Database, order: AssemblyOrder) throws {
    let roots = try StoreWriter.roots(in: db)
    let (entries, version) = try entries(of: order.schema)
    let staying = names.compactMap { new, old in roots[new].map { (old, $0) } }
    // A root that was written may have other cells.
    let updated = Set(order.plan.updated.map(\.source))
    try requireStaying(
      names.values.filter { !updated.contains($0) }, in: order.result,
      roots: Dictionary(staying, uniquingKeysWith: { first, _ in first }))
    // Connections that have the store open know by this number that their schema is an old one.
    let known = try Int64.fetchOne(db, sql: "PRAGMA schema_version") ?? 0
    try list(entries, roots: roots, version: isEdit ? known + 1 : version, in: db)
    guard entries.count == roots.count else {
      throw AssemblyError.damaged(roots.keys.sorted())
    }
  }

  /// A table or an index as SQLite lists it.
  private struct Entry {
    let type: String
    let name: String
    let table: String
    let sql: String?
  }

  /// Has SQLite's list be these entries and no others.
  ///
  /// - Parameter named: the names that they have so far, where they have others.
  private func list(
    _ entries: [Entry], roots: [String: UInt32], named: [String: String] = [:],
    version: Int64? = nil, in db: Database
  ) throws {
    try db.execute(sql: "PRAGMA writable_schema = ON")
    try StoreWriter.together(in: db) {
      try db.execute(sql: "DELETE FROM sqlite_schema")
      for entry in entries {
        guard let root = roots[named[entry.name] ?? entry.name] else {
          throw AssemblyError.damaged([entry.name])
        }
        try db.execute(
          sql: """
            INSERT INTO sqlite_schema (type, name, tbl_name, rootpage, sql) VALUES (?, ?, ?, ?, ?)
            """,
          arguments: [entry.type, entry.name, entry.table, root, entry.sql])
      }
    }
    if let version { try db.execute(sql: "PRAGMA schema_version = \(version)") }
    try db.execute(sql: "PRAGMA writable_schema = RESET")
  }

  /// The list of a store without objects, and how often it has changed.
  private func entries(of schema: StoreSchema) throws -> (list: [Entry], version: Int64) {
    let empty = try StoreConnection.scratch(":memory:", cacheBytes: 2 << 20)
    return try empty.run { db in
      try StoreWriter.createTables(schema, in: db)
      try StoreWriter.createIndexes(schema, in: db)
      let rows = try Row.fetchAll(
        db, sql: "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid")
      let list = rows.map { row in
        let entry = Entry(type: row[0], name: row[1], table: row[2], sql: row[3])
        guard entry.type == "table", let statement = statement(of: entry.name, in: schema) else {
          return entry
        }
        return Entry(type: entry.type, name: entry.name, table: entry.table, sql: statement)
      }
      return (list, try Int64.fetchOne(db, sql: "PRAGMA schema_version") ?? 0)
    }
  }

  /// The statement of a table that has its columns in an order of its own.
  private func statement(of name: String, in schema: StoreSchema) -> String? {
    guard let order = trees.orders[name], var table = schema.keyedTable(named: name)
    else { return nil }
    table.columns = order.compactMap { name in table.columns.first { $0.name == name } }
    return table.createStatement
  }

  /// Throws unless each b-tree that stays has the root that it has in the source, wherever SQLite
  /// moved it to: its kind and number of cells identify it.
  func requireStaying(
    _ names: some Sequence<String>, in result: FilePath, roots: [String: UInt32]
  ) throws {
    let connection = try StoreConnection.immutable(source)
    let before = try connection.run { try StoreWriter.roots(in: $0) }
    let (old, new) = (try SourceFile(source), try SourceFile(result))
    for name in names {
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
