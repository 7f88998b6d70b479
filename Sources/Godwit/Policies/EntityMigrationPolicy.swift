import Expressions
import Mapping
package import ObjectMigration

/// Customizes how an entity mapping migrates objects, like `NSEntityMigrationPolicy`.
///
/// Override what should differ; `super` does what Core Data does without a policy. One policy
/// serves its mapping through all three passes, in a worker process of its own. An error thrown by
/// any method ends the migration and leaves the source unchanged.
open class EntityMigrationPolicy {
  /// Creates a policy; each worker that needs one creates its own.
  public init() {}

  /// Whether each object depends on its source object alone; false unless overridden.
  ///
  /// The objects of such a policy are divided among workers and migrated as their rows are read,
  /// without a pass of their own. The policy makes exactly one object of each source object; it may
  /// read the source store, and of the destination store that object only. Relationships follow the
  /// mapping model: of the methods only `begin`, `createDestinationInstances` and
  /// `value(ofFunction:)` are called.
  open var objectsAreIndependent: Bool { false }

  /// Prepares for the first object of the mapping; called in every worker if objects are
  /// independent.
  open func begin(_ mapping: EntityMapping, with manager: MigrationManager) throws {}

  /// Creates destination objects from a source object, sets their attributes, and associates them.
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

  /// Ends the first pass, after the last object of the mapping has been created.
  open func endInstanceCreation(
    forMapping mapping: EntityMapping, manager: MigrationManager
  ) throws {}

  /// Sets the relationships of an object that the first pass created.
  open func createRelationships(
    forDestination destination: MigrationObject, in mapping: EntityMapping,
    manager: MigrationManager
  ) throws {
    try manager.core.createRelationships(of: destination.core, mapping: mapping.core)
  }

  /// Ends the second pass, after the relationships of the last object have been set.
  open func endRelationshipCreation(
    forMapping mapping: EntityMapping, manager: MigrationManager
  ) throws {}

  /// Validates rules that the model does not express.
  open func performCustomValidation(
    forMapping mapping: EntityMapping, manager: MigrationManager
  ) throws {}

  /// Cleans up after all passes of the mapping.
  open func end(_ mapping: EntityMapping, manager: MigrationManager) throws {}

  /// Evaluates `FUNCTION($entityPolicy, "selector:", …)` in the mapping's value expressions.
  ///
  /// - Parameters:
  ///   - selector: the name of the function, with a colon for each argument.
  ///   - arguments: the values of the arguments.
  ///   - manager: the migration.
  /// - Returns: nil if there is no such function, which ends the migration.
  open func value(
    ofFunction selector: String, arguments: [FunctionValue], manager: MigrationManager
  ) throws -> FunctionValue? { nil }
}

/// The policies of an application, by the class names in its mapping models.
public struct MigrationPolicies: Sendable {
  private var makers: [String: @Sendable () -> EntityMigrationPolicy] = [:]

  /// Creates a set without policies.
  public init() {}

  /// Registers a policy under the exact class name in the mapping model, including its module:
  /// `Shop.CarPolicy`.
  public mutating func register(
    _ className: String, _ make: @escaping @Sendable () -> EntityMigrationPolicy
  ) {
    makers[className] = make
  }

  /// Registers a closure as a policy: each object is made by the mapping, and then changed.
  ///
  /// ```swift
  /// policies.transform("Shop.BookPolicy") { source, destination in
  ///   guard case .string(let price) = try source.value("price") else { return }
  ///   try destination.setValue(Double(price).map { .real($0) } ?? .null, for: "amount")
  /// }
  /// ```
  ///
  /// The closure may read the source store, and the new object alone, whose relationships follow
  /// the mapping model; its objects are divided among workers
  /// (``EntityMigrationPolicy/objectsAreIndependent``). In a mapping file an entity mapping with a
  /// policy takes only the attributes that it lists; with `"type": "copy"` it takes all others too.
  public mutating func transform(
    _ className: String,
    _ change:
      @escaping @Sendable (
        _ source: MigrationObject, _ destination: MigrationObject
      ) throws -> Void
  ) {
    register(className) { TransformingPolicy(change) }
  }

  /// Creates policies for the migration, by class name.
  package var factories: [String: @Sendable () -> any MigrationPolicy] {
    makers.mapValues { make in { PolicyAdapter(make()) } }
  }
}

/// Changes each object after its mapping has made it.
private final class TransformingPolicy: EntityMigrationPolicy {
  private let change: (MigrationObject, MigrationObject) throws -> Void

  init(_ change: @escaping (MigrationObject, MigrationObject) throws -> Void) {
    self.change = change
  }

  override var objectsAreIndependent: Bool { true }

  override func createDestinationInstances(
    forSource source: MigrationObject, in mapping: EntityMapping, manager: MigrationManager
  ) throws {
    let made = try manager.core.createDestination(of: source.core, mapping: mapping.core)
    do {
      try change(source, MigrationObject(made))
    } catch let error as ObjectMigrationError {
      throw error
    } catch {
      throw ObjectMigrationError(.policyFailed(hook: "its closure"), cause: error)
    }
  }
}

/// Adapts a public policy to the internal protocol.
private final class PolicyAdapter: MigrationPolicy {
  private let policy: EntityMigrationPolicy
  private var known: MigrationManager?
  /// The public mapping of the last call, since most hooks are called for one object after another.
  private var knownMapping: EntityMapping?

  init(_ policy: EntityMigrationPolicy) { self.policy = policy }

  var objectsAreIndependent: Bool { policy.objectsAreIndependent }

  private func manager(core: any PolicyManager) -> MigrationManager {
    if let known, known.core === core { return known }
    let made = MigrationManager(core)
    known = made
    return made
  }

  private func known(_ mapping: Mapping.EntityMapping) -> EntityMapping {
    if let knownMapping, knownMapping.name == mapping.name { return knownMapping }
    let made = EntityMapping(mapping)
    knownMapping = made
    return made
  }

  func begin(_ mapping: Mapping.EntityMapping, core: any PolicyManager) throws {
    try policy.begin(EntityMapping(mapping), with: manager(core: core))
  }

  func createDestinations(
    of source: ManagedObject, mapping: Mapping.EntityMapping, core: any PolicyManager
  ) throws {
    try policy.createDestinationInstances(
      forSource: MigrationObject(source), in: known(mapping), manager: manager(core: core))
  }

  func endCreation(_ mapping: Mapping.EntityMapping, core: any PolicyManager) throws {
    try policy.endInstanceCreation(forMapping: EntityMapping(mapping), manager: manager(core: core))
  }

  func createRelationships(
    of destination: ManagedObject, mapping: Mapping.EntityMapping,
    core: any PolicyManager
  ) throws {
    try policy.createRelationships(
      forDestination: MigrationObject(destination), in: known(mapping),
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
      ofFunction: selector, arguments: try arguments.map { try FunctionValue($0) },
      manager: manager(core: core))?.objectValue
  }
}
