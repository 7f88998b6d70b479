import Schema

/// What reads and writes the rows of one entity.
final class EntityStatements {
  let read: PreparedStatement
  private var insert: PreparedStatement?
  private var updates: [[Int]: PreparedStatement] = [:]
  private var batch: PreparedStatement?

  init(facts: EntityFacts, context: ObjectContext) throws {
    let table = context.sqlTable(name: facts.tableName)
    let columns = facts.columns.map(SQL.identifier)
    read = try context.statements.statement(
      sql: "SELECT \((["Z_PK"] + columns).joined(separator: ", ")) FROM \(table) WHERE Z_PK = ?")
  }

  /// Writes a row, with its key in front.
  ///
  /// Only a destination has it: in a source, triggers may call functions of Core Data, which SQLite
  /// requires as soon as such a statement is prepared.
  func insert(facts: EntityFacts, context: ObjectContext) throws -> PreparedStatement {
    if let insert { return insert }
    // A new object has been saved once (docs/reference/store-format.md).
    let names = ["Z_ENT", "Z_OPT", "Z_PK"] + facts.columns.map(SQL.identifier)
    let values = ["\(facts.number)", "1", "?"] + facts.columns.map { _ in "?" }
    let made = try context.statements.statement(
      sql: """
        INSERT INTO \(context.sqlTable(name: facts.tableName)) (\(names.joined(separator: ", ")))
        VALUES (\(values.joined(separator: ", ")))
        """)
    insert = made
    return made
  }

  /// The rows of the entity in the order of their keys, a batch of them from the key ?1 up to ?2.
  func batch(facts: EntityFacts, context: ObjectContext) throws -> PreparedStatement {
    if let batch { return batch }
    let made = try context.statements.statement(
      sql: facts.rows(database: context.database) + " LIMIT \(ObjectContext.batchSize)")
    batch = made
    return made
  }

  /// Writes some columns, in their order, to the row of a key.
  func update(
    _ indexes: [Int], facts: EntityFacts, context: ObjectContext
  ) throws -> PreparedStatement {
    if let known = updates[indexes] { return known }
    let list = indexes.map { "\(SQL.identifier(name: facts.columns[$0])) = ?" }
    let made = try context.statements.statement(
      sql: "UPDATE \(context.sqlTable(name: facts.tableName)) SET \(list.joined(separator: ", ")) "
        + "WHERE Z_PK = ?")
    updates[indexes] = made
    return made
  }
}

extension EntityFacts {
  /// Selects the rows of the entity, with their keys in front, from the key ?1 up to ?2.
  func rows(database: String) -> String {
    """
    SELECT \(rowList(alias: "t")) FROM \(database).\(SQL.identifier(name: tableName)) AS t
    WHERE t.Z_PK BETWEEN ?1 AND ?2 AND t.Z_ENT = \(number) ORDER BY t.Z_PK
    """
  }
}

/// Writes some columns of rows, in the store and in objects in memory.
final class ColumnUpdate {
  private let columns: [String]
  private let places: [Int]
  private let statement: PreparedStatement

  /// Takes the columns that exist; `sparing` leaves rows alone that have the first value.
  init(
    table: String, columns: [String?], sparing: Bool = false, context: ObjectContext
  ) throws {
    places = columns.indices.filter { columns[$0] != nil }
    self.columns = columns.compactMap(\.self)
    let list = self.columns.enumerated().map { "\(SQL.identifier(name: $1)) = ?\($0 + 1)" }
    let other = sparing ? " AND \(SQL.identifier(name: self.columns[0])) IS NOT ?1" : ""
    statement = try context.statements.statement(
      sql: "UPDATE \(context.sqlTable(name: table)) SET \(list.joined(separator: ", ")) "
        + "WHERE Z_PK = ?\(list.count + 1)\(other)")
  }

  /// Takes a value for each column that was named, those that do not exist included.
  func write(
    _ values: (StoredValue, StoredValue, StoredValue), to place: ObjectPlace,
    context: ObjectContext
  ) throws {
    try context.ensureInserted(place)
    for (index, named) in places.enumerated() {
      statement.bind(Self.value(index: named, of: values), at: index + 1)
    }
    statement.bind(place.key, at: places.count + 1)
    try statement.execute()
    guard let object = context.live(place), var row = object.row else { return }
    object.row = nil
    for (index, named) in places.enumerated() {
      if let column = place.facts.columnIndexes[columns[index]] {
        row[column] = Self.value(index: named, of: values)
      }
    }
    object.row = row
  }

  private static func value(
    index: Int, of values: (StoredValue, StoredValue, StoredValue)
  ) -> StoredValue {
    switch index {
    case 0: values.0
    case 1: values.1
    default: values.2
    }
  }
}

/// What reads and writes one relationship of one entity.
final class RelationshipStatements {
  /// Of a to-one relationship, the key and the entity number of the object, and what sets them.
  var key: PreparedStatement?
  var update: ColumnUpdate?
  /// Of the other end of a one-to-one relationship, the same.
  var inverseKey: PreparedStatement?
  var inverseUpdate: ColumnUpdate?
  /// Of a to-many relationship, the keys and entity numbers of all objects.
  var members: PreparedStatement?
  /// Of an object of a to-many relationship, the owner's key on its row.
  var childKey: PreparedStatement?
  var removePair: PreparedStatement?
  /// Adds a pair, and moves one that is there to its new place.
  var placePair: PreparedStatement?
  /// Adds a pair, and leaves one that is there alone.
  var addPair: PreparedStatement?

  init(facts: RelationshipFacts, context: ObjectContext) throws {
    switch facts.storage {
    case .toOne(let column, let entityColumn, let orderColumn):
      try setToOne(facts, columns: [column, entityColumn, orderColumn], context: context)
    case .children(let table, let column, let entityColumn, let orderColumn):
      try setChildren(table, columns: [column, entityColumn, orderColumn], context: context)
    case .join(let table, let mine, let theirs, let order, let ownerOrder):
      try setPairs(
        facts, table: table, ends: [mine, theirs], order: order, ownerOrder: ownerOrder,
        context: context)
    case .none: break
    }
  }

  private func setToOne(
    _ facts: RelationshipFacts, columns: [String?], context: ObjectContext
  ) throws {
    guard let column = columns[0] else { return }
    let table = context.sqlTable(name: facts.targetTable)
    let name = "o.\(SQL.identifier(name: column))"
    // Where nothing inherits from the destination entity, its number is known.
    let number =
      facts.onlyNumber.map { "\($0)" }
      ?? "(SELECT t.Z_ENT FROM \(table) AS t WHERE t.Z_PK = \(name))"
    key = try context.statements.statement(
      sql:
        "SELECT \(name), \(number) FROM \(context.sqlTable(name: facts.ownerTable)) AS o WHERE o.Z_PK = ?"
    )
    guard !context.isSource else { return }
    update = try ColumnUpdate(
      table: facts.ownerTable, columns: columns, sparing: facts.isPlain, context: context)
    if let inverse = facts.inverseColumn {
      inverseKey = try context.statements.statement(
        sql: "SELECT \(SQL.identifier(name: inverse)) FROM \(table) WHERE Z_PK = ?")
      inverseUpdate = try ColumnUpdate(
        table: facts.targetTable, columns: [inverse, facts.inverseEntityColumn], context: context)
    }
  }

  private func setChildren(
    _ table: String, columns: [String?], context: ObjectContext
  ) throws {
    guard let column = columns[0].map(SQL.identifier) else { return }
    let places = [columns[2].map(SQL.identifier), "Z_PK"].compactMap(\.self)
    members = try context.statements.statement(
      sql: """
        SELECT Z_PK, Z_ENT FROM \(context.sqlTable(name: table)) WHERE \(column) = ?
        ORDER BY \(places.joined(separator: ", "))
        """)
    guard !context.isSource else { return }
    childKey = try context.statements.statement(
      sql: "SELECT \(column) FROM \(context.sqlTable(name: table)) WHERE Z_PK = ?")
    update = try ColumnUpdate(table: table, columns: columns, context: context)
  }

  private func setPairs(
    _ facts: RelationshipFacts, table: String, ends: [String], order: String?,
    ownerOrder: String?, context: ObjectContext
  ) throws {
    let names = ends.map(SQL.identifier)
    let sqlTable = context.sqlTable(name: table)
    let places = [order.map { "j." + SQL.identifier(name: $0) }, "t.Z_PK"].compactMap(\.self)
    members = try context.statements.statement(
      sql: """
        SELECT t.Z_PK, t.Z_ENT FROM \(sqlTable) AS j
        JOIN \(context.sqlTable(name: facts.targetTable)) AS t ON t.Z_PK = j.\(names[1])
        WHERE j.\(names[0]) = ? ORDER BY \(places.joined(separator: ", "))
        """)
    guard !context.isSource else { return }
    removePair = try context.statements.statement(
      sql: "DELETE FROM \(sqlTable) WHERE \(names[0]) = ? AND \(names[1]) = ?")
    let columns = names + [order, ownerOrder].compactMap(\.self).map(SQL.identifier)
    let insert =
      "INSERT INTO \(sqlTable) (\(columns.joined(separator: ", "))) "
      + "VALUES (\(columns.map { _ in "?" }.joined(separator: ", "))) "
    addPair = try context.statements.statement(sql: insert + "ON CONFLICT DO NOTHING")
    placePair = try order.map(SQL.identifier).map {
      try context.statements.statement(
        sql: insert + "ON CONFLICT (\(names[0]), \(names[1])) DO UPDATE SET \($0) = excluded.\($0)")
    }
  }
}
