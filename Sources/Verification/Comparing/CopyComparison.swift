import ModelFiles
import ObjectModel
import Schema
import StoreFormat

/// Compares two stores of one version, which should be copies of each other.
extension VerificationRun {
  func compareCopies() throws {
    publish("reading the schema", fraction: 0)
    beginPages()
    compareEntries()
    let kinds = try CopyKinds(model: order.copyModel, catalog: before)
    let tables = before.entries(type: "table").filter { catalog.hasTable($0.name) && !$0.isVirtual }
    expect(
      rows: tables.reduce(0) { sum, table in
        sum
          + ((try? new.number(sql: "SELECT count(*) FROM \(SQL.identifier(name: table.name))")) ?? 0)
      })
    let shown = showCopies(tables.map(\.name))
    for table in tables where table.name != "Z_METADATA" {
      try judge(table.name) {
        try compareTable(table.name, kinds: kinds, shown: shown[table.name] ?? .none)
      }
    }
    for table in before.entries(type: "table") where table.isVirtual {
      report.remark("\(table.name) is a virtual table: the tables below it were compared")
    }
    publish("comparing metadata", fraction: 0.9)
    try judge("Z_METADATA") { try compareMetadata() }
    try compareHeader()
    if let found = kinds.schema?.found(in: catalog) { try compareExternalFiles(found) }
    publish("checking pages and indexes", fraction: 0.95)
    try checkPages()
  }

  private func compareEntries() {
    struct Name: Hashable {
      var type: String
      var name: String
    }
    func byName(_ entries: [RawCatalog.Entry]) -> [Name: RawCatalog.Entry] {
      Dictionary(
        entries.map { (Name(type: $0.type, name: $0.name), $0) }, uniquingKeysWith: { $1 })
    }
    let (wanted, found) = (byName(before.entries), byName(catalog.entries))
    for entry in before.entries {
      let other = found[Name(type: entry.type, name: entry.name)]
      if other == entry { continue }
      note(
        Difference(
          entry.kind(change: other == nil ? .missing : .changed), table: entry.table,
          column: entry.name,
          expected: entry.sql, actual: other?.sql))
    }
    for entry in catalog.entries where wanted[Name(type: entry.type, name: entry.name)] == nil {
      note(
        Difference(
          entry.kind(change: .extra), table: entry.table, column: entry.name, actual: entry.sql))
    }
  }

  /// Compares tables of no model that both stores have.
  func compareKeptTables() throws {
    let kinds = try CopyKinds(model: nil, catalog: before)
    // Records of CloudKit name entity numbers, and are compared apart.
    let names = keptTables.subtracting([MirroringTables.records]).sorted()
    let shown = showCopies(names)
    for name in names {
      try judge(name) { try compareTable(name, kinds: kinds, shown: shown[name] ?? .none) }
    }
    try compareSequences()
  }

  /// The table in which SQLite keeps the highest numbers that an `AUTOINCREMENT` gave; it makes it
  /// with the first table that has one, and never removes it.
  static let sequences = "sqlite_sequence"

  /// Compares the highest numbers of tables of no model that both stores have.
  private func compareSequences() throws {
    guard before.hasTable(Self.sequences) else { return }
    let query = "SELECT name, seq FROM \(Self.sequences) ORDER BY 1"
    let found = catalog.hasTable(Self.sequences) ? try new.rows(sql: query) : []
    for row in try old.rows(sql: query) {
      guard case .text(let bytes) = row[0] else { continue }
      let name = String(decoding: bytes, as: UTF8.self)
      let other = found.first { $0[0] == row[0] }
      guard keptTables.contains(name), row != other else { continue }
      note(
        .init(
          .highestKey, table: name, column: "seq", expected: "\(row[1])",
          actual: other.map { "\($0[1])" }))
    }
  }

  /// Shows which rows of tables are copies (`RowProof`).
  private func showCopies(_ names: [String]) -> [String: RowProof.Shown] {
    guard order.readsLeaves, let proof = RowProof(old: old, new: new) else { return [:] }
    for name in names {
      guard let before = try? PlainTable(name, in: old), let after = try? PlainTable(name, in: new),
        let rules = RowRules(copy: after, of: before)
      else { continue }
      proof.add(name, rules: rules)
    }
    let results = proof.results { table, done in
      publish("comparing \(table)", fraction: 0.85 * done)
    }
    // Rows that are ordered by other keys than their numbers have no ranges.
    return results.filter { $0.value.isWhole || !proof.hasOwnKey($0.key) }
  }

  private func compareTable(
    _ name: String, kinds: CopyKinds, shown: RowProof.Shown
  ) throws {
    report.rows += shown.rows
    for keys in shown.left { try compareRows(name, kinds: kinds, numbers: keys) }
  }

  private func compareRows(
    _ name: String, kinds: CopyKinds, numbers: ClosedRange<Int64>
  ) throws {
    let columns = (before.columns[name] ?? []).filter { catalog.hasColumn($0.name, in: name) }
    let keys = columns.filter { $0.keyPlace > 0 }.sorted { $0.keyPlace < $1.keyPlace }
    let keyList = keys.isEmpty ? ["rowid"] : keys.map { SQL.identifier(name: $0.name) }
    let query = """
      SELECT \((keyList + columns.map { SQL.identifier(name: $0.name) }).joined(separator: ", ")) \
      FROM \(SQL.identifier(name: name)) \(numbers.condition(of: "rowid"))\
      ORDER BY \(keyList.joined(separator: ", "))
      """
    let (expected, actual) = (try old.prepare(query), try new.prepare(query))
    func key(row: RawStatement) -> [RawValue] { keyList.indices.map(row.value) }
    func text(key: [RawValue]) -> String { key.map { "\($0)" }.joined(separator: ", ") }
    var (left, right) = (try expected.step(), try actual.step())
    while left || right {
      count(table: name)
      let (wanted, found) = (left ? key(row: expected) : nil, right ? key(row: actual) : nil)
      if let wanted, found.map({ sorting.isAscending(wanted, $0) }) ?? true {
        note(.init(kinds.missing(table: name), table: name, key: text(key: wanted)))
        left = try expected.step()
      } else if let found, wanted.map({ sorting.isAscending(found, $0) }) ?? true {
        note(.init(kinds.extra(name), table: name, key: text(key: found)))
        right = try actual.step()
      } else {
        for (place, column) in columns.enumerated() {
          let place = place + keyList.count
          if expected.isSame(place, as: actual, otherColumn: place) { continue }
          let (value, other) = (expected.value(column: place), actual.value(column: place))
          if value == other { continue }
          note(
            Difference(
              kinds.value(table: name, column: column.name), table: name,
              key: text(key: key(row: actual)),
              column: column.name, expected: "\(value)", actual: "\(other)"))
        }
        (left, right) = (try expected.step(), try actual.step())
      }
    }
  }
}

/// The kinds of differences between copies.
private struct CopyKinds {
  let schema: StoreSchema?
  private var columns: [String: [String: Difference.Kind]] = [:]
  private var joins: Set<String> = []

  init(model: ManagedObjectModel?, catalog: RawCatalog) throws {
    // Without a schema, columns are compared as plain values.
    schema = model.flatMap { try? StoreSchema($0) }
    columns["Z_PRIMARYKEY"] = ["Z_MAX": .highestKey]
    for table in schema?.tables ?? [] {
      for column in table.columns {
        columns[table.name, default: [:]][column.name] =
          switch column.role {
          case .entityNumber: .entityNumber
          case .optimisticLock: .saveCount
          case .toOne, .owner: .reference
          case .toOneEntity: .referenceEntity
          case .toOneOrder, .ownerOrder: .order
          case .primaryKey, .attribute: .value
          }
      }
    }
    for (_, join) in schema?.found(in: catalog).joins ?? [] {
      joins.insert(join.name)
      for name in [join.first.orderColumn, join.second.orderColumn].compactMap(\.self) {
        columns[join.name, default: [:]][name] = .order
      }
    }
  }

  func value(table: String, column: String) -> Difference.Kind {
    columns[table]?[column] ?? other(table, kind: .value)
  }

  func missing(table: String) -> Difference.Kind {
    joins.contains(table) ? .pairMissing : other(table, kind: .rowMissing)
  }

  func extra(_ table: String) -> Difference.Kind {
    joins.contains(table) ? .pairExtra : other(table, kind: .rowExtra)
  }

  private func other(_ table: String, kind: Difference.Kind) -> Difference.Kind {
    switch table {
    case "Z_PRIMARYKEY": .entityRow
    case "Z_MODELCACHE": .modelCache
    default: kind
    }
  }
}

extension RawCatalog.Entry {
  fileprivate enum Change { case missing, extra, changed }

  fileprivate var isVirtual: Bool {
    sql?.uppercased().hasPrefix("CREATE VIRTUAL") ?? false
  }

  fileprivate func kind(change: Change) -> Difference.Kind {
    switch (type, change) {
    case ("table", .missing): .tableMissing
    case ("table", .extra): .tableExtra
    case ("table", .changed): .tableForm
    case ("index", .missing): .indexMissing
    case ("index", .extra): .indexExtra
    case ("index", .changed): .indexForm
    case ("trigger", _): .trigger
    case ("view", _): .view
    default: .schema
    }
  }
}
