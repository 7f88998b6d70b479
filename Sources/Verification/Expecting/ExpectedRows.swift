import Schema
import StoreFormat

/// The rows that a destination table should have, in key order, with their source rows.
struct ExpectedRows {
  let rules: TableRules
  private let rows: KeyedRows
  private(set) var key: Int64 = 0
  private(set) var entity = TableRules.EntityRules(number: 0, cells: [])

  /// The statement, at the source row of the present one.
  var row: RawStatement { rows.row }
  /// Whether the present row has a value that is too long to be held; its cells are not read then.
  var hasLong: Bool { rows.hasLong }

  /// Takes the rows between two keys of the source, which are those of the destination too.
  ///
  /// - Parameters:
  ///   - leavesLong: whether rows with long values are left out (`KeyedRows`).
  ///   - omitted: columns of the source that are left out.
  init(
    rules: TableRules, in source: RawStore, keys: ClosedRange<Int64> = .min ... .max,
    leavesLong: Bool = false, without omitted: Set<String> = []
  ) throws(StoreError) {
    self.rules = rules
    let names = rules.sourceTable.columns.map {
      omitted.contains($0.name) ? "NULL" : SQL.identifier(name: $0.name)
    }
    rows = try KeyedRows(
      source, table: rules.sourceTable.name, columns: names, keys: keys, leavesLong: leavesLong)
  }

  /// Advances to the next source row that the destination has a place for.
  mutating func next() throws(StoreError) -> Bool {
    while try rows.step() {
      guard let number = rows.entity, let found = rules.entities[number] else { continue }
      entity = found
      key = rows.key ?? 0
      return true
    }
    return false
  }

  func cell(place: Int, evaluator: CellEvaluator) throws -> ExpectedCell {
    switch place {
    case 0: ExpectedCell(.integer(key))
    case 1: ExpectedCell(.integer(entity.number))
    case 2: ExpectedCell(row.value(column: 2))
    default: try evaluator.cell(rule: entity.cells[place], row: row)
    }
  }

  /// The source column that a cell should equal to the byte, nil if there is none.
  func sameColumn(_ place: Int) -> Int? {
    if place == 2 { return 2 }
    guard place > 2 else { return nil }
    switch entity.cells[place] {
    case .copy(let column, .null): return column
    case .key(let reference) where !reference.family.mayLose: return reference.key
    case .place(let reference, let column) where !reference.family.mayLose: return column
    default: return nil
    }
  }
}

extension ClosedRange<Int64> {
  /// The condition that a column has one of these keys; nothing where it may have any.
  func condition(of column: String) -> String {
    // SQLite has no literal for the lowest integer.
    self == .min ... .max
      ? "" : "WHERE \(column) BETWEEN \(Swift.max(lowerBound, -.max)) AND \(upperBound) "
  }
}

/// The pairs that a destination join table should have, in key order.
struct ExpectedPairs {
  struct Pair {
    var first: RawValue
    var second: RawValue
    /// nil if the source has no such order column.
    var firstOrder: RawValue?
    var secondOrder: RawValue?
    /// Whether one of its objects does not exist, so that the pair may be missing.
    var isOptional = false
  }

  let pairs: StepReading.Pairs
  private let isFlipped: Bool
  private let statement: RawStatement

  /// Returns nil if the relationship is new.
  init?(table: JoinTable, reading: StepReading, in source: RawStore) throws(StoreError) {
    if let found = reading.pairs(
      of: table.first.relationshipName, declaredBy: table.first.entityName)
    {
      (pairs, isFlipped) = (found, false)
    } else if let found = reading.pairs(
      of: table.second.relationshipName, declaredBy: table.second.entityName)
    {
      (pairs, isFlipped) = (found, true)
    } else {
      return nil
    }
    let owner = SQL.identifier(name: pairs.ownerColumn)
    let target = SQL.identifier(name: pairs.targetColumn)
    let (first, second) = isFlipped ? (target, owner) : (owner, target)
    let number = pairs.form == .joinTable ? "NULL" : "Z_ENT"
    let orders = [pairs.ownerOrder, pairs.targetOrder].map { $0.map(SQL.identifier) ?? "NULL" }
    statement = try source.prepare(
      "SELECT \(owner), \(target), \(number), \(orders.joined(separator: ", ")) "
        + "FROM \(SQL.identifier(name: pairs.table)) WHERE \(owner) IS NOT NULL AND \(target) IS NOT NULL "
        + "ORDER BY \(first), \(second)")
  }

  /// What belongs to the owner and to the target, in the order of the destination's columns.
  func ordered<Part>(_ owner: Part, _ target: Part) -> [Part] {
    isFlipped ? [target, owner] : [owner, target]
  }

  var hasFirstOrder: Bool { (isFlipped ? pairs.targetOrder : pairs.ownerOrder) != nil }
  var hasSecondOrder: Bool { (isFlipped ? pairs.ownerOrder : pairs.targetOrder) != nil }

  func next(_ evaluator: CellEvaluator) throws -> Pair? {
    while try statement.step() {
      // What is no integer leads to no object, and goes over like any pair that does not.
      let (owner, target) = (statement.value(column: 0), statement.value(column: 1))
      var isOptional = false
      guard
        try lives(
          owner, family: pairs.owners, isOwnRow: pairs.form == .ownerRows, evaluator: evaluator,
          isOptional: &isOptional),
        try lives(
          target, family: pairs.targets, isOwnRow: pairs.form == .targetRows, evaluator: evaluator,
          isOptional: &isOptional)
      else { continue }
      let ownerOrder = pairs.ownerOrder.map { _ in statement.value(column: 3) }
      let targetOrder = pairs.targetOrder.map { _ in statement.value(column: 4) }
      return isFlipped
        ? Pair(
          first: target, second: owner, firstOrder: targetOrder, secondOrder: ownerOrder,
          isOptional: isOptional)
        : Pair(
          first: owner, second: target, firstOrder: ownerOrder, secondOrder: targetOrder,
          isOptional: isOptional)
    }
    return nil
  }

  /// Whether the destination has a place for one end of the present pair.
  private func lives(
    _ key: RawValue, family: StepReading.Family, isOwnRow: Bool, evaluator: CellEvaluator,
    isOptional: inout Bool
  ) throws -> Bool {
    if isOwnRow { return statement.integer(column: 2).map { family.kept[$0] != nil } ?? false }
    guard family.mayLose else { return true }
    guard let number = try evaluator.entityNumber(of: key, in: family.table) else {
      isOptional = true
      return true
    }
    return family.kept[number] != nil
  }
}
