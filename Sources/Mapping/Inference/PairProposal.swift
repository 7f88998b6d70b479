package import ObjectModel

extension MappingModel {
  /// The inferred mapping model with mappings for each new entity that takes the place of a
  /// many-to-many relationship: one object per pair, related to what both ends became.
  ///
  /// An entity takes the place of a relationship where nothing else continues it, and two to-one
  /// relationships of the entity lead to what the two ends became. A mapping takes the objects of
  /// one entity, so each concrete entity that has the relationship gets one. The names of the
  /// mappings that were added follow.
  package func proposingPairs(
    from source: ManagedObjectModel, to destination: ManagedObjectModel
  ) -> (mapping: MappingModel, added: [String]) {
    let lost = unreadPairs(of: source)
    var (result, added): ([EntityMapping], [String]) = ([], [])
    for mapping in entityMappings {
      guard mapping.sourceEntityName == nil, let name = mapping.destinationEntityName,
        let entity = destination.entity(name: name), !entity.isAbstract
      else {
        result.append(mapping)
        continue
      }
      let found = lost.map {
        proposals(entity, pairs: $0, source: source, destination: destination)
      }.filter { !$0.isEmpty }
      guard found.count == 1, let proposed = found.first else {
        result.append(mapping)
        continue
      }
      added += proposed.map(\.name)
      result += proposed.map {
        var proposal = $0
        proposal.destinationVersionHash = mapping.destinationVersionHash
        return proposal
      }
    }
    return (MappingModel(entityMappings: result), added)
  }

  /// A many-to-many relationship from one of its ends.
  private struct Pairs {
    var owner: Entity
    var relationship: Relationship
    /// The concrete entities whose objects have the relationship.
    var owners: [Entity]

    init(_ owner: Entity, _ relationship: Relationship, in source: ManagedObjectModel) {
      (self.owner, self.relationship) = (owner, relationship)
      owners = source.family(of: owner.name).filter { !$0.isAbstract }
    }

    func isSame(as other: Self) -> Bool {
      owner.name == other.owner.name && relationship.name == other.relationship.name
    }

    /// Whether this end is the better one to make objects from: the order of an ordered
    /// relationship becomes that of the objects, and fewer entities need fewer mappings.
    func isBetter(than other: Self) -> Bool {
      if relationship.isOrdered != other.relationship.isOrdered { return relationship.isOrdered }
      return owners.count < other.owners.count
    }
  }

  /// The many-to-many relationships that no mapping reads, each from one of its ends.
  private func unreadPairs(of source: ManagedObjectModel) -> [Pairs] {
    var read = PropertiesRead()
    for mapping in entityMappings { read.add(PropertiesRead(mapping: mapping, source: source)) }
    func isRead(_ pairs: Pairs) -> Bool {
      (pairs.owners + [pairs.owner]).contains {
        read.contains(pairs.relationship.name, of: $0.name)
      }
    }
    var result: [Pairs] = []
    for entity in source.entities {
      for relationship in entity.relationships where relationship.isToMany {
        guard let (other, inverse) = source.inverseWithOwner(of: relationship), inverse.isToMany,
          other.name != entity.name
        else { continue }
        let first = Pairs(entity, relationship, in: source)
        let second = Pairs(other, inverse, in: source)
        if isRead(first) || isRead(second) { continue }
        if result.contains(where: { $0.isSame(as: first) || $0.isSame(as: second) }) { continue }
        result.append(second.isBetter(than: first) ? second : first)
      }
    }
    return result
  }

  /// The mappings that make an entity of the pairs of a relationship, one for each entity that has
  /// it; none where the entity does not fit.
  private func proposals(
    _ entity: Entity, pairs: Pairs, source: ManagedObjectModel, destination: ManagedObjectModel
  ) -> [EntityMapping] {
    let ends = destination.allRelationships(of: entity).filter { !$0.isTransient }
    func made(of name: String) -> [String] {
      makers(ofSource: name).compactMap(\.destinationEntityName)
    }
    func holds(_ relationship: Relationship, objectsOf name: String) -> Bool {
      made(of: name).contains {
        destination.isKind($0, of: relationship.destinationEntityName)
      }
    }
    /// The relationship that leads to what the objects of an entity and its subentities became.
    func end(_ name: String) -> Relationship? {
      let fitting = ends.filter { relationship in
        !relationship.isToMany
          && source.family(of: name).contains {
            !$0.isAbstract && holds(relationship, objectsOf: $0.name)
          }
      }
      let exact = fitting.filter { made(of: name).contains($0.destinationEntityName) }
      let found = exact.isEmpty ? fitting : exact
      return found.count == 1 ? found.first : nil
    }
    guard ends.count == 2, let first = end(pairs.owner.name),
      let second = end(pairs.relationship.destinationEntityName), first.name != second.name
    else { return [] }
    let owners = pairs.owners.filter { holds(first, objectsOf: $0.name) }
    return owners.map { owner in
      let suffix = owners.count == 1 ? "" : "Of\(owner.name)"
      var mapping = EntityMapping(
        name: "\(entity.name)Pairs\(suffix)", kind: .transform, source: owner.name,
        destination: entity.name)
      mapping.sourceVersionHash = makers(ofSource: owner.name).first?.sourceVersionHash
      var objects = NewObjects(unit: .pair(relationship: pairs.relationship.name))
      (objects.sourceRelationship, objects.memberRelationship) = (first.name, second.name)
      mapping.newObjects = objects
      return mapping
    }
  }
}
