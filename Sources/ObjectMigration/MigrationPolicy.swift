package import ExpressionEvaluation
package import Mapping
import ValueExpressions

/// What a policy does for its entity mapping, under the hooks of `NSEntityMigrationPolicy`.
///
/// One policy serves its mapping through all three passes.
package protocol MigrationPolicy: AnyObject {
  func begin(_ mapping: EntityMapping, _ manager: ObjectMigrationManager) throws
  func createDestinations(
    of source: ManagedObject, _ mapping: EntityMapping, _ manager: ObjectMigrationManager) throws
  func endCreation(_ mapping: EntityMapping, _ manager: ObjectMigrationManager) throws
  func createRelationships(
    of destination: ManagedObject, _ mapping: EntityMapping, _ manager: ObjectMigrationManager
  ) throws
  func endRelationships(_ mapping: EntityMapping, _ manager: ObjectMigrationManager) throws
  func performCustomValidation(
    _ mapping: EntityMapping, _ manager: ObjectMigrationManager) throws
  func end(_ mapping: EntityMapping, _ manager: ObjectMigrationManager) throws
  /// Answers `FUNCTION($entityPolicy, "selector", …)`; nil where it has no such function.
  func perform(
    _ selector: String, _ arguments: [ObjectValue], _ manager: ObjectMigrationManager
  ) throws -> ObjectValue?
}

extension MigrationPolicy {
  package func begin(_ mapping: EntityMapping, _ manager: ObjectMigrationManager) throws {}

  package func createDestinations(
    of source: ManagedObject, _ mapping: EntityMapping, _ manager: ObjectMigrationManager
  ) throws {
    _ = try manager.createDestination(of: source, mapping)
  }

  package func endCreation(_ mapping: EntityMapping, _ manager: ObjectMigrationManager) throws {}

  package func createRelationships(
    of destination: ManagedObject, _ mapping: EntityMapping, _ manager: ObjectMigrationManager
  ) throws {
    try manager.createRelationships(of: destination, mapping)
  }

  package func endRelationships(
    _ mapping: EntityMapping, _ manager: ObjectMigrationManager
  ) throws {}
  package func performCustomValidation(
    _ mapping: EntityMapping, _ manager: ObjectMigrationManager
  ) throws {}
  package func end(_ mapping: EntityMapping, _ manager: ObjectMigrationManager) throws {}
  package func perform(
    _ selector: String, _ arguments: [ObjectValue], _ manager: ObjectMigrationManager
  ) throws -> ObjectValue? { nil }
}

/// What Core Data does where a mapping names no policy.
package final class StandardPolicy: MigrationPolicy {
  package init() {}
}

/// `$entityPolicy` in value expressions.
final class PolicyObject: EvaluatedObject {
  private let policy: any MigrationPolicy
  private unowned let manager: ObjectMigrationManager

  init(_ policy: any MigrationPolicy, _ manager: ObjectMigrationManager) {
    self.policy = policy
    self.manager = manager
  }

  var identity: AnyHashable { ObjectIdentifier(policy) }
  var typeName: String { "the policy \(type(of: policy))" }

  func value(forKey key: String) throws -> ObjectValue {
    if let answer = try policy.perform(key, [], manager) { return answer }
    throw EvaluationError(.unknownKey(key, of: typeName))
  }

  func perform(_ selector: String, _ arguments: [ObjectValue]) throws -> ObjectValue {
    if let answer = try policy.perform(selector, arguments, manager) { return answer }
    throw EvaluationError(.unknownSelector(selector, of: typeName))
  }
}

/// `$entityMapping` and `$propertyMapping` in value expressions.
final class MappingObject: EvaluatedObject {
  private let what: String
  private let values: [String: ObjectValue]

  init(_ mapping: EntityMapping) {
    what = "the entity mapping"
    values = [
      "name": .string(mapping.name),
      "sourceEntityName": mapping.sourceEntityName.map { .string($0) } ?? .null,
      "destinationEntityName": mapping.destinationEntityName.map { .string($0) } ?? .null,
      "userInfo": .object(UserInfoObject(mapping.userInfo)),
    ]
  }

  init(_ mapping: PropertyMapping) {
    what = "the property mapping"
    values = [
      "name": .string(mapping.name), "userInfo": .object(UserInfoObject(mapping.userInfo)),
    ]
  }

  var identity: AnyHashable { ObjectIdentifier(self) }
  var typeName: String { what }

  func value(forKey key: String) throws -> ObjectValue {
    guard let value = values[key] else { throw EvaluationError(.unknownKey(key, of: what)) }
    return value
  }
}

/// A dictionary, whose missing keys are nil.
final class UserInfoObject: EvaluatedObject {
  private let values: [String: ObjectValue]

  init(_ values: [String: ObjectValue]) { self.values = values }

  convenience init(_ values: [String: AttributeValue]) {
    self.init(values.mapValues { .scalar($0) })
  }

  var identity: AnyHashable { ObjectIdentifier(self) }
  var typeName: String { "a dictionary" }

  func value(forKey key: String) throws -> ObjectValue { values[key] ?? .null }
}
