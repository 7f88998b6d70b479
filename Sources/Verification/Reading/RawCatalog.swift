import Schema
import StoreFormat

/// The entries of a store's `sqlite_schema`, and the columns of its tables.
struct RawCatalog {
  struct Entry: Hashable {
    var type: String
    var name: String
    var table: String
    var sql: String?
  }

  struct TableColumn: Hashable {
    var name: String
    var type: String
    /// The position in the primary key from 1, 0 if the column is not part of it.
    var keyPlace: Int64
  }

  private(set) var entries: [Entry] = []
  private(set) var columns: [String: [TableColumn]] = [:]

  init(_ store: RawStore) throws(StoreError) {
    entries = try store.rows(
      sql: "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"
    ).map {
      Entry(
        type: Self.text(value: $0[0]) ?? "", name: Self.text(value: $0[1]) ?? "",
        table: Self.text(value: $0[2]) ?? "",
        sql: Self.text(value: $0[3]))
    }
    for entry in entries where entry.type == "table" {
      do throws(StoreError) {
        columns[entry.name] = try Self.columns(of: entry.name, in: store)
      } catch {
        // Without the module that an app registers, the columns are not known.
        guard Self.isVirtual(entry) else { throw error }
        columns[entry.name] = []
      }
    }
  }

  private static func columns(
    of table: String, in store: RawStore
  ) throws(StoreError) -> [TableColumn] {
    try store.rows(
      sql: "SELECT name, type, pk FROM pragma_table_xinfo(?, 'main')", bindings: [.text(table)]
    ).map {
      TableColumn(
        name: text(value: $0[0]) ?? "", type: text(value: $0[1]) ?? "",
        keyPlace: $0[2].integer ?? 0)
    }
  }

  private static func isVirtual(_ entry: Entry) -> Bool {
    entry.sql?.uppercased().hasPrefix("CREATE VIRTUAL") ?? false
  }

  private static func text(value: RawValue) -> String? {
    if case .text(let bytes) = value { String(decoding: bytes, as: UTF8.self) } else { nil }
  }

  func entries(type: String) -> [Entry] { entries.filter { $0.type == type } }

  /// The statement that made a table; nil if there is none.
  func statement(ofTable name: String) -> String? {
    entries.first { $0.type == "table" && $0.name == name }?.sql
  }

  func hasTable(_ name: String) -> Bool { columns[name] != nil }

  func hasColumn(_ column: String, in table: String) -> Bool {
    columns[table]?.contains { $0.name == column } ?? false
  }

  /// The names of columns, by table.
  var names: Catalog {
    let virtual = entries.filter(Self.isVirtual)
    return Catalog(
      tables: columns.mapValues { Set($0.map(\.name)) },
      virtualTables: Dictionary(
        virtual.map { ($0.name, $0.sql ?? "") }, uniquingKeysWith: { first, _ in first }),
      triggers: entries(type: "trigger").map {
        Trigger(name: $0.name, table: $0.table, statement: $0.sql ?? "")
      })
  }
}

/// The tables of a schema under the names that they have in the store.
struct FoundSchema {
  var schema: StoreSchema
  /// The tables that exist.
  var tables: [EntityTable] = []
  var missing: [String] = []
  /// The join tables that exist, under the names of the schema and of the store.
  var joins: [(canonical: JoinTable, found: JoinTable)] = []
  /// The indexes, with those of join tables under the names in the store.
  var indexes: [Index] = []
}

extension StoreSchema {
  func found(in catalog: RawCatalog) -> FoundSchema {
    var found = FoundSchema(schema: self)
    let (resolved, _) = resolved(in: catalog.names)
    for table in tables {
      if catalog.hasTable(table.name) {
        found.tables.append(table)
      } else {
        found.missing.append(table.name)
      }
    }
    var renamed: [String: JoinTable] = [:]
    for join in joinTables {
      if let there = resolved.joinTables.first(where: { $0.isOf(join) }) {
        found.joins.append((join, there))
        renamed[join.name] = there
      } else if catalog.hasTable(join.name) {
        found.joins.append((join, join))
      } else {
        found.missing.append(join.name)
      }
    }
    found.missing += (history?.tables ?? []).map(\.name).filter { !catalog.hasTable($0) }
    found.indexes = allIndexes.map { index in
      guard let join = renamed[index.table] else { return index }
      let keys = join.keyColumns(in: catalog)
      return Index(
        name: "\(join.name)_\(keys[1])_INDEX", table: join.name,
        parts: [.init(column: keys[1]), .init(column: keys[0])])
    }
    return found
  }
}

extension JoinTable {
  /// The two columns of the primary key in its order.
  ///
  /// Of an entity joined with itself either order occurs: the relationship that names the table
  /// has the second column when the table is made, and Apple's renaming of a table leaves it.
  func keyColumns(in catalog: RawCatalog) -> [String] {
    let keys = [first.keyColumn, second.keyColumn]
    let isReversed =
      joinsItself
      && catalog.columns[name]?.contains { $0.name == keys[1] && $0.keyPlace == 1 } == true
    return isReversed ? keys.reversed() : keys
  }

  /// Whether both belong to the same pair of relationships.
  func isOf(_ other: JoinTable) -> Bool {
    first.entityName == other.first.entityName
      && first.relationshipName == other.first.relationshipName
      && second.entityName == other.second.entityName
      && second.relationshipName == other.second.relationshipName
  }
}
