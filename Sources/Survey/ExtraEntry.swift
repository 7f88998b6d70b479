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
    /// A view.
    case view
    /// A trigger.
    case trigger
  }

  /// What it is.
  package var kind: Kind
  /// Its name.
  package var name: String
  /// The rows of a table, or the values of a column; 0 for anything else.
  package var rows: Int64
  /// The column of a table that may hold entity numbers, which a migration changes; nil for none.
  package var numberColumn: String?

  /// Whether its rows can be copied as they are.
  package var isCopied: Bool { kind == .table && numberColumn == nil }

  /// Finds what a store has besides the tables of its model: tables that hold rows, views and
  /// triggers.
  ///
  /// - Parameter schema: the tables that the store has of its model, and the triggers that it may
  ///   have.
  package static func all(
    of tables: [String], besides schema: StoreSchema, catalog: Catalog, reader: StoreReader
  ) throws(StoreError) -> [ExtraEntry] {
    let entries = try reader.connection.run { db in
      try Row.fetchAll(
        db, sql: "SELECT type, name FROM sqlite_schema WHERE type <> 'index' ORDER BY rowid"
      ).compactMap { row -> (type: String, name: String)? in
        guard let type = String.fromDatabaseValue(row[0]),
          let name = String.fromDatabaseValue(row[1])
        else { return nil }
        return (type, name)
      }
    }
    let known = Set(schema.triggers)
    let unknown = Set(catalog.triggers.filter { !known.contains($0) }.map(\.name))
    var result: [ExtraEntry] = []
    for entry in entries {
      switch entry.type {
      case "view": result.append(.init(kind: .view, name: entry.name, rows: 0))
      case "trigger" where unknown.contains(entry.name):
        result.append(.init(kind: .trigger, name: entry.name, rows: 0))
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
