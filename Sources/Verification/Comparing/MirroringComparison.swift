import Mapping
import ObjectModel
import Schema
import StoreFormat

/// Compares the tables of CloudKit mirroring: each as it was, but for the entity numbers of record
/// metadata.
///
/// A migration refuses a store of that kind or carries all tables over, so none may be missing.
extension VerificationRun {
  func compareMirroring(from source: StoreSchema, to destination: StoreSchema) throws {
    let before = try RawCatalog(old)
    for entry in before.entries(type: "table") where MirroringTables.contains(entry.name) {
      let other = catalog.entries(type: "table").first { $0.name == entry.name }
      guard other?.sql != entry.sql else { continue }
      note(
        .init(
          other == nil ? .tableMissing : .tableForm, table: entry.name, expected: entry.sql,
          actual: other?.sql))
    }
    let name = MirroringTables.records
    guard let columns = before.columns[name]?.map(\.name) else { return }
    let wanted = ["Z_PK", MirroringTables.numberColumn]
    guard Set(wanted).isSubset(of: columns) else {
      return report.cannotJudge("\(name), whose columns are unknown")
    }
    guard Set(columns).isSubset(of: catalog.columns[name]?.map(\.name) ?? []) else { return }
    let numbers = numbersOfRecords(from: source, to: destination)
    let reader = RecordReader(columns: wanted + columns.filter { !wanted.contains($0) })
    let gone = try compareRecords(reader, numbers: numbers, entities: source.numbers)
    if gone > 0 { report.removed.append(.init(what: .rows, name: name, count: gone)) }
  }

  /// The numbers of entities before and after all steps; those of entities that go have none.
  private func numbersOfRecords(
    from source: StoreSchema, to destination: StoreSchema
  ) -> [Int64: Int64] {
    var names = Dictionary(uniqueKeysWithValues: source.model.entities.map { ($0.name, $0.name) })
    for step in order.steps {
      let match = StepMatch(MappingInference(from: step.source, to: step.destination))
      names = names.compactMapValues { name in
        guard !step.mappings.isEmpty else { return match.destination(of: name) }
        let found = step.mappings.lazy.compactMap { $0.destinationName(ofSource: name) }.first
        return found ?? step.destination.entity(name: name)?.name
      }
    }
    var numbers: [Int64: Int64] = [:]
    for (old, new) in names {
      guard let number = source.numbers[old], let other = destination.numbers[new] else { continue }
      numbers[number.rawValue] = other.rawValue
    }
    return numbers
  }

  /// What is read of a row of record metadata: its key and number first, and last whether each of
  /// its transactions is there.
  private struct RecordReader {
    let columns: [String]
    var transactions: [String] {
      MirroringTables.transactionColumns.filter(columns.contains)
    }

    func statement(in store: RawStore, hasHistory: Bool) throws(StoreError) -> RawStatement {
      let led = transactions.map { column in
        hasHistory
          ? "EXISTS (SELECT 1 FROM \(HistoryTables.transactions) AS t WHERE t.Z_PK = r.\(column))"
          : "0"
      }
      let list = columns.map { "r.\(SQL.identifier(name: $0))" } + led
      return try store.prepare(
        "SELECT \(list.joined(separator: ", ")) FROM \(MirroringTables.records) AS r ORDER BY 1")
    }
  }

  /// Compares all rows; how many of the old ones are gone with their entity.
  private func compareRecords(
    _ reader: RecordReader, numbers: [Int64: Int64], entities: EntityNumbers
  ) throws -> Int64 {
    let table = MirroringTables.records
    let before = try reader.statement(
      in: old, hasHistory: RawCatalog(old).hasTable(HistoryTables.transactions))
    let after = try reader.statement(
      in: new, hasHistory: catalog.hasTable(HistoryTables.transactions))
    var gone: Int64 = 0
    var rows = PairedRows(before, after)
    while let side = try rows.next() {
      count(table: table)
      switch side {
      case .first:
        if before.value(column: 1) != .null,
          before.integer(column: 1).map({ numbers[$0] == nil }) ?? true
        {
          gone += 1
          noteLost(before, entities: entities)
        } else {
          note(.init(.rowMissing, table: table, key: "\(before.value(column: 0))"))
        }
      case .second: note(.init(.rowExtra, table: table, key: "\(after.value(column: 0))"))
      case .both: compareRecord(before, after: after, reader: reader, numbers: numbers)
      }
    }
    return gone
  }

  /// A row of an entity that goes is gone with it; one of no entity at all is lost.
  private func noteLost(_ row: RawStatement, entities: EntityNumbers) {
    let number = row.integer(column: 1).map { EntityNumber(rawValue: $0) }
    if number.flatMap({ entities[$0] }) != nil { return }
    note(
      .init(
        .rowLost, table: MirroringTables.records, key: "\(row.value(column: 0))",
        column: MirroringTables.numberColumn, actual: "\(row.value(column: 1))"))
  }

  private func compareRecord(
    _ before: RawStatement, after: RawStatement, reader: RecordReader, numbers: [Int64: Int64]
  ) {
    func differs(_ kind: Difference.Kind, column: String, expected: String, actual: String) {
      note(
        .init(
          kind, table: MirroringTables.records, key: "\(before.value(column: 0))", column: column,
          expected: expected, actual: actual))
    }
    let number = before.value(column: 1)
    let wanted = number.integer.flatMap { numbers[$0] }.map { RawValue.integer($0) }
    if number != .null, wanted == nil {
      differs(
        .rowExtra, column: reader.columns[1], expected: "no such row", actual: "\(number)")
    } else if after.value(column: 1) != wanted ?? .null {
      differs(
        .entityNumber, column: reader.columns[1], expected: "\(wanted ?? .null)",
        actual: "\(after.value(column: 1))")
    }
    for place in 2..<reader.columns.count where !before.isSame(place, as: after, otherColumn: place)
    {
      differs(
        .value, column: reader.columns[place], expected: "\(before.value(column: place))",
        actual: "\(after.value(column: place))")
    }
    for (place, column) in reader.transactions.enumerated() {
      let place = place + reader.columns.count
      guard before.integer(column: place) == 1, after.integer(column: place) != 1 else { continue }
      differs(.reference, column: column, expected: "a transaction", actual: "none of that key")
    }
  }
}
