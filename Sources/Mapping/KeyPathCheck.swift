package import ObjectModel

extension ManagedObjectModel {
  /// Keys that every object has.
  private static var ofAnyObject: Set<String> { ["self", "SELF", "objectID", "entity"] }

  /// The first key of a path that no object can have, with its entity.
  package func missingKey(
    path: String, of entity: Entity
  ) -> (entity: String, key: String)? {
    // An object of a relationship may be of a subentity.
    var family = [entity]
    let keys = path.split(separator: ".").map(String.init)
    for (place, key) in keys.enumerated() {
      if key.hasPrefix("@") || Self.ofAnyObject.contains(key) { return nil }
      let found = family.flatMap { allRelationships(of: $0) }.filter { $0.name == key }
      if let relationship = found.first {
        family = self.family(of: relationship.destinationEntityName)
        continue
      }
      if let element = keys.dropFirst(place + 1).first, !element.hasPrefix("@"),
        let composite = family.flatMap({ allAttributes(of: $0) }).first(where: {
          $0.name == key && $0.type == .composite
        }), !composite.elements.contains(where: { $0.name == element })
      {
        return family.first.map { ($0.name, "\(key).\(element)") }
      }
      let known = family.contains { entity in
        allAttributes(of: entity).contains { $0.name == key }
          || lineage(of: entity).flatMap(\.fetchedProperties).contains { $0.name == key }
      }
      // What an attribute's value answers to is not known here.
      return known ? nil : family.first.map { ($0.name, key) }
    }
    return nil
  }
}
