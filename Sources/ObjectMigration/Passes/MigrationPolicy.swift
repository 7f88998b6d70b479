package import Expressions
package import Mapping

/// What a policy does for its entity mapping, under the hooks of `NSEntityMigrationPolicy`.
///
/// One policy serves its mapping through all three passes.
package protocol MigrationPolicy: AnyObject {
  /// Whether it makes one object from each source object and reads no other destination object, so
  /// that its objects may be made in any order and by several workers.
  var objectsAreIndependent: Bool { get }
  /// Called once, before the mapping's first object.
  func begin(_ mapping: EntityMapping, core manager: any PolicyManager) throws
  /// Called for each source object, in the order of their keys; makes the objects that it becomes.
  func createDestinations(
    of source: ManagedObject, mapping: EntityMapping, core manager: any PolicyManager) throws
  /// Called when the mapping has made all its objects.
  func endCreation(_ mapping: EntityMapping, core manager: any PolicyManager) throws
  /// Called for each associated destination object, once all mappings have made theirs.
  func createRelationships(
    of destination: ManagedObject, mapping: EntityMapping, core manager: any PolicyManager
  ) throws
  /// Called when the mapping has related all its objects.
  func endRelationships(_ mapping: EntityMapping, core manager: any PolicyManager) throws
  /// Called in the last pass; throws where the result is not as the policy wants it.
  func performCustomValidation(
    _ mapping: EntityMapping, core manager: any PolicyManager) throws
  /// Called last, when the mapping is done.
  func end(_ mapping: EntityMapping, core manager: any PolicyManager) throws
  /// Answers `FUNCTION($entityPolicy, "selector", …)`; nil where it has no such function.
  func perform(
    _ selector: String, arguments: [ObjectValue], core manager: any PolicyManager
  ) throws -> ObjectValue?
}

extension MigrationPolicy {
  /// False: passes are needed.
  package var objectsAreIndependent: Bool { false }
  /// Does nothing.
  package func begin(_ mapping: EntityMapping, core manager: any PolicyManager) throws {}

  /// Makes the one object of the mapping.
  package func createDestinations(
    of source: ManagedObject, mapping: EntityMapping, core manager: any PolicyManager
  ) throws {
    _ = try manager.createDestination(of: source, mapping: mapping)
  }

  /// Does nothing.
  package func endCreation(_ mapping: EntityMapping, core manager: any PolicyManager) throws {}

  /// Relates the object by its mapping.
  package func createRelationships(
    of destination: ManagedObject, mapping: EntityMapping, core manager: any PolicyManager
  ) throws {
    try manager.createRelationships(of: destination, mapping: mapping)
  }

  /// Does nothing.
  package func endRelationships(
    _ mapping: EntityMapping, core manager: any PolicyManager
  ) throws {}
  /// Does nothing.
  package func performCustomValidation(
    _ mapping: EntityMapping, core manager: any PolicyManager
  ) throws {}
  /// Does nothing.
  package func end(_ mapping: EntityMapping, core manager: any PolicyManager) throws {}
  /// Nil: there are no functions.
  package func perform(
    _ selector: String, arguments: [ObjectValue], core manager: any PolicyManager
  ) throws -> ObjectValue? { nil }
}

/// The requests of a policy to the migration that calls it.
package protocol PolicyManager: AnyObject {
  /// The mapping model that is carried out, without the others of its step.
  var mappingModel: MappingModel { get }
  /// Whatever policies want to share.
  var userInfo: [String: Any] { get set }
  /// The mapping that is being processed.
  var currentMapping: EntityMapping? { get }
  /// From 0 to 1.
  var progress: Double { get }
  /// Records that the destination object was made from the source object.
  func associate(
    _ source: ManagedObject, with destination: ManagedObject, for mapping: EntityMapping) throws
  /// A new object of the destination, which no mapping looks up unless it is associated.
  func insert(_ entityName: String) throws -> ManagedObject
  /// The objects of one of the stores that satisfy a predicate, in the order of their keys.
  func fetch(
    _ entityName: String, where predicate: ValuePredicate?, inSource: Bool,
    includesSubentities: Bool, limit: Int
  ) throws -> [ManagedObject]
  /// Makes, fills and associates the object of a mapping.
  func createDestination(of source: ManagedObject, mapping: EntityMapping) throws -> ManagedObject
  /// Relates an object by its mapping; the source is the first that it was made from.
  func createRelationships(of destination: ManagedObject, mapping: EntityMapping) throws
  /// The destination objects that a mapping made of the source objects; of nil, all that it made.
  func destinations(
    mapping: String, of sources: [any EvaluatedObject]?
  ) throws -> [any EvaluatedObject]
  /// The source objects from which a mapping made the destination objects; of nil, all.
  func sources(
    mapping: String, of destinations: [any EvaluatedObject]?
  ) throws -> [any EvaluatedObject]
  /// Ends the migration with that error as soon as the running hook returns.
  func cancel(_ error: any Error)
}

/// What Core Data does where a mapping names no policy.
package final class StandardPolicy: MigrationPolicy {
  /// Makes a policy, which keeps nothing.
  package init() {}
}

/// `$entityPolicy` in value expressions.
final class PolicyObject: EvaluatedObject {
  private let policy: any MigrationPolicy
  private unowned let manager: any PolicyManager

  init(policy: any MigrationPolicy, manager: any PolicyManager) {
    self.policy = policy
    self.manager = manager
  }

  var identity: AnyHashable { ObjectIdentifier(policy) }
  var typeName: String { "the policy \(type(of: policy))" }

  func value(forKey key: String) throws -> ObjectValue {
    if let answer = try policy.perform(key, arguments: [], core: manager) { return answer }
    throw EvaluationError(.unknownKey(key, of: typeName))
  }

  func perform(_ selector: String, arguments: [ObjectValue]) throws -> ObjectValue {
    if let answer = try policy.perform(selector, arguments: arguments, core: manager) {
      return answer
    }
    throw EvaluationError(.unknownSelector(selector, of: typeName))
  }
}

/// `$entityMapping` and `$propertyMapping` in value expressions.
final class MappingObject: EvaluatedObject {
  let typeName: String
  private let values: [String: ObjectValue]

  init(_ mapping: EntityMapping) {
    typeName = KnownKeys.entityMapping.owner
    values = [
      "name": .string(value: mapping.name),
      "sourceEntityName": mapping.sourceEntityName.map { .string(value: $0) } ?? .null,
      "destinationEntityName": mapping.destinationEntityName.map { .string(value: $0) } ?? .null,
      "userInfo": .object(UserInfoObject(mapping.userInfo)),
    ]
  }

  init(_ mapping: PropertyMapping) {
    typeName = KnownKeys.propertyMapping.owner
    values = [
      "name": .string(value: mapping.name), "userInfo": .object(UserInfoObject(mapping.userInfo)),
    ]
  }

  var identity: AnyHashable { ObjectIdentifier(self) }

  func value(forKey key: String) throws -> ObjectValue {
    guard let value = values[key] else { throw EvaluationError(.unknownKey(key, of: typeName)) }
    return value
  }

  func perform(_ selector: String, arguments: [ObjectValue]) throws -> ObjectValue {
    try answer(selector)
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

  func perform(_ selector: String, arguments: [ObjectValue]) throws -> ObjectValue {
    guard selector == "objectForKey:", case .scalar(.string(let key)) = arguments[0] else {
      throw EvaluationError(.unknownSelector(selector, of: typeName))
    }
    return try value(forKey: key)
  }
}
