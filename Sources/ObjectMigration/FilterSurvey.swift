import Expressions
package import GRDB
package import Mapping
package import Schema
package import SystemPackage

/// Finds out which objects of a source entity the filters of its mappings take, and which values
/// the mappings that take them forget.
package struct FilterSurvey {
  /// What became of the objects of one entity.
  package struct Outcome: Hashable, Sendable {
    /// All objects, those that nothing takes included.
    package var objects: Int64 = 0
    /// Objects that nothing takes.
    package var untaken: Int64 = 0
    /// The lowest keys of what nothing takes.
    package var untakenKeys: [Int64] = []
    /// Values that are not nil and that no mapping reads which takes their object, by attribute.
    package var forgotten: [String: Int64] = [:]
  }

  /// The most keys that an outcome lists.
  package static let reportedKeyLimit = 10

  private let context: ObjectContext
  private let statements: PreparedStatements
  private let now: Double

  /// Takes a connection to the source store.
  package init(db: Database, schema: StoreSchema, support: FilePath?, now: Double) {
    statements = PreparedStatements(db)
    context = ObjectContext(
      schema: schema, statements: statements, database: "main", isSource: true, support: support)
    self.now = now
  }

  /// Ends what would keep the connection from closing.
  package func close() { statements.close() }

  /// Looks at every object of the entity; nothing is known where a filter is none.
  package func outcome(division: MappingLosses.Division) throws -> Outcome? {
    guard division.isKnown else { return nil }
    let facts = try context.entityFacts(name: division.entity)
    let filters = try division.filters.map {
      try ObjectFilter(text: $0 ?? ValueExpression.everything, facts: facts, now: now)
    }
    let properties = division.properties.compactMap { property in
      facts.attributes[property.attribute].map { (property, $0.index) }
    }
    var outcome = Outcome()
    try context.forEach(
      division.entity, where: nil, includesSubentities: false, now: now
    ) { object in
      outcome.objects += 1
      let takers = try filters.indices.filter { try filters[$0].takes(object) }
      if takers.isEmpty {
        outcome.untaken += 1
        if outcome.untakenKeys.count < Self.reportedKeyLimit {
          outcome.untakenKeys.append(object.primaryKey)
        }
        return true
      }
      for (property, index) in properties where property.readers.isDisjoint(with: takers) {
        if try object.loadedRow()[index] != .null {
          outcome.forgotten[property.attribute, default: 0] += 1
        }
      }
      return true
    }
    return outcome
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

  func takes(_ object: ManagedObject) throws -> Bool {
    guard let predicate else { return true }
    // NULL equals nothing, as SQLite has it.
    if let equality, equality.value != .null {
      return try object.loadedRow()[equality.index] == equality.value
    }
    do {
      let scope = EvaluationScope(object: .object(object), now: now, patterns: patterns)
      return try object.context.choosing { try ExpressionEvaluator(scope).isTrue(predicate) }
    } catch let error as EvaluationError {
      throw ObjectMigrationError(.expressionFailed, entity: entity, cause: error)
    }
  }
}
