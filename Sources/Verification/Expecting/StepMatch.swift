import Mapping
import ObjectModel

/// The source entity and property that each one of a destination continues.
struct StepMatch {
  /// Source entities by destination entity.
  private(set) var entities: [String: String] = [:]
  /// Source properties by destination property, by destination entity.
  private var properties: [String: [String: String]] = [:]
  private var destinations: [String: String] = [:]

  /// Takes the names that inference pairs, without the conversions of values.
  init(_ inference: MappingInference) {
    for mapping in inference.mapping.entityMappings {
      guard let old = mapping.sourceEntityName, let new = mapping.destinationEntityName else {
        continue
      }
      pair(old: old, new)
      for property in mapping.attributeMappings + mapping.relationshipMappings {
        switch property.origin {
        case .attribute(let name, _): properties[new, default: [:]][property.name] = name
        case .relationship(let name, _): properties[new, default: [:]][property.name] = name
        default: break
        }
      }
    }
  }

  /// Pairs each entity and each property with itself.
  init(identityOf model: ManagedObjectModel) {
    for entity in model.entities {
      pair(old: entity.name, entity.name)
      for attribute in model.allLeafAttributes(of: entity) {
        properties[entity.name, default: [:]][attribute.name] = attribute.name
      }
      for relationship in model.allRelationships(of: entity) {
        properties[entity.name, default: [:]][relationship.name] = relationship.name
      }
    }
  }

  private mutating func pair(old: String, _ new: String) {
    entities[new] = old
    destinations[old] = new
  }

  func destination(of sourceEntity: String) -> String? { destinations[sourceEntity] }

  /// The source property that a property of a destination entity continues.
  func origin(of property: String, in entity: String) -> String? { properties[entity]?[property] }
}
