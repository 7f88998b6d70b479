import Expressions
import ObjectMigration
import ObjectModel

/// An object of the source or the destination store during a migration.
///
/// Two values are equal if they refer to the same object. A destination object may be kept and
/// changed later, by any policy of the same mapping model.
public struct MigrationObject: Hashable, @unchecked Sendable {
  // @unchecked: an object is there for the hooks of policies, which run one after the other on the
  // thread of the migration. A policy that used one on another thread would race with it.
  let core: ManagedObject

  init(_ core: ManagedObject) { self.core = core }

  init?(_ object: any EvaluatedObject) {
    guard let core = object as? ManagedObject else { return nil }
    self.core = core
  }

  /// Whether both refer to the same object.
  public static func == (a: Self, b: Self) -> Bool { a.core === b.core }

  /// Hashes the identity of the object.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(core)) }

  /// The entity of the object.
  public var entityName: String { core.entityName }
  /// Whether it belongs to the source store, and cannot be changed.
  public var isSource: Bool { core.isSource }
  /// The primary key, in the column `Z_PK`.
  public var primaryKey: Int64 { core.primaryKey }
  /// The names of its attributes, including inherited ones.
  public var attributeNames: [String] { core.attributeNames }
  /// The names of its relationships, including inherited ones.
  public var relationshipNames: [String] { core.relationshipNames }

  /// The value of an attribute, of a composite one, or of an element of it, such as `author.id`.
  ///
  /// - Throws: if the entity has no such attribute.
  public func value(_ attribute: String) throws -> PropertyValue {
    if core.isComposite(attribute) {
      let values = try core.composite(name: attribute)?.values()
      return values.map { .composite($0.mapValues(PropertyValue.init)) } ?? .null
    }
    return PropertyValue(try core.attribute(name: attribute))
  }

  /// Sets an attribute to a value of its type, or to a number if it is numeric; of a composite one
  /// all elements.
  ///
  /// - Throws: for a value of another type, or if the object belongs to the source store.
  public func setValue(_ value: PropertyValue, for attribute: String) throws {
    switch value {
    case .composite(let elements):
      guard !elements.values.contains(where: \.isComposite) else {
        throw ObjectMigrationError(
          .valueRefused(type: .composite, found: "a composite"), entity: entityName,
          property: attribute, key: primaryKey)
      }
      return try core.set(attribute, elements: elements.mapValues(\.attributeValue))
    case .null where core.isComposite(attribute): return try core.set(attribute, elements: [:])
    default: break
    }
    try core.set(attribute, value: value.attributeValue)
  }

  /// The object of a to-one relationship, nil if it has none.
  ///
  /// - Throws: if the entity has no such relationship.
  public func object(_ relationship: String) throws -> MigrationObject? {
    try core.object(name: relationship).map { MigrationObject($0) }
  }

  /// The objects of a relationship, in its order or by primary key.
  ///
  /// - Throws: if the entity has no such relationship.
  public func objects(_ relationship: String) throws -> [MigrationObject] {
    try core.objects(name: relationship).map { MigrationObject($0) }
  }

  /// Sets a to-one relationship and its inverse.
  ///
  /// - Throws: for an object of another entity than the relationship's, or if this one belongs to
  ///   the source store.
  public func setObject(_ object: MigrationObject?, for relationship: String) throws {
    try core.set(relationship, objects: object.map { [$0.core] } ?? [])
  }

  /// Sets the objects of a to-many relationship, and their inverses.
  public func setObjects(_ objects: [MigrationObject], for relationship: String) throws {
    try core.set(relationship, objects: objects.map(\.core))
  }

  /// Adds objects to a to-many relationship, at the end of an ordered one.
  public func addObjects(_ objects: [MigrationObject], to relationship: String) throws {
    try core.add(objects.map(\.core), to: relationship)
  }

  /// Copies every attribute that both objects have.
  ///
  /// - Throws: if types do not fit.
  public func copyAttributes(from other: MigrationObject) throws {
    try core.copyAttributes(from: other.core)
  }
}
