import GRDB
package import Schema
package import StoreFormat

/// Something in a store's schema that its model knows nothing of.
package struct ExtraEntry: Hashable, Codable, Sendable {
  /// What it is.
  package enum Kind: String, Hashable, Codable, Sendable {
    /// A table of the app's own, with rows.
    case table
    /// A virtual table, whose contents depend on its module.
    case virtualTable
    /// A column of one of the model's tables, with values; its name is `TABLE.COLUMN`.
    case column
    /// A generated column of one of the model's tables; its name is `TABLE.COLUMN`.
    case generatedColumn
    /// A view.
    case view
    /// A trigger.
    case trigger
    /// An index of one of the model's tables that Core Data does not make.
    case index
  }

  /// A name that a migration gives to something else.
  package struct Conflict: Hashable, Codable, Sendable {
    /// An index of the table that has the name; nil if the table itself has it.
    package var index: String?
    /// The entity that the new store needs the name for.
    package var entity: String
  }

  /// What it is.
  package var kind: Kind
  /// Its name.
  package var name: String
  /// The rows of a table, or the values of a column; 0 for anything else.
  package var rows: Int64
  /// The column of a table that may hold entity numbers, which a migration changes; nil for none.
  package var numberColumn: String?
  /// The name that keeps the table from being copied; nil for none.
  package var conflict: Conflict?

  /// Whether its rows can be copied as they are.
  package var isCopied: Bool { kind == .table && numberColumn == nil && conflict == nil }

  /// Finds what a store has besides the tables of its model: tables that hold rows, generated
  /// columns, views, triggers and indexes.
  ///
  /// - Parameter schema: the tables that the store has of its model, and the triggers that it may
  ///   have.
  package static func all(
    of tables: [String], besides schema: StoreSchema, catalog: Catalog, reader: StoreReader
  ) throws(StoreError) -> [ExtraEntry] {
    let known = Set(schema.triggers)
    let unknown = Set(catalog.triggers.filter { !known.contains($0) }.map(\.name))
    let own = Set(schema.keyedTables.map(\.name) + schema.joinTables.map(\.name))
    var result: [ExtraEntry] = []
    for entry in try entries(reader) {
      switch entry.type {
      case "view": result.append(.init(kind: .view, name: entry.name, rows: 0))
      case "trigger" where unknown.contains(entry.name):
        result.append(.init(kind: .trigger, name: entry.name, rows: 0))
      case "index"
      where own.contains(entry.table)
        && !Index.mayBeOfCoreData(named: entry.name, table: entry.table):
        result.append(.init(kind: .index, name: entry.name, rows: 0))
      case "table" where own.contains(entry.name) && entry.mayGenerate:
        result += try generatedColumns(of: entry.name, reader)
      case "table" where tables.contains(entry.name):
        if catalog.virtualTables.keys.contains(where: { entry.name.hasPrefix("\($0)_") }) {
          continue
        }
        if let found = try table(entry.name, catalog, reader) {
          result.append(found)
        }
      default: continue
      }
    }
    return result
  }

  /// An entry of SQLite's schema, other than the indexes that SQLite makes by itself.
  private struct Listed {
    var type, name, table: String
    /// Whether a table may have generated columns: no table of Core Data's has inner parentheses.
    var mayGenerate: Bool
  }

  private static func entries(_ reader: StoreReader) throws(StoreError) -> [Listed] {
    try reader.connection.run { db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT type, name, tbl_name, type = 'table' AND sql LIKE '%(%AS%(%' FROM sqlite_schema
          WHERE type <> 'index' OR sql IS NOT NULL ORDER BY rowid
          """
      ).compactMap { row in
        guard let type = String.fromDatabaseValue(row[0]),
          let name = String.fromDatabaseValue(row[1]),
          let table = String.fromDatabaseValue(row[2])
        else { return nil }
        return Listed(
          type: type, name: name, table: table, mayGenerate: Bool.fromDatabaseValue(row[3]) ?? false
        )
      }
    }
  }

  private static func generatedColumns(
    of table: String, _ reader: StoreReader
  ) throws(StoreError) -> [ExtraEntry] {
    try reader.connection.run { db in
      try String.fetchAll(
        db, sql: "SELECT name FROM pragma_table_xinfo(?) WHERE hidden IN (2, 3)",
        arguments: [table])
    }.map { .init(kind: .generatedColumn, name: "\(table).\($0)", rows: 0) }
  }

  /// Names the copied ones among some that have a name, or an index with one, that new stores need.
  ///
  /// - Parameter needs: the names that new stores need, folded, with the entity of each.
  package static func conflicting(
    _ entries: [ExtraEntry], with needs: [FoldedName: String], reader: StoreReader
  ) throws(StoreError) -> [ExtraEntry] {
    let copied = entries.filter(\.isCopied)
    if copied.isEmpty { return [] }
    let indexes = try Self.entries(reader).filter { $0.type == "index" }
    return copied.compactMap { entry in
      var found = entry
      if let entity = needs[FoldedName(entry.name)] {
        found.conflict = Conflict(index: nil, entity: entity)
      } else {
        let name = indexes.first { $0.table == entry.name && needs[FoldedName($0.name)] != nil }?
          .name
        found.conflict = name.flatMap { name in
          needs[FoldedName(name)].map { Conflict(index: name, entity: $0) }
        }
      }
      return found.conflict == nil ? nil : found
    }
  }

  /// A table with rows; nil for an empty one, which cannot lose anything.
  private static func table(
    _ name: String, _ catalog: Catalog, _ reader: StoreReader
  ) throws(StoreError) -> ExtraEntry? {
    if catalog.virtualTables[name] != nil {
      // Without its module, a virtual table cannot be read; that of R-trees is always there.
      let rows: Int64
      do throws(StoreError) {
        rows = try reader.rowCount(of: name, by: .index)
      } catch {
        rows = try shadowRows(name, catalog, reader)
      }
      return rows == 0 ? nil : .init(kind: .virtualTable, name: name, rows: rows)
    }
    let rows = try reader.rowCount(of: name, by: .rows)
    if rows == 0 { return nil }
    var found = ExtraEntry(kind: .table, name: name, rows: rows)
    found.numberColumn = catalog.tables[name]?.sorted().first(where: Catalog.mayHoldNumbers)
    return found
  }

  /// The rows of a virtual table that cannot be read: those of the table that has its contents, by
  /// the names that SQLite's full-text search gives, else of the longest of its tables.
  private static func shadowRows(
    _ name: String, _ catalog: Catalog, _ reader: StoreReader
  ) throws(StoreError) -> Int64 {
    let tables = catalog.tables.keys.filter { $0.hasPrefix("\(name)_") }
    let content = tables.filter { $0 == "\(name)_content" }
    var most: Int64 = 0
    for table in content.isEmpty ? tables : content {
      most = max(most, try reader.rowCount(of: table, by: .rows))
    }
    return most
  }

  /// Those of some columns, each as `TABLE.COLUMN`, that hold anything.
  package static func columns(
    _ names: [String], reader: StoreReader
  ) throws(StoreError) -> [ExtraEntry] {
    var result: [ExtraEntry] = []
    for name in names {
      let parts = name.split(separator: ".", maxSplits: 1).map { SQL.quoted(name: String($0)) }
      guard parts.count == 2 else { continue }
      let values = try reader.number(
        sql: "SELECT count(\(parts[1])) FROM \(parts[0]) NOT INDEXED")
      if values > 0 { result.append(.init(kind: .column, name: name, rows: values)) }
    }
    return result
  }

  private init(kind: Kind, name: String, rows: Int64) {
    (self.kind, self.name, self.rows) = (kind, name, rows)
  }
}
