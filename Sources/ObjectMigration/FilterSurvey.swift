import Expressions
package import GRDB
package import Mapping
import ObjectModel
package import Schema
package import SystemPackage

/// Finds out which objects of a source entity the filters of its mappings take, and which values
/// the mappings that take them forget.
package struct FilterSurvey {
  /// What became of the objects of one entity.
  package struct Outcome: Hashable, Sendable {
    /// Objects that nothing takes.
    package var untaken: Int64 = 0
    /// The lowest keys of what nothing takes.
    package var untakenKeys: [Int64] = []
    /// Values that are not nil, and references, that no mapping reads which takes their object, by
    /// property.
    package var forgotten: [String: Int64] = [:]
  }

  /// The most keys that an outcome lists.
  package static let reportedKeyLimit = 10

  private let context: ObjectContext
  private let now: Double

  /// Takes a connection to the source store.
  package init(db: Database, schema: StoreSchema, support: FilePath?, now: Double) {
    context = ObjectContext(of: db, schema: schema, support: support)
    self.now = now
  }

  /// Ends what would keep the connection from closing.
  package func close() { context.statements.close() }

  /// Looks at every object of the entity; nothing is known where a filter is none.
  ///
  /// - Parameter drop: called for each object that nothing takes, with its table and its key.
  package func outcome(
    division: MappingLosses.Division,
    drop: (_ table: String, _ key: Int64) throws -> Void = { _, _ in }
  ) throws -> Outcome? {
    guard division.isKnown else { return nil }
    let facts = try context.entityFacts(name: division.entity)
    let filters = try division.filters.map {
      try ObjectFilter(text: $0 ?? ValueExpression.everything, facts: facts, now: now)
    }
    let properties = division.properties.compactMap { property in
      facts.attributes[property.name].map { (property, $0.index) }
    }
    let relationships = division.properties.compactMap { property in
      facts.relationships[property.name].map { (property, $0) }
    }
    var outcome = Outcome()
    if filters.count == 1, let statement = filters[0].statement(facts) {
      try survey(
        statement, filter: filters[0], facts: facts,
        properties: properties.filter { $0.0.readers.isEmpty }, outcome: &outcome, drop: drop)
      return outcome
    }
    try context.forEach(
      division.entity, where: nil, includesSubentities: false, now: now
    ) { object in
      let takers = try filters.indices.filter { try filters[$0].takes(object) }
      if takers.isEmpty {
        outcome.leave(object.primaryKey)
        try drop(facts.tableName, object.primaryKey)
        return true
      }
      for (property, index) in properties where property.readers.isDisjoint(with: takers) {
        if try object.loadedRow()[index] != .null {
          outcome.forgotten[property.name, default: 0] += 1
        }
      }
      for (property, relationship) in relationships
      where property.readers.isDisjoint(with: takers) {
        let left = try context.places(of: object.place, facts: relationship)
          .count { property.targets?.contains($0.facts.name) ?? true }
        if left > 0 { outcome.forgotten[property.name, default: 0] += Int64(left) }
      }
      return true
    }
    return outcome
  }
}

extension FilterSurvey {
  /// Has SQLite evaluate the only filter of an entity, the evaluator where SQLite is not certain.
  private func survey(
    _ statement: FilterStatement, filter: ObjectFilter, facts: EntityFacts,
    properties: [(MappingLosses.Division.Property, Int)], outcome: inout Outcome,
    drop: (_ table: String, _ key: Int64) throws -> Void
  ) throws {
    let flags = properties.map { "(\(SQL.identifier(name: facts.columns[$0.1])) IS NOT NULL)" }
    let list = ["Z_PK", statement.sql] + flags
    let isWanted = ["\(statement.sql) IS NOT 1"] + flags
    let rows = try context.statements.statement(
      sql: """
        SELECT \(list.joined(separator: ", ")) FROM \(context.sqlTable(name: facts.tableName)) \
        NOT INDEXED WHERE Z_ENT = ?1 AND (\(isWanted.joined(separator: " OR "))) ORDER BY Z_PK
        """)
    rows.bind(facts.number, at: 1)
    while try rows.step() {
      let key = rows.integer(column: 0)
      let isTaken: Bool
      if let certain = rows.key(column: 1) {
        isTaken = certain == 1
      } else {
        isTaken = try filter.takes(context.object(at: ObjectPlace(facts: facts, key: key)))
      }
      guard isTaken else {
        outcome.leave(key)
        try drop(facts.tableName, key)
        continue
      }
      for (place, property) in properties.enumerated()
      where rows.integer(column: place + 2) == 1 {
        outcome.forgotten[property.0.name, default: 0] += 1
      }
    }
  }
}

extension FilterSurvey.Outcome {
  /// Counts an object that nothing takes.
  fileprivate mutating func leave(_ key: Int64) {
    untaken += 1
    if untakenKeys.count < FilterSurvey.reportedKeyLimit { untakenKeys.append(key) }
  }
}

/// The predicate of a mapping, as it chooses among source objects.
struct ObjectFilter {
  private let predicate: ValuePredicate?
  private let equality: (index: Int, value: StoredValue)?
  private let now: Double
  private let entity: String
  private let patterns = PatternCache()

  init(text: String, facts: EntityFacts, now: Double) throws {
    self.now = now
    entity = facts.name
    if text == ValueExpression.everything {
      (predicate, equality) = (nil, nil)
      return
    }
    do {
      let parsed = try ValuePredicate(format: text)
      predicate = parsed == .always(true) ? nil : parsed
    } catch {
      throw ObjectMigrationError(.expressionFailed, entity: facts.name, cause: error)
    }
    equality = predicate.flatMap { Equality(predicate: $0, facts: facts) }.flatMap { found in
      facts.columnIndexes[found.column].map { ($0, found.value) }
    }
  }

  /// The predicate in SQL, where that says anything for certain.
  func statement(_ facts: EntityFacts) -> FilterStatement? {
    FilterStatement(predicate ?? .always(true), facts: facts)
  }

  func takes(_ object: ManagedObject) throws -> Bool {
    guard let predicate else { return true }
    // NULL equals nothing, as SQLite has it.
    if let equality, equality.value != .null {
      return try object.loadedRow()[equality.index].isSame(as: equality.value)
    }
    do {
      let scope = EvaluationScope(object: .object(object), now: now, patterns: patterns)
      return try object.context.choosing { try ExpressionEvaluator(scope).isTrue(predicate) }
    } catch let error as EvaluationError {
      throw ObjectMigrationError(
        .expressionFailed, entity: entity, key: object.primaryKey, cause: error)
    }
  }
}

extension StoredValue {
  /// Whether SQLite takes two values of one column for equal: texts by their bytes.
  fileprivate func isSame(as other: StoredValue) -> Bool {
    guard case .text(let text) = self, case .text(let others) = other else { return self == other }
    // Not Swift's equality, which takes composed and decomposed characters for one.
    return text.utf8.elementsEqual(others.utf8)
  }
}

/// A predicate that says no more than that an attribute of exact values equals a constant.
private struct Equality {
  let column: String
  let value: StoredValue

  init?(predicate: ValuePredicate, facts: EntityFacts) {
    guard
      case .comparison(
        .keyPath(let operand, let name), .equal, .constant(let constant), .direct, false, false) =
        predicate, operand == nil || operand == .evaluatedObject,
      let attribute = facts.attributes[name]
    else { return nil }
    switch (attribute.attribute.type, constant) {
    case (.string, .string), (.uuid, .uuid), (.uri, .uri), (.integer16, .integer),
      (.integer32, .integer), (.integer64, .integer):
      column = facts.columns[attribute.index]
      value = StoredValue(value: constant, of: attribute.attribute)
    default: return nil
    }
  }
}
