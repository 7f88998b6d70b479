import Schema
import StoreFormat

/// Compares tables, columns, indexes and triggers with those that the model requires.
extension VerificationRun {
  /// The columns of Core Data's own tables.
  static let ownTables: [String: [RawCatalog.TableColumn]] = [
    "Z_PRIMARYKEY": [
      .init(name: "Z_ENT", type: "INTEGER", keyPlace: 1),
      .init(name: "Z_NAME", type: "VARCHAR", keyPlace: 0),
      .init(name: "Z_SUPER", type: "INTEGER", keyPlace: 0),
      .init(name: "Z_MAX", type: "INTEGER", keyPlace: 0),
    ],
    "Z_METADATA": [
      .init(name: "Z_VERSION", type: "INTEGER", keyPlace: 1),
      .init(name: "Z_UUID", type: "VARCHAR(255)", keyPlace: 0),
      .init(name: "Z_PLIST", type: "BLOB", keyPlace: 0),
    ],
    "Z_MODELCACHE": [.init(name: "Z_CONTENT", type: "BLOB", keyPlace: 0)],
  ]

  func compareSchema(_ found: FoundSchema, from source: StoreSchema) throws {
    var wanted = Self.ownTables
    for table in found.schema.keyedTables {
      wanted[table.name] = table.columns.map {
        .init(
          name: $0.name, type: $0.type.rawValue, keyPlace: $0.role == .primaryKey ? 1 : 0)
      }
    }
    for (_, join) in found.joins {
      let keys = join.keyColumns(in: catalog)
      wanted[join.name] = join.columnNames.map { name in
        .init(
          name: name, type: "INTEGER",
          keyPlace: Int64(keys.firstIndex(of: name).map { $0 + 1 } ?? 0))
      }
    }
    let missing = found.missing + Self.ownTables.keys.filter { !catalog.hasTable($0) }
    for name in missing.sorted() { note(.init(.tableMissing, table: name)) }
    let trees = Set(found.schema.treeTables)
    for entry in catalog.entries(type: "table") {
      if let columns = wanted[entry.name] {
        compareForm(entry, wanted: columns)
      } else if !keptTables.contains(entry.name), !trees.contains(entry.name),
        entry.name != Self.sequences || keptTables.isEmpty
      {
        note(.init(.tableExtra, table: entry.name))
      }
    }
    compareTriggers(found.schema, from: source)
    for entry in catalog.entries(type: "view") {
      note(.init(.view, column: entry.name, actual: entry.sql))
    }
    try compareIndexes(found)
  }

  /// Keywords that Core Data's tables never have.
  private static let foreignWords = [
    "WITHOUT", "STRICT", "CHECK", "DEFAULT", "NOT NULL", "COLLATE", "REFERENCES", "GENERATED",
    "UNIQUE", "VIRTUAL", "AUTOINCREMENT",
  ]

  private func compareForm(
    _ entry: RawCatalog.Entry, wanted: [RawCatalog.TableColumn]
  ) {
    let found = catalog.columns[entry.name] ?? []
    for column in wanted {
      guard let actual = found.first(where: { $0.name == column.name }) else {
        note(.init(.columnMissing, table: entry.name, column: column.name))
        continue
      }
      if actual.type != column.type {
        note(
          .init(
            .columnType, table: entry.name, column: column.name, expected: column.type,
            actual: actual.type))
      }
      if actual.keyPlace != column.keyPlace {
        note(
          .init(
            .tableForm, table: entry.name, column: column.name,
            expected: "place \(column.keyPlace) in the primary key",
            actual: "place \(actual.keyPlace)"))
      }
    }
    for column in found where !wanted.contains(where: { $0.name == column.name }) {
      note(.init(.columnExtra, table: entry.name, column: column.name))
    }
    let words = Self.outsideNames(entry.sql ?? "")
    if let word = Self.foreignWords.first(where: words.contains) {
      note(.init(.tableForm, table: entry.name, expected: "no \(word)", actual: entry.sql))
    }
  }

  /// The words of a statement outside of quoted names, separated by spaces.
  private static func outsideNames(_ sql: String) -> String {
    var result = ""
    var quote: Character?
    for character in sql {
      if let open = quote {
        if character == open { quote = nil }
      } else if character == "\"" || character == "'" || character == "`" {
        quote = character
      } else {
        result.append(character)
      }
    }
    let words = result.uppercased().split { !($0.isLetter || $0.isNumber || $0 == "_") }
    // Compare whole words; names of Core Data's columns begin with Z.
    return words.dropFirst(3).filter { !$0.hasPrefix("Z") }.joined(separator: " ")
  }

  // MARK: Indexes

  private func compareIndexes(_ found: FoundSchema) throws {
    var left = Dictionary(
      uniqueKeysWithValues: catalog.entries(type: "index").map { ($0.name, $0) })
    for index in found.indexes {
      guard let entry = left.removeValue(forKey: index.name) else {
        if index.isSaid(by: found.indexes) { continue }
        // The flag in a cache of an attribute whose index has a condition, which the cache lacks.
        if order.takesNewAtItsWord, left.values.contains(where: { $0.isConditional(index) }) {
          continue
        }
        note(
          .init(
            .indexMissing, table: index.table, column: index.name,
            expected: index.createStatement))
        continue
      }
      try compareForm(index, entry: entry)
    }
    let joins = Set(found.joins.map(\.found.name))
    for entry in before.entries(type: "index") where keptTables.contains(entry.table) {
      let other = left.removeValue(forKey: entry.name)
      guard other?.sql != entry.sql || other?.table != entry.table else { continue }
      note(
        .init(
          other == nil ? .indexMissing : .indexForm, table: entry.table, column: entry.name,
          expected: entry.sql, actual: other?.sql))
    }
    for entry in left.values.sorted(by: { $0.name < $1.name }) {
      // The primary key of a join table is an index without a statement of its own.
      if entry.sql == nil, joins.contains(entry.table),
        entry.name == "sqlite_autoindex_\(entry.table)_1"
      {
        continue
      }
      if order.takesNewAtItsWord, let sql = entry.sql, Self.condition(sql: sql) != nil {
        report.remark(
          "index \(entry.name) has a condition, which the model in the store does not tell: name "
            + "the model to compare it")
        continue
      }
      note(.init(.indexExtra, table: entry.table, column: entry.name, actual: entry.sql))
    }
  }

  private func compareForm(_ index: Index, entry: RawCatalog.Entry) throws {
    let parts = try new.rows(
      sql: "SELECT name, desc, coll FROM pragma_index_xinfo(?) WHERE key = 1 ORDER BY seqno",
      bindings: [.text(entry.name)]
    ).map { row in
      "\(row[0]) \(row[1] == .integer(0) ? "ASC" : "DESC") \(row[2])"
    }
    let wanted = index.parts.map { part in
      "\(RawValue.text(part.column)) \(part.isAscending ? "ASC" : "DESC") "
        + "\(RawValue.text("BINARY"))"
    }
    let isUnique =
      try new.rows(
        sql: "SELECT \"unique\" FROM pragma_index_list(?) WHERE name = ?",
        bindings: [.text(entry.table), .text(entry.name)]
      ).first?.first == .integer(1)
    let condition = Self.condition(sql: entry.sql ?? "")
    guard
      entry.table == index.table, parts == wanted, isUnique == index.isUnique,
      condition == index.condition.map(Self.squeezed)
    else {
      note(
        .init(
          .indexForm, table: index.table, column: index.name, expected: index.createStatement,
          actual: entry.sql))
      return
    }
  }

  /// The condition of a partial index, which follows the list of columns.
  fileprivate static func condition(sql: String) -> String? {
    let squeezed = squeezed(sql)
    // The condition begins after the first list in parentheses, in which none nest.
    guard let end = squeezed.firstIndex(of: ")") else { return nil }
    let rest = squeezed[squeezed.index(after: end)...].drop { $0 == " " }
    guard rest.lowercased().hasPrefix("where ") else { return rest.isEmpty ? nil : String(rest) }
    return String(rest.dropFirst("where ".count))
  }

  private static func squeezed(_ sql: String) -> String {
    sql.split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }
}

extension RawCatalog.Entry {
  /// Whether it is an index with a condition over the one column of another index.
  fileprivate func isConditional(_ index: Index) -> Bool {
    guard table == index.table, index.parts.count == 1, let sql,
      VerificationRun.condition(sql: sql) != nil
    else { return false }
    return sql.contains(index.parts[0].column)
  }
}

extension Index {
  /// Whether another index covers the same properties: archives of models list an index of several
  /// properties twice, once in an older form without directions.
  fileprivate func isSaid(by others: [Index]) -> Bool {
    !isUnique && condition == nil && parts.count > 1 && parts.allSatisfy(\.isAscending)
      && others.contains { other in
        other.name != name && other.table == table && other.isExplicit
          && other.parts.map(\.column) == parts.map(\.column)
      }
  }
}
