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

extension ManagedObjectModel {
  /// The relationship of this name that an entity itself declares.
  package func relationship(name: String, of entity: String) -> Relationship? {
    self.entity(name: entity)?.relationships.first { $0.name == name }
  }

  /// The nearest entity of the lineage that declares a property, nil if none does.
  package func declarer(of property: String, in entity: String) -> String? {
    guard let entity = self.entity(name: entity) else { return nil }
    return lineage(of: entity).first { level in
      level.leafAttributes.contains { $0.name == property }
        || level.relationships.contains { $0.name == property }
    }?.name
  }
}
