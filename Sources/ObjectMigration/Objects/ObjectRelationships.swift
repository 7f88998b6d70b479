import ObjectModel
import Schema

extension ObjectContext {
  private func statements(facts: RelationshipFacts) throws -> RelationshipStatements {
    if let known = facts.statements { return known }
    let made = try RelationshipStatements(facts: facts, context: self)
    facts.statements = made
    return made
  }

  // MARK: Reading

  /// The objects of a relationship, in its order or in that of their keys.
  func places(of owner: ObjectPlace, facts: RelationshipFacts) throws -> [ObjectPlace] {
    if !facts.relationship.isToMany {
      return try target(of: owner, facts: facts).map { [$0] } ?? []
    }
    guard let statement = try statements(facts: facts).members else { return [] }
    if !lateIndexes.isEmpty { try makeIndexes() }
    statement.bind(owner.key, at: 1)
    var result: [ObjectPlace] = []
    while try statement.step() {
      let number = statement.integer(column: 1)
      guard let target = self.facts(number: number), target.tableIndex == facts.targetTableIndex
      else { continue }
      result.append(ObjectPlace(facts: target, key: statement.integer(column: 0)))
    }
    return result
  }

  private func target(
    of owner: ObjectPlace, facts: RelationshipFacts
  ) throws -> ObjectPlace? {
    guard case .toOne(let column, _, _) = facts.storage else { return nil }
    if let row = live(owner)?.row, let index = owner.facts.columnIndexes[column] {
      guard case .integer(let key) = row[index] else { return nil }
      return try place(key: key, facts: facts)
    }
    guard let statement = try statements(facts: facts).key else { return nil }
    statement.bind(owner.key, at: 1)
    guard try statement.step() else { return nil }
    defer { statement.reset() }
    guard let key = statement.key(column: 0), let number = statement.key(column: 1) else {
      return nil
    }
    return place(key: key, number: number, facts: facts)
  }

  private func place(key: Int64, number: Int64, facts: RelationshipFacts) -> ObjectPlace? {
    guard let target = self.facts(number: number), target.tableIndex == facts.targetTableIndex
    else { return nil }
    return ObjectPlace(facts: target, key: key)
  }

  /// The place of a key; nil where the store has no such row.
  func place(key: Int64, facts: RelationshipFacts) throws -> ObjectPlace? {
    if let number = facts.onlyNumber { return place(key: key, number: number, facts: facts) }
    return try number(of: key, in: facts.targetTable).flatMap {
      place(key: key, number: $0, facts: facts)
    }
  }

  private func number(of key: Int64, in table: String) throws -> Int64? {
    let statement = try statements.statement(
      sql: "SELECT Z_ENT FROM \(sqlTable(name: table)) WHERE Z_PK = ?")
    statement.bind(key, at: 1)
    guard try statement.step() else { return nil }
    defer { statement.reset() }
    return statement.key(column: 0)
  }

  /// The number that one column of one row holds.
  private func number(statement: PreparedStatement?, key: Int64) throws -> Int64? {
    guard let statement else { return nil }
    statement.bind(key, at: 1)
    guard try statement.step() else { return nil }
    defer { statement.reset() }
    return statement.key(column: 0)
  }

  // MARK: Writing

  /// Makes a relationship hold these objects and no others; the other ends follow.
  func set(
    _ targets: [ObjectPlace], of owner: ObjectPlace, facts: RelationshipFacts
  ) throws {
    guard facts.relationship.isToMany else {
      return try setObject(targets.first, of: owner, facts: facts)
    }
    let old = try places(of: owner, facts: facts)
    if !old.isEmpty {
      let kept = Set(targets.map(\.key))
      for place in old where !kept.contains(place.key) {
        try remove(place, from: owner, facts: facts)
      }
    }
    try link(targets: targets, to: owner, facts: facts, reorders: true)
  }

  func addObjects(
    _ targets: [ObjectPlace], to owner: ObjectPlace, facts: RelationshipFacts
  ) throws {
    try link(targets: targets, to: owner, facts: facts, reorders: false)
  }

  func setObject(
    _ target: ObjectPlace?, of owner: ObjectPlace, facts: RelationshipFacts
  ) throws {
    let statements = try statements(facts: facts)
    guard let update = statements.update else { return }
    try ensureInserted(owner)
    if let target { try ensureInserted(target) }
    let old = facts.isPlain ? nil : try number(statement: statements.key, key: owner.key)
    guard facts.isPlain || old != target?.key else { return }
    if let inverse = statements.inverseUpdate {
      // Both ends of a pair hold a key, so the object that was paired before is released.
      if let old, let previous = try place(key: old, facts: facts) {
        try inverse.write((.null, .null, .null), to: previous, context: self)
      }
      if let target {
        if let other = try number(statement: statements.inverseKey, key: target.key),
          other != owner.key,
          let number = try number(of: other, in: owner.facts.tableName),
          let previous = self.facts(number: number)
        {
          try update.write(
            (.null, .null, .null), to: ObjectPlace(facts: previous, key: other), context: self)
        }
        try inverse.write(
          (.integer(owner.key), .integer(owner.facts.number), .null), to: target, context: self)
      }
    }
    guard let target else {
      return try update.write((.null, .null, .null), to: owner, context: self)
    }
    try update.write(
      (.integer(target.key), .integer(target.facts.number), .integer(nextPlace())), to: owner,
      context: self)
  }

  private func remove(
    _ target: ObjectPlace, from owner: ObjectPlace, facts: RelationshipFacts
  ) throws {
    let statements = try statements(facts: facts)
    if let pair = statements.removePair {
      pair.bind(all: [owner.key, target.key])
      try pair.execute()
      if facts.isOwnInverse {
        pair.bind(all: [target.key, owner.key])
        try pair.execute()
      }
    } else {
      try statements.update?.write((.null, .null, .null), to: target, context: self)
    }
  }

  private func link(
    targets: [ObjectPlace], to owner: ObjectPlace, facts: RelationshipFacts,
    reorders: Bool
  ) throws {
    guard !targets.isEmpty else { return }
    let statements = try statements(facts: facts)
    try ensureInserted(owner)
    for target in targets {
      try ensureInserted(target)
      switch facts.storage {
      case .children(_, _, _, let order):
        let isLinked = try number(statement: statements.childKey, key: target.key) == owner.key
        if isLinked && (order == nil || !reorders) { continue }
        try statements.update?.write(
          (.integer(owner.key), .integer(owner.facts.number), .integer(nextPlace())), to: target,
          context: self)
      case .join(_, _, _, let order, let ownerOrder):
        var values = [owner.key, target.key]
        if order != nil { values.append(nextPlace()) }
        if ownerOrder != nil { values.append(nextPlace()) }
        let statement = reorders ? statements.placePair ?? statements.addPair : statements.addPair
        statement?.bind(all: values)
        try statement?.execute()
        if facts.isOwnInverse {
          values.swapAt(0, 1)
          statements.addPair?.bind(all: values)
          try statements.addPair?.execute()
        }
      case .toOne, .none: break
      }
    }
  }

  private func nextPlace() -> Int64 {
    lastPlace += 1024
    return lastPlace
  }
}
