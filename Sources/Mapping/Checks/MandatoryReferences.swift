package import ObjectModel

extension MappingModel {
  /// The demand that each mandatory to-one relationship of the objects made leads somewhere.
  ///
  /// A mandatory to-many relationship has no column of its own, so Core Data does not check it
  /// where it migrates in place.
  package func mandatoryReferences(
    from source: ManagedObjectModel, to destination: ManagedObjectModel
  ) -> [Condition] {
    var seen: Set<Condition> = []
    return entityMappings.flatMap { entityMapping -> [Condition] in
      guard let old = entityMapping.sourceEntityName.flatMap({ source.entity(name: $0) }),
        let new = entityMapping.destinationEntityName.flatMap({ destination.entity(name: $0) }),
        !old.isAbstract, !new.isAbstract
      else { return [] }
      return destination.allRelationships(of: new).filter(\.isMandatoryReference).map {
        let continued = continued($0, by: entityMapping, of: old, in: source, destination)
        let before = continued.flatMap { $0.isMandatoryReference ? $0.name : nil }
        return Condition(
          demand: .noMissingReferences(before: before), sourceEntity: old.name,
          destinationEntity: new.name, property: $0.name)
      }
    }.filter { seen.insert($0).inserted }
  }

  /// The source relationship that a relationship continues: by its own mapping, or by that of its
  /// inverse.
  private func continued(
    _ relationship: Relationship, by entityMapping: EntityMapping, of old: Entity,
    in source: ManagedObjectModel, _ destination: ManagedObjectModel
  ) -> Relationship? {
    let known = source.allRelationships(of: old)
    let own = entityMapping.relationshipMappings.first { $0.name == relationship.name }
    if let name = own?.sourceRelationshipName { return known.first { $0.name == name } }
    let inverses = mappings(ofOtherEnd: relationship, in: destination)
      .compactMap(\.sourceRelationshipName)
    return known.first { $0.inverseName.map(inverses.contains) ?? false }
  }
}

extension Relationship {
  /// Whether it has a column that must not be NULL.
  package var isMandatoryReference: Bool { !isToMany && !isOptional && !isTransient }
}
