import Expressions
import Mapping
package import ObjectMigration

/// What happens to the objects of an entity mapping, as in `NSEntityMigrationPolicy`.
///
/// Override what should differ; `super` does what Core Data does without a policy. One policy
/// serves its mapping through all three passes, in a worker process of its own. What a hook throws
/// ends the migration, and the source stays as it is.
open class EntityMigrationPolicy {
  /// Creates a policy; each worker that needs one makes its own.
  public init() {}

  /// Whether each object is made of its source object alone, false unless it is overridden.
  ///
  /// The objects of such a policy are split over workers and made as they pass, without a pass of
  /// their own. It makes exactly one object of each source object; it may read the source store,
  /// and of the destination store that object only. Its relationships follow the mapping model:
  /// of the hooks only `begin`, `createDestinationInstances` and `value(ofFunction:)` are called.
  open var objectsAreIndependent: Bool { false }

  /// Is called before the first object of the mapping; in every worker if objects are independent.
  ///
  /// - Throws: what ends the migration, as what every hook throws does.
  open func begin(_ mapping: EntityMapping, with manager: MigrationManager) throws {}

  /// Makes destination objects of a source object, sets their attributes, and associates them.
  ///
  /// ```swift
  /// let car = try manager.insertNewObject(forEntityName: "Car")
  /// try car.copyAttributes(from: source)
  /// try manager.associate(sourceInstance: source, withDestinationInstance: car, for: mapping)
  /// ```
  open func createDestinationInstances(
    forSource source: MigrationObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    _ = try manager.core.createDestination(of: source.core, mapping: mapping.core)
  }

  /// Is called after the last object of the mapping has been made.
  open func endInstanceCreation(
    forMapping mapping: EntityMapping, manager: MigrationManager
  ) throws {}

  /// Relates an object that the first pass made.
  open func createRelationships(
    forDestination destination: MigrationObject, in mapping: EntityMapping,
    manager: MigrationManager
  ) throws {
    try manager.core.createRelationships(of: destination.core, mapping: mapping.core)
  }

  /// Is called after the last object of the mapping has been related.
  open func endRelationshipCreation(
    forMapping mapping: EntityMapping, manager: MigrationManager
  ) throws {}

  /// Checks what the model's own rules do not say.
  open func performCustomValidation(
    forMapping mapping: EntityMapping, manager: MigrationManager
  ) throws {}

  /// Is called after everything else.
  open func end(_ mapping: EntityMapping, manager: MigrationManager) throws {}

  /// Answers `FUNCTION($entityPolicy, "selector:", …)` of the mapping's value expressions.
  ///
  /// - Parameters:
  ///   - selector: the name of the function, with a colon for each argument.
  ///   - arguments: what the expression hands over.
  ///   - manager: the migration.
  /// - Returns: nil where there is no such function, which ends the migration.
  open func value(
    ofFunction selector: String, arguments: [FunctionValue], manager: MigrationManager
  ) throws -> FunctionValue? { nil }
}

/// The policies of an application, under the class names that its mapping models hold.
public struct MigrationPolicies: Sendable {
  private var makers: [String: @Sendable () -> EntityMigrationPolicy] = [:]

  /// No policies.
  public init() {}

  /// Registers a policy under the exact text in the mapping model, module and all:
  /// `Shop.CarPolicy`.
  public mutating func register(
    _ className: String, _ make: @escaping @Sendable () -> EntityMigrationPolicy
  ) {
    makers[className] = make
  }

  package var factories: [String: @Sendable () -> any MigrationPolicy] {
    makers.mapValues { make in { PolicyAdapter(make()) } }
  }
}

/// Lets the machinery call a public policy.
private final class PolicyAdapter: MigrationPolicy {
  private let policy: EntityMigrationPolicy
  private var known: MigrationManager?
  /// What the hook that runs for every object was given last.
  private var knownMapping: EntityMapping?

  init(_ policy: EntityMigrationPolicy) { self.policy = policy }

  var objectsAreIndependent: Bool { policy.objectsAreIndependent }

  private func manager(core: any PolicyManager) -> MigrationManager {
    if let known, known.core === core { return known }
    let made = MigrationManager(core)
    known = made
    return made
  }

  func begin(_ mapping: Mapping.EntityMapping, core: any PolicyManager) throws {
    try policy.begin(EntityMapping(mapping), with: manager(core: core))
  }

  func createDestinations(
    of source: ManagedObject, mapping: Mapping.EntityMapping, core: any PolicyManager
  ) throws {
    if knownMapping?.name != mapping.name { knownMapping = EntityMapping(mapping) }
    try policy.createDestinationInstances(
      forSource: MigrationObject(source), in: knownMapping ?? EntityMapping(mapping),
      manager: manager(core: core))
  }

  func endCreation(_ mapping: Mapping.EntityMapping, core: any PolicyManager) throws {
    try policy.endInstanceCreation(forMapping: EntityMapping(mapping), manager: manager(core: core))
  }

  func createRelationships(
    of destination: ManagedObject, mapping: Mapping.EntityMapping,
    core: any PolicyManager
  ) throws {
    try policy.createRelationships(
      forDestination: MigrationObject(destination), in: EntityMapping(mapping),
      manager: manager(core: core))
  }

  func endRelationships(_ mapping: Mapping.EntityMapping, core: any PolicyManager) throws {
    try policy.endRelationshipCreation(
      forMapping: EntityMapping(mapping), manager: manager(core: core))
  }

  func performCustomValidation(
    _ mapping: Mapping.EntityMapping, core: any PolicyManager
  ) throws {
    try policy.performCustomValidation(
      forMapping: EntityMapping(mapping), manager: manager(core: core))
  }

  func end(_ mapping: Mapping.EntityMapping, core: any PolicyManager) throws {
    try policy.end(EntityMapping(mapping), manager: manager(core: core))
    known = nil
  }

  func perform(
    _ selector: String, arguments: [ObjectValue], core: any PolicyManager
  ) throws -> ObjectValue? {
    try policy.value(
      ofFunction: selector, arguments: arguments.map { FunctionValue($0) },
      manager: manager(core: core))?.objectValue
  }
}
