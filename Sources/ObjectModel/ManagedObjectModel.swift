/// A managed object model: entities and what a store of them must know.
package struct ManagedObjectModel: Hashable, Sendable {
  /// All entities, sorted by name.
  package private(set) var entities: [Entity]
  /// The identifiers that the developer gave this version, which metadata keeps.
  package var versionIdentifiers: [String] = []
  /// The entity names of each named configuration.
  package var configurations: [String: [String]] = [:]
  /// Fetch requests with variables, by name; no store holds them but in the model cache.
  package var fetchRequestTemplates: [String: FetchRequest] = [:]
  /// Parts of no entity that could not be read.
  package var unread: [UnreadPart] = []
  private var indexByName: [String: Int]
  /// The direct subentities of each entity that has some, in numbering order.
  private var childrenByName: [String: [Int]] = [:]
  /// All entities, each before those below it, in numbering order.
  private var numbering: [Int] = []
  /// The places in `numbering` of each entity and those below it.
  private var families: [String: Range<Int>] = [:]
  /// The entities that declare a property of an entity above them again.
  private var redeclaring: Set<String> = []
  /// How many levels of entities a model may have: walks up and down rely on it.
  private static let maximumLevels = 200

  /// Takes entities in any order; throws where they do not fit together.
  package init(entities: [Entity]) throws(ModelError) {
    self.entities = entities.sorted { $0.name < $1.name }
    indexByName = [:]
    for (index, entity) in self.entities.enumerated() {
      guard indexByName.updateValue(index, forKey: entity.name) == nil else {
        throw ModelError(problem: .entityDefinedTwice, entity: entity.name)
      }
    }
    try checkHierarchy()
    try checkProperties()
    try checkRedeclarations()
    for (index, entity) in self.entities.enumerated() {
      if let parent = entity.superentityName { childrenByName[parent, default: []].append(index) }
    }
    for (name, children) in childrenByName {
      childrenByName[name] = children.sorted {
        Self.numberedBefore(self.entities[$0], self.entities[$1])
      }
    }
    for root in roots { number(root) }
  }

  private mutating func number(_ entity: Entity) {
    let first = numbering.count
    if let index = indexByName[entity.name] { numbering.append(index) }
    for member in subentities(of: entity.name) { number(member) }
    families[entity.name] = first..<numbering.count
  }

  /// Whether both have their entities from one model, which are the same then.
  package func sharesEntities(with other: ManagedObjectModel) -> Bool {
    entities.count == other.entities.count
      && entities.withUnsafeBufferPointer { own in
        other.entities.withUnsafeBufferPointer { own.baseAddress == $0.baseAddress }
      }
  }

  /// The entity of that name, or nil.
  package func entity(name: String) -> Entity? {
    indexByName[name].map { entities[$0] }
  }

  /// The entity itself, then its superentity, and so on up to the root.
  package func lineage(of entity: Entity) -> [Entity] {
    var result = [entity]
    while let name = result[result.count - 1].superentityName, let next = self.entity(name: name) {
      result.append(next)
    }
    return result
  }

  /// The topmost superentity, which gives the table its name; the entity itself without one.
  package func root(of entity: Entity) -> Entity { lineage(of: entity).last ?? entity }

  /// The direct subentities, in the order in which Core Data numbers them.
  package func subentities(of name: String) -> [Entity] {
    (childrenByName[name] ?? []).map { entities[$0] }
  }

  /// The root entities, in the order in which Core Data numbers them.
  package var roots: [Entity] {
    entities.filter { $0.superentityName == nil }.sorted(by: Self.numberedBefore)
  }

  /// The entity and everything below it, depth first, in numbering order.
  package func family(of name: String) -> [Entity] {
    numbering[families[name] ?? 0..<0].map { entities[$0] }
  }

  /// Whether an entity is another one or below it, as with `isKindOfEntity:`; false without a
  /// name, and for names that the model does not have.
  package func isKind(_ name: String?, of ancestor: String) -> Bool {
    guard let name, let own = families[name], let all = families[ancestor] else { return false }
    return all.contains(own.lowerBound)
  }

  /// Own and inherited attributes; where an inherited one is declared again, the lowest counts.
  package func allAttributes(of entity: Entity) -> [Attribute] {
    lowest(in: lineage(of: entity), of: \.attributes, name: \.name)
  }

  /// Own and inherited relationships; where an inherited one is declared again, the lowest counts.
  package func allRelationships(of entity: Entity) -> [Relationship] {
    lowest(in: lineage(of: entity), of: \.relationships, name: \.name)
  }

  private func lowest<Property>(
    in lineage: [Entity], of properties: (Entity) -> [Property], name: (Property) -> String
  ) -> [Property] {
    guard redeclares(lineage) else { return lineage.flatMap(properties) }
    var seen: Set<String> = []
    return lineage.flatMap { properties($0).filter { seen.insert(name($0)).inserted } }
  }

  /// Whether one of the entities, which inherit from each other, declares again what another one
  /// has.
  func redeclares(_ lineage: [Entity]) -> Bool {
    !redeclaring.isEmpty && lineage.contains { redeclaring.contains($0.name) }
  }

  /// Siblings are numbered by name without regard to case (docs/reference/store-format.md, "Entity
  /// numbers").
  private static func numberedBefore(_ a: Entity, _ b: Entity) -> Bool {
    let (first, second) = (a.name.lowercased(), b.name.lowercased())
    return first == second ? a.name < b.name : first < second
  }

  private func checkHierarchy() throws(ModelError) {
    // 0 means that the current walk has been here.
    var levels: [String: Int] = [:]
    for entity in entities {
      var path: [Entity] = []
      var next: Entity? = entity
      while let current = next, levels[current.name] == nil {
        levels[current.name] = 0
        path.append(current)
        guard let name = current.superentityName else { break }
        guard let parent = self.entity(name: name) else {
          throw ModelError(problem: .superentityMissing(name), entity: current.name)
        }
        guard levels[name] != 0 else {
          throw ModelError(problem: .inheritanceCycle, entity: current.name)
        }
        next = parent
      }
      for current in path.reversed() {
        let level = (current.superentityName.flatMap { levels[$0] } ?? 0) + 1
        guard level <= Self.maximumLevels else {
          throw ModelError(problem: .inheritanceTooDeep, entity: current.name)
        }
        levels[current.name] = level
      }
    }
  }

  private func checkProperties() throws(ModelError) {
    for entity in entities {
      var seen: Set<String> = []
      let leaves = entity.attributes.filter { !$0.elements.isEmpty }.flatMap(\.leaves)
      let names =
        entity.attributes.map(\.name) + leaves.map(\.name) + entity.relationships.map(\.name)
        + entity.fetchedProperties.map(\.name)
      for name in names where !seen.insert(name).inserted {
        throw ModelError(problem: .propertyDefinedTwice, entity: entity.name, property: name)
      }
      for relationship in entity.relationships {
        guard self.entity(name: relationship.destinationEntityName) != nil else {
          throw ModelError(
            problem: .destinationMissing(relationship.destinationEntityName), entity: entity.name,
            property: relationship.name)
        }
      }
    }
  }
}

extension ManagedObjectModel {
  private enum Kind { case attribute, relationship, fetchedProperty }

  /// The rest of the package looks attributes and relationships up apart: a name must mean one of
  /// them.
  private mutating func checkRedeclarations() throws(ModelError) {
    var kinds: [String: [String: Kind]] = [:]
    for entity in entities {
      var own: [String: Kind] = [:]
      for attribute in entity.attributes {
        own[attribute.name] = .attribute
        for leaf in attribute.leaves { own[leaf.name] = .attribute }
      }
      for relationship in entity.relationships { own[relationship.name] = .relationship }
      for property in entity.fetchedProperties { own[property.name] = .fetchedProperty }
      kinds[entity.name] = own
    }
    for entity in entities where entity.superentityName != nil {
      for ancestor in lineage(of: entity).dropFirst() {
        for (name, kind) in kinds[entity.name] ?? [:] {
          guard let inherited = kinds[ancestor.name]?[name] else { continue }
          redeclaring.insert(entity.name)
          guard inherited != kind else { continue }
          throw ModelError(problem: .propertyChangesKind, entity: entity.name, property: name)
        }
      }
    }
  }
}

extension ManagedObjectModel: Codable {
  private enum CodingKeys: CodingKey {
    case entities, versionIdentifiers, configurations, fetchRequestTemplates, unread
  }

  /// Decodes entities, and checks them as `init(entities:)` does.
  package init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    try self.init(entities: values.decode([Entity].self, forKey: .entities))
    versionIdentifiers = try values.decode([String].self, forKey: .versionIdentifiers)
    configurations = try values.decode([String: [String]].self, forKey: .configurations)
    fetchRequestTemplates = try values.decode(
      [String: FetchRequest].self, forKey: .fetchRequestTemplates)
    unread = try values.decode([UnreadPart].self, forKey: .unread)
  }

  /// Encodes what was given; what follows from it is made again in decoding.
  package func encode(to encoder: any Encoder) throws {
    var values = encoder.container(keyedBy: CodingKeys.self)
    try values.encode(entities, forKey: .entities)
    try values.encode(versionIdentifiers, forKey: .versionIdentifiers)
    try values.encode(configurations, forKey: .configurations)
    try values.encode(fetchRequestTemplates, forKey: .fetchRequestTemplates)
    try values.encode(unread, forKey: .unread)
  }
}

/// Why a set of entities is not a model.
package struct ModelError: Error, Hashable, Sendable {
  /// What does not fit together.
  package enum Problem: Hashable, Sendable {
    /// Two entities have one name.
    case entityDefinedTwice
    /// Two properties of one entity have one name.
    case propertyDefinedTwice
    /// A superentity, of this name, declares a property of that name too.
    case propertyDeclaredAbove(String)
    /// The inverse of a relationship, of this name, is not in the model.
    case inverseMissing(String)
    /// The inverse of a relationship, at this place, names another inverse or another entity.
    case inverseDiffers(String)
    /// A superentity has a property of that name which is of another kind.
    case propertyChangesKind
    /// The entity's superentity, of this name, is not in the model.
    case superentityMissing(String)
    /// An entity is its own ancestor.
    case inheritanceCycle
    /// An entity has more ancestors than walks through the model are made for.
    case inheritanceTooDeep
    /// The entity that a relationship leads to, of this name, is not in the model.
    case destinationMissing(String)
  }

  /// What does not fit together.
  package var problem: Problem
  /// The entity in which it was found.
  package var entity: String
  /// The property of the entity; nil where the entity itself is wrong.
  package var property: String?

  /// Makes an error with its place.
  package init(problem: Problem, entity: String, property: String? = nil) {
    self.problem = problem
    self.entity = entity
    self.property = property
  }
}
