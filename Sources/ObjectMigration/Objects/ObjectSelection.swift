package import Expressions
package import GRDB
import ObjectModel
package import Schema
package import SystemPackage

/// Chooses objects of a store by a predicate, in the order of their keys, one row at a time.
///
/// SQLite evaluates what it is certain to evaluate as the evaluator does (`FilterStatement`), the
/// evaluator the rest; it reads only the columns of the predicate.
package final class ObjectSelection {
  private let context: ObjectContext
  private let now: Double

  /// Takes a connection to a store, and the schema with the names that the store uses.
  ///
  /// - Parameter now: the moment that `now()` is, in seconds since 2001.
  package init(db: Database, schema: StoreSchema, support: FilePath?, now: Double) {
    context = ObjectContext(of: db, schema: schema, support: support)
    self.now = now
  }

  /// Ends what would keep the connection from closing.
  package func close() { context.statements.close() }

  /// Calls a block with each object of an entity and its subentities that satisfies the predicate,
  /// until it returns false.
  ///
  /// - Throws: `ObjectMigrationError` where the predicate has no value for an object.
  package func forEach(
    of entity: String, where predicate: ValuePredicate?,
    body: (_ entity: String, _ key: Int64) throws -> Bool
  ) throws {
    let facts = try context.entityFacts(name: entity)
    let numbers = context.schema.model.family(of: entity).compactMap {
      context.schema.numbers[$0.name]?.rawValue
    }
    let filter = predicate ?? .always(true)
    let certain = FilterStatement(filter, facts: facts)?.sql ?? "NULL"
    let table = context.sqlTable(name: facts.tableName)
    let rows = try context.statements.statement(
      sql: """
        SELECT Z_PK, Z_ENT, \(certain) FROM \(table) NOT INDEXED \
        WHERE typeof(Z_ENT) = 'integer' \
        AND Z_ENT IN (\(numbers.map { "\($0)" }.joined(separator: ", "))) \
        AND (\(certain)) IS NOT 0 ORDER BY Z_PK
        """)
    let patterns = PatternCache()
    defer { rows.reset() }
    while try rows.step() {
      let key = rows.integer(column: 0)
      guard let own = context.facts(number: rows.integer(column: 1)) else { continue }
      if rows.key(column: 2) == nil {
        guard try holds(filter, for: key, of: own, patterns: patterns) else { continue }
      }
      guard try body(own.name, key) else { return }
    }
  }

  private func holds(
    _ predicate: ValuePredicate, for key: Int64, of facts: EntityFacts, patterns: PatternCache
  ) throws -> Bool {
    let object = ManagedObject(
      context: context, facts: facts, key: key, row: nil, isInserted: true)
    let row = ColumnReader(facts: facts, key: key, context: context)
    object.passing = row
    let scope = EvaluationScope(object: .object(object), now: now, patterns: patterns)
    do {
      return try context.choosing { try ExpressionEvaluator(scope).isTrue(predicate) }
    } catch let error as EvaluationError {
      throw ObjectMigrationError(.expressionFailed, entity: facts.name, key: key, cause: error)
    }
  }
}

/// Reads a column of a row when its value is requested: a row may hold more than memory does.
private final class ColumnReader: PassingRow {
  private let facts: EntityFacts
  private let key: Int64
  private let context: ObjectContext

  init(facts: EntityFacts, key: Int64, context: ObjectContext) {
    (self.facts, self.key, self.context) = (facts, key, context)
  }

  func value(at index: Int) throws -> StoredValue {
    let statement = try context.statements.statement(
      sql: """
        SELECT \(SQL.identifier(name: facts.columns[index])) \
        FROM \(context.sqlTable(name: facts.tableName)) WHERE Z_PK = ?1
        """)
    statement.bind(key, at: 1)
    guard try statement.step() else { return .null }
    defer { statement.reset() }
    return statement.value(column: 0)
  }
}
