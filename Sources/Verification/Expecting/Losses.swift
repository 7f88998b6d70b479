import ObjectModel
import Schema
import StoreFormat

/// Lists data of the old store that the new one has no place for.
extension VerificationRun {
  /// Adds the rows of the old store that belong to no entity of its model as differences, or as
  /// removed where they may be lost.
  ///
  /// - Parameter sound: tables that are known to have no such rows.
  func noteLostRows(_ schema: StoreSchema, sound: Set<String>) throws {
    for table in schema.tables where !sound.contains(table.name) {
      let known = schema.knownNumbers(of: table).map { "\($0)" }
      let rows = try old.prepare(
        "SELECT Z_PK, Z_ENT FROM \(SQL.identifier(name: table.name)) NOT INDEXED "
          + "WHERE Z_ENT IS NULL OR Z_ENT NOT IN (\(known.joined(separator: ", ")))")
      try noteLostRows(rows, of: table.entityNames) { row in
        Difference(
          .rowLost, table: table.name, key: "\(row.value(column: 0))", column: "Z_ENT",
          expected: known.joined(separator: ", "), actual: "\(row.value(column: 1))")
      }
    }
    for join in schema.joinTables where !sound.contains(join.name) {
      let keys = [join.first.keyColumn, join.second.keyColumn].map(SQL.identifier)
      let rows = try old.prepare(
        "SELECT \(keys[0]), \(keys[1]) FROM \(SQL.identifier(name: join.name)) NOT INDEXED "
          + "WHERE \(keys[0]) IS NULL OR \(keys[1]) IS NULL")
      let names = [join.first, join.second].map { "\($0.entityName).\($0.relationshipName)" }
      try noteLostRows(rows, of: names) { row in
        Difference(
          .rowLost, table: join.name, key: "\(row.value(column: 0)), \(row.value(column: 1))")
      }
    }
  }

  /// Adds the rows of a query as removed where one of the names may lose rows, else as differences.
  private func noteLostRows(
    _ rows: RawStatement, of names: [String], difference: (RawStatement) -> Difference
  ) throws {
    let allowed = names.first(where: order.mayLoseRows)
    var lost: Int64 = 0
    while try rows.step() {
      lost += 1
      if allowed == nil { note(difference(rows)) }
    }
    if let allowed, lost > 0 {
      report.removed.append(.init(what: .strays, name: allowed, count: lost))
    }
  }

  /// Counts what the destination of an inferred step has no place for.
  func noteRemovals(_ reading: StepReading, in source: RawStore) throws {
    let model = reading.source.model
    for table in reading.source.tables {
      for entity in table.entityNames.compactMap({ model.entity(name: $0) })
      where !entity.isAbstract {
        guard let number = reading.source.numbers[entity.name]?.rawValue else { continue }
        try noteRemovals(of: entity, number: number, table: table, reading: reading, in: source)
      }
    }
    let known = Set(
      reading.source.keyedTables.map(\.name) + reading.source.joinTables.map(\.name)
        + reading.source.treeTables + Self.ownTables.keys
    ).union(keptTables)
    let catalog = source === old ? before : try RawCatalog(source)
    for (name, _) in catalog.columns.sorted(by: { $0.key < $1.key })
    where !known.contains(name) && !name.hasPrefix("sqlite_") {
      let count =
        (try? source.number(sql: "SELECT count(*) FROM \(SQL.identifier(name: name))")) ?? 0
      report.removed.append(.init(what: .table, name: name, count: count))
    }
  }

  private func noteRemovals(
    of entity: Entity, number: Int64, table: EntityTable, reading: StepReading,
    in source: RawStore
  ) throws {
    let name = SQL.identifier(name: table.name)
    guard let new = reading.match.destination(of: entity.name) else {
      let count = try source.number(sql: "SELECT count(*) FROM \(name) WHERE Z_ENT = \(number)")
      if count > 0 { report.removed.append(.init(what: .entity, name: entity.name, count: count)) }
      return
    }
    let model = reading.source.model
    let kept = Set(
      reading.destination.model.entity(name: new).map { found in
        reading.destination.model.allLeafAttributes(of: found).map(\.name)
          + reading.destination.model.allRelationships(of: found).map(\.name)
      }?.compactMap { reading.match.origin(of: $0, in: new) } ?? [])
    var gone: [(VerificationReport.Removal.What, String, String)] = []
    for level in model.lineage(of: entity) {
      for attribute in level.leafAttributes where !kept.contains(attribute.name) {
        guard attribute.derivation == nil,
          let column = table.column(role: .attribute(entity: level.name, name: attribute.name))
        else { continue }
        gone.append((.attribute, "\(entity.name).\(attribute.name)", column.name))
      }
      for relationship in level.relationships where !kept.contains(relationship.name) {
        guard !continues(inverseOf: relationship, reading: reading),
          let column = table.column(role: .toOne(entity: level.name, name: relationship.name))
        else { continue }
        gone.append((.relationship, "\(entity.name).\(relationship.name)", column.name))
      }
    }
    if gone.isEmpty { return }
    // SQLite returns the type of a value without reading it.
    let counts = gone.map {
      "count(CASE WHEN typeof(\(SQL.identifier(name: $0.2))) <> 'null' THEN 1 END)"
    }.joined(separator: ", ")
    let row =
      try source.rows(sql: "SELECT \(counts) FROM \(name) WHERE Z_ENT = \(number)").first ?? []
    for (what, count) in zip(gone, row) {
      guard let count = count.integer, count > 0 else { continue }
      report.removed.append(.init(what: what.0, name: what.1, count: count))
    }
  }

  /// Whether the inverse of a relationship continues, which keeps the same pairs.
  private func continues(inverseOf relationship: Relationship, reading: StepReading) -> Bool {
    let (model, after) = (reading.source.model, reading.destination.model)
    guard let (owner, inverse) = model.inverseWithOwner(of: relationship) else { return false }
    return model.family(of: owner.name).contains { member in
      guard let name = reading.match.destination(of: member.name),
        let entity = after.entity(name: name)
      else { return false }
      return after.allRelationships(of: entity).contains {
        reading.match.origin(of: $0.name, in: name) == inverse.name
      }
    }
  }
}

extension StoreSchema {
  /// The numbers of the entities whose objects a table has.
  func knownNumbers(of table: EntityTable) -> [Int64] {
    table.entityNames.compactMap { name in
      guard let entity = model.entity(name: name), !entity.isAbstract else { return nil }
      return numbers[name]?.rawValue
    }
  }
}
