import ObjectModel
import Schema

extension ObjectContext {
  private func statements(_ facts: RelationshipFacts) throws -> RelationshipStatements {
    if let known = facts.statements { return known }
    let made = try RelationshipStatements(facts, self)
    facts.statements = made
    return made
  }

  // MARK: Reading

  /// The objects of a relationship, in its order or in that of their keys.
  func places(of owner: ObjectPlace, _ facts: RelationshipFacts) throws -> [ObjectPlace] {
    if !facts.relationship.isToMany {
      return try target(of: owner, facts).map { [$0] } ?? []
    }
    guard let statement = try statements(facts).members else { return [] }
    if !lateIndexes.isEmpty { try makeIndexes() }
    statement.bind(owner.key, at: 1)
    var result: [ObjectPlace] = []
    while try statement.step() {
      let number = statement.integer(1)
      guard let target = self.facts(number: number), target.tableIndex == facts.targetTableIndex
      else { continue }
      result.append(ObjectPlace(facts: target, key: statement.integer(0)))
    }
    return result
  }

  private func target(
    of owner: ObjectPlace, _ facts: RelationshipFacts
  ) throws -> ObjectPlace? {
    guard case .toOne(let column, _, _) = facts.storage else { return nil }
    if let row = live(owner)?.row, let index = owner.facts.columnIndexes[column] {
      guard case .integer(let key) = row[index] else { return nil }
      return try place(key, facts)
    }
    guard let statement = try statements(facts).key else { return nil }
    statement.bind(owner.key, at: 1)
    guard try statement.step() else { return nil }
    defer { statement.reset() }
    guard let key = statement.key(0), let number = statement.key(1) else { return nil }
    return place(key, number, facts)
  }

  private func place(_ key: Int64, _ number: Int64, _ facts: RelationshipFacts) -> ObjectPlace? {
    guard let target = self.facts(number: number), target.tableIndex == facts.targetTableIndex
    else { return nil }
    return ObjectPlace(facts: target, key: key)
  }

  /// The place of a key; nil where the store has no such row.
  func place(_ key: Int64, _ facts: RelationshipFacts) throws -> ObjectPlace? {
    if let number = facts.onlyNumber { return place(key, number, facts) }
    return try number(of: key, in: facts.targetTable).flatMap { place(key, $0, facts) }
  }

  private func number(of key: Int64, in table: String) throws -> Int64? {
    let statement = try statements.statement(
      "SELECT Z_ENT FROM \(sqlTable(table)) WHERE Z_PK = ?")
    statement.bind(key, at: 1)
    guard try statement.step() else { return nil }
    defer { statement.reset() }
    return statement.key(0)
  }

  /// The number that one column of one row holds.
  private func number(_ statement: PreparedStatement?, _ key: Int64) throws -> Int64? {
    guard let statement else { return nil }
    statement.bind(key, at: 1)
    guard try statement.step() else { return nil }
    defer { statement.reset() }
    return statement.key(0)
  }

  // MARK: Writing

  /// Makes a relationship hold these objects and no others; the other ends follow.
  func set(
    _ targets: [ObjectPlace], of owner: ObjectPlace, _ facts: RelationshipFacts
  ) throws {
    guard facts.relationship.isToMany else {
      return try setObject(targets.first, of: owner, facts)
    }
    let old = try places(of: owner, facts)
    if !old.isEmpty {
      let kept = Set(targets.map(\.key))
      for place in old where !kept.contains(place.key) { try remove(place, from: owner, facts) }
    }
    try link(targets, to: owner, facts, reorders: true)
  }

  func addObjects(
    _ targets: [ObjectPlace], to owner: ObjectPlace, _ facts: RelationshipFacts
  ) throws {
    try link(targets, to: owner, facts, reorders: false)
  }

  func setObject(
    _ target: ObjectPlace?, of owner: ObjectPlace, _ facts: RelationshipFacts
  ) throws {
    let statements = try statements(facts)
    guard let update = statements.update else { return }
    try ensureInserted(owner)
    if let target { try ensureInserted(target) }
    let old = facts.isPlain ? nil : try number(statements.key, owner.key)
    guard facts.isPlain || old != target?.key else { return }
    if let inverse = statements.inverseUpdate {
      // Both ends of a pair hold a key, so whoever was paired before is released.
      if let old, let previous = try place(old, facts) {
        try inverse.write((.null, .null, .null), to: previous, self)
      }
      if let target {
        if let other = try number(statements.inverseKey, target.key), other != owner.key,
          let number = try number(of: other, in: owner.facts.tableName),
          let previous = self.facts(number: number)
        {
          try update.write(
            (.null, .null, .null), to: ObjectPlace(facts: previous, key: other), self)
        }
        try inverse.write(
          (.integer(owner.key), .integer(owner.facts.number), .null), to: target, self)
      }
    }
    guard let target else { return try update.write((.null, .null, .null), to: owner, self) }
    try update.write(
      (.integer(target.key), .integer(target.facts.number), .integer(nextPlace())), to: owner,
      self)
  }

  private func remove(
    _ target: ObjectPlace, from owner: ObjectPlace, _ facts: RelationshipFacts
  ) throws {
    let statements = try statements(facts)
    if let pair = statements.removePair {
      pair.bind(all: [owner.key, target.key])
      try pair.execute()
    } else {
      try statements.update?.write((.null, .null, .null), to: target, self)
    }
  }

  private func link(
    _ targets: [ObjectPlace], to owner: ObjectPlace, _ facts: RelationshipFacts,
    reorders: Bool
  ) throws {
    guard !targets.isEmpty else { return }
    let statements = try statements(facts)
    try ensureInserted(owner)
    for target in targets {
      try ensureInserted(target)
      switch facts.storage {
      case .children(_, _, _, let order):
        let isLinked = try number(statements.childKey, target.key) == owner.key
        if isLinked && (order == nil || !reorders) { continue }
        try statements.update?.write(
          (.integer(owner.key), .integer(owner.facts.number), .integer(nextPlace())), to: target,
          self)
      case .join(_, _, _, let order, let ownerOrder):
        var values = [owner.key, target.key]
        if order != nil { values.append(nextPlace()) }
        if ownerOrder != nil { values.append(nextPlace()) }
        let statement = reorders ? statements.placePair ?? statements.addPair : statements.addPair
        statement?.bind(all: values)
        try statement?.execute()
      case .toOne, .none: break
      }
    }
  }

  private func nextPlace() -> Int64 {
    lastPlace += 1024
    return lastPlace
  }
}
