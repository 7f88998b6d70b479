import Schema
import StoreFormat

/// What is known of the rows of a step before they are compared one by one.
struct ShownRows {
  let reading: StepReading
  /// By table of the new store.
  var results: [String: RowProof.Shown] = [:]
  /// Tables of the old store without rows of unknown entities, and without pairs that lack a key.
  var sound: Set<String> = []
}

/// Shows which rows are as they should be (`RowProof`).
extension VerificationRun {
  /// Goes through all tables; what is not shown of them has to be compared.
  func show(
    _ found: FoundSchema, reading: StepReading, in source: RawStore, isCopy: Bool
  ) throws -> ShownRows {
    var shown = ShownRows(reading: reading)
    guard order.readsLeaves, let proof = RowProof(old: source, new: new) else { return shown }
    var origins: [String: String] = [:]
    for table in found.tables {
      // The comparison reports what cannot be read of the new store.
      guard let rules = try? rules(for: table, of: found, shown: shown, in: source, isCopy: isCopy)
      else { continue }
      origins[table.name] = rules.origin
      proof.add(table.name, rules: rules.rows)
    }
    for (canonical, join) in found.joins {
      guard
        let origin = try? addPairs(
          canonical, join: join, to: proof, reading: reading, in: source, isCopy: isCopy)
      else { continue }
      origins[join.name] = origin
    }
    shown.results = proof.results { table, done in
      publish("comparing \(table)", fraction: 0.85 * done)
    }
    for (name, result) in shown.results where result.hasNoStrangers {
      if let origin = origins[name] { shown.sound.insert(origin) }
    }
    return shown
  }

  private func rules(
    for table: EntityTable, of found: FoundSchema, shown: ShownRows, in source: RawStore,
    isCopy: Bool
  ) throws -> (origin: String, rows: RowRules)? {
    guard
      let rules = try TableRules(table: table, reading: shown.reading, affinity: affinity),
      let before = try PlainTable(rules.sourceTable.name, in: source),
      let after = try PlainTable(table.name, in: new)
    else { return nil }
    let places = comparedPlaces(
      of: table, isCopy: isCopy, derived: found.derivedColumns(of: table))
    let known = Set(shown.reading.source.knownNumbers(of: rules.sourceTable))
    return RowRules(rules, places: places, known: known, old: before, new: after).map {
      (rules.sourceTable.name, $0)
    }
  }

  /// Has the pairs of a join table summed up where all of them go over as they are; the table
  /// that they come from.
  private func addPairs(
    _ canonical: JoinTable, join: JoinTable, to proof: RowProof, reading: StepReading,
    in source: RawStore, isCopy: Bool
  ) throws -> String? {
    guard let expected = try ExpectedPairs(table: canonical, reading: reading, in: source),
      expected.pairs.form == .joinTable, !expected.pairs.owners.mayLose,
      !expected.pairs.targets.mayLose,
      let before = try PlainTable(expected.pairs.table, in: source),
      let after = try PlainTable(join.name, in: new)
    else { return nil }
    let pairs = expected.pairs
    let keys = expected.ordered(pairs.ownerColumn, pairs.targetColumn)
    // Positions of copies, and those that are new, are compared by their sequence.
    let places =
      isCopy
      ? []
      : zip(
        expected.ordered(pairs.ownerOrder, pairs.targetOrder),
        [join.first.orderColumn, join.second.orderColumn]
      ).compactMap { old, new in old.flatMap { old in new.map { (old: old, new: $0) } } }
    guard places.allSatisfy({ catalog.hasColumn($0.new, in: join.name) }) else { return nil }
    proof.addPairs(
      join.name, old: before, new: after, oldName: expected.pairs.table,
      keys: (keys, [join.first.keyColumn, join.second.keyColumn]),
      others: (places.map(\.old), places.map(\.new)))
    return pairs.table
  }
}

extension FoundSchema {
  /// The columns of a table that are compared with what they are derived of.
  func derivedColumns(of table: EntityTable) -> Set<String> {
    Set(schema.derived.filter { $0.table == table.name }.map(\.column))
  }
}
