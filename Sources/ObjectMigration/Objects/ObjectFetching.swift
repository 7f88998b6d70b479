package import Expressions
import GRDB
import ObjectModel
import Schema

extension ObjectContext {
  /// The objects of an entity in the order of their keys, some at a time, from a key on; where
  /// no index finds them, up to another.
  private func batch(
    of facts: EntityFacts, from first: Int64, upTo last: Int64, having key: FetchKey?
  ) throws -> (objects: [ManagedObject], isLast: Bool) {
    let statement: PreparedStatement
    if let key {
      statement = try fetchIndexes.statement(of: facts, index: key.index)
      statement.bind(key.value, at: 2)
    } else {
      statement = try rowStatements(facts: facts).batch(facts: facts, context: self)
      statement.bind(last, at: 2)
    }
    statement.bind(first, at: 1)
    var result: [ManagedObject] = []
    let most = bytesRead + Self.batchBytes(memory: file?.memory)
    while try statement.step() {
      let place = ObjectPlace(facts: facts, key: statement.integer(column: 0))
      if let object = live(place) {
        result.append(object)
        continue
      }
      let values = statement.values(from: 1, count: facts.columns.count)
      result.append(object(of: facts, row: .init(key: place.key, values: values)))
      guard bytesRead < most else {
        statement.reset()
        return (result, false)
      }
    }
    // No rows are added meanwhile.
    return (result, result.count < Self.batchSize)
  }

  /// How many bytes of rows are read at once, in a process that may occupy so many.
  static func batchBytes(memory: Int64?) -> Int64 { max(1 << 20, (memory ?? 64 << 20) / 64) }

  /// The first objects of an entity that satisfy a predicate, in the order of their keys.
  func fetch(
    _ entityName: String, where predicate: ValuePredicate?, includesSubentities: Bool, limit: Int,
    now: Double
  ) throws -> [ManagedObject] {
    var result: [ManagedObject] = []
    try forEach(
      entityName, where: predicate, includesSubentities: includesSubentities, now: now
    ) { object in
      result.append(object)
      return result.count < limit
    }
    return result
  }

  /// Every object of an entity that satisfies a predicate, one after the other.
  ///
  /// - Parameters:
  ///   - keys: those of the objects that are evaluated.
  ///   - isAhead: whether rows are read ahead by another thread, where `file` is known.
  func forEach(
    _ entityName: String, where predicate: ValuePredicate?, includesSubentities: Bool,
    keys: ClosedRange<Int64> = .min ... .max, now: Double, isAhead: Bool = false,
    body: (ManagedObject) throws -> Bool
  ) throws {
    if !isSource {
      try flush()
      try makeIndexes()
    }
    let predicate = predicate == .always(true) ? nil : predicate
    let patterns = PatternCache()
    func take(_ object: ManagedObject) throws -> Bool {
      if let predicate {
        let scope = EvaluationScope(object: .object(object), now: now, patterns: patterns)
        guard try choosing({ try ExpressionEvaluator(scope).isTrue(predicate) }) else {
          return true
        }
      }
      return try body(object)
    }
    for facts in try family(of: entityName, includesSubentities: includesSubentities) {
      let key = predicate.flatMap { FetchKey($0, facts: facts, now: now) }
      if isAhead, key == nil, let ahead = rowsAhead(of: facts, keys: keys) {
        defer { ahead.end() }
        while let rows = try ahead.next() {
          for row in rows where try !take(object(of: facts, row: row)) { return }
        }
        continue
      }
      var next: Int64? = keys.lowerBound
      while let first = next {
        let (objects, isLast) = try batch(
          of: facts, from: first, upTo: keys.upperBound, having: key)
        next =
          isLast
          ? nil
          : objects.last.flatMap { $0.primaryKey >= keys.upperBound ? nil : $0.primaryKey + 1 }
        for object in objects where object.primaryKey <= keys.upperBound {
          guard try take(object) else { return }
        }
      }
    }
  }

  private func rowsAhead(of facts: EntityFacts, keys: ClosedRange<Int64>) -> RowsAhead? {
    guard isSource, let file else { return nil }
    return RowsAhead(
      .init(
        source: file.path, sql: facts.rows(database: "main"), keys: keys,
        columns: facts.columns.count, memory: file.memory))
  }

  /// The object of a row, which is the one in memory where there is one.
  private func object(of facts: EntityFacts, row: RowsAhead.Row) -> ManagedObject {
    bytesRead += row.bytes
    return live(ObjectPlace(facts: facts, key: row.key))
      ?? remember(
        ManagedObject(
          context: self, facts: facts, key: row.key, row: row.values, isInserted: true))
  }

  private func family(of name: String, includesSubentities: Bool) throws -> [EntityFacts] {
    guard includesSubentities else { return [try entityFacts(name: name)] }
    if let known = families[name] { return known }
    let found = try schema.model.family(of: name).map { try entityFacts(name: $0.name) }
    families[name] = found
    return found
  }

  /// Answers FETCH: objects of subentities have mappings of their own, so they are left out.
  package func fetch(_ request: FetchRequestValue) throws -> [any EvaluatedObject] {
    let id = ObjectIdentifier(request)
    if let known = answers[id] { return known.found.map { object(at: $0) } }
    var result: [ManagedObject] = []
    try forEach(
      request.entityName, where: request.predicate, includesSubentities: false, now: 0
    ) { object in
      result.append(object)
      return true
    }
    let facts = try entityFacts(name: request.entityName)
    if isSource, result.count <= Self.mostAnswers,
      FetchKey(request.predicate, facts: facts, now: 0) == nil
    {
      if answers.count >= Self.mostAnswers { answers = [:] }
      answers[id] = (request, result.map(\.place))
    }
    return result
  }
}

extension ObjectContext {
  /// The objects of an entity that an index finds by a value, or may have it; nil where none can.
  ///
  /// - Throws: `ObjectMigrationError` where the store cannot be read.
  package func fetch(
    _ entityName: String, having key: String, of value: AttributeValue
  ) throws -> [any EvaluatedObject]? {
    let predicate = ValuePredicate.comparison(
      .keyPath(operand: nil, key), .equal, .constant(value), modifier: .direct,
      caseInsensitive: false, diacriticInsensitive: false)
    guard isSource, let facts = facts[entityName], FetchKey(predicate, facts: facts, now: 0) != nil
    else { return nil }
    var result: [ManagedObject] = []
    try forEach(entityName, where: predicate, includesSubentities: false, now: 0) { object in
      result.append(object)
      return true
    }
    return result
  }
}

extension ObjectContext {
  /// The object of a key, whatever entity of the table it is of.
  func anyObject(key: Int64, table: Int64) throws -> ManagedObject? {
    guard schema.tables.indices.contains(Int(table)) else { return nil }
    let statement = try statements.statement(
      sql: "SELECT Z_ENT FROM \(sqlTable(name: schema.tables[Int(table)].name)) WHERE Z_PK = ?")
    statement.bind(key, at: 1)
    guard try statement.step() else { return nil }
    let number = statement.integer(column: 0)
    statement.reset()
    guard let facts = facts(number: number), facts.tableIndex == Int(table) else { return nil }
    return object(at: ObjectPlace(facts: facts, key: key))
  }
}

extension ObjectContext {
  /// Whether all objects of the table are of that entity.
  private func isAlone(_ facts: EntityFacts) -> Bool {
    self.facts.values.allSatisfy {
      $0 === facts || $0.tableIndex != facts.tableIndex || $0.entity.isAbstract
    }
  }

  /// How many objects an entity has, without those of its subentities, and between which keys; nil
  /// for no key.
  func extent(entityName: String) throws -> (count: Int64, keys: ClosedRange<Int64>?) {
    let facts = try entityFacts(name: entityName)
    guard schema.tables.contains(where: { $0.name == facts.tableName }) else { return (0, nil) }
    let table = "FROM \(sqlTable(name: facts.tableName))"
    // Alone, each is found without reading every row.
    let sql =
      isAlone(facts)
      ? "SELECT (SELECT count(*) \(table)), (SELECT min(Z_PK) \(table)), (SELECT max(Z_PK) \(table))"
      : "SELECT count(*), min(Z_PK), max(Z_PK) \(table) WHERE Z_ENT = \(facts.number)"
    let row = try Row.fetchOne(db, sql: sql)
    let found = row.map { $0.databaseValues.map { Int64.fromDatabaseValue($0) } } ?? []
    guard found.count == 3, let count = found[0] else { return (0, nil) }
    guard let first = found[1], let last = found[2], first <= last else { return (count, nil) }
    return (count, first...last)
  }
}
