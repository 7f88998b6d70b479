import ObjectModel

/// An entity of one model and the one of another that continues it.
struct EntityPair {
  private let source: ManagedObjectModel
  private let old: Entity
  private let destination: ManagedObjectModel
  private let new: Entity
  /// The stored property of the first model by that of the second.
  private let sources: [String: String]
  /// Whether stored properties without a pair are paired by their names all the same.
  private let pairsStoredByName: Bool

  typealias Part = ModelComparison.Part
  typealias Change = ModelComparison.Change

  init(
    source: ManagedObjectModel, old: Entity, destination: ManagedObjectModel, new: Entity,
    properties: [String: String], pairsStoredByName: Bool
  ) {
    (self.source, self.old, self.destination, self.new) = (source, old, destination, new)
    (sources, self.pairsStoredByName) = (properties, pairsStoredByName)
  }

  /// What differs, nil if nothing does.
  var difference: ModelComparison.EntityPart? {
    let isRenamed = old.name != new.name
    var part = ModelComparison.EntityPart(
      name: new.name, oldName: isRenamed ? old.name : nil, fate: isRenamed ? .renamed : .changed,
      pairing: isRenamed ? .renamingIdentifier : .name)
    part.changes = ModelFact.changes(ModelFact.facts(of: old), ModelFact.facts(of: new))
    part.parts =
      (attributes + relationships
      + named(
        .fetchedProperty, old.fetchedProperties.map { ($0.name, ModelFact.facts(of: $0)) },
        new.fetchedProperties.map { ($0.name, ModelFact.facts(of: $0)) })
      + named(
        .index, old.fetchIndexes.map { ($0.name, ModelFact.facts(of: $0)) },
        new.fetchIndexes.map { ($0.name, ModelFact.facts(of: $0)) })
      + named(
        .constraint, ModelFact.constraints(of: old).map { ($0, []) },
        ModelFact.constraints(of: new).map { ($0, []) })).sorted()
    return isRenamed || !part.changes.isEmpty || !part.parts.isEmpty ? part : nil
  }

  // MARK: Attributes and relationships

  private var attributes: [Part] {
    properties(
      .attribute, old: source.allAttributes(of: old), new: destination.allAttributes(of: new),
      own: (old.attributes.map(\.name), new.attributes.map(\.name)), name: \.name,
      counterpart: { attribute in
        let leaves = attribute.leaves.lazy.compactMap { sources[$0.name] }
        return leaves.first.map { Attribute.compositeOrOwnName(of: $0) }
      }, isStored: { !$0.isTransient && $0.derivation == nil }, facts: { ModelFact.facts(of: $0) },
      isSame: { $0.isSame(as: $1) })
  }

  private var relationships: [Part] {
    properties(
      .relationship, old: source.allRelationships(of: old),
      new: destination.allRelationships(of: new),
      own: (old.relationships.map(\.name), new.relationships.map(\.name)), name: \.name,
      counterpart: { sources[$0.name] }, isStored: { !$0.isTransient },
      facts: { ModelFact.facts(of: $0) },
      isSame: { one, other in
        var one = one
        (one.name, one.unread) = (other.name, other.unread)
        return one == other
      })
  }

  /// Compares the properties that one of the two entities itself declares.
  private func properties<Property>(
    _ kind: Part.Kind, old: [Property], new: [Property], own: (old: [String], new: [String]),
    name: (Property) -> String, counterpart: (Property) -> String?, isStored: (Property) -> Bool,
    facts: (Property) -> [ModelFact], isSame: (Property, Property) -> Bool
  ) -> [Part] {
    let before = Dictionary(old.map { (name($0), $0) }, uniquingKeysWith: { first, _ in first })
    var sources: [String: String] = [:]
    for property in new { sources[name(property)] = counterpart(property) }
    var taken = Set(sources.values)
    // What no store keeps is paired by its name.
    let open = new.filter { pairsStoredByName || !isStored($0) }
    for property in open.map(name)
    where sources[property] == nil && before[property] != nil && taken.insert(property).inserted {
      sources[property] = property
    }
    let (ownOld, ownNew) = (Set(own.old), Set(own.new))
    var result: [Part] = []
    for property in new {
      let own = name(property)
      guard let former = sources[own], let other = before[former] else {
        if ownNew.contains(own) {
          result.append(Part.alone(kind, own, facts: facts(property), .new))
        }
        continue
      }
      guard ownNew.contains(own) || ownOld.contains(former) else { continue }
      var changes = ModelFact.changes(facts(other), facts(property))
      if changes.isEmpty, !isSame(other, property) {
        changes.append(Change(aspect: "other parts", old: nil, new: nil))
      }
      changes += declaration(former: ownOld.contains(former), now: ownNew.contains(own))
      guard former != own || !changes.isEmpty else { continue }
      var part = Part(kind: kind, name: own, fate: former == own ? .changed : .renamed)
      part.oldName = former == own ? nil : former
      part.pairing = former == own ? .name : .renamingIdentifier
      part.changes = changes
      result.append(part)
    }
    let rest = old.filter { ownOld.contains(name($0)) && !taken.contains(name($0)) }
    return result + rest.map { .alone(kind, name($0), facts: facts($0), .lost) }
  }

  /// A property that went to the superentity, or came from it.
  private func declaration(former: Bool, now: Bool) -> [Change] {
    if former == now { return [] }
    func place(_ isOwn: Bool, _ entity: Entity) -> String {
      isOwn ? entity.name : "a superentity of \(entity.name)"
    }
    return [Change(aspect: "declared by", old: place(former, old), new: place(now, new))]
  }

  /// Compares what has no renaming identifier.
  private func named(
    _ kind: Part.Kind, _ old: [(String, [ModelFact])], _ new: [(String, [ModelFact])]
  ) -> [Part] {
    let before = Dictionary(old, uniquingKeysWith: { first, _ in first })
    let after = Dictionary(new, uniquingKeysWith: { first, _ in first })
    var result: [Part] = []
    for (name, facts) in after {
      guard let former = before[name] else {
        result.append(.alone(kind, name, facts: facts, .new))
        continue
      }
      let changes = ModelFact.changes(former, facts)
      guard !changes.isEmpty else { continue }
      var part = Part(kind: kind, name: name, fate: .changed, pairing: .name)
      part.changes = changes
      result.append(part)
    }
    return result
      + before.filter { after[$0.key] == nil }.map { .alone(kind, $0.key, facts: $0.value, .lost) }
  }
}

extension Attribute {
  /// Whether all of it is the same but its name, and the form in which files have a derivation.
  fileprivate func isSame(as other: Attribute) -> Bool {
    var copy = self
    (copy.name, copy.unread) = (other.name, other.unread)
    if let derivation, derivation.isSame(as: other.derivation) {
      copy.derivation = other.derivation
    }
    return copy == other
  }
}
