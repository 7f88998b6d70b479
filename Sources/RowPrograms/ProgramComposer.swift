package import Schema

/// Makes one program of two that would run one after the other, so that the data pass only once.
///
/// The store between them exists on paper: each column that the second program reads is replaced by
/// the operation with which the first one would have made it.
package struct ProgramComposer {
  private let first: MigrationProgram
  private let second: MigrationProgram
  private let destination: StoreSchema
  private let operations: OperationComposer

  /// Takes two consecutive programs and the schema in which the second ends.
  package init(
    first: MigrationProgram, then second: MigrationProgram, destination: StoreSchema
  ) {
    self.first = first
    self.second = second
    self.destination = destination
    operations = OperationComposer(first: first)
  }

  /// The composed program; nil where a step needs the store between to be real.
  package func compose() -> MigrationProgram? {
    // Which mapping takes a row is known of the rows of a store, and of no other.
    guard !first.isDivided, !second.isDivided else { return nil }
    do {
      var fills = second.orderFills
      let tables = try second.tables.compactMap { try table(program: $0, fills: &fills) }
      let joins = try second.joins.compactMap { try join($0, fills: &fills) }
      let filled = Set(tables.map(\.destinationTable) + joins.map(\.destinationTable))
      return MigrationProgram(
        tables: tables, joins: joins, orderFills: fills.filter { filled.contains($0.table) },
        references: second.references)
    } catch {
      return nil
    }
  }

  private func table(
    program: TableProgram, fills: inout [OrderFill]
  ) throws(NotComposable) -> TableProgram? {
    guard let before = operations.table(name: program.sourceTable) else { return nil }
    // An entity that is new between the two has no objects.
    let kept = program.entities.enumerated().compactMap { index, renumbering in
      before.entities.firstIndex { $0.destination == renumbering.source }.map {
        (second: index, first: $0)
      }
    }
    guard !kept.isEmpty else { return nil }
    // Rows that go after their places were given would leave gaps between those of others.
    if kept.count < before.entities.count, isFilled(program.sourceTable) { throw NotComposable() }
    var columns: [ColumnProgram] = []
    for column in program.columns {
      var composed: [ColumnOperation] = []
      for place in kept {
        composed.append(
          try operations.compose(
            column.operations[place.second], before: before, entity: place.first))
      }
      columns.append(ColumnProgram(name: column.name, type: column.type, operations: composed))
      if let fill = inheritedFill(column, program: program) { fills.append(fill) }
    }
    return TableProgram(
      sourceTable: before.sourceTable, destinationTable: program.destinationTable,
      entities: kept.map {
        .init(
          source: before.entities[$0.first].source,
          destination: program.entities[$0.second].destination)
      },
      columns: columns)
  }

  /// The numbering that a column needs because the one that it copies would have been numbered.
  private func inheritedFill(_ column: ColumnProgram, program: TableProgram) -> OrderFill? {
    for case .reference(let between, _) in column.operations {
      guard
        let fill = first.orderFills.first(where: {
          $0.table == program.sourceTable && $0.orderColumn == between
        }),
        let owner = program.columns.first(where: {
          $0.operations.contains { operation in
            if case .reference(fill.ownerColumn, _) = operation { true } else { false }
          }
        })
      else { continue }
      return OrderFill(
        table: program.destinationTable, ownerColumn: owner.name, keyColumn: "Z_PK",
        orderColumn: column.name)
    }
    return nil
  }

  private func isFilled(_ table: String) -> Bool {
    first.orderFills.contains { $0.table == table }
  }

  // MARK: Join tables

  private func join(
    _ program: JoinProgram, fills: inout [OrderFill]
  ) throws(NotComposable) -> JoinProgram? {
    if let before = first.joins.first(where: { $0.destinationTable == program.sourceTable }) {
      return try join(program, before: before, fills: &fills)
    }
    guard let before = operations.table(name: program.sourceTable) else { return nil }
    return try join(program, ofTable: before)
  }

  /// A join table that was one before.
  private func join(
    _ program: JoinProgram, before: JoinProgram, fills: inout [OrderFill]
  ) throws(NotComposable) -> JoinProgram {
    if !program.filters.isEmpty, isFilled(program.sourceTable) { throw NotComposable() }
    func source(column: String) -> String? {
      before.columns.firstIndex(of: column).flatMap { before.sources[$0] }
    }
    var sources: [String?] = []
    for (column, between) in zip(program.columns, program.sources) {
      let found = between.flatMap(source)
      sources.append(found)
      // The store between would have numbered it.
      if between != nil, found == nil,
        let fill = fill(table: program.destinationTable, column: column)
      {
        fills.append(fill)
      }
    }
    return JoinProgram(
      sourceTable: before.sourceTable, destinationTable: program.destinationTable,
      columns: program.columns, sources: sources,
      filters: before.filters
        + (try program.filters.map { filter throws(NotComposable) in
          guard let key = filter.keyColumn.flatMap(source) else { throw NotComposable() }
          return try operations.filter(filter, keyColumn: key)
        }), keepsRowNumbers: program.keepsRowNumbers && before.keepsRowNumbers)
  }

  private func fill(table: String, column: String) -> OrderFill? {
    guard let found = destination.joinTables.first(where: { $0.name == table }) else { return nil }
    for (end, other) in [(found.first, found.second), (found.second, found.first)]
    where end.orderColumn == column {
      return OrderFill(
        table: table, ownerColumn: other.keyColumn, keyColumn: end.keyColumn, orderColumn: column)
    }
    return nil
  }

  /// A join table made of a to-one relationship's column.
  private func join(
    _ program: JoinProgram, ofTable before: TableProgram
  ) throws(NotComposable) -> JoinProgram? {
    // The store between would have numbered the rows of an owner, and the pairs keep the numbers.
    if isFilled(program.sourceTable) { throw NotComposable() }
    var sources: [String?] = []
    var holders = before.entities.map(\.source)
    for between in program.sources {
      guard let between else {
        sources.append(nil)
        continue
      }
      if between == "Z_PK" {
        sources.append(between)
        continue
      }
      switch try operations.plainReference(between, before: before) {
      case .none: sources.append(nil)
      case .column(let column, let own):
        sources.append(column)
        holders.removeAll { !own.contains($0) }
      }
    }
    // Without keys there are no pairs.
    guard sources[0] != nil, sources[1] != nil else { return nil }
    return JoinProgram(
      sourceTable: before.sourceTable, destinationTable: program.destinationTable,
      columns: program.columns, sources: sources,
      filters: try program.filters.map { filter throws(NotComposable) in
        guard let between = filter.keyColumn else {
          var own = try operations.filter(filter, keyColumn: nil)
          own.kept.removeAll { !holders.contains($0) }
          return own
        }
        guard case .column(let column, _) = try operations.plainReference(between, before: before)
        else {
          throw NotComposable()
        }
        return try operations.filter(filter, keyColumn: column)
      })
  }
}

/// A step that needs the store before it to be real.
struct NotComposable: Error {}
