import Expressions
import ObjectMigration

/// An object of the source or the destination store, while a migration runs.
///
/// Two of them are equal if they are one object. A destination object may be kept and changed
/// later, by any policy of the same mapping model.
public struct MigrationObject: Hashable, @unchecked Sendable {
  // @unchecked: an object is there for the hooks of policies, which run one after the other on the
  // thread of the migration. A policy that used one on another thread would race with it.
  let core: ManagedObject

  init(_ core: ManagedObject) { self.core = core }

  init?(_ object: any EvaluatedObject) {
    guard let core = object as? ManagedObject else { return nil }
    self.core = core
  }

  /// Whether both are one object.
  public static func == (a: Self, b: Self) -> Bool { a.core === b.core }

  /// Hashes which object it is.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(core)) }

  /// The entity of the object.
  public var entityName: String { core.entityName }
  /// Whether it is of the source store, and cannot be changed.
  public var isSource: Bool { core.isSource }
  /// The column `Z_PK`.
  public var primaryKey: Int64 { core.primaryKey }
  /// The names of its attributes, inherited ones included.
  public var attributeNames: [String] { core.attributeNames }
  /// The names of its relationships, inherited ones included.
  public var relationshipNames: [String] { core.relationshipNames }

  /// The value of an attribute.
  ///
  /// - Throws: where the entity has no such attribute.
  public func value(_ attribute: String) throws -> PropertyValue {
    PropertyValue(try core.attribute(name: attribute))
  }

  /// Sets an attribute; the value must be of its type, or a number where it is numeric.
  ///
  /// - Throws: where it is not, or where the object is of the source store.
  public func setValue(_ value: PropertyValue, for attribute: String) throws {
    try core.set(attribute, value: value.attributeValue)
  }

  /// The object of a to-one relationship.
  ///
  /// - Throws: where the entity has no such relationship.
  public func object(_ relationship: String) throws -> MigrationObject? {
    try core.object(name: relationship).map { MigrationObject($0) }
  }

  /// The objects of a relationship, in its order or in that of their keys.
  ///
  /// - Throws: where the entity has no such relationship.
  public func objects(_ relationship: String) throws -> [MigrationObject] {
    try core.objects(name: relationship).map { MigrationObject($0) }
  }

  /// Sets a to-one relationship; the other end follows.
  ///
  /// - Throws: where the object is of another entity than the relationship's, or this one is of
  ///   the source store.
  public func setObject(_ object: MigrationObject?, for relationship: String) throws {
    try core.set(relationship, objects: object.map { [$0.core] } ?? [])
  }

  /// Makes a to-many relationship hold these objects and no others; the other ends follow.
  public func setObjects(_ objects: [MigrationObject], for relationship: String) throws {
    try core.set(relationship, objects: objects.map(\.core))
  }

  /// Adds objects to a to-many relationship, at the end of an ordered one.
  public func addObjects(_ objects: [MigrationObject], to relationship: String) throws {
    try core.add(objects.map(\.core), to: relationship)
  }

  /// Copies every attribute that both objects have; their types must fit.
  ///
  /// - Throws: where they do not.
  public func copyAttributes(from other: MigrationObject) throws {
    let names = Set(attributeNames)
    for name in other.attributeNames where names.contains(name) {
      try core.set(name, value: try other.core.attribute(name: name))
    }
  }
}
