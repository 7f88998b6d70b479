package import ObjectModel

/// The tables of persistent history: which objects changed, how, and in which transaction.
///
/// They belong to no entity of the model; their rows have entity numbers above all of a model's.
/// Columns, indexes and numbers are those of docs/reference/store-format.md, "Persistent history".
package struct HistoryTables: Hashable, Sendable {
  /// The columns `ZTOMBSTONE0` and up, which keep preserved values of deleted objects.
  package var tombstones: Int

  /// Takes the number of tombstone columns.
  package init(tombstones: Int) { self.tombstones = tombstones }

  /// The changes: one row for each object and transaction.
  package static let changes = "ACHANGE"
  /// The transactions.
  package static let transactions = "ATRANSACTION"
  /// The names of authors, contexts and processes, which transactions refer to.
  package static let strings = "ATRANSACTIONSTRING"
  /// All three, in the order of a store.
  package static let names = [changes, transactions, strings]

  /// The entity number in the rows of a history table, and the name next to it in `Z_PRIMARYKEY`.
  package static func entity(ofTable name: String) -> (number: EntityNumber, name: String)? {
    names.firstIndex(of: name).map { place in
      (EntityNumber(rawValue: 16_001 + Int64(place)), String(name.dropFirst()))
    }
  }

  /// The tables in the order of a store.
  package var tables: [EntityTable] {
    let preserved = (0..<tombstones).map { ("ZTOMBSTONE\($0)", DeclaredType.blob) }
    return [
      table(
        Self.changes,
        Self.changeColumns.map { ($0, .integer) } + [("ZCOLUMNS", .blob)] + preserved),
      table(
        Self.transactions,
        Self.stringColumns.map { ($0, .integer) } + [("ZTIMESTAMP", .float)]
          + Self.textColumns.map { ($0, .varchar) } + [("ZQUERYGEN", .blob)]),
      table(Self.strings, [("ZNAME", .varchar)]),
    ]
  }

  /// The columns of changes that every store has, after the first three.
  private static let changeColumns = ["ZCHANGETYPE", "ZENTITY", "ZENTITYPK", "ZTRANSACTIONID"]
  /// The columns of transactions that hold keys of strings.
  package static let stringColumns = ["ZAUTHORTS", "ZBUNDLEIDTS", "ZCONTEXTNAMETS", "ZPROCESSIDTS"]
  /// The columns of transactions that held texts before there was a table of strings.
  private static let textColumns = ["ZAUTHOR", "ZBUNDLEID", "ZCONTEXTNAME", "ZPROCESSID"]

  private func table(_ name: String, _ columns: [(String, DeclaredType)]) -> EntityTable {
    let entity = String(name.dropFirst())
    return EntityTable(
      name: name, rootName: entity, entityNames: [entity],
      columns: [.primaryKey, .entityNumber, .optimisticLock]
        + columns.map {
          Column(name: $0, type: $1, role: .attribute(entity: entity, name: $0))
        })
  }

  /// The indexes in the order of a store.
  package var indexes: [Index] {
    func key(_ table: String, _ column: String) -> Index {
      Index(name: "\(table)_\(column)_INDEX", table: table, parts: [.init(column: column)])
    }
    func fetch(_ name: String, table: String, column: String, isUnique: Bool = false) -> Index {
      var index = Index(name: name, table: table, parts: [.init(column: column)])
      (index.isExplicit, index.isUnique) = (true, isUnique)
      return index
    }
    return [key(Self.changes, "ZTRANSACTIONID")]
      + Self.stringColumns.map { key(Self.transactions, $0) }
      + [
        fetch(
          "Z_TRANSACTION_TransactionAuthorIndex", table: Self.transactions, column: "ZAUTHOR"),
        fetch(
          "Z_TRANSACTION_TransactionTimestampIndex", table: Self.transactions,
          column: "ZTIMESTAMP"),
        fetch(
          "Z_TRANSACTIONSTRING_UNIQUE_NAME", table: Self.strings, column: "ZNAME", isUnique: true),
      ]
  }
}

extension HistoryTables {
  /// The tables that a store has; nil where one is missing, or has other columns than those known.
  package init?(in catalog: Catalog) {
    guard let columns = catalog.tables[Self.changes] else { return nil }
    self.init(tombstones: columns.count { $0.hasPrefix("ZTOMBSTONE") })
    for table in tables where catalog.tables[table.name] != Set(table.columns.map(\.name)) {
      return nil
    }
  }

  /// The tables after a migration: tombstones are never fewer than before, and enough for the
  /// entity that preserves most.
  package func grown(for model: ManagedObjectModel) -> Self {
    let most = model.entities.map { Self.preserved(of: $0, in: model).count }.max() ?? 0
    return Self(tombstones: max(tombstones, most))
  }

  /// The attributes whose values outlive an object, in the order of the tombstones.
  package static func preserved(of entity: Entity, in model: ManagedObjectModel) -> [String] {
    model.allAttributes(of: entity).filter(\.preservesValueAfterDeletion).map(\.name)
      .sorted()
  }
}

extension StoreSchema {
  /// The tables whose rows have keys of their own: those of entities, and of history.
  package var keyedTables: [EntityTable] { history.map { $0.tables + tables } ?? tables }
  /// The indexes of all tables, those of history first.
  package var allIndexes: [Index] { history.map { $0.indexes + indexes } ?? indexes }
}
