import Expressions
import Mapping
import ObjectMigration

/// An entity mapping, like `NSEntityMapping`.
public struct EntityMapping: Sendable {
  let core: Mapping.EntityMapping

  init(_ core: Mapping.EntityMapping) { self.core = core }

  /// The name of the mapping, unique in its mapping model.
  public var name: String { core.name }
  /// The entity whose objects it migrates, nil if it only creates objects.
  public var sourceEntityName: String? { core.sourceEntityName }
  /// The entity whose objects it creates, nil if it removes objects.
  public var destinationEntityName: String? { core.destinationEntityName }
  /// The class name of its policy, nil if it has none.
  public var entityMigrationPolicyClassName: String? { core.migrationPolicyClassName }
  /// The user info of the mapping, for its policy.
  public var userInfo: [String: PropertyValue] { core.userInfo.mapValues { PropertyValue($0) } }
}

/// A running migration, as its policies see it, like `NSMigrationManager`.
///
/// Each mapping model has a manager of its own, with its own associations and `userInfo`.
public final class MigrationManager {
  let core: any PolicyManager
  private let reader = PredicateReader()

  init(_ core: any PolicyManager) { self.core = core }

  /// One of the two stores.
  public enum Store: Hashable, Sendable {
    /// The store that is migrated, which cannot be changed.
    case source
    /// The store that is being made.
    case destination
  }

  /// Values that policies share, such as tables of objects that several need.
  public var userInfo: [String: Any] {
    get { core.userInfo }
    set { core.userInfo = newValue }
  }

  /// The mapping that is being executed, nil between mappings.
  public var currentEntityMapping: EntityMapping? { core.currentMapping.map { EntityMapping($0) } }
  /// The completed share of the migration, 0...1.
  public var migrationProgress: Double { core.progress }
  /// All mappings of the mapping model, in the order of their execution.
  public var entityMappings: [EntityMapping] {
    core.mappingModel.entityMappings.map { EntityMapping($0) }
  }

  /// Records that the destination object was made from the source object.
  ///
  /// - Throws: if one of them belongs to the other store.
  public func associate(
    sourceInstance source: MigrationObject, withDestinationInstance destination: MigrationObject,
    for mapping: EntityMapping
  ) throws {
    try core.associate(source.core, with: destination.core, for: mapping.core)
  }

  /// Creates an object in the destination store.
  ///
  /// The first object of the mapping's own entity that `createDestinationInstances` creates gets
  /// the source object's primary key, if the table keeps keys.
  ///
  /// - Throws: if there is no such entity, or it is abstract.
  public func insertNewObject(forEntityName name: String) throws -> MigrationObject {
    MigrationObject(try core.insert(name))
  }

  /// The objects that a mapping made from these source objects; for nil, all that it made.
  ///
  /// - Throws: if there is no such mapping.
  public func destinationInstances(
    forEntityMappingName name: String, sourceInstances: [MigrationObject]?
  ) throws -> [MigrationObject] {
    try core.destinations(mapping: name, of: sourceInstances?.map(\.core)).compactMap {
      MigrationObject($0)
    }
  }

  /// The objects from which a mapping made these destination objects; for nil, all that it
  /// migrated.
  ///
  /// - Throws: if there is no such mapping.
  public func sourceInstances(
    forEntityMappingName name: String, destinationInstances: [MigrationObject]?
  ) throws -> [MigrationObject] {
    try core.sources(mapping: name, of: destinationInstances?.map(\.core)).compactMap {
      MigrationObject($0)
    }
  }

  /// The objects of an entity that satisfy a predicate in the predicate format, by ascending
  /// primary key.
  ///
  /// ```swift
  /// let makers = try manager.fetch("Maker", where: "name BEGINSWITH 'F'", limit: 1)
  /// ```
  ///
  /// - Throws: if the predicate cannot be parsed, or refers to what does not exist.
  public func fetch(
    _ entityName: String, where predicate: String? = nil, in store: Store = .destination,
    includesSubentities: Bool = true, limit: Int = .max
  ) throws -> [MigrationObject] {
    let parsed = try predicate.map { try reader.predicate(format: $0) }
    return try core.fetch(
      entityName, where: parsed, inSource: store == .source,
      includesSubentities: includesSubentities, limit: limit
    ).map { MigrationObject($0) }
  }

  /// The objects of an entity whose attribute has this value, by ascending primary key.
  ///
  /// - Throws: if there is no such entity or attribute.
  public func fetch(
    _ entityName: String, where attribute: String, equals value: PropertyValue,
    in store: Store = .destination, limit: Int = .max
  ) throws -> [MigrationObject] {
    let predicate = ValuePredicate.comparison(
      .keyPath(operand: nil, attribute), .equal, .constant(value.attributeValue),
      modifier: .direct, caseInsensitive: false, diacriticInsensitive: false)
    return try core.fetch(
      entityName, where: predicate, inSource: store == .source, includesSubentities: true,
      limit: limit
    ).map { MigrationObject($0) }
  }

  /// Ends the migration with this error as soon as the running method of the policy returns.
  public func cancelMigrationWithError(_ error: any Error) { core.cancel(error) }
}
