import Expressions
import ObjectModel

/// The stored properties of a source and a destination entity, inherited ones included, in pairs.
struct PropertyMatch {
  let old: Entity
  let new: Entity
  let newAttributes: [Attribute]
  let newRelationships: [Relationship]
  let droppedAttributes: [String]
  let droppedRelationships: [String]
  /// Names that one identifier joins in several ways.
  let ambiguities: [RenamingMatch.Ambiguity]
  /// The source property of each destination property that continues one.
  let sourceByDestination: [String: String]
  /// Destination properties that continue, by name or identifier, one of the other kind.
  let changedKinds: Set<String>
  /// The types of destination attributes that continue a composite one and are none, or are
  /// elements of one that continues an attribute which is none.
  let changedForms: [String: (old: AttributeType, new: AttributeType)]

  private let attributes: [String: Attribute]
  private let relationships: [String: Relationship]
  private let declaring: [String: String]

  /// Pairs the properties of two entities.
  ///
  /// Where an identifier joins several names, the superentity's pairs decide, if the superentities
  /// are paired with each other.
  ///
  /// - Parameter entities: how the entities of the two models are paired.
  init(
    source: ManagedObjectModel, old: Entity, destination: ManagedObjectModel, new: Entity,
    entities: RenamingMatch
  ) {
    var inherited: [String: String] = [:]
    if let parent = new.superentityName.flatMap({ destination.entity(name: $0) }),
      let oldParent = old.superentityName.flatMap({ source.entity(name: $0) }),
      entities.sourceByDestination[parent.name] == oldParent.name
    {
      inherited =
        PropertyMatch(
          source: source, old: oldParent, destination: destination, new: parent,
          entities: entities
        ).sourceByDestination
    }
    self.init(
      source: source, old: old, destination: destination, new: new, inherited: inherited)
  }

  /// - Parameter inherited: how the properties of the superentities are paired, where those are
  ///   paired with each other.
  private init(
    source: ManagedObjectModel, old: Entity, destination: ManagedObjectModel, new: Entity,
    inherited: [String: String]
  ) {
    self.old = old
    self.new = new
    let oldAttributes = source.allLeafAttributes(of: old).filter { !$0.isTransient }
    let oldRelationships = source.allRelationships(of: old).filter(source.isStored)
    newAttributes = destination.allLeafAttributes(of: new).filter { !$0.isTransient }
    newRelationships = destination.allRelationships(of: new).filter(destination.isStored)
    attributes = Dictionary(uniqueKeysWithValues: oldAttributes.map { ($0.name, $0) })
    relationships = Dictionary(uniqueKeysWithValues: oldRelationships.map { ($0.name, $0) })
    let names = PropertyNames(
      oldAttributes: oldAttributes.map { .init($0) },
      newAttributes: newAttributes.map { .init($0) },
      oldRelationships: oldRelationships.map { .init($0) },
      newRelationships: newRelationships.map { .init($0) })
    func isUnchanged() -> Bool {
      EntityDifference.isUnchanged(old, in: source, as: new, in: destination)
    }
    var pairs = names.pairs(inherited: inherited, isUnchanged: isUnchanged)
    pairs.sourceByDestination.merge(
      Self.renamedComposites(
        from: oldAttributes, to: newAttributes, pairs: pairs, isUnchanged: isUnchanged)
    ) { one, _ in one }
    changedForms = Self.changedForms(
      from: source.allAttributes(of: old), to: destination.allAttributes(of: new),
      pairs: pairs.sourceByDestination)
    sourceByDestination = pairs.sourceByDestination
    ambiguities = pairs.ambiguities
    changedKinds = names.changedKinds(pairs.sourceByDestination, ambiguities: ambiguities)
    let computed = Set(newAttributes.filter { $0.derivation != nil }.map(\.name))
    let derived = Set(oldAttributes.filter { $0.derivation != nil }.map(\.name))
    let kept = Set(
      pairs.sourceByDestination.filter { !computed.contains($0) || derived.contains($1) }.values)
    // A derived value is computed again, so dropping one loses nothing.
    droppedAttributes = oldAttributes.filter { !kept.contains($0.name) && $0.derivation == nil }
      .map(\.name).sorted()
    droppedRelationships = oldRelationships.map(\.name).filter { !kept.contains($0) }.sorted()
    declaring = Self.declaringEntities(destination.lineage(of: new))
  }

  /// The elements of composites that have another name and nothing that continues them, where
  /// their entity is otherwise the same.
  ///
  /// An entity's hash covers the elements and not the name, so to Core Data such an entity has not
  /// changed (docs/reference/migration.md, "Inferred").
  private static func renamedComposites(
    from old: [Attribute], to new: [Attribute],
    pairs: (sourceByDestination: [String: String], ambiguities: [RenamingMatch.Ambiguity]),
    isUnchanged: () -> Bool
  ) -> [String: String] {
    let taken = Set(pairs.sourceByDestination.values)
    let undecided = Set(pairs.ambiguities.flatMap(\.destinations))
    var left = composites(in: old) { !taken.contains($0) }
    let wanting = composites(in: new) {
      pairs.sourceByDestination[$0] == nil && !undecided.contains($0)
    }
    guard !left.isEmpty, !wanting.isEmpty, isUnchanged() else { return [:] }
    var result: [String: String] = [:]
    for composite in wanting {
      guard let place = left.firstIndex(where: { $0.elements == composite.elements }) else {
        continue
      }
      let before = left.remove(at: place).name
      for element in composite.elements.keys {
        result[composite.name + element] = before + element
      }
    }
    return result
  }

  /// Composites by name, and the types of their elements by what follows it; none if an element is
  /// missing there.
  private static func composites(
    in leaves: [Attribute], where isWanted: (String) -> Bool
  ) -> [(name: String, elements: [String: AttributeType])] {
    let groups = Dictionary(grouping: leaves.filter(\.isElement), by: \.compositeOrOwnName)
    return groups.sorted { $0.key < $1.key }.compactMap { name, elements in
      guard elements.allSatisfy({ isWanted($0.name) }) else { return nil }
      return (
        name,
        Dictionary(
          uniqueKeysWithValues: elements.map { (String($0.name.dropFirst(name.count)), $0.type) })
      )
    }
  }

  /// Pairs of attributes with one name or identifier, one composite and one not.
  private static func changedForms(
    from old: [Attribute], to new: [Attribute], pairs: [String: String]
  ) -> [String: (old: AttributeType, new: AttributeType)] {
    var result: [String: (old: AttributeType, new: AttributeType)] = [:]
    func isComposite(_ attribute: Attribute) -> Bool { attribute.type == .composite }
    guard old.contains(where: isComposite) || new.contains(where: isComposite) else {
      return result
    }
    let taken = Set(pairs.values)
    for attribute in new where !attribute.isTransient {
      let keys = [attribute.renamingIdentifier, attribute.name].compactMap(\.self)
      let before = keys.lazy.compactMap { key in
        old.first { $0.renamingIdentifier ?? $0.name == key || $0.name == key }
      }.first
      guard let before, !before.isTransient,
        (before.type == .composite) != (attribute.type == .composite),
        before.leaves.allSatisfy({ !taken.contains($0.name) })
      else { continue }
      for leaf in attribute.leaves where pairs[leaf.name] == nil {
        result[leaf.name] = (before.type, attribute.type)
      }
    }
    return result
  }

  private static func declaringEntities(_ lineage: [Entity]) -> [String: String] {
    var result: [String: String] = [:]
    for entity in lineage {
      for name in entity.leafAttributes.map(\.name) + entity.relationships.map(\.name)
      where result[name] == nil {
        result[name] = entity.name
      }
    }
    return result
  }

  func oldAttribute(for name: String) -> Attribute? {
    sourceByDestination[name].flatMap { attributes[$0] }
  }

  func oldRelationship(for name: String) -> Relationship? {
    sourceByDestination[name].flatMap { relationships[$0] }
  }

  /// Whether an ordered relationship continues one of the source.
  func staysOrdered(_ name: String) -> Bool {
    newRelationships.contains { $0.isOrdered && sourceByDestination[$0.name] == name }
  }

  /// Whether a relationship without an order continues one of the source.
  func givesUpOrder(of name: String) -> Bool {
    newRelationships.contains {
      $0.isToMany && !$0.isOrdered && sourceByDestination[$0.name] == name
    }
  }

  /// Whether different values of an attribute may become the same one: by losing a fraction or
  /// precision, or by a default instead of nil.
  func mayAlign(_ name: String) -> Bool {
    guard let old = oldAttribute(for: name),
      let new = newAttributes.first(where: { $0.name == name })
    else { return false }
    let replacesNull = old.isOptional && !new.isOptional && new.defaultValue != .null
    return replacesNull || old.type.mayChange(as: new.type)
  }

  /// The destination entity that declares the property, which may be a superentity.
  func declaringEntity(of property: String) -> String { declaring[property] ?? new.name }

  func condition(demand: Condition.Demand, property: String?) -> Condition {
    Condition(
      demand: demand, sourceEntity: old.name, destinationEntity: new.name, property: property)
  }
}

/// The names of the stored properties of a source and a destination entity.
private struct PropertyNames {
  typealias Name = RenamingMatch.Name

  let oldAttributes: [Name]
  let newAttributes: [Name]
  let oldRelationships: [Name]
  let newRelationships: [Name]

  /// Pairs attributes with attributes and relationships with relationships.
  ///
  /// An unchanged entity is copied, every property to itself; properties are compared only if names
  /// move.
  func pairs(
    inherited: [String: String], isUnchanged: () -> Bool
  ) -> (sourceByDestination: [String: String], ambiguities: [RenamingMatch.Ambiguity]) {
    let attributes = RenamingMatch(
      sources: oldAttributes, destinations: newAttributes, inherited: inherited)
    let relationships = RenamingMatch(
      sources: oldRelationships, destinations: newRelationships, inherited: inherited)
    let all = Set((newAttributes + newRelationships).map(\.name))
    let pairs = attributes.sourceByDestination.merging(relationships.sourceByDestination) { $1 }
    let moves = all.contains { pairs[$0] != $0 }
    let before = Set((oldAttributes + oldRelationships).map(\.name))
    // The hash does not cover the name of a composite, so entities with equal hashes may differ.
    if moves && before == all && isUnchanged() {
      return (Dictionary(uniqueKeysWithValues: all.map { ($0, $0) }), [])
    }
    return (pairs, attributes.ambiguities + relationships.ambiguities)
  }

  /// Destination properties without a source, and with one of the other kind that has none either.
  func changedKinds(
    _ pairs: [String: String], ambiguities: [RenamingMatch.Ambiguity]
  ) -> Set<String> {
    let taken = Set(pairs.values)
    let undecided = Set(ambiguities.flatMap(\.destinations))
    func crossing(_ sources: [Name], destinations: [Name]) -> [String] {
      let left = sources.filter { !taken.contains($0.name) }
      let keys = Set(left.map(\.name) + left.map(\.canonical))
      return destinations.filter {
        pairs[$0.name] == nil && !undecided.contains($0.name)
          && (keys.contains($0.canonical) || left.map(\.name).contains($0.name))
      }.map(\.name)
    }
    return Set(
      crossing(oldAttributes, destinations: newRelationships)
        + crossing(oldRelationships, destinations: newAttributes))
  }
}
