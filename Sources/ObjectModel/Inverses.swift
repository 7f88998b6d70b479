extension ManagedObjectModel {
  /// The relationship at the other end, or nil where there is none.
  package func inverse(of relationship: Relationship) -> Relationship? {
    inverseWithOwner(of: relationship)?.relationship
  }

  /// Whether a store keeps references of the relationship, in its own column, in that of the other
  /// end or in a join table; a transient relationship has none of these.
  package func isStored(_ relationship: Relationship) -> Bool {
    guard !relationship.isTransient, relationship.isToMany else { return !relationship.isTransient }
    return inverse(of: relationship)?.isTransient != true
  }

  /// Whether a relationship of an entity is its own inverse, as that of friends: one reference
  /// leads both ways.
  package func isOwnInverse(_ relationship: Relationship, of entity: Entity) -> Bool {
    guard relationship.inverseName == relationship.name,
      let (owner, _) = inverseWithOwner(of: relationship)
    else { return false }
    return isKind(entity.name, of: owner.name)
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

  /// A relationship of an entity, declared or inherited; nil if it has none of that name.
  package func relationship(named name: String, of entity: Entity) -> Relationship? {
    allRelationships(of: entity).first { $0.name == name }
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
