/// A managed object model: entities and what a store of them must know.
package struct ManagedObjectModel: Hashable, Sendable {
  /// All entities, sorted by name.
  package private(set) var entities: [Entity]
  package var versionIdentifiers: [String] = []
  /// The entity names of each named configuration.
  package var configurations: [String: [String]] = [:]
  package var fetchRequestTemplates: [String: FetchRequest] = [:]
  private var indexByName: [String: Int]

  /// Takes entities in any order; throws where they do not fit together.
  package init(entities: [Entity]) throws(ModelError) {
    self.entities = entities.sorted { $0.name < $1.name }
    indexByName = [:]
    for (index, entity) in self.entities.enumerated() {
      guard indexByName.updateValue(index, forKey: entity.name) == nil else {
        throw ModelError(.entityDefinedTwice, entity: entity.name)
      }
    }
    try checkHierarchy()
    try checkProperties()
  }

  /// The entity of that name, or nil.
  package func entity(_ name: String) -> Entity? {
    indexByName[name].map { entities[$0] }
  }

  /// The entity itself, then its superentity, and so on up to the root.
  package func lineage(of entity: Entity) -> [Entity] {
    var result = [entity]
    while let name = result[result.count - 1].superentityName, let next = self.entity(name) {
      result.append(next)
    }
    return result
  }

  /// The topmost superentity, which gives the table its name; the entity itself without one.
  package func root(of entity: Entity) -> Entity { lineage(of: entity).last ?? entity }

  /// The direct subentities, in the order in which Core Data numbers them.
  package func subentities(of name: String) -> [Entity] {
    entities.filter { $0.superentityName == name }.sorted(by: Self.numberedBefore)
  }

  /// The root entities, in the order in which Core Data numbers them.
  package var roots: [Entity] {
    entities.filter { $0.superentityName == nil }.sorted(by: Self.numberedBefore)
  }

  /// The entity and everything below it, depth first, in numbering order.
  package func family(of name: String) -> [Entity] {
    guard let entity = entity(name) else { return [] }
    return [entity] + subentities(of: name).flatMap { family(of: $0.name) }
  }

  /// Own and inherited attributes; where an inherited one is declared again, the lowest counts.
  package func allAttributes(of entity: Entity) -> [Attribute] {
    lowest(in: lineage(of: entity).map(\.attributes), \.name)
  }

  /// Own and inherited relationships; where an inherited one is declared again, the lowest counts.
  package func allRelationships(of entity: Entity) -> [Relationship] {
    lowest(in: lineage(of: entity).map(\.relationships), \.name)
  }

  private func lowest<Property>(
    in levels: [[Property]], _ name: (Property) -> String
  ) -> [Property] {
    var seen: Set<String> = []
    return levels.flatMap { level in level.filter { seen.insert(name($0)).inserted } }
  }

  /// Siblings are numbered by name without regard to case (docs/store-format.md, "Entity numbers").
  private static func numberedBefore(_ a: Entity, _ b: Entity) -> Bool {
    let (first, second) = (a.name.lowercased(), b.name.lowercased())
    return first == second ? a.name < b.name : first < second
  }

  private func checkHierarchy() throws(ModelError) {
    for entity in entities {
      var seen: Set<String> = [entity.name]
      var next = entity.superentityName
      while let name = next {
        guard let parent = self.entity(name) else {
          throw ModelError(.superentityMissing(name), entity: entity.name)
        }
        guard seen.insert(name).inserted else {
          throw ModelError(.inheritanceCycle, entity: entity.name)
        }
        next = parent.superentityName
      }
    }
  }

  private func checkProperties() throws(ModelError) {
    for entity in entities {
      var seen: Set<String> = []
      let names =
        entity.attributes.map(\.name) + entity.relationships.map(\.name)
        + entity.fetchedProperties.map(\.name)
      for name in names where !seen.insert(name).inserted {
        throw ModelError(.propertyDefinedTwice, entity: entity.name, property: name)
      }
      for relationship in entity.relationships {
        guard self.entity(relationship.destinationEntityName) != nil else {
          throw ModelError(
            .destinationMissing(relationship.destinationEntityName), entity: entity.name,
            property: relationship.name)
        }
      }
    }
  }
}

/// Why a set of entities is not a model.
package struct ModelError: Error, Hashable, Sendable {
  package enum Problem: Hashable, Sendable {
    case entityDefinedTwice
    case propertyDefinedTwice
    case superentityMissing(String)
    case inheritanceCycle
    case destinationMissing(String)
  }

  package var problem: Problem
  package var entity: String
  package var property: String?

  package init(_ problem: Problem, entity: String, property: String? = nil) {
    self.problem = problem
    self.entity = entity
    self.property = property
  }
}
