/// A name of a table or an index as SQLite compares it: the case of ASCII letters does not matter.
package struct FoldedName: Hashable, Sendable {
  private let bytes: [UInt8]

  /// Folds a name.
  package init(_ name: String) {
    bytes = name.utf8.map { byte in
      UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte
    }
  }
}

extension StoreSchema {
  /// The names of all tables and indexes, each with an entity that needs it.
  package var entitiesByName: [FoldedName: String] {
    var result: [FoldedName: String] = [:]
    var roots: [String: String] = [:]
    for table in tables {
      roots[table.name] = table.rootName
      result[FoldedName(table.name)] = table.rootName
    }
    for table in joinTables {
      roots[table.name] = table.first.entityName
      // A store may have the table under either name.
      for name in [table.name, table.alternateName] {
        result[FoldedName(name)] = table.first.entityName
      }
    }
    for tree in spatialIndexes {
      for name in [tree.name] + tree.shadowTables {
        result[FoldedName(name)] = roots[tree.table] ?? tree.table
      }
    }
    for index in indexes { result[FoldedName(index.name)] = roots[index.table] ?? index.table }
    return result
  }
}

extension Index {
  /// Whether Core Data of some version may have made an index, by its name
  /// (docs/reference/store-format.md, "Indexes").
  ///
  /// - Parameter table: the table of the index.
  package static func mayBeOfCoreData(named name: String, table: String) -> Bool {
    // Photos makes some of the last form in its own stores.
    name.hasPrefix("Z_") || name.hasPrefix("\(table)_")
      || name.hasPrefix("Z") && name.hasSuffix("_INDEX")
      || name.hasPrefix("RADAR_") && name.hasSuffix("_INDEX")
  }
}
