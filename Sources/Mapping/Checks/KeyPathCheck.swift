package import Expressions
package import ObjectModel

/// The end of a key path of a source object, as far as the models show it.
package enum KeyPathEnd: Hashable, Sendable {
  /// Objects of no entity on the way have a property of that name.
  case missing(entity: String, key: String)
  /// Values of an attribute have no property of that name; an example of the values.
  case noSuchValue(AttributeValue, key: String)
  /// A value of an attribute, or one of its own; an example of it.
  case value(AttributeValue)
  /// An object of an entity.
  case object(entity: String)
  /// Several objects, or values of several objects.
  case collection
  /// What is not known beforehand.
  case open
}

extension ManagedObjectModel {
  /// Keys that every object has.
  private static var ofAnyObject: Set<String> { ["self", "SELF", "objectID", "entity"] }

  /// Where a key path leads from an object of an entity.
  package func end(ofPath path: String, from entity: Entity) -> KeyPathEnd {
    // An object of a relationship may be of a subentity.
    var family = [entity]
    var isToMany = false
    let keys = path.split(separator: ".").map(String.init)
    for (place, key) in keys.enumerated() {
      if key.hasPrefix("@") || Self.ofAnyObject.contains(key) { return .open }
      let found = family.flatMap { allRelationships(of: $0) }.filter { $0.name == key }
      if let relationship = found.first {
        isToMany = isToMany || found.contains(where: \.isToMany)
        family = self.family(of: relationship.destinationEntityName)
        if place == keys.count - 1 {
          return isToMany ? .collection : .object(entity: relationship.destinationEntityName)
        }
        continue
      }
      let attributes = family.flatMap { allAttributes(of: $0) }.filter { $0.name == key }
      if let element = keys.dropFirst(place + 1).first, !element.hasPrefix("@"),
        let composite = attributes.first(where: { $0.type == .composite })
      {
        guard let leaf = composite.elements.first(where: { $0.name == element }) else {
          return family.first.map { .missing(entity: $0.name, key: "\(key).\(element)") } ?? .open
        }
        return isToMany ? .open : Self.end(of: leaf.type.example, keys[(place + 2)...])
      }
      guard let type = attributes.first?.type else {
        let isFetched = family.contains { entity in
          lineage(of: entity).flatMap(\.fetchedProperties).contains { $0.name == key }
        }
        return isFetched
          ? .open : family.first.map { .missing(entity: $0.name, key: key) } ?? .open
      }
      if isToMany, place == keys.count - 1 { return .collection }
      // Subentities may have attributes of one name and several types, and sets have operators.
      guard !isToMany, attributes.allSatisfy({ $0.type == type }) else { return .open }
      return Self.end(of: type.example, keys[(place + 1)...])
    }
    return .open
  }

  /// The first key of a path that no object can have, with its entity.
  package func missingKey(
    path: String, of entity: Entity
  ) -> (entity: String, key: String)? {
    guard case .missing(let name, let key) = end(ofPath: path, from: entity) else { return nil }
    return (name, key)
  }

  private static func end(of example: AttributeValue?, _ keys: ArraySlice<String>) -> KeyPathEnd {
    guard var value = example else { return .open }
    for key in keys {
      // A value of another value may be nil in the example.
      if key.hasPrefix("@") || value == .null { return .open }
      guard let next = value.value(forKey: key) else { return .noSuchValue(value, key: key) }
      value = next
    }
    return value == .null ? .open : .value(value)
  }
}
