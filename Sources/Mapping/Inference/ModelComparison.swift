package import ObjectModel

/// The differences of two models, and which entities and properties of one continue those of the
/// other.
///
/// Entities and properties are paired as a mapping is inferred (docs/reference/migration.md,
/// "Renaming"); parts that no mapping reads, such as transient properties and indexes, are paired
/// by name.
package struct ModelComparison: Hashable, Codable, Sendable {
  /// What became of an entity, a property or an index.
  package enum Fate: String, Hashable, Codable, Sendable, CaseIterable {
    /// It has its name, and something of it differs.
    case changed
    /// It continues one of another name.
    case renamed
    /// The second model has it alone.
    case new
    /// The first model has it alone.
    case lost
  }

  /// By what two names were found to belong together.
  package enum Pairing: String, Hashable, Codable, Sendable {
    /// They are one name.
    case name
    /// The renaming identifier of one of the two names the other.
    case renamingIdentifier
  }

  /// One aspect that differs; nil is nothing.
  package struct Change: Hashable, Codable, Sendable {
    /// The aspect in words, such as `type` or `delete rule`.
    package var aspect: String
    /// The value in the first model.
    package var old: String?
    /// The value in the second model.
    package var new: String?
  }

  /// A property, an index or a constraint that differs.
  package struct Part: Hashable, Codable, Sendable {
    /// What an entity is made of.
    package enum Kind: String, Hashable, Codable, Sendable {
      case attribute, relationship, fetchedProperty, index, constraint
    }

    /// What it is.
    package var kind: Kind
    /// The name in the second model, in the first where the second has none.
    package var name: String
    /// The other name in the first model; nil where it is the same, or there is none.
    package var oldName: String?
    /// What became of it.
    package var fate: Fate
    /// By what it was paired; nil for what is new or lost.
    package var pairing: Pairing?
    /// What differs; of what is new or lost, what it is.
    package var changes: [Change] = []
  }

  /// An entity that differs.
  package struct EntityPart: Hashable, Codable, Sendable {
    /// The name in the second model, in the first where the second has none.
    package var name: String
    /// The other name in the first model; nil where it is the same, or there is none.
    package var oldName: String?
    /// What became of it.
    package var fate: Fate
    /// By what it was paired; nil for what is new or lost.
    package var pairing: Pairing?
    /// What of the entity itself differs.
    package var changes: [Change] = []
    /// What of its own properties, indexes and constraints differs.
    package var parts: [Part] = []
  }

  /// What belongs to no entity and differs: identifiers, configurations, templates.
  package private(set) var changes: [Change] = []
  /// The entities that differ, by name.
  package private(set) var entities: [EntityPart] = []
  /// The names of those that do not.
  package private(set) var same: [String] = []

  /// Whether nothing differs.
  package var isAlike: Bool { changes.isEmpty && entities.isEmpty }

  /// Removes the differences of class names, where one model was kept without them.
  package mutating func removeClasses() {
    for place in entities.indices {
      entities[place].changes.removeAll { $0.aspect == "class" }
    }
    let isAlike = { (entity: EntityPart) in
      entity.fate == .changed && entity.changes.isEmpty && entity.parts.isEmpty
    }
    same = (same + entities.filter(isAlike).map(\.name)).sorted()
    entities.removeAll(where: isAlike)
  }

  /// Compares two models.
  package init(from old: ManagedObjectModel, to new: ManagedObjectModel) {
    self.init(along: [ComparedStep(from: old, to: new)])
  }

  /// Compares the first and the last model of a way, paired as the steps of the way pair them.
  ///
  /// - Precondition: there is one step at least.
  package init(along steps: [ComparedStep]) {
    let pairs = RoutePairs(along: steps)
    let (old, new) = (steps[0].source, steps[steps.count - 1].destination)
    let isDirect = steps.count == 1 && steps[0].mappings.isEmpty
    changes = ModelFact.changes(ModelFact.facts(of: old), ModelFact.facts(of: new))
    for entity in new.entities {
      guard let before = pairs.entities[entity.name].flatMap({ old.entity(name: $0) })
      else {
        entities.append(Self.alone(entity, fate: .new))
        continue
      }
      let pair = EntityPair(
        source: old, old: before, destination: new, new: entity,
        properties: pairs.properties[entity.name] ?? [:], pairsStoredByName: isDirect)
      if let part = pair.difference { entities.append(part) } else { same.append(entity.name) }
    }
    let continued = Set(pairs.entities.values)
    for entity in old.entities where !continued.contains(entity.name) {
      entities.append(Self.alone(entity, fate: .lost))
    }
    entities.sort { ($0.name, $0.fate.rawValue) < ($1.name, $1.fate.rawValue) }
  }

  /// An entity that one model has alone, with all that it declares.
  private static func alone(_ entity: Entity, fate: Fate) -> EntityPart {
    var part = EntityPart(name: entity.name, fate: fate)
    let facts = ModelFact.facts(of: entity)
    part.changes = ModelFact.changes(
      fate == .lost ? facts : [], fate == .new ? facts : []
    ).filter { ($0.old ?? $0.new) != ModelFact.no }
    func parts<Element>(
      _ kind: Part.Kind, _ elements: [Element], _ name: (Element) -> String,
      _ facts: (Element) -> [ModelFact]
    ) -> [Part] {
      elements.map { Part.alone(kind, name($0), facts: facts($0), fate) }
    }
    part.parts += parts(.attribute, entity.attributes, \.name) { ModelFact.facts(of: $0) }
    part.parts += parts(.relationship, entity.relationships, \.name) { ModelFact.facts(of: $0) }
    part.parts += parts(.fetchedProperty, entity.fetchedProperties, \.name) {
      ModelFact.facts(of: $0)
    }
    part.parts += parts(.index, entity.fetchIndexes, \.name) { ModelFact.facts(of: $0) }
    part.parts += parts(.constraint, ModelFact.constraints(of: entity), \.self) { _ in [] }
    part.parts.sort()
    return part
  }
}

extension ModelComparison.Part: Comparable {
  /// A part that one model has alone.
  static func alone(
    _ kind: Kind, _ name: String, facts: [ModelFact], _ fate: ModelComparison.Fate
  ) -> Self {
    var part = Self(kind: kind, name: name, fate: fate)
    part.changes = ModelFact.changes(fate == .lost ? facts : [], fate == .new ? facts : [])
      .filter { ($0.old ?? $0.new) != ModelFact.no }
    return part
  }

  /// Attributes before relationships, each by name.
  package static func < (one: Self, other: Self) -> Bool {
    (one.kind.place, one.name, one.fate.rawValue)
      < (other.kind.place, other.name, other.fate.rawValue)
  }
}

extension ModelComparison.Part.Kind {
  fileprivate var place: Int {
    switch self {
    case .attribute: 0
    case .relationship: 1
    case .fetchedProperty: 2
    case .index: 3
    case .constraint: 4
    }
  }
}
