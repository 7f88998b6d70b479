import Expressions
import ObjectModel

extension ReferenceFates {
  /// A mapping that makes objects.
  struct Maker: Sendable {
    /// Its place among all mappings of the step, and its mapping model.
    var place: Int
    var model: Int
    var name: String
    var destination: String?
    var isFiltered: Bool
    var hasPolicy: Bool
    /// Whether its objects continue no source object, so that look-ups by relationship skip them.
    var makesNewObjects: Bool
    /// Where it makes an object of each pair: the entities that hold what the owner became, without
    /// which there is no object.
    var pairOwners: Set<String>?
    /// What continues each source relationship.
    var reads: [String: [Read]] = [:]
    /// Destination relationships whose other expressions read a source relationship, by its name.
    var computed: [String: Set<String>] = [:]
  }

  /// A destination relationship that continues a source relationship.
  struct Read: Hashable, Sendable {
    var property: String
    /// The mapping whose objects it takes; nil takes those of any.
    var through: String?
    /// The destination entities that it can hold.
    var holds: Set<String>
  }
}

extension ReferenceFates.Maker {
  /// Notes what the relationship mappings read.
  mutating func note(
    _ mapping: EntityMapping, source: ManagedObjectModel, destination model: ManagedObjectModel
  ) {
    let new = mapping.destinationEntityName.flatMap { model.entity(name: $0) }
    let made = new.map { model.allRelationships(of: $0) } ?? []
    notePairs(mapping, made: made, destination: model)
    for property in mapping.relationshipMappings {
      switch property.origin {
      case .relationship(let name, let through):
        guard let relationship = made.first(where: { $0.name == property.name }) else { continue }
        let holds = Set(model.family(of: relationship.destinationEntityName).map(\.name))
        reads[name, default: []].append(
          .init(property: property.name, through: through, holds: holds))
      case .computed:
        let read = PropertiesRead(mapping: mapping, source: source) { $0.name == property.name }
        let old = mapping.sourceEntityName.flatMap { source.entity(name: $0) }
        for relationship in old.map({ source.allRelationships(of: $0) }) ?? []
        where read.contains(relationship.name, of: mapping.sourceEntityName ?? "") {
          computed[relationship.name, default: []].insert(property.name)
        }
      case .standard, .constant, .attribute: continue
      }
    }
  }

  /// Notes the relationship whose references become objects that lead to both ends.
  private mutating func notePairs(
    _ mapping: EntityMapping, made: [Relationship], destination model: ManagedObjectModel
  ) {
    guard let objects = mapping.newObjects, objects.keepsPairs,
      let name = objects.pairRelationship,
      let owner = made.first(where: { $0.name == objects.sourceRelationship }),
      let member = made.first(where: { $0.name == objects.memberRelationship })
    else { return }
    func holds(_ relationship: Relationship) -> Set<String> {
      Set(model.family(of: relationship.destinationEntityName).map(\.name))
    }
    pairOwners = holds(owner)
    reads[name, default: []].append(
      .init(property: member.name, through: nil, holds: holds(member)))
  }

  /// The destination relationships that are made of a source relationship.
  func properties(reading relationship: String) -> Set<String> {
    Set((reads[relationship] ?? []).map(\.property)).union(computed[relationship] ?? [])
  }

  /// Whether a relationship leads to objects of another mapping.
  func continues(_ relationship: String, to other: Self) -> Bool {
    (reads[relationship] ?? []).contains { read in
      (read.through.map { $0 == other.name } ?? !other.makesNewObjects)
        && other.destination.map { read.holds.contains($0) } ?? false
    }
  }
}
