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
    /// Objects that each of the mappings does not take.
    package var left: [Int64]
    /// Values that are not nil, and references, that no mapping reads which takes their object, by
    /// property.
    package var forgotten: [String: Int64] = [:]

    /// Knows nothing yet of what so many mappings take.
    package init(mappings: Int) { left = Array(repeating: 0, count: mappings) }
  }

  /// The most keys that an outcome lists.
  package static let reportedKeyLimit = 10

  private let context: ObjectContext
  private let now: Double
  /// Whether SQLite is asked where it is certain to say what the evaluator says.
  package var asksSQLite = true

  /// Takes a connection to the source store.
  package init(db: Database, schema: StoreSchema, support: FilePath?, now: Double) {
    context = ObjectContext(of: db, schema: schema, support: support)
    self.now = now
  }

  /// Ends what would keep the connection from closing.
  package func close() { context.statements.close() }

  /// Looks at every object of the entity; nothing is known where a filter is none.
  ///
  /// - Parameters:
  ///   - looked: called for each object that is not left to SQLite.
  ///   - note: called for each object that not all mappings take, with its table, its key and which
  ///     of them take it; where there are several mappings, for all objects.
  package func outcome(
    division: MappingLosses.Division, looked: () -> Void = {},
    note: (_ table: String, _ key: Int64, _ takes: [Bool]) throws -> Void = { _, _, _ in }
  ) throws -> Outcome? {
    guard division.isKnown else { return nil }
    let facts = try context.entityFacts(name: division.entity)
    let filters = try division.filters.map {
      try ObjectFilter(text: $0 ?? ValueExpression.everything, facts: facts, now: now)
    }
    var outcome = Outcome(mappings: filters.count)
    if asksSQLite, division.properties.allSatisfy({ facts.attributes[$0.name] != nil }) {
      let statements = filters.compactMap { $0.statement(facts) }
      if statements.count == filters.count {
        try survey(
          statements, filters: filters, facts: facts, division: division, outcome: &outcome,
          note: note)
        return outcome
      }
    }
    try evaluate(
      filters, facts: facts, division: division, outcome: &outcome, looked: looked, note: note)
    return outcome
  }

  /// Has the evaluator look at each object.
  private func evaluate(
    _ filters: [ObjectFilter], facts: EntityFacts, division: MappingLosses.Division,
    outcome: inout Outcome, looked: () -> Void,
    note: (_ table: String, _ key: Int64, _ takes: [Bool]) throws -> Void
  ) throws {
    let properties = division.properties.compactMap { property in
      facts.attributes[property.name].map { (property, $0.index) }
    }
    let relationships = division.properties.compactMap { property in
      facts.relationships[property.name].map { (property, $0) }
    }
    try context.forEach(
      division.entity, where: nil, includesSubentities: false, now: now
    ) { object in
      looked()
      let takes = try filters.map { try $0.takes(object) }
      if takes.contains(false) || filters.count > 1 {
        try note(facts.tableName, object.primaryKey, takes)
      }
      guard outcome.add(takes, key: object.primaryKey) else { return true }
      for (property, index) in properties where !property.isRead(takes) {
        if try object.loadedRow()[index] != .null {
          outcome.forgotten[property.name, default: 0] += 1
        }
      }
      for (property, relationship) in relationships where !property.isRead(takes) {
        let left = try context.places(of: object.place, facts: relationship)
          .count { property.targets?.contains($0.facts.name) ?? true }
        if left > 0 { outcome.forgotten[property.name, default: 0] += Int64(left) }
      }
      return true
    }
  }
}

extension FilterSurvey {
  /// Has SQLite evaluate the filters of an entity, the evaluator where SQLite is not certain.
  private func survey(
    _ statements: [FilterStatement], filters: [ObjectFilter], facts: EntityFacts,
    division: MappingLosses.Division, outcome: inout Outcome,
    note: (_ table: String, _ key: Int64, _ takes: [Bool]) throws -> Void
  ) throws {
    let properties = division.properties.filter { $0.readers.count < filters.count }
    let flags = properties.compactMap { property in
      facts.attributes[property.name].map {
        "(\(SQL.identifier(name: facts.columns[$0.index])) IS NOT NULL)"
      }
    }
    let list = ["Z_PK"] + statements.map(\.sql) + flags
    let isWanted = (statements.map { "\($0.sql) IS NOT 1" } + flags).joined(separator: " OR ")
    let test = filters.count > 1 ? "" : " AND (\(isWanted))"
    let rows = try context.statements.statement(
      sql: """
        SELECT \(list.joined(separator: ", ")) FROM \(context.sqlTable(name: facts.tableName)) \
        NOT INDEXED WHERE Z_ENT = ?1\(test) ORDER BY Z_PK
        """)
    rows.bind(facts.number, at: 1)
    var takes = Array(repeating: false, count: filters.count)
    while try rows.step() {
      let key = rows.integer(column: 0)
      for place in filters.indices {
        if let certain = rows.key(column: place + 1) {
          takes[place] = certain == 1
        } else {
          takes[place] = try filters[place].takes(
            context.object(at: ObjectPlace(facts: facts, key: key)))
        }
      }
      if takes.contains(false) || filters.count > 1 { try note(facts.tableName, key, takes) }
      guard outcome.add(takes, key: key) else { continue }
      for (place, property) in properties.enumerated()
      where rows.integer(column: place + 1 + filters.count) == 1 && !property.isRead(takes) {
        outcome.forgotten[property.name, default: 0] += 1
      }
    }
  }
}

extension MappingLosses.Division.Property {
  /// Whether any of the mappings that take an object reads it.
  fileprivate func isRead(_ takes: [Bool]) -> Bool { readers.contains { takes[$0] } }
}

extension FilterSurvey.Outcome {
  /// Counts an object by what takes it; whether anything does.
  fileprivate mutating func add(_ takes: [Bool], key: Int64) -> Bool {
    var isTaken = false
    for place in takes.indices {
      if takes[place] { isTaken = true } else { left[place] += 1 }
    }
    if isTaken { return true }
    untaken += 1
    if untakenKeys.count < FilterSurvey.reportedKeyLimit { untakenKeys.append(key) }
    return false
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
