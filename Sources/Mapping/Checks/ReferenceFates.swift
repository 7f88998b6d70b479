import Expressions
package import ObjectModel

/// What becomes of references of the source under the mappings of one step.
///
/// A reference has an owner and a target, and a row that keeps it: the owner's, the target's where
/// the relationship has no inverse, or a row of its own in a join table.
package struct ReferenceFates: Sendable {
  /// Which row keeps a reference.
  package enum Form: Hashable, Sendable {
    /// That of the owner, in the column of a to-one relationship.
    case toOne
    /// That of the target, in a column with the key of the owner.
    case owner
    /// A row of a join table.
    case pair
  }

  /// What becomes of a reference.
  package enum Fate: Hashable, Sendable {
    /// The result has it.
    case kept
    /// A policy or an expression decides, so only the migration shows it.
    case open
    /// It goes with the object whose row keeps it, or with both objects of a pair.
    case gone(LossCause)
    /// It goes, and the object whose row keeps it stays, or one object of a pair.
    case lost(LossCause)
    /// No mapping reads it, which `MappingLosses` has among its losses.
    case unread(LossCause)
    /// An object is not there, so the reference has led nowhere before.
    case dangling(isKept: Bool)
  }

  /// An object at one end of a reference.
  package struct End: Hashable, Sendable {
    /// Its entity; nil where there is no such object.
    package var entity: String?
    /// The places of the mappings that take it.
    package var takers: Set<Int>

    /// Makes an end.
    package init(entity: String?, takers: Set<Int>) {
      (self.entity, self.takers) = (entity, takers)
    }
  }

  let source: ManagedObjectModel
  let destination: ManagedObjectModel
  /// Whether rows are migrated by programs, which keep references that lead nowhere.
  package let isByRows: Bool
  let isInferred: Bool
  let mark: @Sendable (PossibleLoss) -> LossCause
  let makers: [String: [Maker]]
  /// The mappings that make objects of pairs.
  let pairMappings: [EntityMapping]
  /// Why objects go that no mapping takes, by entities without a mapping.
  let causes: [String: LossCause]

  /// Compares the mappings of one step.
  ///
  /// - Parameters:
  ///   - isInferred: whether the models alone decide what the mappings are.
  ///   - mark: the final cause of a loss that the model implies.
  package init(
    models: [MappingModel], source: ManagedObjectModel, destination: ManagedObjectModel,
    isByRows: Bool, isInferred: Bool,
    mark: @escaping @Sendable (PossibleLoss) -> LossCause = { $0.cause }
  ) {
    (self.source, self.destination) = (source, destination)
    (self.isByRows, self.isInferred, self.mark) = (isByRows, isInferred, mark)
    var makers: [String: [Maker]] = [:]
    var place = 0
    var names: [String: Int] = [:]
    for mapping in models.flatMap(\.entityMappings) { names[mapping.name, default: 0] += 1 }
    for (number, model) in models.enumerated() {
      for mapping in model.entityMappings {
        defer { place += 1 }
        guard mapping.makesObjects, let name = mapping.sourceEntityName else { continue }
        var maker = Maker(
          place: place, model: number, name: mapping.name,
          destination: mapping.destinationEntityName, isFiltered: mapping.isFiltered,
          // By rows, policies compute attributes alone. An expression of another form chooses
          // objects that only it knows.
          hasPolicy: !isByRows
            && (mapping.ownPolicyClassName != nil || mapping.predicate == nil
              || names[mapping.name] != 1),
          makesNewObjects: mapping.newObjects != nil)
        maker.note(mapping, source: source, destination: destination)
        makers[name, default: []].append(maker)
      }
    }
    self.makers = makers
    pairMappings = models.flatMap(\.entityMappings).filter {
      $0.newObjects?.pairRelationship != nil
    }
    let unmade = source.entities.filter { !$0.isAbstract && makers[$0.name] == nil }
    let continued =
      unmade.isEmpty
      ? []
      : Set(RenamingMatch.entities(from: source, to: destination).sourceByDestination.values)
    var causes: [String: LossCause] = [:]
    for entity in unmade {
      causes[entity.name] =
        continued.contains(entity.name)
        ? .unmappedEntity : mark(PossibleLoss(entity: entity.name, kind: .entity))
    }
    self.causes = causes
    moved = mark(PossibleLoss(entity: "", kind: .entity))
  }

  /// The cause of references to objects that the relationship cannot hold any more, where the
  /// models alone decide it.
  let moved: LossCause

  // MARK: Places

  /// The references of one relationship, some of them possibly lost.
  package struct Place: Sendable {
    /// The entity that declares the relationship.
    package var entity: String
    /// The relationship.
    package var relationship: Relationship
    /// Which rows keep its references.
    package var form: Form
    /// The concrete entities of its owners, and of its targets.
    package var owners: [String]
    package var targets: [String]
    /// Places of mappings with a filter that take owners, and targets, by entity.
    package var ownerFilters: [String: [Int]]
    package var targetFilters: [String: [Int]]
    /// Whether the fate of a reference depends on the object at the end that does not keep it.
    package var needsOtherEnd: Bool
    /// Whether the migration has to show what becomes of some references.
    package var isOpen: Bool
    /// Whether no mapping reads it, from either end.
    package var isUnread: Bool
    /// The rule by which one of several references to the same place stays; nil if there is never
    /// more than one.
    package var winner: Winner?
    /// Destination relationships that continue it: entity and name.
    package var continuations: [Continuation]
  }

  /// What has one place only in the destination.
  package enum Winner: Hashable, Sendable {
    /// The owner, whose to-many relationship becomes a to-one.
    case owner
    /// The target, whose to-many inverse becomes a to-one.
    case target
  }

  /// A destination relationship.
  package struct Continuation: Hashable, Sendable {
    /// An entity that has it.
    package var entity: String
    /// Its name.
    package var relationship: String

    /// Names a relationship of an entity.
    package init(entity: String, relationship: String) {
      (self.entity, self.relationship) = (entity, relationship)
    }
  }

  /// The references of a relationship, nil where all of them are kept.
  ///
  /// - Parameter hasObjects: whether the store has objects of an entity.
  package func place(
    of relationship: Relationship, declaredBy entity: String, form: Form,
    hasObjects: (String) -> Bool
  ) -> Place? {
    func concrete(_ name: String) -> [String] {
      source.family(of: name).filter { !$0.isAbstract }.map(\.name)
    }
    let (allOwners, allTargets) = (
      concrete(entity), concrete(relationship.destinationEntityName)
    )
    var result = Place(
      entity: entity, relationship: relationship, form: form, owners: allOwners,
      targets: allTargets, ownerFilters: filters(of: allOwners),
      targetFilters: filters(of: allTargets), needsOtherEnd: false, isOpen: false,
      isUnread: false, winner: nil,
      continuations: continuations(of: relationship, owners: allOwners, targets: allTargets))
    result.winner = winner(of: relationship, place: result)
    result.isUnread = !isReadByAny(result)
    result.isOpen = isOpen(result)
    // Most relationships lose nothing, whatever objects there are.
    guard risk(of: result, owners: allOwners, targets: allTargets).mayLose else { return nil }
    let risk = risk(
      of: result, owners: allOwners.filter(hasObjects), targets: allTargets.filter(hasObjects))
    result.needsOtherEnd = risk.needsOtherEnd
    return risk.mayLose ? result : nil
  }

  /// Whether references between objects of some entities may be lost.
  private func risk(
    of place: Place, owners: [String], targets: [String]
  ) -> (mayLose: Bool, needsOtherEnd: Bool) {
    let isFiltered = !place.ownerFilters.isEmpty || !place.targetFilters.isEmpty
    var mayLose = isFiltered || place.isOpen
    var needs = mayLose
    var all: Set<Fate> = []
    let isOwner = place.form == .owner
    for row in isOwner ? targets : owners {
      var fates: Set<Fate> = []
      for other in (isOwner ? owners : targets).map(Optional.some) + [nil] {
        let (own, far) = (whole(row), other.map(whole) ?? End(entity: nil, takers: []))
        fates.insert(fate(place, owner: isOwner ? far : own, target: isOwner ? own : far))
      }
      all.formUnion(fates)
      if fates.count > 1 || place.form == .pair && all.count > 1 { needs = true }
      // References that lead nowhere are no reason to search for them.
      if fates.contains(where: \.mayBeLost) { mayLose = true }
    }
    // Neither object of a pair is known by the row that keeps it.
    return (mayLose, needs || mayLose && place.form == .pair)
  }

  private func isOpen(_ place: Place) -> Bool {
    if isByRows { return false }
    let none = End(entity: nil, takers: [])
    return place.winner != nil || isOneToOne(place.relationship)
      || place.owners.contains { isOpen(place, owner: whole($0), target: none) }
      || place.targets.contains { isOpen(place, owner: none, target: whole($0)) }
  }

  /// Whether both ends are to-one, so that objects made one by one get ends that agree.
  package func isOneToOne(_ relationship: Relationship) -> Bool {
    !relationship.isToMany && source.inverse(of: relationship)?.isToMany == false
  }

  private func isReadByAny(_ place: Place) -> Bool {
    let inverse = source.inverse(of: place.relationship)?.name
    func reads(_ entities: [String], _ name: String) -> Bool {
      entities.flatMap { makers[$0] ?? [] }.contains {
        $0.hasPolicy || $0.reads[name] != nil || $0.computed[name] != nil
      }
    }
    return reads(place.owners, place.relationship.name)
      || inverse.map { reads(place.targets, $0) } ?? false
  }

  /// An object that all mappings of its entity take.
  func whole(_ entity: String) -> End {
    End(entity: entity, takers: Set((makers[entity] ?? []).map(\.place)))
  }

  private func filters(of entities: [String]) -> [String: [Int]] {
    entities.reduce(into: [:]) { found, entity in
      let places = (makers[entity] ?? []).filter(\.isFiltered).map(\.place)
      if !places.isEmpty { found[entity] = places }
    }
  }

  /// The places of mappings that take all objects of an entity.
  package func takersOfAll(_ entity: String) -> Set<Int> {
    Set((makers[entity] ?? []).filter { !$0.isFiltered }.map(\.place))
  }

  private func continuations(
    of relationship: Relationship, owners: [String], targets: [String]
  ) -> [Continuation] {
    func found(_ entities: [String], _ name: String) -> [Continuation] {
      entities.flatMap { makers[$0] ?? [] }.flatMap { maker in
        maker.properties(reading: name).compactMap { property in
          maker.destination.map { Continuation(entity: $0, relationship: property) }
        }
      }
    }
    let inverse = source.inverse(of: relationship)?.name
    return found(owners, relationship.name) + (inverse.map { found(targets, $0) } ?? [])
  }

  /// Which end has one place only, where objects are made one by one; rows keep their columns.
  private func winner(of relationship: Relationship, place: Place) -> Winner? {
    guard !isByRows, !keepsAll(relationship, place: place) else { return nil }
    return place.continuations.lazy.compactMap {
      winner(of: relationship, as: $0, place: place)
    }.first
  }

  /// Whether each object of one end keeps all references in some relationship, whatever others
  /// take of them.
  private func keepsAll(_ relationship: Relationship, place: Place) -> Bool {
    func keep(_ entities: [String], _ name: String) -> Bool {
      let takers = entities.flatMap { makers[$0] ?? [] }
      return !takers.isEmpty
        && takers.allSatisfy { maker in
          (maker.reads[name] ?? []).contains { read in
            guard let entity = maker.destination, read.through == nil else { return false }
            let continuation = Continuation(entity: entity, relationship: read.property)
            return winner(of: relationship, as: continuation, place: place) == nil
          }
        }
    }
    return keep(place.owners, relationship.name)
      || source.inverse(of: relationship).map { keep(place.targets, $0.name) } ?? false
  }

  /// Which end has one place only in a relationship that continues another one.
  private func winner(
    of relationship: Relationship, as continuation: Continuation, place: Place
  ) -> Winner? {
    // Each pair has an object of its own.
    let isOfPairs = (place.owners + place.targets).contains { end in
      (makers[end] ?? []).contains {
        $0.pairOwners != nil && $0.destination == continuation.entity
      }
    }
    guard !isOfPairs, let entity = destination.entity(name: continuation.entity),
      let made = destination.relationship(named: continuation.relationship, of: entity)
    else { return nil }
    let inverse = source.inverse(of: relationship)
    let back = destination.inverse(of: made)
    let isOwn = place.owners.contains { owner in
      (makers[owner] ?? []).contains {
        $0.destination == continuation.entity
          && $0.properties(reading: relationship.name).contains(made.name)
      }
    }
    let (forward, backward) = isOwn ? (made, back) : (back, made)
    if relationship.isToMany, let forward, !forward.isToMany { return .owner }
    // Without an inverse the row of the target has the key of its one owner.
    if place.form != .owner, let forward, forward.isToMany, backward == nil { return .target }
    if inverse?.isToMany == true || inverse == nil, let backward, !backward.isToMany {
      return .target
    }
    return nil
  }
}
