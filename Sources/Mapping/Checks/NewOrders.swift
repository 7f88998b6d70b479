package import ObjectModel

/// An ordered relationship that continues one without an order, so that keys order its objects.
package struct NewOrder: Hashable, Codable, Sendable {
  /// The destination entity that declares the relationship.
  package var entity: String
  /// The relationship.
  package var property: String
  /// The source entity from which the objects come that have it.
  package var source: String

  /// Names the relationship and the entity before.
  package init(entity: String, property: String, source: String) {
    (self.entity, self.property, self.source) = (entity, property, source)
  }

  /// Finds those of one step.
  ///
  /// - Parameter models: the mapping models of the step; none where it is inferred.
  package static func all(
    models: [MappingModel], from source: ManagedObjectModel, to destination: ManagedObjectModel
  ) -> [NewOrder] {
    // Most models have none, and need no pairing for it.
    guard destination.entities.contains(where: { $0.relationships.contains(where: \.isOrdered) })
    else { return [] }
    let entities = RenamingMatch.entities(from: source, to: destination)
    let mappings = models.flatMap(\.entityMappings).filter { $0.ownPolicyClassName == nil }
    let pairs: [(old: String, new: String, sorted: Set<String>)] =
      models.isEmpty
      ? entities.sourceByDestination.map { ($0.value, $0.key, []) }
      : mappings.compactMap { mapping in
        guard let old = mapping.sourceEntityName, let new = mapping.destinationEntityName else {
          return nil
        }
        let sorted = mapping.relationshipMappings.filter { !$0.sortedBy.isEmpty }
        return (old, new, Set(sorted.map(\.name)))
      }
    return pairs.flatMap { pair -> [NewOrder] in
      guard let old = source.entity(name: pair.old), !old.isAbstract,
        let new = destination.entity(name: pair.new)
      else { return [] }
      let ordered = destination.allRelationships(of: new).filter {
        $0.isToMany && $0.isOrdered && !pair.sorted.contains($0.name)
      }
      if ordered.isEmpty { return [] }
      let match = PropertyMatch(
        source: source, old: old, destination: destination, new: new, entities: entities)
      return ordered.compactMap { relationship in
        guard let before = match.oldRelationship(for: relationship.name), before.isToMany,
          !before.isOrdered
        else { return nil }
        let owner = destination.lineage(of: new).first {
          $0.relationships.contains { $0.name == relationship.name }
        }
        return NewOrder(
          entity: owner?.name ?? new.name, property: relationship.name, source: old.name)
      }
    }.sorted { ($0.entity, $0.property, $0.source) < ($1.entity, $1.property, $1.source) }
  }
}
