import Schema
import StoreFormat

/// Compares the pairs of a join table with the expected ones, side by side.
extension VerificationRun {
  func compareJoin(
    _ canonical: JoinTable, join: JoinTable, reading: StepReading, source: RawStore,
    evaluator: CellEvaluator, isCopy: Bool, tolerance: Tolerance?, shown: RowProof.Shown
  ) throws {
    let missing = join.columnNames.filter { !catalog.hasColumn($0, in: join.name) }
    let keys = [join.first.keyColumn, join.second.keyColumn]
    if keys.contains(where: missing.contains) { return }
    let orders = [join.first.orderColumn, join.second.orderColumn].map { column in
      column.flatMap { missing.contains($0) ? nil : SQL.identifier(name: $0) } ?? "NULL"
    }
    let list = keys.map(SQL.identifier)
    let actual = try new.prepare(
      "SELECT \((list + orders).joined(separator: ", ")) FROM \(SQL.identifier(name: join.name)) "
        + "ORDER BY \(list.joined(separator: ", "))")
    let expected = try ExpectedPairs(table: canonical, reading: reading, in: source)
    var walk = PairWalk(
      canonical: canonical, join: join, tolerance: tolerance,
      ordersFirst: expected?.hasFirstOrder == true && !isCopy,
      ordersSecond: expected?.hasSecondOrder == true && !isCopy)
    if missing.contains(join.first.orderColumn ?? "") { walk.ordersFirst = false }
    if missing.contains(join.second.orderColumn ?? "") { walk.ordersSecond = false }
    report.rows += shown.rows
    if !shown.isWhole {
      try comparePairs(walk, expected: expected, actual: actual, evaluator: evaluator)
    }
    if expected != nil, missing.isEmpty {
      try compareOrders(canonical, walk: walk, source: source, isCopy: isCopy)
    }
  }

  private func comparePairs(
    _ walk: PairWalk, expected: ExpectedPairs?, actual: RawStatement, evaluator: CellEvaluator
  ) throws {
    var left = try expected?.next(evaluator)
    var right = try actual.step()
    while left != nil || right {
      count(table: walk.join.name)
      guard right else {
        noteMissing(left, join: walk.join)
        left = try expected?.next(evaluator)
        continue
      }
      let found = (actual.value(column: 0), actual.value(column: 1))
      if let pair = left, sorting.isAscending((pair.first, pair.second), found) {
        noteMissing(left, join: walk.join)
        left = try expected?.next(evaluator)
      } else if let pair = left, (pair.first, pair.second) == found {
        comparePlaces(walk, pair: pair, actual: actual)
        (left, right) = (try expected?.next(evaluator), try actual.step())
      } else {
        if try walk.tolerance?.allowsPair(found.0, found.1, of: walk.canonical) != true {
          note(.init(.pairExtra, table: walk.join.name, key: key(row: actual)))
        }
        right = try actual.step()
      }
    }
  }

  private struct PairWalk {
    /// The join table under the names that the model gives it, and as the new store has it.
    var canonical: JoinTable
    var join: JoinTable
    var tolerance: Tolerance?
    /// Whether the source has the order column, so that positions are compared as they are; below
    /// for the other one.
    var ordersFirst: Bool
    var ordersSecond: Bool
  }

  private func key(row: RawStatement) -> String {
    "\(row.value(column: 0)), \(row.value(column: 1))"
  }

  private func noteMissing(_ pair: ExpectedPairs.Pair?, join: JoinTable) {
    guard let pair, !pair.isOptional else { return }
    note(.init(.pairMissing, table: join.name, key: "\(pair.first), \(pair.second)"))
  }

  private func comparePlaces(
    _ walk: PairWalk, pair: ExpectedPairs.Pair, actual: RawStatement
  ) {
    let places = [
      (walk.ordersFirst, pair.firstOrder, walk.join.first.orderColumn, 2),
      (walk.ordersSecond, pair.secondOrder, walk.join.second.orderColumn, 3),
    ]
    for (isCompared, expected, column, place) in places {
      guard isCompared, let expected, let column else { continue }
      let found = actual.value(column: place)
      if found == expected { continue }
      note(
        Difference(
          .order, table: walk.join.name, key: key(row: actual), column: column,
          expected: "\(expected)", actual: "\(found)"))
    }
  }

  private func compareOrders(
    _ canonical: JoinTable, walk: PairWalk, source: RawStore, isCopy: Bool
  ) throws {
    let join = walk.join
    for (end, owner, isCompared) in [
      (\JoinTable.first, \JoinTable.second, walk.ordersFirst),
      (\JoinTable.second, \JoinTable.first, walk.ordersSecond),
    ] {
      guard let column = join[keyPath: end].orderColumn, !isCompared else { continue }
      guard isCopy, let before = canonical[keyPath: end].orderColumn else {
        try compareNewOrder(of: join, end: join[keyPath: end], owner: join[keyPath: owner])
        continue
      }
      try compareSequence(
        .init(
          table: canonical.name, ownerColumn: canonical[keyPath: owner].keyColumn,
          keyColumn: canonical[keyPath: end].keyColumn, orderColumn: before),
        found: .init(
          table: join.name, ownerColumn: join[keyPath: owner].keyColumn,
          keyColumn: join[keyPath: end].keyColumn, orderColumn: column),
        in: source
      ) { place, owner, key in
        let isFirst = end == \.first
        return try walk.tolerance?.allowsPlace(
          place, of: isFirst ? key : owner, isFirst ? owner : key, inFirst: isFirst, of: canonical)
          ?? false
      }
    }
  }
}
