import ObjectModel

/// The tables of a real store and the columns of each, as SQLite lists them.
package struct Catalog: Hashable, Sendable {
  /// The column names of each table, by its name.
  package var tables: [String: Set<String>]
  /// The statements of virtual tables, by their names.
  package var virtualTables: [String: String]
  /// The triggers, in the order of the store.
  package var triggers: [Trigger]
  /// The tables whose entity numbers are texts, as the type of their column has it.
  package var textNumbered: Set<String> = []
  /// The tables declared WITHOUT ROWID.
  package var withoutRowNumbers: Set<String> = []

  /// Takes what `sqlite_schema` and `table_info` list.
  package init(
    tables: [String: Set<String>], virtualTables: [String: String] = [:], triggers: [Trigger] = []
  ) {
    self.tables = tables
    self.virtualTables = virtualTables
    self.triggers = triggers
  }

  /// Whether a column is named like those in which Core Data keeps entity numbers.
  package static func mayHoldNumbers(_ column: String) -> Bool {
    let name = column.uppercased()
    return name == "Z_ENT" || name.hasPrefix("ZENT")
      || name.hasPrefix("Z") && name.dropFirst().first?.isNumber == true
  }
}

/// How a real store differs from the schema of its model.
package struct SchemaDifferences: Hashable, Sendable {
  /// Tables that the model requires.
  package var missingTables: [String] = []
  /// Columns that the model requires and without which the table cannot be read.
  package var missingColumns: [String] = []
  /// Tables that the model knows nothing of.
  package var extraTables: [String] = []
  /// Tables of CloudKit mirroring, which are no extra ones.
  package var mirroringTables: [String] = []
  /// Columns that the model knows nothing of, as `table.column`.
  package var extraColumns: [String] = []

  /// Tables that no model has: unknown ones, and those of mirroring.
  package var unmodelledTables: [String] { extraTables + mirroringTables }

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
    resolved.spatialIndexes.removeAll { catalog.virtualTables[$0.name] != $0.createStatement }
    resolved.takeTriggers(of: catalog)
    let known = Set(
      resolved.keyedTables.map(\.name) + resolved.joinTables.map(\.name)
        + resolved.treeTables)
    let others = catalog.tables.keys.filter {
      !known.contains($0) && !Self.ownTables.contains($0) && !$0.hasPrefix("sqlite_")
    }.sorted()
    differences.extraTables = others.filter { !MirroringTables.contains($0) }
    differences.mirroringTables = others.filter(MirroringTables.contains)
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
  /// Takes the forms of the store's own triggers; those of open derivations as they are.
  private mutating func takeTriggers(of catalog: Catalog) {
    let found = Set(catalog.triggers)
    derived = derived.map { attribute in
      var other = attribute
      other.namesNumbers = true
      let isNamed = other.triggers != attribute.triggers && found.isSuperset(of: other.triggers)
      return isNamed ? other : attribute
    }
    keptTriggers = catalog.triggers.filter { trigger in
      openDerivations.contains { $0.isKept(by: trigger) }
    }
  }

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

extension StoreSchema {
  /// The derived attributes whose columns are among those missing from a store.
  package func derivedAttributes(missingBy differences: SchemaDifferences) -> [String] {
    let missing = Set(differences.missingColumns)
    if missing.isEmpty { return [] }
    return tables.flatMap { table in
      table.columns.compactMap { column in
        guard missing.contains("\(table.name).\(column.name)"),
          case .attribute(let entity, let name) = column.role,
          model.entity(name: entity)?.attributes.first(where: { $0.name == name })?.derivation
            != nil
        else { return nil }
        return "\(entity).\(name)"
      }
    }
  }
}
