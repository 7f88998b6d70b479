package import ValueExpressions

/// What becomes of every entity of a source model in a destination model.
package struct MappingModel: Hashable, Sendable {
  /// In processing order.
  package var entityMappings: [EntityMapping]

  package init(entityMappings: [EntityMapping]) { self.entityMappings = entityMappings }

  /// The mapping that fills that destination entity from a source entity, if there is one.
  package func mapping(toDestination name: String) -> EntityMapping? {
    entityMappings.first { $0.destinationEntityName == name && $0.sourceEntityName != nil }
  }

  /// The destination entity that the source entity's objects become, if any.
  package func destinationName(ofSource name: String) -> String? {
    entityMappings.first { $0.sourceEntityName == name }?.destinationEntityName
  }
}

/// What becomes of one entity.
package struct EntityMapping: Hashable, Sendable {
  /// What a mapping does with an entity, as `NSEntityMappingType` names it.
  package enum Kind: String, Hashable, Codable, Sendable {
    case add, remove, copy, transform, custom
  }

  package var name: String
  package var kind: Kind
  package var sourceEntityName: String?
  package var destinationEntityName: String?
  package var attributeMappings: [AttributeMapping] = []
  package var relationshipMappings: [RelationshipMapping] = []

  package init(name: String, kind: Kind, source: String?, destination: String?) {
    self.name = name
    self.kind = kind
    sourceEntityName = source
    destinationEntityName = destination
  }
}

/// Where the values of a destination attribute come from.
package struct AttributeMapping: Hashable, Sendable {
  package enum Value: Hashable, Sendable {
    /// The same value in every object.
    case constant(AttributeValue)
    /// The value of a source attribute; `replacingNull` stands in where it is missing.
    case attribute(String, replacingNull: AttributeValue)
  }

  /// The destination attribute.
  package var name: String
  package var value: Value

  package init(_ name: String, _ value: Value) {
    self.name = name
    self.value = value
  }
}

/// Where the objects of a destination relationship come from.
package struct RelationshipMapping: Hashable, Sendable {
  package enum Objects: Hashable, Sendable {
    /// No object: the relationship is new.
    case none
    /// The objects of a source relationship.
    case relationship(String)
  }

  /// The destination relationship.
  package var name: String
  package var objects: Objects

  package init(_ name: String, _ objects: Objects) {
    self.name = name
    self.objects = objects
  }
}
