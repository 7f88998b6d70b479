import Expressions
package import ObjectModel

/// The entity mappings of one step in groups that can be executed independently.
///
/// (1) All mappings that fill one table of the destination are in one group, and so are mappings
/// that a relationship with a value expression joins.
/// (2) All mappings with policies are in one group, with all that relationships of the destination
/// join to them: policies may share what they look up.
package struct MappingGroups: Hashable, Codable, Sendable {
  /// Entity mappings that one worker carries out together.
  package struct Group: Hashable, Codable, Sendable {
    /// For each mapping model of the step, the places of the group's mappings in it.
    package var members: [[Int]]
    /// The root entities of the destination whose tables this group fills, and no other.
    package var roots: [String]
  }

  /// In the order of their first mappings.
  package private(set) var groups: [Group] = []

  /// Finds the groups of mapping models that run one after the other into one destination.
  package init(
    models: [MappingModel], source: ManagedObjectModel, destination: ManagedObjectModel
  ) {
    var finder = GroupFinder(models: models, source: source, destination: destination)
    finder.joinAll()
    groups = finder.groups()
  }

  /// Everything in one group.
  package init(undivided models: [MappingModel], destination: ManagedObjectModel) {
    groups = [
      Group(
        members: models.map { Array($0.entityMappings.indices) },
        roots: destination.roots.map(\.name))
    ]
  }
}

/// Joins mappings and destination tables that belong together.
private struct GroupFinder {
  private let models: [MappingModel]
  private let source: ManagedObjectModel
  private let destination: ManagedObjectModel
  private let roots: [String]
  /// One node for each mapping, then one for each root entity, then one for all policies.
  private var sets: DisjointSets<Int>
  private let policies: Int
  private let firstNodes: [Int]

  init(models: [MappingModel], source: ManagedObjectModel, destination: ManagedObjectModel) {
    self.models = models
    self.source = source
    self.destination = destination
    roots = destination.roots.map(\.name)
    var firsts: [Int] = []
    var count = 0
    for model in models {
      firsts.append(count)
      count += model.entityMappings.count
    }
    firstNodes = firsts
    policies = count + roots.count
    sets = DisjointSets(0...policies)
  }

  private var mappingCount: Int { policies - roots.count }

  private func node(ofEntity name: String) -> Int? {
    destination.entity(name: name).flatMap { roots.firstIndex(of: destination.root(of: $0).name) }
      .map { mappingCount + $0 }
  }

  private func leader(of node: Int) -> Int { sets.leader(of: node) ?? node }

  private mutating func join(_ node: Int, with other: Int?) {
    if let other { sets.join(node, with: other) }
  }

  mutating func joinAll() {
    for (index, model) in models.enumerated() {
      for (place, mapping) in model.entityMappings.enumerated() {
        join(mapping, node: firstNodes[index] + place)
      }
      joinLinks(of: model, from: firstNodes[index])
    }
    joinSelections()
    guard mappingCount > 0 else { return }
    joinRelatives()
    // Only a policy could fill a table that no mapping names.
    let mapped = Set((0..<mappingCount).map { leader(of: $0) })
    let fallback = leader(of: policies) == policies ? 0 : policies
    for root in roots.indices where !mapped.contains(leader(of: mappingCount + root)) {
      join(fallback, with: mappingCount + root)
    }
  }

  private mutating func join(_ mapping: EntityMapping, node: Int) {
    if mapping.ownPolicyClassName != nil { join(node, with: policies) }
    guard let entity = mapping.destinationEntityName.flatMap({ destination.entity(name: $0) })
    else {
      return
    }
    join(node, with: self.node(ofEntity: entity.name))
    let relationships = destination.allRelationships(of: entity)
    let filled =
      (mapping.newObjects?.relationships ?? [])
      + mapping.relationshipMappings.filter { !$0.sortedBy.isEmpty }.map(\.name)
    for relationship in relationships where filled.contains(relationship.name) {
      join(node, with: self.node(ofEntity: relationship.destinationEntityName))
    }
    if let value = mapping.newObjects?.valueExpression, ManagerCalls(in: value).reachesBeyond {
      join(node, with: policies)
    }
    for property in mapping.attributeMappings + mapping.relationshipMappings {
      guard let expression = property.valueExpression else { continue }
      if ManagerCalls(in: expression).reachesBeyond { join(node, with: policies) }
      if let relationship = relationships.first(where: { $0.name == property.name }) {
        join(node, with: self.node(ofEntity: relationship.destinationEntityName))
      }
    }
  }

  /// What an expression other than a filter selects is known only once it has run: one worker has
  /// to keep the account of the source entity's objects.
  private mutating func joinSelections() {
    let all = models.enumerated().flatMap { index, model in
      model.entityMappings.enumerated().map { (firstNodes[index] + $0, $1) }
    }
    for (node, mapping) in all where mapping.makesObjects && mapping.predicate == nil {
      for (other, mapped) in all where mapped.sourceEntityName == mapping.sourceEntityName {
        join(node, with: other)
      }
    }
  }

  private mutating func joinLinks(of model: MappingModel, from first: Int) {
    let links = MappingLinks(
      mappings: model.entityMappings, source: source, destination: destination
    ).links
    for link in links {
      let ends = model.entityMappings.indices.filter {
        let name = model.entityMappings[$0].name
        return name == link.mapping || name == link.other
      }
      for end in ends.dropFirst() { join(first + ends[0], with: first + end) }
    }
  }

  /// All tables that relationships join to one that a policy fills, however far.
  private mutating func joinRelatives() {
    var changed = true
    while changed {
      changed = false
      for entity in destination.entities {
        for relationship in entity.relationships {
          guard let one = node(ofEntity: entity.name),
            let other = node(ofEntity: relationship.destinationEntityName)
          else { continue }
          let policies = leader(of: self.policies)
          let (a, b) = (leader(of: one), leader(of: other))
          guard a != b, a == policies || b == policies else { continue }
          join(one, with: other)
          changed = true
        }
      }
    }
  }

  func groups() -> [MappingGroups.Group] {
    var order: [Int] = []
    var found: [Int: MappingGroups.Group] = [:]
    for (index, model) in models.enumerated() {
      for place in model.entityMappings.indices {
        let leader = leader(of: firstNodes[index] + place)
        if found[leader] == nil {
          order.append(leader)
          found[leader] = .init(members: models.map { _ in [] }, roots: [])
        }
        found[leader]?.members[index].append(place)
      }
    }
    for (index, root) in roots.enumerated() {
      found[leader(of: mappingCount + index)]?.roots.append(root)
    }
    // Mappings that fill nothing, such as those of entities that go, come along with others.
    let rooted = order.first { found[$0]?.roots.isEmpty == false } ?? order.first
    var result: [MappingGroups.Group] = []
    for leader in order {
      guard var group = found[leader], leader == rooted || !group.roots.isEmpty else { continue }
      if leader == rooted {
        for other in order where other != rooted {
          guard let idle = found[other], idle.roots.isEmpty else { continue }
          for index in idle.members.indices { group.members[index] += idle.members[index] }
        }
        for index in group.members.indices { group.members[index].sort() }
      }
      result.append(group)
    }
    return result
  }
}
