import ValueExpressions
import ObjectModel

/// Pairs the names of a source with those of a destination by their renaming identifiers.
struct RenamingMatch {
  private(set) var sourceByDestination: [String: String] = [:]

  init(
    sources: [(name: String, identifier: String?)],
    destinations: [(name: String, identifier: String?)]
  ) {
    var free = Set(sources.map(\.name))
    func pair(
      _ sourceKey: (String, String?) -> String, _ destinationKey: (String, String?) -> String
    ) {
      var byKey: [String: String] = [:]
      for source in sources where free.contains(source.name) {
        byKey[sourceKey(source.name, source.identifier)] = source.name
      }
      for destination in destinations where sourceByDestination[destination.name] == nil {
        let key = destinationKey(destination.name, destination.identifier)
        if let found = byKey[key], free.remove(found) != nil {
          sourceByDestination[destination.name] = found
        }
      }
    }
    pair({ $1 ?? $0 }, { $1 ?? $0 })
    // An identifier that names the source's present name although the source bears an older
    // identifier, and a name that both sides share although one of them dropped the identifier:
    // Core Data documents only the first rule; losing the values would be the alternative.
    pair({ name, _ in name }, { $1 ?? $0 })
    pair({ name, _ in name }, { name, _ in name })
  }
}

/// The stored properties of a source and a destination entity, inherited ones included, in pairs.
struct PropertyMatch {
  let old: Entity
  let new: Entity
  let newAttributes: [Attribute]
  let newRelationships: [Relationship]
  let droppedAttributes: [String]
  let droppedRelationships: [String]

  private let attributes: [String: Attribute]
  private let relationships: [String: Relationship]
  private let match: RenamingMatch
  private let declaring: [String: String]

  init(source: ManagedObjectModel, old: Entity, destination: ManagedObjectModel, new: Entity) {
    self.old = old
    self.new = new
    let oldAttributes = source.allAttributes(of: old).filter { !$0.isTransient }
    let oldRelationships = source.allRelationships(of: old).filter { !$0.isTransient }
    newAttributes = destination.allAttributes(of: new).filter { !$0.isTransient }
    newRelationships = destination.allRelationships(of: new).filter { !$0.isTransient }
    attributes = Dictionary(uniqueKeysWithValues: oldAttributes.map { ($0.name, $0) })
    relationships = Dictionary(uniqueKeysWithValues: oldRelationships.map { ($0.name, $0) })
    match = RenamingMatch(
      sources: oldAttributes.map { ($0.name, $0.renamingIdentifier) }
        + oldRelationships.map { ($0.name, $0.renamingIdentifier) },
      destinations: newAttributes.map { ($0.name, $0.renamingIdentifier) }
        + newRelationships.map { ($0.name, $0.renamingIdentifier) })
    let kept = Set(match.sourceByDestination.values)
    // A derived value is computed anew, so dropping one loses nothing.
    droppedAttributes = oldAttributes.filter { !kept.contains($0.name) && $0.derivation == nil }
      .map(\.name).sorted()
    droppedRelationships = oldRelationships.map(\.name).filter { !kept.contains($0) }.sorted()
    declaring = Self.declaringEntities(destination.lineage(of: new))
  }

  private static func declaringEntities(_ lineage: [Entity]) -> [String: String] {
    var result: [String: String] = [:]
    for entity in lineage {
      for name in entity.attributes.map(\.name) + entity.relationships.map(\.name)
      where result[name] == nil {
        result[name] = entity.name
      }
    }
    return result
  }

  func oldAttribute(for name: String) -> Attribute? {
    match.sourceByDestination[name].flatMap { attributes[$0] }
  }

  func oldRelationship(for name: String) -> Relationship? {
    match.sourceByDestination[name].flatMap { relationships[$0] }
  }

  /// Whether different values of an attribute may become the same one: by losing a fraction or
  /// precision, or by a default in the place of nil.
  func mayAlign(_ name: String) -> Bool {
    guard let old = oldAttribute(for: name),
      let new = newAttributes.first(where: { $0.name == name })
    else { return false }
    let replacesNull = old.isOptional && !new.isOptional && new.defaultValue != .null
    return replacesNull || (old.type != new.type && ![.double, .decimal].contains(new.type))
  }

  /// The destination entity that declares the property, which may be a superentity.
  func declaringEntity(of property: String) -> String { declaring[property] ?? new.name }

  func condition(_ demand: Condition.Demand, property: String?) -> Condition {
    Condition(demand, sourceEntity: old.name, destinationEntity: new.name, property: property)
  }
}
