import Expressions
import GRDB
package import Mapping
import ObjectModel
package import Schema
import StoreFormat
package import SystemPackage

/// How many objects a mapping of new objects makes.
package struct NewObjectCount: Hashable, Sendable {
  /// The name of the entity mapping, and the destination entity.
  package var mapping: String
  package var entity: String
  /// What one object is made of.
  package var objects: NewObjects
  /// How many there are; nil where only the migration computes it.
  package var count: Int64?
  /// Whether there may be fewer: some are there already, or objects at the ends are not taken.
  package var isMost = false
}

/// Counts the new objects that mapping models make of a store, without making them.
package struct NewObjectSurvey {
  private let store: FilePath
  private let source: StoreSchema
  private let destination: StoreSchema
  private let support: FilePath?
  private let now: Double

  /// Takes a store that does not change meanwhile.
  package init(
    store: FilePath, source: StoreSchema, destination: StoreSchema, support: FilePath?, now: Double
  ) {
    (self.store, self.source, self.destination) = (store, source, destination)
    (self.support, self.now) = (support, now)
  }

  /// The counts of all mappings that make new objects, in their order.
  ///
  /// - Throws: `ObjectMigrationError` where an expression fails for an object.
  package func counts(of models: [MappingModel]) throws -> [NewObjectCount] {
    let mappings = models.flatMap(\.entityMappings)
    guard mappings.contains(where: { $0.newObjects != nil }) else { return [] }
    let isDivided = mappings.contains { $0.newObjects == nil && $0.isFiltered }
    var result: [NewObjectCount] = []
    var failure: (any Error)?
    let connection = try StoreConnection.immutable(store)
    try connection.perform { db in
      let context = ObjectContext(of: db, schema: source, support: support)
      defer { context.statements.close() }
      do {
        for mapping in mappings {
          guard let objects = mapping.newObjects else { continue }
          var count = NewObjectCount(
            mapping: mapping.name, entity: mapping.destinationEntityName ?? "", objects: objects)
          count.count = try self.count(objects, mapping: mapping, in: context)
          count.isMost =
            objects.findsExisting || (isDivided && objects.pairRelationship != nil)
          result.append(count)
        }
      } catch let error as ObjectMigrationError {
        // It passes through what makes errors of stores of all others.
        failure = error
      }
    }
    if let failure { throw failure }
    return result
  }

  private func count(
    _ objects: NewObjects, mapping: EntityMapping, in context: ObjectContext
  ) throws -> Int64? {
    if objects.unit == .all { return 1 }
    guard let name = mapping.sourceEntityName, let text = mapping.predicate else { return nil }
    let predicate = try? ValuePredicate(format: text)
    if let expression = objects.valueExpression, !expression.freeVariables.isSubset(of: ["source"])
    {
      return nil
    }
    let values = try ValueSet(context)
    defer { values.end() }
    var (pairs, hasNil): (Int64, Bool) = (0, false)
    let attribute = objects.attribute.flatMap { name in
      mapping.destinationEntityName.flatMap { destination.model.entity(name: $0) }
        .flatMap { destination.model.leafAttribute(named: name, of: $0) }
    }
    do {
      try context.forEach(name, where: predicate, includesSubentities: false, now: now) { object in
        switch objects.unit {
        case .pair(let relationship): pairs += Int64(try object.objects(name: relationship).count)
        case .value(let expression, _):
          let value = try value(expression, of: object, for: attribute, mapping: mapping.name)
          if value == .null { hasNil = true } else { try values.insert(value) }
        case .all: break
        }
        return true
      }
    } catch let error as EvaluationError {
      // The filter fails, as it will in the migration.
      throw ObjectMigrationError(
        .expressionFailed, mapping: mapping.name, entity: name, cause: error)
    }
    guard case .value(_, let takesNil) = objects.unit else { return pairs }
    return try values.count() + (hasNil && takesNil ? 1 : 0)
  }

  private func value(
    _ expression: ValueExpression, of object: ManagedObject, for attribute: Attribute?,
    mapping: String
  ) throws -> StoredValue {
    do {
      let scope = EvaluationScope(variables: ["source": .object(object)], now: now)
      guard case .scalar(let value) = try ExpressionEvaluator(scope).value(of: expression) else {
        throw ObjectMigrationError(
          .valueRefused(type: attribute?.type ?? .undefined, found: "an object"))
      }
      guard let attribute else { return StoredValue(comparing: value) }
      return try AttributeConversion.stored(value, for: AttributeForm(attribute))
    } catch let error as ObjectMigrationError {
      throw error.at(
        mapping: mapping, property: attribute?.name, entity: object.entityName,
        key: object.primaryKey)
    } catch {
      throw ObjectMigrationError(
        .expressionFailed, mapping: mapping, entity: object.entityName, property: attribute?.name,
        key: object.primaryKey, cause: error)
    }
  }
}

/// Values that differ, in a temporary table of the store's connection.
private struct ValueSet {
  private let context: ObjectContext
  private let statement: PreparedStatement

  init(_ context: ObjectContext) throws {
    self.context = context
    try context.db.execute(
      sql: """
        DROP TABLE IF EXISTS temp.new_values;
        CREATE TEMP TABLE new_values (value PRIMARY KEY) WITHOUT ROWID
        """)
    statement = try context.statements.statement(
      sql: "INSERT OR IGNORE INTO temp.new_values VALUES (?)")
  }

  func insert(_ value: StoredValue) throws {
    statement.bind(value, at: 1)
    try statement.execute()
  }

  func count() throws -> Int64 {
    try Int64.fetchOne(context.db, sql: "SELECT count(*) FROM temp.new_values") ?? 0
  }

  /// Ends the statement, with which the table could not go.
  func end() { statement.reset() }
}
