import Expressions
import Mapping
import ObjectMigration

/// What a mapping model says of one entity, as `NSEntityMapping` does.
public struct EntityMapping: Sendable {
  let core: Mapping.EntityMapping

  init(_ core: Mapping.EntityMapping) { self.core = core }

  /// The name of the mapping, by which others refer to it.
  public var name: String { core.name }
  /// The entity whose objects it takes, if it takes any.
  public var sourceEntityName: String? { core.sourceEntityName }
  /// The entity whose objects it makes, if it makes any.
  public var destinationEntityName: String? { core.destinationEntityName }
  /// The class name of its policy, if it has one.
  public var entityMigrationPolicyClassName: String? { core.migrationPolicyClassName }
  /// What the mapping model's author left for the policy.
  public var userInfo: [String: PropertyValue] { core.userInfo.mapValues { PropertyValue($0) } }
}

/// A running migration as its policies see it, as `NSMigrationManager` does.
///
/// Each mapping model has one of its own, and so its own associations and `userInfo`.
public final class MigrationManager {
  let core: any PolicyManager

  init(_ core: any PolicyManager) { self.core = core }

  /// One of the two stores.
  public enum Store: Hashable, Sendable {
    /// The store that is migrated, which cannot be changed.
    case source
    /// The store that is made.
    case destination
  }

  /// Whatever policies want to share, such as look-ups of objects that several need.
  public var userInfo: [String: Any] {
    get { core.userInfo }
    set { core.userInfo = newValue }
  }

  /// The mapping that is being processed.
  public var currentEntityMapping: EntityMapping? { core.currentMapping.map { EntityMapping($0) } }
  /// How far the migration is, from 0 to 1.
  public var migrationProgress: Double { core.progress }
  /// All mappings of the mapping model, in processing order.
  public var entityMappings: [EntityMapping] {
    core.mappingModel.entityMappings.map { EntityMapping($0) }
  }

  /// Says that the destination object was made of the source object.
  ///
  /// - Throws: where one of them is of the other store.
  public func associate(
    sourceInstance source: MigrationObject, withDestinationInstance destination: MigrationObject,
    for mapping: EntityMapping
  ) throws {
    try core.associate(source.core, with: destination.core, for: mapping.core)
  }

  /// A new object of the destination store.
  ///
  /// The first one that `createDestinationInstances` makes of the mapping's own entity takes the
  /// source object's key, where the table keeps keys.
  ///
  /// - Throws: where the entity is not there, or abstract.
  public func insertNewObject(forEntityName name: String) throws -> MigrationObject {
    MigrationObject(try core.insert(name))
  }

  /// What a mapping made of these source objects; of nil, all that it made.
  ///
  /// - Throws: where there is no mapping of that name.
  public func destinationInstances(
    forEntityMappingName name: String, sourceInstances: [MigrationObject]?
  ) throws -> [MigrationObject] {
    try core.destinations(mapping: name, of: sourceInstances?.map(\.core)).compactMap {
      MigrationObject($0)
    }
  }

  /// What a mapping made these destination objects of; of nil, all that it read.
  ///
  /// - Throws: where there is no mapping of that name.
  public func sourceInstances(
    forEntityMappingName name: String, destinationInstances: [MigrationObject]?
  ) throws -> [MigrationObject] {
    try core.sources(mapping: name, of: destinationInstances?.map(\.core)).compactMap {
      MigrationObject($0)
    }
  }

  /// The objects of an entity that satisfy a predicate of the format language, by ascending key.
  ///
  /// ```swift
  /// let makers = try manager.fetch("Maker", where: "name BEGINSWITH 'F'", limit: 1)
  /// ```
  ///
  /// - Throws: where the predicate cannot be read, or names what there is not.
  public func fetch(
    _ entityName: String, where predicate: String? = nil, in store: Store = .destination,
    includesSubentities: Bool = true, limit: Int = .max
  ) throws -> [MigrationObject] {
    let parsed = try predicate.map { try ValuePredicate(format: $0) }
    return try core.fetch(
      entityName, where: parsed, inSource: store == .source,
      includesSubentities: includesSubentities, limit: limit
    ).map { MigrationObject($0) }
  }

  /// The objects of an entity whose attribute has that value, by ascending key.
  ///
  /// - Throws: where there is no such entity or attribute.
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

  /// Ends the migration with that error as soon as the running hook returns.
  public func cancelMigrationWithError(_ error: any Error) { core.cancel(error) }
}
