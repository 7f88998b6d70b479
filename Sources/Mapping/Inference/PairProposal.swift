package import ObjectModel

extension MappingModel {
  /// The inferred mapping model with a mapping for each new entity that takes the place of a
  /// many-to-many relationship: one object per pair, related to what both ends became.
  ///
  /// An entity takes the place of a relationship where nothing else continues it, and two to-one
  /// relationships of the entity lead to what the two ends became. The names of the mappings that
  /// were added follow.
  package func proposingPairs(
    from source: ManagedObjectModel, to destination: ManagedObjectModel
  ) -> (mapping: MappingModel, added: [String]) {
    var (result, added): (MappingModel, [String]) = (self, [])
    let lost = unreadPairs(of: source)
    for index in entityMappings.indices where entityMappings[index].sourceEntityName == nil {
      guard let name = entityMappings[index].destinationEntityName,
        let entity = destination.entity(name: name), !entity.isAbstract
      else { continue }
      let found = lost.compactMap { pairs in
        proposal(entity, pairs: pairs, destination: destination)
      }
      guard found.count == 1, var mapping = found.first else { continue }
      mapping.destinationVersionHash = entityMappings[index].destinationVersionHash
      result.entityMappings[index] = mapping
      added.append(mapping.name)
    }
    return (result, added)
  }

  /// The many-to-many relationships that no mapping reads, each from one of its ends.
  private func unreadPairs(
    of source: ManagedObjectModel
  ) -> [(owner: Entity, relationship: Relationship)] {
    var read = PropertiesRead()
    for mapping in entityMappings { read.add(PropertiesRead(mapping: mapping, source: source)) }
    var result: [(owner: Entity, relationship: Relationship)] = []
    for entity in source.entities where !entity.isAbstract {
      for relationship in entity.relationships where relationship.isToMany {
        guard let (other, inverse) = source.inverseWithOwner(of: relationship), inverse.isToMany,
          other.name != entity.name, !read.contains(relationship.name, of: entity.name),
          !read.contains(inverse.name, of: other.name),
          !result.contains(where: {
            $0.owner.name == other.name && $0.relationship.name == inverse.name
          })
        else { continue }
        result.append((entity, relationship))
      }
    }
    return result
  }

  private func proposal(
    _ entity: Entity, pairs: (owner: Entity, relationship: Relationship),
    destination: ManagedObjectModel
  ) -> EntityMapping? {
    let ends = destination.allRelationships(of: entity).filter { !$0.isTransient }
    func end(_ source: String) -> Relationship? {
      let made = makers(ofSource: source).compactMap(\.destinationEntityName)
      let found = ends.filter { !$0.isToMany && made.contains($0.destinationEntityName) }
      return found.count == 1 ? found.first : nil
    }
    guard ends.count == 2, let first = end(pairs.owner.name),
      let second = end(pairs.relationship.destinationEntityName), first.name != second.name
    else { return nil }
    var mapping = EntityMapping(
      name: "\(entity.name)Pairs", kind: .transform, source: pairs.owner.name,
      destination: entity.name)
    mapping.sourceVersionHash = makers(ofSource: pairs.owner.name).first?.sourceVersionHash
    var objects = NewObjects(unit: .pair(relationship: pairs.relationship.name))
    (objects.sourceRelationship, objects.memberRelationship) = (first.name, second.name)
    mapping.newObjects = objects
    return mapping
  }
}
