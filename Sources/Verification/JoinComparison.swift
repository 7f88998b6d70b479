import Schema
import StoreFormat

/// Walks the pairs that a join table should have and those that it has, side by side.
extension VerificationRun {
  func compareJoin(
    _ canonical: JoinTable, _ join: JoinTable, _ reading: StepReading, _ source: RawStore,
    _ evaluator: CellEvaluator, isCopy: Bool
  ) throws {
    let missing = join.columnNames.filter { !catalog.hasColumn($0, in: join.name) }
    let keys = [join.first.keyColumn, join.second.keyColumn]
    if keys.contains(where: missing.contains) { return }
    let orders = [join.first.orderColumn, join.second.orderColumn].map { column in
      column.flatMap { missing.contains($0) ? nil : SQL.identifier($0) } ?? "NULL"
    }
    let list = keys.map(SQL.identifier)
    let actual = try new.prepare(
      "SELECT \((list + orders).joined(separator: ", ")) FROM \(SQL.identifier(join.name)) "
        + "ORDER BY \(list.joined(separator: ", "))")
    let expected = try ExpectedPairs(canonical, reading, in: source)
    var walk = PairWalk(
      join: join, ordersFirst: expected?.hasFirstOrder == true && !isCopy,
      ordersSecond: expected?.hasSecondOrder == true && !isCopy)
    if missing.contains(join.first.orderColumn ?? "") { walk.ordersFirst = false }
    if missing.contains(join.second.orderColumn ?? "") { walk.ordersSecond = false }
    var left = try expected?.next(evaluator)
    var right = try actual.step()
    while left != nil || right {
      count(join.name)
      guard right else {
        noteMissing(left, join)
        left = try expected?.next(evaluator)
        continue
      }
      guard let first = actual.integer(0), let second = actual.integer(1) else {
        note(.init(.pairExtra, table: join.name, key: key(actual)))
        right = try actual.step()
        continue
      }
      if let pair = left, (pair.first, pair.second) < (first, second) {
        noteMissing(left, join)
        left = try expected?.next(evaluator)
      } else if let pair = left, (pair.first, pair.second) == (first, second) {
        comparePlaces(walk, pair, actual)
        (left, right) = (try expected?.next(evaluator), try actual.step())
      } else {
        note(.init(.pairExtra, table: join.name, key: key(actual)))
        right = try actual.step()
      }
    }
    if expected != nil, missing.isEmpty {
      try compareOrders(canonical, walk, source, isCopy: isCopy)
    }
  }

  private struct PairWalk {
    var join: JoinTable
    /// Which places the source has, so that they are compared as they are.
    var ordersFirst: Bool
    var ordersSecond: Bool
  }

  private func key(_ row: RawStatement) -> String { "\(row.value(0)), \(row.value(1))" }

  private func noteMissing(_ pair: ExpectedPairs.Pair?, _ join: JoinTable) {
    guard let pair, !pair.isOptional else { return }
    note(.init(.pairMissing, table: join.name, key: "\(pair.first), \(pair.second)"))
  }

  private func comparePlaces(
    _ walk: PairWalk, _ pair: ExpectedPairs.Pair, _ actual: RawStatement
  ) {
    let places = [
      (walk.ordersFirst, pair.firstOrder, walk.join.first.orderColumn, 2),
      (walk.ordersSecond, pair.secondOrder, walk.join.second.orderColumn, 3),
    ]
    for (isCompared, expected, column, place) in places {
      guard isCompared, let expected, let column else { continue }
      let found = actual.value(place)
      if found == expected { continue }
      note(
        Difference(
          .order, table: walk.join.name, key: key(actual), column: column,
          expected: "\(expected)", actual: "\(found)"))
    }
  }

  private func compareOrders(
    _ canonical: JoinTable, _ walk: PairWalk, _ source: RawStore, isCopy: Bool
  ) throws {
    let join = walk.join
    for (end, owner, isCompared) in [
      (\JoinTable.first, \JoinTable.second, walk.ordersFirst),
      (\JoinTable.second, \JoinTable.first, walk.ordersSecond),
    ] {
      guard let column = join[keyPath: end].orderColumn, !isCompared else { continue }
      guard isCopy, let before = canonical[keyPath: end].orderColumn else {
        try compareNewOrder(of: join, join[keyPath: end], owner: join[keyPath: owner])
        continue
      }
      try compareSequence(
        .init(
          table: canonical.name, ownerColumn: canonical[keyPath: owner].keyColumn,
          keyColumn: canonical[keyPath: end].keyColumn, orderColumn: before),
        .init(
          table: join.name, ownerColumn: join[keyPath: owner].keyColumn,
          keyColumn: join[keyPath: end].keyColumn, orderColumn: column),
        in: source)
    }
  }
}
