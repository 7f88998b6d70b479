package import Expressions
package import ObjectModel

/// What becomes of every entity of a source model in a destination model.
package struct MappingModel: Hashable, Sendable, Codable {
  /// In processing order.
  package var entityMappings: [EntityMapping]

  /// Takes the entity mappings in processing order.
  package init(entityMappings: [EntityMapping]) { self.entityMappings = entityMappings }

  /// The mapping that fills that destination entity from a source entity, if there is one.
  package func mapping(toDestination name: String) -> EntityMapping? {
    entityMappings.first {
      $0.destinationEntityName == name && $0.sourceEntityName != nil && $0.newObjects == nil
    }
  }

  /// The destination entity that the source entity's objects become, if any.
  package func destinationName(ofSource name: String) -> String? {
    entityMappings.first { $0.sourceEntityName == name && $0.newObjects == nil }?
      .destinationEntityName
  }

  /// The mappings that make objects of a source entity, in processing order.
  package func makers(ofSource name: String) -> [EntityMapping] {
    entityMappings.filter { $0.sourceEntityName == name && $0.isMaker }
  }

  /// The mapping that makes objects of one entity of those of another; nil if there is none.
  package func maker(from source: String, to destination: String) -> EntityMapping? {
    makers(ofSource: source).first { $0.destinationEntityName == destination }
  }

  /// The place of the mapping of that name.
  package func place(named name: String) -> Int? {
    entityMappings.firstIndex { $0.name == name }
  }

  /// The property mappings of the inverse of a destination relationship, in all entities that have
  /// it; empty where there is no inverse.
  func mappings(
    ofOtherEnd relationship: Relationship, in destination: ManagedObjectModel
  ) -> [PropertyMapping] {
    guard let (owner, inverse) = destination.inverseWithOwner(of: relationship) else { return [] }
    return makers(ofKind: owner.name, in: destination)
      .flatMap(\.relationshipMappings).filter { $0.name == inverse.name }
  }

  /// The mappings to an entity of the destination and to those below it.
  func makers(ofKind name: String, in destination: ManagedObjectModel) -> [EntityMapping] {
    entityMappings.filter { destination.isKind($0.destinationEntityName, of: name) }
  }

  /// The mapping of that name, by which value expressions refer to it.
  package func mapping(named name: String) -> EntityMapping? {
    entityMappings.first { $0.name == name }
  }
}

/// What becomes of one entity.
package struct EntityMapping: Hashable, Sendable, Codable {
  /// What a mapping does with an entity, as `NSEntityMappingType` names it.
  ///
  /// Xcode compiles `copy` also where the entity changes, so `copy` and `transform` mean the same;
  /// whether an entity changes is known by its hashes (docs/reference/mapping-file.md, "Types").
  package enum Kind: String, Hashable, Codable, Sendable, CaseIterable {
    /// A new entity, one that goes, one whose objects become others (twice), one with a policy.
    case add, remove, copy, transform, custom
  }

  /// The name by which value expressions and policies refer to the mapping.
  package var name: String
  /// What the mapping does with the entity.
  package var kind: Kind
  /// The entity of the source; nil where the destination's entity is new.
  package var sourceEntityName: String?
  /// The entity of the destination; nil where the source's entity is removed.
  package var destinationEntityName: String?
  /// The version of the source entity that the mapping was made for; nil accepts any.
  package var sourceVersionHash: VersionHash?
  /// The version of the destination entity that the mapping was made for; nil accepts any.
  package var destinationVersionHash: VersionHash?
  /// What yields the source objects.
  package var sourceExpression: ValueExpression?
  /// The class of the migration policy under the exact name that the mapping gives it.
  package var migrationPolicyClassName: String?
  /// How it makes objects, where that is not one of each source object.
  package var newObjects: NewObjects?
  /// Values that its author left for a policy.
  package var userInfo: [String: AttributeValue] = [:]
  /// In processing order, as are the relationship mappings.
  package var attributeMappings: [PropertyMapping] = []
  /// Where the relationships of the destination entity come from, in processing order.
  package var relationshipMappings: [PropertyMapping] = []

  /// A mapping of all objects of the source entity, if it has a destination too.
  package init(name: String, kind: Kind, source: String?, destination: String?) {
    self.name = name
    self.kind = kind
    sourceEntityName = source
    destinationEntityName = destination
    if let source, destination != nil { sourceExpression = .sourceObjects(of: source) }
  }

  /// The class that a mapping names for Core Data's default behaviour.
  package static let standardPolicyClassName = "NSEntityMigrationPolicy"

  /// The class of a policy of the author's own; nil for Core Data's default behaviour.
  package var ownPolicyClassName: String? {
    migrationPolicyClassName.flatMap {
      $0.isEmpty || $0 == Self.standardPolicyClassName ? nil : $0
    }
  }

  /// The name that Xcode gives a mapping which its author did not name.
  package static func standardName(source: String?, destination: String?) -> String? {
    guard let source, let destination else { return source ?? destination }
    return "\(source)To\(destination)"
  }

  /// The kind that Xcode compiles for a mapping; it is never `transform`.
  package static func standardKind(
    source: String?, destination: String?, policy: String?
  ) -> Kind {
    if policy != nil { return .custom }
    if source == nil { return .add }
    return destination == nil ? .remove : .copy
  }

  /// The predicate that the source objects satisfy: `TRUEPREDICATE` for all objects of the source
  /// entity, nil where the source expression is of another form.
  package var filter: String? {
    guard
      case .fetch(let request, .keyPath(.variable("manager")?, "sourceContext"), false)? =
        sourceExpression,
      case .function(.variable("manager"), MappingSelector.fetchRequest, let arguments) = request,
      arguments.count == 2, case .constant(.string(let entity)) = arguments[0],
      entity == sourceEntityName, case .constant(.string(let predicate)) = arguments[1]
    else { return nil }
    return predicate
  }
}

/// Where the value of a destination property comes from.
package struct PropertyMapping: Hashable, Sendable, Codable {
  /// The destination property.
  package var name: String
  /// What yields the value; nil leaves the property as a new object has it.
  package var valueExpression: ValueExpression?
  /// Values that its author left for a policy.
  package var userInfo: [String: AttributeValue] = [:]
  /// Whether the key path of its expression leads to an element of a composite attribute, which the
  /// source has a column of, and not to a property of another object.
  package var readsElement = false
  /// What the objects of an ordered relationship are sorted by; empty keeps the order that they
  /// come in.
  package var sortedBy: [SortKey] = []

  /// Makes a property mapping without a user info.
  package init(name: String, valueExpression: ValueExpression?) {
    self.name = name
    self.valueExpression = valueExpression
  }
}

/// The selectors of the migration manager that mapping models call.
package enum MappingSelector {
  /// Yields a request for the objects of an entity that satisfy a predicate; not documented, and in
  /// every mapping that Xcode compiles.
  package static let fetchRequest = "fetchRequestForSourceEntityNamed:predicateString:"
  /// Yields what one mapping made of source objects.
  package static let byMapping = "destinationInstancesForEntityMappingNamed:sourceInstances:"
  /// Yields what any mapping made of the objects of a source relationship; not documented, compiled
  /// where the destination has subentities.
  package static let byRelationship =
    "destinationInstancesForSourceRelationshipNamed:sourceInstances:"
}
