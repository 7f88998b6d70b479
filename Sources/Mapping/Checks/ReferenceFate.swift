package import ObjectModel

/// What becomes of single references.
extension ReferenceFates {
  /// What becomes of a reference, but for several that come to one place.
  package func fate(_ place: Place, owner: End, target: End) -> Fate {
    let isLost = (
      owner: owner.entity != nil && owner.takers.isEmpty,
      target: target.entity != nil && target.takers.isEmpty
    )
    switch place.form {
    case .toOne: if isLost.owner { return .gone(cause(owner)) }
    case .owner: if isLost.target { return .gone(cause(target)) }
    case .pair:
      if isLost.owner, isLost.target || target.entity == nil { return .gone(cause(owner)) }
      if isLost.target, owner.entity == nil { return .gone(cause(target)) }
    }
    if isOpen(place, owner: owner, target: target) { return .open }
    if isKept(place, owner: owner, target: target) { return .kept }
    // Nothing counts what objects without a mapping lose but their number.
    if isLost.owner, owner.entity.map({ makers[$0] == nil }) == true { return .lost(cause(owner)) }
    if isLeft(place, owner: owner, target: target) {
      return .unread(unreadCause(place, owner: owner))
    }
    if isLost.owner { return .lost(cause(owner)) }
    if isLost.target { return .lost(cause(target)) }
    guard owner.entity != nil, target.entity != nil else {
      return dangling(place, owner: owner, target: target)
    }
    if isRead(place, owner: owner, target: target) {
      return .lost(isInferred ? moved : .elsewhere)
    }
    return .unread(unreadCause(place, owner: owner))
  }

  private func cause(_ end: End) -> LossCause {
    end.entity.flatMap { causes[$0] } ?? .filter
  }

  /// Why objects of an entity go that no mapping takes.
  package func cause(of entity: String) -> LossCause { causes[entity] ?? .filter }

  /// Whether mappings make objects of those of an entity.
  package func hasMapping(_ entity: String) -> Bool { makers[entity] != nil }

  /// The place of the mapping whose run accounts for references between objects of two entities,
  /// nil where an object is not there.
  ///
  /// Mappings in several runs may make objects of the entities of one relationship.
  package func accountant(of place: Place, owner: String?, target: String?) -> Int? {
    let ends = place.form == .owner ? [target, owner] : [owner, target]
    return (ends.compactMap(\.self) + place.owners + place.targets).lazy.compactMap {
      makers[$0]?.first?.place
    }.first
  }

  /// The other end of a relationship.
  package func inverse(of relationship: Relationship) -> String? {
    source.inverse(of: relationship)?.name
  }

  /// Whether a policy takes part in what becomes of the references of a relationship.
  package func hasPolicy(_ place: Place) -> Bool {
    (place.owners + place.targets).contains { (makers[$0] ?? []).contains(where: \.hasPolicy) }
  }

  /// Whether an expression of an entity's mappings reads a relationship.
  package func isRead(_ relationship: String, of entity: String) -> Bool {
    (makers[entity] ?? []).contains { !$0.properties(reading: relationship).isEmpty }
  }

  /// The destination relationships that may continue one of an entity, by the mappings or the
  /// models.
  package func continuations(of relationship: String, in entity: String) -> Set<String> {
    guard let old = source.entity(name: entity) else { return [] }
    let entities = RenamingMatch.entities(from: source, to: destination)
    return (makers[entity] ?? []).reduce(into: []) { names, maker in
      names.formUnion(maker.properties(reading: relationship))
      guard let new = maker.destination.flatMap({ destination.entity(name: $0) }) else { return }
      let match = PropertyMatch(
        source: source, old: old, destination: destination, new: new, entities: entities)
      names.formUnion(match.sourceByDestination.filter { $0.value == relationship }.keys)
    }
  }

  private func makers(of end: End) -> [Maker] {
    (end.entity.flatMap { makers[$0] } ?? []).filter { end.takers.contains($0.place) }
  }

  func isOpen(_ place: Place, owner: End, target: End) -> Bool {
    let inverse = source.inverse(of: place.relationship)?.name
    return makers(of: owner).contains {
      $0.hasPolicy || $0.computed[place.relationship.name] != nil
    }
      || makers(of: target).contains { maker in
        maker.hasPolicy || inverse.map { maker.computed[$0] != nil } ?? false
      }
  }

  /// Whether a mapping of either object continues the reference to what the other one became.
  private func isKept(_ place: Place, owner: End, target: End) -> Bool {
    let inverse = source.inverse(of: place.relationship)?.name
    return makers(of: owner).contains { one in
      makers(of: target).contains { other in
        one.model == other.model
          && (one.continues(place.relationship.name, to: other) && hasOwner(one, owner)
            || inverse.map { other.continues($0, to: one) && hasOwner(other, target) } ?? false)
      }
    }
  }

  /// Whether an object became what the objects of its pairs lead to, where a mapping makes such.
  private func hasOwner(_ maker: Maker, _ end: End) -> Bool {
    guard let held = maker.pairOwners else { return true }
    return makers(of: end).contains { $0.destination.map(held.contains) ?? false }
  }

  private func isRead(_ place: Place, owner: End, target: End) -> Bool {
    let inverse = source.inverse(of: place.relationship)?.name
    return makers(of: owner).contains { $0.reads[place.relationship.name] != nil }
      || inverse.map { name in makers(of: target).contains { $0.reads[name] != nil } } ?? false
  }

  /// A program keeps a key as it is where all objects that it may lead to have a place.
  private func dangling(_ place: Place, owner: End, target: End) -> Fate {
    guard isByRows else { return .dangling(isKept: false) }
    func all(_ end: End, _ entities: [String]) -> [End] {
      end.entity == nil ? entities.map(whole) : [end]
    }
    return .dangling(
      isKept: all(owner, place.owners).allSatisfy { owner in
        all(target, place.targets).allSatisfy { isKept(place, owner: owner, target: $0) }
      })
  }

  /// Whether the reference is among those that `MappingLosses` counts because nothing reads them,
  /// which it does whatever becomes of the target.
  private func isLeft(_ place: Place, owner: End, target: End) -> Bool {
    guard let entity = owner.entity else { return place.isUnread }
    let inverse = source.inverse(of: place.relationship)?.name
    func readers(_ entity: String, _ name: String) -> [Maker] {
      (makers[entity] ?? []).filter { $0.hasPolicy || !$0.properties(reading: name).isEmpty }
    }
    func others(_ entity: String) -> [Maker] { inverse.map { readers(entity, $0) } ?? [] }
    let own = readers(entity, place.relationship.name)
    guard let name = target.entity, let all = makers[name] else {
      // Objects that no mapping makes are lost with what leads to them, unless nothing reads it.
      return own.isEmpty && place.targets.allSatisfy { others($0).isEmpty }
    }
    if own.isEmpty { return others(name).isEmpty }
    let isDivided = (makers[entity] ?? []).contains(where: \.isFiltered)
    // What an object forgets is counted of those alone that some mapping takes.
    return isDivided && !owner.takers.isEmpty
      && !own.contains { owner.takers.contains($0.place) }
      && (place.relationship.isOrdered || others(name).count < all.count)
  }

  private func unreadCause(_ place: Place, owner: End) -> LossCause {
    let name = owner.entity ?? place.owners.first
    guard !isInferred, let old = name.flatMap({ source.entity(name: $0) }) else { return .removed }
    let entities = RenamingMatch.entities(from: source, to: destination)
    let isDropped = (makers[old.name] ?? []).compactMap(\.destination)
      .compactMap { destination.entity(name: $0) }.allSatisfy {
        PropertyMatch(
          source: source, old: old, destination: destination, new: $0, entities: entities
        ).droppedRelationships.contains(place.relationship.name)
      }
    guard isDropped else { return .unmappedProperty }
    return source.hasPairs(of: place.relationship, in: old, by: pairMappings)
      ? .unmappedPair
      : mark(PossibleLoss(entity: old.name, kind: .relationship(place.relationship.name)))
  }
}

extension ReferenceFates.Fate {
  /// Whether the result has it, or may have it.
  package var isKept: Bool {
    switch self {
    case .kept, .open, .dangling(isKept: true): true
    case .gone, .lost, .unread, .dangling(isKept: false): false
    }
  }

  /// Whether it may be lost for a cause of this step.
  var mayBeLost: Bool {
    switch self {
    case .gone, .lost, .unread, .open: true
    case .kept, .dangling: false
    }
  }

  /// Why the result does not have it; nil where it has.
  package var cause: LossCause? {
    switch self {
    case .kept, .open, .dangling(isKept: true): nil
    case .gone(let cause), .lost(let cause), .unread(let cause): cause
    case .dangling(isKept: false): .dangling
    }
  }
}
