/// The tables of a real store and the columns of each, as SQLite lists them.
package struct Catalog: Hashable, Sendable {
  /// The column names of each table, by its name.
  package var tables: [String: Set<String>]

  /// Takes what `sqlite_schema` and `table_info` list.
  package init(tables: [String: Set<String>]) { self.tables = tables }
}

/// How a real store differs from the schema of its model.
package struct SchemaDifferences: Hashable, Sendable {
  /// Tables that the model asks for.
  package var missingTables: [String] = []
  /// Columns that the model asks for, without which the table cannot be read.
  package var missingColumns: [String] = []
  /// Tables that the model knows nothing of.
  package var extraTables: [String] = []
  /// Columns that the model knows nothing of, as `table.column`.
  package var extraColumns: [String] = []

  /// Makes no differences.
  package init() {}
}

extension StoreSchema {
  /// The schema with the names that the store really uses, and how far the two differ.
  package func resolved(in catalog: Catalog) -> (schema: StoreSchema, SchemaDifferences) {
    var resolved = self
    var differences = SchemaDifferences()
    resolved.tables = tables.filter { table in
      guard let columns = catalog.tables[table.name] else {
        differences.missingTables.append(table.name)
        return false
      }
      compare(table.columns.map(\.name), with: columns, of: table.name, differences: &differences)
      return true
    }
    resolved.joinTables = joinTables.compactMap { table in
      guard let found = self.found(table, in: catalog) else {
        differences.missingTables.append(table.name)
        return nil
      }
      compare(
        found.columnNames, with: catalog.tables[found.name] ?? [], of: found.name,
        differences: &differences)
      return found
    }
    resolved.history = HistoryTables(in: catalog)
    let known = Set(resolved.keyedTables.map(\.name) + resolved.joinTables.map(\.name))
    differences.extraTables = catalog.tables.keys.filter {
      !known.contains($0) && !Self.ownTables.contains($0) && !$0.hasPrefix("sqlite_")
    }.sorted()
    return (resolved, differences)
  }

  private func compare(
    _ wanted: [String], with columns: Set<String>, of table: String,
    differences: inout SchemaDifferences
  ) {
    differences.missingColumns += wanted.filter { !columns.contains($0) }.map { "\(table).\($0)" }
    differences.extraColumns += columns.subtracting(wanted).sorted().map { "\(table).\($0)" }
  }

  /// The tables that every store has besides those of its entities.
  private static let ownTables: Set<String> = ["Z_PRIMARYKEY", "Z_METADATA", "Z_MODELCACHE"]
}

extension StoreSchema {
  /// The table under whichever of its two names a store has it, with the store's own columns.
  fileprivate func found(_ table: JoinTable, in catalog: Catalog) -> JoinTable? {
    for name in [table.name, table.alternateName] {
      guard let columns = catalog.tables[name] else { continue }
      var found = table
      found.name = name
      if columns.contains(table.first.keyColumn), columns.contains(table.second.keyColumn) {
        return found
      }
      if let other = renumbered(found, columns: columns) { return other }
    }
    return nil
  }
}
