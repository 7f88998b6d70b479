import Expressions
package import ObjectModel

/// What the mapping models of one step leave behind, as far as the models show it.
package struct MappingLosses: Hashable, Sendable {
  /// A source entity among whose objects mappings choose.
  package struct Division: Hashable, Sendable {
    /// An attribute that some of the mappings read.
    package struct Property: Hashable, Sendable {
      /// The name of the attribute.
      package var attribute: String
      /// The places of the mappings that read it.
      package var readers: Set<Int>
      /// Why the others leave it behind.
      package var cause: LossCause
    }

    /// The name of the entity.
    package var entity: String
    /// The predicate of each mapping that takes objects; nil where another expression yields them.
    package var filters: [String?]
    /// The attributes that not every mapping reads.
    package var properties: [Property]

    /// Whether what the mappings take can be counted without carrying them out.
    package var isKnown: Bool { !filters.contains(nil) }
  }

  /// What can be counted in the rows of the source.
  package private(set) var possible: [PossibleLoss] = []
  /// What has to be found out object by object.
  package private(set) var divisions: [Division] = []
  /// What no expression reads, and a policy may read.
  package private(set) var open: [PossibleLoss] = []

  private let mappings: [EntityMapping]
  private let source: ManagedObjectModel
  private let destination: ManagedObjectModel
  private let entities: RenamingMatch
  private let reads: [PropertiesRead]
  private var read = PropertiesRead()

  /// Compares what the mappings read with what the source has.
  package init(
    models: [MappingModel], source: ManagedObjectModel, destination: ManagedObjectModel
  ) {
    mappings = models.flatMap(\.entityMappings).filter(\.makesObjects)
    self.source = source
    self.destination = destination
    reads = mappings.map { PropertiesRead(mapping: $0, source: source) }
    for one in reads { read.add(one) }
    entities = RenamingMatch.entities(from: source, to: destination)
    let continued = Set(entities.sourceByDestination.values)
    for entity in source.entities where !entity.isAbstract {
      let takers = mappings.indices.filter { mappings[$0].sourceEntityName == entity.name }
      if takers.isEmpty {
        possible.append(
          PossibleLoss(
            entity: entity.name, kind: .entity,
            cause: continued.contains(entity.name) ? .unmappedEntity : .removed))
      } else {
        add(entity, takers: takers)
      }
    }
  }

  private mutating func add(_ entity: Entity, takers: [Int]) {
    let matches = takers.compactMap { taker in
      mappings[taker].destinationEntityName.flatMap { destination.entity(name: $0) }.map {
        PropertyMatch(
          source: source, old: entity, destination: destination, new: $0, entities: entities)
      }
    }
    guard !matches.isEmpty else { return }
    let filters = takers.map { mappings[$0].predicate }
    let isDivided = !filters.allSatisfy { $0 == ValueExpression.everything }
    var division = Division(entity: entity.name, filters: filters, properties: [])
    for attribute in source.allLeafAttributes(of: entity).sorted(by: { $0.name < $1.name })
    where !attribute.isTransient && attribute.derivation == nil {
      let name = attribute.name
      let readers = takers.indices.filter { reads[takers[$0]].contains(name, of: entity.name) }
      let isElsewhere = readers.isEmpty && read.contains(name, of: entity.name)
      if readers.count == takers.count || isElsewhere { continue }
      let isDropped = matches.allSatisfy { $0.droppedAttributes.contains(name) }
      let cause: LossCause = isDropped ? .removed : .unmappedProperty
      if isDivided, division.isKnown, !hasPolicy(takers) {
        division.properties.append(
          .init(attribute: name, readers: Set(readers), cause: cause))
      } else if readers.isEmpty {
        note(
          PossibleLoss(entity: entity.name, kind: .attribute(name), cause: cause), takers: takers)
      }
    }
    for relationship in source.allRelationships(of: entity).sorted(by: { $0.name < $1.name })
    where !relationship.isTransient && !isRead(relationship, of: entity) {
      let isDropped = matches.allSatisfy { $0.droppedRelationships.contains(relationship.name) }
      note(
        PossibleLoss(
          entity: entity.name, kind: .relationship(relationship.name),
          cause: isDropped ? .removed : .unmappedProperty), takers: takers)
    }
    addConversions(entity, takers: takers)
    if isDivided { divisions.append(division) }
  }

  private mutating func note(_ loss: PossibleLoss, takers: [Int]) {
    if hasPolicy(takers) { open.append(loss) } else { possible.append(loss) }
  }

  private func hasPolicy(_ takers: [Int]) -> Bool {
    takers.contains { mappings[$0].ownPolicyClassName != nil }
  }

  /// Whether something reads a relationship, from this end or from the other.
  private func isRead(_ relationship: Relationship, of entity: Entity) -> Bool {
    if read.contains(relationship.name, of: entity.name) { return true }
    // The other end knows the objects and not their order.
    if relationship.isOrdered { return false }
    guard let (owner, inverse) = source.inverseWithOwner(of: relationship) else { return false }
    return source.family(of: owner.name).contains { read.contains(inverse.name, of: $0.name) }
  }

  /// Numbers that become ones of a type that cannot hold all of them.
  private mutating func addConversions(_ entity: Entity, takers: [Int]) {
    let attributes = source.allLeafAttributes(of: entity)
    var found: Set<PossibleLoss> = []
    for taker in takers {
      guard
        let new = mappings[taker].destinationEntityName.flatMap({ destination.entity(name: $0) })
      else { continue }
      let wanted = destination.allLeafAttributes(of: new)
      for property in mappings[taker].attributeMappings {
        guard case .attribute(let name, _) = property.origin,
          let old = attributes.first(where: { $0.name == name })?.type,
          let type = wanted.first(where: { $0.name == property.name })?.type,
          old.isConverted(to: type)
        else { continue }
        var loss = PossibleLoss(
          entity: entity.name, kind: .conversion(name, to: type), cause: .conversion)
        loss.isOfOddValues = !old.mayChange(as: type)
        if found.insert(loss).inserted { possible.append(loss) }
      }
    }
  }
}

extension EntityMapping {
  /// Whether it makes objects of source objects, by itself or by its policy.
  package var makesObjects: Bool {
    sourceEntityName != nil && (destinationEntityName != nil || ownPolicyClassName != nil)
      && kind != .add && kind != .remove
  }

  /// Whether it chooses among the objects of its source entity, by a predicate.
  package var isFiltered: Bool {
    makesObjects && predicate.map { $0 != ValueExpression.everything } ?? false
  }

  /// The predicate of the objects that it takes; nil where another expression yields them.
  package var predicate: String? {
    sourceExpression == nil ? ValueExpression.everything : filter
  }
}
