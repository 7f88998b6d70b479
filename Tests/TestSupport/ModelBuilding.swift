package import Expressions
package import ObjectModel

extension ManagedObjectModel {
  /// A model of these entities.
  package init(_ entities: Entity...) throws { try self.init(entities: entities) }
}

extension Entity {
  /// An entity with the attributes and relationships that a test is about.
  package init(
    _ name: String, in parent: String? = nil, isAbstract: Bool = false, was: String? = nil,
    _ attributes: [Attribute] = [], _ relationships: [Relationship] = [],
    unique: [[String]] = []
  ) {
    self.init(name)
    superentityName = parent
    self.isAbstract = isAbstract
    renamingIdentifier = was
    self.attributes = attributes
    self.relationships = relationships
    uniquenessConstraints = unique
  }
}

extension Attribute {
  /// An attribute, optional unless it is mandatory.
  package static func optional(
    _ name: String, _ type: AttributeType = .string, was: String? = nil,
    default value: AttributeValue = .null
  ) -> Attribute {
    var attribute = Attribute(name: name, type: type)
    attribute.isOptional = true
    attribute.renamingIdentifier = was
    attribute.defaultValue = value
    return attribute
  }

  package static func mandatory(
    _ name: String, _ type: AttributeType = .string, was: String? = nil,
    default value: AttributeValue = .null
  ) -> Attribute {
    var attribute = optional(name, type, was: was, default: value)
    attribute.isOptional = false
    return attribute
  }

  /// An attribute that Core Data computes.
  package static func derived(
    _ name: String, _ type: AttributeType = .integer64, from text: String
  ) throws -> Attribute {
    var attribute = optional(name, type)
    guard let expression = ValueExpression(parsingDerivation: text) else {
      throw UnknownDerivation(text: text)
    }
    attribute.derivation = Derivation(expression: expression)
    return attribute
  }

  /// A text that no derivation has.
  private struct UnknownDerivation: Error { var text: String }

  /// Bytes that may lie in a file of their own.
  package static func external(
    _ name: String, isOptional: Bool = true, default value: AttributeValue = .null
  ) -> Attribute {
    var attribute = optional(name, .binary, default: value)
    attribute.isOptional = isOptional
    attribute.storesBinaryDataExternally = true
    return attribute
  }
}

extension Relationship {
  package static func toOne(
    _ name: String, _ destination: String, inverse: String?, isOptional: Bool = true,
    was: String? = nil
  ) -> Relationship {
    var relationship = Relationship(name: name, to: destination, inverse: inverse)
    relationship.isOptional = isOptional
    relationship.renamingIdentifier = was
    return relationship
  }

  package static func toMany(
    _ name: String, _ destination: String, inverse: String?, isOrdered: Bool = false,
    was: String? = nil
  ) -> Relationship {
    var relationship = Relationship(name: name, to: destination, inverse: inverse, isToMany: true)
    relationship.isOptional = true
    relationship.isOrdered = isOrdered
    relationship.renamingIdentifier = was
    return relationship
  }
}
