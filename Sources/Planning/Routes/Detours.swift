import Mapping
import ObjectModel

/// Finds what a way over other versions loses although both of its ends have it.
///
/// A version on the way that lacks an attribute drops its values, and the next one that has it
/// again begins without: what one step would keep, or would have to refuse, is gone.
struct Detours {
  /// A property of an entity, or the entity itself.
  private struct Item: Hashable {
    var entity: String
    var property: String?
  }

  private let versions: [RouteVersion]
  private let assigned: AssignedMappings?
  private var steps: [RouteSearch.Edge: [Item: Item]] = [:]

  /// - Parameter assigned: the mapping models of steps; nil infers all of them.
  init(versions: [RouteVersion], assigned: AssignedMappings?) {
    self.versions = versions
    self.assigned = assigned
  }

  /// What each step of a way loses and both ends of the way have.
  mutating func losses(on way: [Int]) -> [Set<PossibleLoss>] {
    guard way.count > 2, let first = way.first, let last = way.last else {
      return way.dropFirst().map { _ in [] }
    }
    var alive = kept(by: .init(from: first, to: last)).keys.map { $0 }
    var result: [Set<PossibleLoss>] = []
    for (from, to) in zip(way, way.dropFirst()) {
      let edge = RouteSearch.Edge(from: from, to: to)
      // The author of a mapping model decides its losses; they are counted separately.
      let isGiven = assigned?[edge] != nil
      let kept = kept(by: edge)
      let lost = isGiven ? [] : alive.filter { kept[$0] == nil }
      let entities = Set(lost.filter { $0.property == nil }.map(\.entity))
      result.append(
        Set(lost.compactMap { loss(item: $0, in: versions[from].model, without: entities) }))
      alive = alive.compactMap { kept[$0] }
    }
    return result
  }

  /// Returns the entities and properties of the first version that arrive only on this way, since
  /// their names changed more than once.
  mutating func keptOnly(on way: [Int]) -> Set<PossibleLoss> {
    guard let first = way.first, let last = way.last, mayKeepMore(on: way) else { return [] }
    let direct = kept(by: .init(from: first, to: last))
    return Set(
      ends(of: way).keys.filter { direct[$0] == nil }.compactMap {
        loss(item: $0, in: versions[first].model, without: [])
      })
  }

  /// How many entities and properties of the first version the last one has on a way.
  mutating func keptCount(on way: [Int]) -> Int {
    guard let first = way.first else { return 0 }
    var alive: Set<Item>?
    for (from, to) in zip(way, way.dropFirst()) {
      let kept = kept(by: .init(from: from, to: to))
      alive = Set((alive ?? Set(kept.keys)).compactMap { kept[$0] })
    }
    return alive?.count ?? versions[first].model.entities.count
  }

  /// Whether two ways make different properties or entities of one of the first version.
  mutating func disagree(_ first: [Int], with second: [Int]) -> Bool {
    let (one, other) = (ends(of: first), ends(of: second))
    return one.contains { item, end in other[item].map { $0 != end } ?? false }
  }

  /// The end of each property and entity of the first version that arrives.
  private mutating func ends(of way: [Int]) -> [Item: Item] {
    var result: [Item: Item]?
    for (from, to) in zip(way, way.dropFirst()) {
      let kept = kept(by: .init(from: from, to: to))
      result = result?.compactMapValues { kept[$0] } ?? kept
    }
    return result ?? [:]
  }

  /// Whether a version on a way renames what one step from end to end drops; comparing every two
  /// versions of a long way takes seconds.
  mutating func mayKeepMore(on way: [Int]) -> Bool {
    guard let first = way.first, let last = way.last else { return false }
    let kept = kept(by: .init(from: first, to: last))
    var dropped: Set<String> = []
    for item in Self.items(of: versions[first].model) where kept[item.item] == nil {
      if item.identifier != item.name { return true }
      dropped.insert(item.name)
    }
    return way.dropFirst().contains { version in
      versions[version].model.entities.contains { Self.renames(dropped, in: $0) }
    }
  }

  /// Whether an entity or a stored property that it declares continues one of the names under
  /// another one.
  private static func renames(_ names: Set<String>, in entity: Entity) -> Bool {
    func continues(_ identifier: String?, as name: String) -> Bool {
      identifier.map { $0 != name && names.contains($0) } ?? false
    }
    return continues(entity.renamingIdentifier, as: entity.name)
      || entity.attributes.contains { attribute in
        attribute.leaves.contains {
          !$0.isTransient && continues($0.renamingIdentifier, as: $0.name)
        }
      }
      || entity.relationships.contains {
        !$0.isTransient && continues($0.renamingIdentifier, as: $0.name)
      }
  }

  /// The entities of a model and their stored properties, each with its renaming identifier.
  private static func items(
    of model: ManagedObjectModel
  ) -> [(item: Item, name: String, identifier: String)] {
    model.entities.flatMap { entity in
      [(Item(entity: entity.name), entity.name, entity.renamingIdentifier ?? entity.name)]
        + model.allLeafAttributes(of: entity).filter { !$0.isTransient }.map {
          (Item(entity: entity.name, property: $0.name), $0.name, $0.renamingIdentifier ?? $0.name)
        }
        + model.allRelationships(of: entity).filter { !$0.isTransient }.map {
          (Item(entity: entity.name, property: $0.name), $0.name, $0.renamingIdentifier ?? $0.name)
        }
    }
  }

  /// The loss of an item; nil where its entity is lost with all that it has.
  private func loss(
    item: Item, in model: ManagedObjectModel, without entities: Set<String>
  ) -> PossibleLoss? {
    guard let name = item.property else { return PossibleLoss(entity: item.entity, kind: .entity) }
    guard !entities.contains(item.entity), let entity = model.entity(name: item.entity) else {
      return nil
    }
    let isAttribute = model.leafAttribute(named: name, of: entity) != nil
    return PossibleLoss(
      entity: item.entity, kind: isAttribute ? .attribute(name) : .relationship(name))
  }

  /// What a step keeps, and as what.
  private mutating func kept(by edge: RouteSearch.Edge) -> [Item: Item] {
    if let known = steps[edge] { return known }
    let (source, destination) = (versions[edge.from].model, versions[edge.to].model)
    let mappings =
      assigned?[edge]?.flatMap {
        $0.mapping.expandingComposites(from: source, to: destination).entityMappings
      }
      ?? MappingInference(from: source, to: destination).mapping.entityMappings
    var result: [Item: Item] = [:]
    for mapping in mappings {
      guard let old = mapping.sourceEntityName, let new = mapping.destinationEntityName else {
        continue
      }
      result[Item(entity: old)] = Item(entity: new)
      for property in mapping.attributeMappings + mapping.relationshipMappings {
        let name: String
        switch property.origin {
        case .attribute(let found, _), .relationship(let found, _): name = found
        case .standard, .constant, .computed: continue
        }
        result[Item(entity: old, property: name)] = Item(entity: new, property: property.name)
      }
    }
    steps[edge] = result
    return result
  }
}
