import Schema
import StoreFormat

/// Compares the rows of a table with the expected ones, side by side in key order.
extension VerificationRun {
  /// Compares all cells but those of columns that are compared with what they are derived of, in
  /// rows that are not shown to be as they should be.
  func compareTable(
    _ table: EntityTable, reading: StepReading, source: RawStore,
    evaluator: CellEvaluator, isCopy: Bool, tolerance: Tolerance?, derived: Set<String>,
    shown: RowProof.Shown
  ) throws {
    guard let rules = try TableRules(table: table, reading: reading, affinity: affinity) else {
      let actual = try rows(of: table)
      while try actual.step() { noteExtra(actual, of: table) }
      return
    }
    let walk = TableWalk(
      table: table, rules: rules, source: source,
      places: comparedPlaces(of: table, isCopy: isCopy, derived: derived),
      evaluator: evaluator, tolerance: tolerance)
    report.rows += shown.rows
    for keys in shown.left {
      var expected = try ExpectedRows(
        rules: rules, in: source, keys: keys, leavesLong: leavesLong)
      let actual = try rows(of: table, keys: keys, leavesLong: leavesLong)
      try compareRows(walk, expected: &expected, actual: actual)
    }
    for order in rules.newOrders where !isCopy { try compareNewOrder(order) }
    if isCopy { try compareOrders(of: table, in: source, tolerance: tolerance) }
  }

  /// The places of the columns whose cells are compared one by one.
  func comparedPlaces(of table: EntityTable, isCopy: Bool, derived: Set<String>) -> [Int] {
    table.columns.indices.dropFirst().filter { place in
      let column = table.columns[place]
      // Of copies, only the sequence of positions is compared, not their values.
      return catalog.hasColumn(column.name, in: table.name) && !derived.contains(column.name)
        && !(isCopy && column.isOrder)
    }
  }

  /// The rows that a table of the new store has between two keys.
  private func rows(
    of table: EntityTable, keys: ClosedRange<Int64> = .min ... .max, leavesLong: Bool = false,
    without omitted: Set<String> = []
  ) throws(StoreError) -> KeyedRows {
    let names = table.columns.map { column in
      catalog.hasColumn(column.name, in: table.name) && !omitted.contains(column.name)
        ? SQL.identifier(name: column.name) : "NULL"
    }
    return try KeyedRows(
      new, table: table.name, columns: names, keys: keys, leavesLong: leavesLong)
  }

  private func compareRows(
    _ walk: TableWalk, expected: inout ExpectedRows, actual: KeyedRows
  ) throws {
    let table = walk.table
    var (left, right) = (try expected.next(), try actual.step())
    while left || right {
      let actualKey = actual.key
      count(table: table.name)
      if left, !right || expected.key < actualKey ?? .max {
        note(.init(.rowMissing, table: table.name, key: "\(expected.key)"))
        left = try expected.next()
      } else if right, !left || actualKey ?? .min < expected.key {
        noteExtra(actual, of: table)
        right = try actual.step()
      } else {
        if expected.hasLong || actual.hasLong {
          try compareLongCells(walk, key: expected.key)
        } else {
          try compareCells(walk, expected: expected, actual: actual.row)
        }
        (left, right) = (try expected.next(), try actual.step())
      }
    }
  }

  /// What is the same for all rows of a table.
  private struct TableWalk {
    var table: EntityTable
    var rules: TableRules
    var source: RawStore
    /// The places of the columns that are compared cell by cell.
    var places: [Int]
    var evaluator: CellEvaluator
    var tolerance: Tolerance?
  }

  private func noteExtra(_ rows: KeyedRows, of table: EntityTable) {
    let key = rows.key.map { "\($0)" } ?? "\(rows.row.value(column: 0))"
    note(.init(.rowExtra, table: table.name, key: key))
  }

  /// Compares the cells of a row with long values: those that both stores have in parts, and
  /// whatever else there is as a whole.
  private func compareLongCells(_ walk: TableWalk, key: Int64) throws {
    // Which values a copy has depends on the entity alone.
    var expected = try ExpectedRows(
      rules: walk.rules, in: walk.source, keys: key...key, leavesLong: true)
    guard try expected.next() else { return }
    var (rest, sources, compared) = (walk, Set<String>(), Set<String>())
    rest.places = try walk.places.filter { place in
      guard let same = expected.sameColumn(place) else { return true }
      let column = walk.table.columns[place]
      let (before, now) = (walk.rules.sourceTable.columns[same].name, column.name)
      let tables = (walk.rules.sourceTable.name, walk.table.name)
      guard let one = try walk.source.longValue(before, of: tables.0, key: key),
        let other = try new.longValue(now, of: tables.1, key: key)
      else { return true }
      sources.insert(before)
      compared.insert(now)
      if try !one.isSame(as: other) {
        let same = one.bytes == other.bytes ? ", and others" : ""
        note(
          Difference(
            column.kind, table: tables.1, key: "\(key)", column: now,
            expected: "\(one.bytes) bytes", actual: "\(other.bytes) bytes\(same)"))
      }
      return false
    }
    // What is computed of long values, or is one in one store alone, is held as a whole.
    var whole = try ExpectedRows(
      rules: walk.rules, in: walk.source, keys: key...key, without: sources)
    let actual = try rows(of: walk.table, keys: key...key, without: compared)
    guard try whole.next(), try actual.step() else { return }
    try compareCells(rest, expected: whole, actual: actual.row)
  }

  private func compareCells(
    _ walk: TableWalk, expected: ExpectedRows, actual: RawStatement
  ) throws {
    for place in walk.places {
      if let same = expected.sameColumn(place),
        expected.row.isSame(same, as: actual, otherColumn: place)
      {
        continue
      }
      let cell = try expected.cell(place: place, evaluator: walk.evaluator)
      guard let value = cell.value else { continue }
      let column = walk.table.columns[place]
      let found = actual.value(column: place)
      if try isAlike(found, expected: value, type: column.type) { continue }
      if let other = cell.alternative, try isAlike(found, expected: other, type: column.type) {
        continue
      }
      if let tolerance = walk.tolerance,
        try tolerance.allows(found, in: column, of: walk.table, key: expected.key)
      {
        continue
      }
      note(
        Difference(
          column.kind, table: walk.table.name, key: "\(expected.key)", column: column.name,
          expected: "\(value)", actual: "\(found)"))
    }
  }

  /// Whether a value equals another one after a column's type affinity was applied.
  func isAlike(_ found: RawValue, expected: RawValue, type: DeclaredType) throws -> Bool {
    if found == expected { return true }
    return try affinity.applied(expected, type: type) == found
  }

  // MARK: Places in ordered relationships

  /// Checks that new positions rise with the primary keys of each owner's rows.
  private func compareNewOrder(_ order: TableRules.NewOrder) throws {
    guard catalog.hasColumn(order.orderColumn, in: order.table),
      catalog.hasColumn(order.ownerColumn, in: order.table)
    else { return }
    let (owner, place) = (
      SQL.identifier(name: order.ownerColumn), SQL.identifier(name: order.orderColumn)
    )
    let key = SQL.identifier(name: order.keyColumn)
    let rows = try new.prepare(
      "SELECT \(owner), \(place), \(key) FROM \(SQL.identifier(name: order.table)) "
        + "WHERE \(owner) IS NOT NULL OR \(place) IS NOT NULL ORDER BY \(owner), \(key)")
    var rising = RisingPlaces()
    while try rows.step() {
      guard !rising.accepts(rows.value(column: 1), of: rows.value(column: 0)) else { continue }
      note(
        Difference(
          .order, table: order.table, key: "\(rows.value(column: 2))", column: order.orderColumn,
          expected: rising.wanted, actual: "\(rows.value(column: 1))"))
    }
  }

  func compareNewOrder(of join: JoinTable, end: JoinTable.End, owner: JoinTable.End) throws {
    guard let column = end.orderColumn else { return }
    try compareNewOrder(
      .init(
        table: join.name, ownerColumn: owner.keyColumn, keyColumn: end.keyColumn,
        orderColumn: column))
  }

  /// Checks that the rows of each owner have the same sequence as in the other store.
  private func compareOrders(
    of table: EntityTable, in source: RawStore, tolerance: Tolerance?
  ) throws {
    for column in table.columns where catalog.hasColumn(column.name, in: table.name) {
      let ownerRole: Column.Role
      switch column.role {
      case .toOneOrder(let entity, let name): ownerRole = .toOne(entity: entity, name: name)
      case .ownerOrder(let entity, let name): ownerRole = .owner(entity: entity, name: name)
      default: continue
      }
      guard let owner = table.column(role: ownerRole)?.name,
        catalog.hasColumn(owner, in: table.name)
      else { continue }
      try compareSequence(
        .init(table: table.name, ownerColumn: owner, keyColumn: "Z_PK", orderColumn: column.name),
        found: .init(
          table: table.name, ownerColumn: owner, keyColumn: "Z_PK", orderColumn: column.name),
        in: source
      ) { place, _, key in
        guard let key = key.integer else { return false }
        return try tolerance?.allows(place, in: column, of: table, key: key) ?? false
      }
    }
  }

  /// - Parameter tolerates: whether a place may be the one that it is, with its owner and key.
  func compareSequence(
    _ expected: TableRules.NewOrder, found: TableRules.NewOrder, in source: RawStore,
    tolerates: (_ place: RawValue, _ owner: RawValue, _ key: RawValue) throws -> Bool
  ) throws {
    let owner = SQL.identifier(name: expected.ownerColumn)
    let rows = try source.prepare(
      "SELECT \(owner), \(SQL.identifier(name: expected.keyColumn)) "
        + "FROM \(SQL.identifier(name: expected.table)) WHERE \(owner) IS NOT NULL "
        + "ORDER BY \(owner), \(SQL.identifier(name: expected.orderColumn)), 2")
    let actual = try new.prepare(
      "SELECT \(SQL.identifier(name: found.orderColumn)) FROM \(SQL.identifier(name: found.table)) "
        + "WHERE \(SQL.identifier(name: found.ownerColumn)) = ? AND \(SQL.identifier(name: found.keyColumn)) = ?"
    )
    var rising = RisingPlaces()
    while try rows.step() {
      let (owner, key) = (rows.value(column: 0), rows.value(column: 1))
      // Missing rows and other owners are differences found by the comparison of rows.
      guard let place = try actual.row(values: [owner, key])?.first else { continue }
      if try rising.accepts(place, of: owner) || tolerates(place, owner, key) { continue }
      note(
        Difference(
          .order, table: found.table, key: "\(key)", column: found.orderColumn,
          expected: rising.wanted, actual: "\(place)"))
    }
  }
}

/// Checks that the positions of each owner's rows rise.
private struct RisingPlaces {
  private var owner: RawValue?
  private var last: Int64?

  /// The position that would have been accepted, in words.
  private(set) var wanted = ""

  mutating func accepts(_ place: RawValue, of owner: RawValue) -> Bool {
    if owner == .null {
      wanted = "NULL"
      return place == .null
    }
    if owner != self.owner { (self.owner, last) = (owner, nil) }
    wanted = last.map { "more than \($0)" } ?? "a number"
    guard let number = place.integer, last.map({ number > $0 }) ?? true else { return false }
    last = number
    return true
  }
}

extension Column {
  var isOrder: Bool {
    switch role {
    case .toOneOrder, .ownerOrder: true
    default: false
    }
  }

  /// The kind of a difference in the column.
  fileprivate var kind: Difference.Kind {
    switch role {
    case .primaryKey, .attribute: .value
    case .entityNumber: .entityNumber
    case .optimisticLock: .saveCount
    case .toOne, .owner: .reference
    case .toOneEntity: .referenceEntity
    case .toOneOrder, .ownerOrder: .order
    }
  }
}
