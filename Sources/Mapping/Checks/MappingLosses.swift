import Expressions
package import ObjectModel

/// What the mapping models of one step leave behind, as far as the models show it.
package struct MappingLosses: Hashable, Sendable {
  /// A source entity among whose objects mappings choose.
  package struct Division: Hashable, Sendable {
    /// An attribute or relationship that some of the mappings read.
    package struct Property: Hashable, Sendable {
      /// The name of the property.
      package var name: String
      /// Of a relationship, the source entities whose mappings do not all read the other end.
      package var targets: Set<String>?
      /// The places of the mappings that read it.
      package var readers: Set<Int>
      /// Why the others leave it behind.
      package var cause: LossCause
    }

    /// The name of the entity.
    package var entity: String
    /// The names of the mappings that take objects.
    package var mappings: [String]
    /// The predicate of each mapping that takes objects; nil where another expression yields them.
    package var filters: [String?]
    /// The properties that not every mapping reads.
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
  /// The destination entities that continue each source entity.
  private let continued: [String: [String]]
  private let reads: [PropertiesRead]
  /// What the expressions of all mappings read.
  package private(set) var read = PropertiesRead()
  /// The properties that filters read from objects related to new ones.
  private let chosen: PropertiesRead
  /// The entities whose objects mappings take; those of others are lost with their references.
  private let taken: Set<String>

  /// Compares what the mappings read with what the source has.
  package init(
    models: [MappingModel], source: ManagedObjectModel, destination: ManagedObjectModel
  ) {
    mappings = models.flatMap(\.entityMappings).filter(\.makesObjects)
    self.source = source
    self.destination = destination
    reads = mappings.map { mapping in
      PropertiesRead(mapping: mapping, source: source) { destination.stores($0, of: mapping) }
    }
    chosen = mappings.reduce(into: PropertiesRead()) { $0.addFilter(of: $1, source: source) }
    taken = Set(mappings.compactMap(\.sourceEntityName))
    for one in reads { read.add(one) }
    for model in models { read.add(model.sortReads(from: source, to: destination)) }
    let entities = RenamingMatch.entities(from: source, to: destination)
    self.entities = entities
    continued = Dictionary(grouping: entities.sourceByDestination.keys.sorted()) {
      entities.sourceByDestination[$0] ?? ""
    }
    for entity in source.entities where !entity.isAbstract {
      let takers = mappings.indices.filter { mappings[$0].sourceEntityName == entity.name }
      if takers.isEmpty {
        possible.append(
          PossibleLoss(
            entity: entity.name, kind: .entity,
            cause: continued[entity.name] != nil ? .unmappedEntity : .removed))
      } else {
        add(entity, takers: takers)
      }
    }
  }

  private mutating func add(_ entity: Entity, takers: [Int]) {
    let made = takers.compactMap { taker in
      mappings[taker].destinationEntityName.flatMap { destination.entity(name: $0) }
    }
    guard !made.isEmpty else { return }
    // Usually everything is read, and the details are not needed.
    var known: [PropertyMatch]?
    func matches() -> [PropertyMatch] {
      let matches =
        known
        ?? made.map {
          PropertyMatch(
            source: source, old: entity, destination: destination, new: $0, entities: entities)
        }
      known = matches
      return matches
    }
    func isDropped(_ name: String, among names: (PropertyMatch) -> [String]) -> Bool {
      let all = matches() + continuations(of: entity, besides: made)
      return all.allSatisfy { names($0).contains(name) }
    }
    let filters = takers.map { mappings[$0].predicate }
    let isDivided = !filters.allSatisfy { $0 == ValueExpression.everything }
    var division = Division(
      entity: entity.name, mappings: takers.map { mappings[$0].name }, filters: filters,
      properties: [])
    for attribute in source.allLeafAttributes(of: entity).sorted(by: { $0.name < $1.name })
    where !attribute.isTransient && attribute.derivation == nil {
      let name = attribute.name
      let readers = takers.indices.filter { reads[takers[$0]].contains(name, of: entity.name) }
      let isElsewhere =
        (readers.isEmpty && read.contains(name, of: entity.name))
        || chosen.contains(name, of: entity.name)
      if readers.count == takers.count || isElsewhere { continue }
      let isDropped = isDropped(name, among: \.droppedAttributes)
      let cause: LossCause = isDropped ? .removed : .unmappedProperty
      if isDivided, division.isKnown, !hasPolicy(takers) {
        division.properties.append(
          .init(name: name, readers: Set(readers), cause: cause))
      } else if readers.isEmpty {
        note(
          PossibleLoss(entity: entity.name, kind: .attribute(name), cause: cause), takers: takers)
      }
    }
    for relationship in source.allRelationships(of: entity).sorted(by: { $0.name < $1.name })
    where !relationship.isTransient {
      let isDropped = isDropped(relationship.name, among: \.droppedRelationships)
      let cause = cause(of: relationship, in: entity, isDropped: isDropped)
      let readers = takers.indices.filter {
        reads[takers[$0]].contains(relationship.name, of: entity.name)
      }
      if !readers.isEmpty, readers.count < takers.count, isDivided, division.isKnown {
        let targets = unreadTargets(of: relationship)
        if targets.isEmpty || hasPolicy(takers) { continue }
        division.properties.append(
          .init(
            name: relationship.name, targets: targets, readers: Set(readers), cause: cause))
      } else {
        add(relationship, of: entity, cause: cause, takers: takers)
        if relationship.isOrdered, readers.isEmpty,
          matches().contains(where: { $0.staysOrdered(relationship.name) })
        {
          addOrder(of: relationship, of: entity, takers: takers)
        }
      }
      if relationship.isOrdered { addOrderOfModel(relationship, of: entity, matches: matches()) }
    }
    addConversions(entity, takers: takers)
    if isDivided { divisions.append(division) }
  }

  /// How an entity continues in the destination, apart from what mappings make of its objects: a
  /// property that it still has is not removed.
  private func continuations(of entity: Entity, besides made: [Entity]) -> [PropertyMatch] {
    (continued[entity.name] ?? []).compactMap { name in
      guard let new = destination.entity(name: name), !made.contains(new) else { return nil }
      return PropertyMatch(
        source: source, old: entity, destination: destination, new: new, entities: entities)
    }
  }

  /// The cause of references that are left behind; a model that has objects of some pairs does not
  /// remove the others.
  private func cause(
    of relationship: Relationship, in entity: Entity, isDropped: Bool
  ) -> LossCause {
    guard isDropped else { return .unmappedProperty }
    return source.hasPairs(of: relationship, in: entity, by: mappings) ? .unmappedPair : .removed
  }

  /// Notes the references that nothing reads, from neither end.
  private mutating func add(
    _ relationship: Relationship, of entity: Entity, cause: LossCause, takers: [Int]
  ) {
    var loss = PossibleLoss(
      entity: entity.name, kind: .relationship(relationship.name), cause: cause)
    if let inverse = source.inverse(of: relationship) {
      let others = source.family(of: relationship.destinationEntityName).map(\.name)
      // A property that nothing reads is lost for all objects, including those that no mapping
      // takes.
      if others.contains(where: { read.contains(inverse.name, of: $0) || hasPolicy(of: $0) })
        || hasPolicy(takers)
      {
        loss.targets = taken.intersection(others)
      }
    }
    if let left = source.unread(loss, read: read) { note(left, takers: takers) }
  }

  /// Notes an order that nothing reads, of references that their other end has.
  private mutating func addOrder(
    of relationship: Relationship, of entity: Entity, takers: [Int]
  ) {
    guard let inverse = source.inverse(of: relationship) else { return }
    var loss = PossibleLoss(
      entity: entity.name, kind: .relationship(relationship.name), cause: .order)
    let others = source.family(of: relationship.destinationEntityName).map(\.name)
    let targets = taken.intersection(others).filter {
      read.contains(inverse.name, of: $0) || hasPolicy(of: $0)
    }
    loss.targets = targets
    if !targets.isEmpty { note(loss, takers: takers) }
  }

  /// Notes an order that the destination model does not have, of references that it has.
  private mutating func addOrderOfModel(
    _ relationship: Relationship, of entity: Entity, matches: [PropertyMatch]
  ) {
    guard matches.contains(where: { $0.givesUpOrder(of: relationship.name) }),
      !matches.contains(where: { $0.staysOrdered(relationship.name) })
    else { return }
    var loss = PossibleLoss(entity: entity.name, kind: .order(relationship.name))
    let others = source.family(of: relationship.destinationEntityName).map(\.name)
    let inverse = source.inverse(of: relationship)
    let isRead = read.contains(relationship.name, of: entity.name)
    loss.targets = taken.intersection(others).filter { name in
      isRead || hasPolicy(of: name) || inverse.map { read.contains($0.name, of: name) } ?? false
    }
    if loss.targets?.isEmpty == false { possible.append(loss) }
  }

  /// The entities of a relationship's objects whose other end some mapping does not read.
  private func unreadTargets(of relationship: Relationship) -> Set<String> {
    let others = source.family(of: relationship.destinationEntityName).map(\.name)
    guard !relationship.isOrdered, let inverse = source.inverse(of: relationship) else {
      return taken.intersection(others)
    }
    return taken.intersection(others).filter { name in
      mappings.indices.contains {
        mappings[$0].sourceEntityName == name && !reads[$0].contains(inverse.name, of: name)
      }
    }
  }

  private mutating func note(_ loss: PossibleLoss, takers: [Int]) {
    if hasPolicy(takers) || (loss.targets ?? []).contains(where: { hasPolicy(of: $0) }) {
      open.append(loss)
    } else {
      possible.append(loss)
    }
  }

  private func hasPolicy(_ takers: [Int]) -> Bool {
    takers.contains { mappings[$0].ownPolicyClassName != nil }
  }

  private func hasPolicy(of entity: String) -> Bool {
    mappings.contains { $0.sourceEntityName == entity && $0.ownPolicyClassName != nil }
  }

  /// Numbers that become ones of a type that cannot hold all of them.
  private mutating func addConversions(_ entity: Entity, takers: [Int]) {
    let attributes = source.leafTypes(of: entity)
    var found: Set<PossibleLoss> = []
    for taker in takers {
      guard
        let new = mappings[taker].destinationEntityName.flatMap({ destination.entity(name: $0) })
      else { continue }
      let wanted = destination.leafTypes(of: new)
      for property in mappings[taker].attributeMappings {
        guard case .attribute(let name, _) = property.origin,
          let old = attributes[name], let type = wanted[property.name],
          old.isConverted(to: type)
        else { continue }
        var loss = PossibleLoss(
          entity: entity.name, kind: .conversion(name, to: type), cause: .conversion)
        loss.isOfOddValues = !old.oftenChanges(as: type)
        if found.insert(loss).inserted { possible.append(loss) }
      }
    }
  }
}

extension ManagedObjectModel {
  /// Whether what a mapping reads for a property gets into a store of this model.
  fileprivate func stores(_ property: PropertyMapping, of mapping: EntityMapping) -> Bool {
    guard let name = mapping.destinationEntityName, let entity = entity(name: name),
      let relationship = relationship(named: property.name, of: entity)
    else { return true }
    return isStored(relationship)
  }

  /// The types of an entity's attributes, by name.
  fileprivate func leafTypes(of entity: Entity) -> [String: AttributeType] {
    Dictionary(
      allLeafAttributes(of: entity).map { ($0.name, $0.type) },
      uniquingKeysWith: { first, _ in first })
  }

  /// What is left of a loss of references where something reads those that `read` names, from
  /// either end, or of their order where it reads the other end alone; nil where nothing is.
  package func unread(_ loss: PossibleLoss, read: PropertiesRead) -> PossibleLoss? {
    guard case .relationship(let name) = loss.kind, !read.contains(name, of: loss.entity) else {
      return nil
    }
    guard
      let relationship = entity(name: loss.entity).flatMap({
        relationship(named: name, of: $0)
      }), let inverse = inverse(of: relationship), let targets = loss.targets
    else { return loss }
    var result = loss
    // The other end knows the objects and not their order.
    result.targets = targets.filter {
      read.contains(inverse.name, of: $0) == (loss.cause == .order)
    }
    return result.targets?.isEmpty == true ? nil : result
  }
}

extension EntityMapping {
  /// Whether it makes objects of source objects, by itself or by its policy.
  package var makesObjects: Bool {
    sourceEntityName != nil && (destinationEntityName != nil || ownPolicyClassName != nil)
      && kind != .add && kind != .remove
  }

  /// Whether what it makes are the source objects themselves, as objects of another entity.
  package var isMaker: Bool { makesObjects && destinationEntityName != nil && newObjects == nil }

  /// Whether it chooses among the objects of its source entity, by a predicate.
  package var isFiltered: Bool {
    makesObjects && predicate.map { $0 != ValueExpression.everything } ?? false
  }

  /// The predicate of the objects that it takes; nil where another expression yields them.
  package var predicate: String? {
    sourceExpression == nil ? ValueExpression.everything : filter
  }
}
