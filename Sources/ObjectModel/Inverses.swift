extension ManagedObjectModel {
  /// The relationship at the other end, or nil where there is none.
  package func inverse(of relationship: Relationship) -> Relationship? {
    inverseWithOwner(of: relationship)?.relationship
  }

  /// The relationship at the other end, and the entity that declares it.
  package func inverseWithOwner(
    of relationship: Relationship
  ) -> (entity: Entity, relationship: Relationship)? {
    guard let name = relationship.inverseName,
      let destination = entity(name: relationship.destinationEntityName)
    else { return nil }
    for entity in lineage(of: destination) {
      if let found = entity.relationships.first(where: { $0.name == name }) {
        return (entity, found)
      }
    }
    return nil
  }
}
