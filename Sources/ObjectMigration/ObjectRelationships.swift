import GRDB
import Schema

extension ObjectContext {
  // MARK: Reading

  func object(of owner: ManagedObject, _ facts: RelationshipFacts) throws -> ManagedObject? {
    guard case .toOne(let column, _, _) = facts.storage,
      let key = try owner.reference(column)
    else { return nil }
    return try target(key, facts)
  }

  /// The object of a key; nil where the store has no such row.
  private func target(_ key: Int64, _ facts: RelationshipFacts) throws -> ManagedObject? {
    if let number = facts.onlyNumber {
      return object(key: key, number: number, table: facts.targetTable)
    }
    let statement = try db.cachedStatement(
      sql: "SELECT Z_ENT FROM \(sqlTable(facts.targetTable)) WHERE Z_PK = ?")
    guard let number = try Int64.fetchOne(statement, arguments: [key]) else { return nil }
    return object(key: key, number: number, table: facts.targetTable)
  }

  func objects(of owner: ManagedObject, _ facts: RelationshipFacts) throws -> [ManagedObject] {
    try members(of: owner, facts).compactMap { key, number in
      object(key: key, number: number, table: facts.targetTable)
    }
  }

  private func members(
    of owner: ManagedObject, _ facts: RelationshipFacts
  ) throws -> [(key: Int64, number: Int64)] {
    let sql: String
    switch facts.storage {
    case .children(let table, let column, _, let order):
      let column = SQL.identifier(column)
      let places = [order.map(SQL.identifier), "Z_PK"].compactMap(\.self).joined(separator: ", ")
      sql = "SELECT Z_PK, Z_ENT FROM \(sqlTable(table)) WHERE \(column) = ? ORDER BY \(places)"
    case .join(let table, let mine, let theirs, let order, _):
      let places = [order.map { "j." + SQL.identifier($0) }, "t.Z_PK"].compactMap(\.self)
      sql = """
        SELECT t.Z_PK, t.Z_ENT FROM \(sqlTable(table)) AS j
        JOIN \(sqlTable(facts.targetTable)) AS t ON t.Z_PK = j.\(SQL.identifier(theirs))
        WHERE j.\(SQL.identifier(mine)) = ? ORDER BY \(places.joined(separator: ", "))
        """
    case .toOne, .none: return []
    }
    let statement = try db.cachedStatement(sql: sql)
    return try Row.fetchAll(statement, arguments: [owner.primaryKey]).map { ($0[0], $0[1]) }
  }

  // MARK: Writing

  func setObject(
    _ target: ManagedObject?, of owner: ManagedObject, _ facts: RelationshipFacts
  ) throws {
    guard case .toOne(let column, let entityColumn, let orderColumn) = facts.storage else { return }
    let old = try owner.reference(column)
    guard old != target?.primaryKey else { return }
    if let target { try ensureInserted(target) }
    if let inverse = facts.inverseColumn {
      // Both ends of a pair hold a key, so whoever was paired before is released.
      if let old, let previous = try self.target(old, facts) {
        try write([(inverse, .null), (facts.inverseEntityColumn, .null)], to: previous)
      }
      if let target {
        if let other = try target.reference(inverse), other != owner.primaryKey,
          let previous = try sibling(other, of: owner)
        {
          try write([(column, .null), (entityColumn, .null)], to: previous)
        }
        try write(
          [
            (inverse, .integer(owner.primaryKey)),
            (facts.inverseEntityColumn, .integer(owner.facts.number)),
          ], to: target)
      }
    }
    let place = orderColumn.map { ($0, target == nil ? StoredValue.null : .integer(nextPlace())) }
    try write(
      [
        (column, target.map { .integer($0.primaryKey) } ?? .null),
        (entityColumn, target.map { .integer($0.facts.number) } ?? .null),
        (place?.0, place?.1 ?? .null),
      ], to: owner)
  }

  /// An object of the owner's table, such as the one that was paired before.
  private func sibling(_ key: Int64, of owner: ManagedObject) throws -> ManagedObject? {
    let statement = try db.cachedStatement(
      sql: "SELECT Z_ENT FROM \(sqlTable(owner.facts.tableName)) WHERE Z_PK = ?")
    guard let number = try Int64.fetchOne(statement, arguments: [key]) else { return nil }
    return object(key: key, number: number, table: owner.facts.tableName)
  }

  func setObjects(
    _ targets: [ManagedObject], of owner: ManagedObject, _ facts: RelationshipFacts
  ) throws {
    let kept = Set(targets.map(\.primaryKey))
    for (key, number) in try members(of: owner, facts) where !kept.contains(key) {
      try remove(key, number, from: owner, facts)
    }
    try link(targets, to: owner, facts, reorders: true)
  }

  func addObjects(
    _ targets: [ManagedObject], to owner: ManagedObject, _ facts: RelationshipFacts
  ) throws {
    try link(targets, to: owner, facts, reorders: false)
  }

  private func remove(
    _ key: Int64, _ number: Int64, from owner: ManagedObject, _ facts: RelationshipFacts
  ) throws {
    switch facts.storage {
    case .children(let table, let column, let entityColumn, let orderColumn):
      guard let child = object(key: key, number: number, table: table) else { return }
      try write([(column, .null), (entityColumn, .null), (orderColumn, .null)], to: child)
    case .join(let table, let mine, let theirs, _, _):
      let statement = try db.cachedStatement(
        sql: """
          DELETE FROM \(sqlTable(table))
          WHERE \(SQL.identifier(mine)) = ? AND \(SQL.identifier(theirs)) = ?
          """)
      try statement.execute(arguments: [owner.primaryKey, key])
    case .toOne, .none: break
    }
  }

  private func link(
    _ targets: [ManagedObject], to owner: ManagedObject, _ facts: RelationshipFacts,
    reorders: Bool
  ) throws {
    try ensureInserted(owner)
    for target in targets {
      try ensureInserted(target)
      switch facts.storage {
      case .children(_, let column, let entityColumn, let orderColumn):
        let isLinked = try reference(column, of: target) == owner.primaryKey
        if isLinked && (orderColumn == nil || !reorders) { continue }
        try write(
          [
            (column, .integer(owner.primaryKey)),
            (entityColumn, .integer(owner.facts.number)),
            (orderColumn, .integer(nextPlace())),
          ], to: target)
      case .join(let table, let mine, let theirs, let order, let ownerOrder):
        try pair(
          owner.primaryKey, target.primaryKey, table, mine, theirs, order, ownerOrder,
          reorders: reorders)
      case .toOne, .none: break
      }
    }
  }

  /// A key on the row of an object, which may be a column of another entity's relationship.
  private func reference(_ column: String, of object: ManagedObject) throws -> Int64? {
    if object.facts.columnIndexes[column] != nil { return try object.reference(column) }
    let statement = try db.cachedStatement(
      sql: """
        SELECT \(SQL.identifier(column)) FROM \(sqlTable(object.facts.tableName)) WHERE Z_PK = ?
        """)
    return try Row.fetchOne(statement, arguments: [object.primaryKey]).flatMap { $0[0] as Int64? }
  }

  private func pair(
    _ owner: Int64, _ target: Int64, _ table: String, _ mine: String, _ theirs: String,
    _ order: String?, _ ownerOrder: String?, reorders: Bool
  ) throws {
    var columns = [mine, theirs]
    var values = [owner, target]
    for column in [order, ownerOrder].compactMap(\.self) {
      columns.append(column)
      values.append(nextPlace())
    }
    let list = columns.map(SQL.identifier).joined(separator: ", ")
    let marks = columns.map { _ in "?" }.joined(separator: ", ")
    let conflict =
      order.flatMap { reorders ? SQL.identifier($0) : nil }
      .map {
        """
        ON CONFLICT (\(SQL.identifier(mine)), \(SQL.identifier(theirs)))
        DO UPDATE SET \($0) = excluded.\($0)
        """
      } ?? "ON CONFLICT DO NOTHING"
    let statement = try db.cachedStatement(
      sql: "INSERT INTO \(sqlTable(table)) (\(list)) VALUES (\(marks)) \(conflict)")
    try statement.execute(arguments: StatementArguments(values))
  }

  /// Writes columns at once, in the store and in the object if its row has been read.
  private func write(
    _ columns: [(String?, StoredValue)], to object: ManagedObject
  ) throws {
    try ensureInserted(object)
    let named = columns.compactMap { name, value in name.map { ($0, value) } }
    let list = named.map { "\(SQL.identifier($0.0)) = ?" }.joined(separator: ", ")
    let statement = try db.cachedStatement(
      sql: "UPDATE \(sqlTable(object.facts.tableName)) SET \(list) WHERE Z_PK = ?")
    let values = named.map(\.1.databaseValue) + [object.primaryKey.databaseValue]
    try statement.execute(arguments: StatementArguments(values))
    guard var row = object.row else { return }
    object.row = nil
    for (name, value) in named {
      if let index = object.facts.columnIndexes[name] { row[index] = value }
    }
    object.row = row
  }

  private func nextPlace() -> Int64 {
    lastPlace += 1024
    return lastPlace
  }
}
