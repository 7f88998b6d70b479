package import Mapping
package import ObjectModel
package import Schema

/// How the join tables of a destination are named after those of a source store.
///
/// A model leaves open which of two relationships names the table that joins an entity with itself;
/// Core Data would not find it under the other name. The rule: docs/reference/migration.md, "Join
/// tables".
package struct JoinContinuation {
  /// A name that was chosen although nothing proves it.
  package struct Choice: Hashable, Codable, Sendable {
    /// Why a name was chosen.
    package enum Reason: String, Codable, Sendable {
      /// The entity changed, and both relationships continue: the source's name is kept.
      case kept
      /// The source has no such table: the larger name, as in most fresh stores.
      case new
    }

    /// The entity that the table joins with itself.
    package var entity: String
    /// The relationship that names the table, and the one that might.
    package var relationship: String
    /// The other relationship, which might name the table as well.
    package var other: String
    /// Why the name was chosen.
    package var reason: Reason
  }

  /// What the destination's schema is to be made with.
  package private(set) var naming: JoinNaming
  /// The choices for the report to name, in the order of the model's entities.
  package private(set) var choices: [Choice] = []

  private let source: StoreSchema
  private let assumed: [Choice]
  private let model: ManagedObjectModel
  private let mappings: [EntityMapping]

  /// - Parameters:
  ///   - source: with the names that the store really uses.
  ///   - assumed: those of the source's names that were chosen, although nothing proves them.
  ///   - known: what is known of the destination's own names.
  package init(
    from source: StoreSchema, assumed: [Choice] = [], to model: ManagedObjectModel,
    by mappings: [MappingModel], known: JoinNaming
  ) {
    (self.source, self.assumed) = (source, assumed)
    self.model = model
    self.mappings = mappings.flatMap(\.entityMappings)
    naming = known
    for entity in model.entities {
      for (relationship, inverse) in pairs(of: entity) {
        name(larger: relationship, smaller: inverse, of: entity)
      }
      number(entity: entity)
    }
  }

  /// Pairs of relationships that join the entity with itself, each pair once.
  private func pairs(of entity: Entity) -> [(Relationship, Relationship)] {
    entity.relationships.compactMap { relationship in
      guard isManyToMany(relationship),
        let (owner, inverse) = model.inverseWithOwner(of: relationship),
        owner.name == entity.name, relationship.name > inverse.name
      else { return nil }
      return (relationship, inverse)
    }
  }

  private func isManyToMany(_ relationship: Relationship) -> Bool {
    guard let inverse = model.inverse(of: relationship) else { return false }
    return relationship.isToMany && inverse.isToMany && !relationship.isTransient
      && !inverse.isTransient
  }

  private mutating func name(larger: Relationship, smaller: Relationship, of entity: Entity) {
    let known = naming.relationships[entity.name] ?? []
    if known.contains(larger.name) || known.contains(smaller.name) { return }
    let origins = (origin(of: larger, entity: entity), origin(of: smaller, entity: entity))
    guard let table = origins.0?.table ?? origins.1?.table, table.joinsItself,
      origins.0 == nil || origins.1 == nil || origins.0?.table == origins.1?.table
    else {
      choices.append(
        Choice(entity: entity.name, relationship: larger.name, other: smaller.name, reason: .new))
      return
    }
    let isLarger =
      origins.0.map { $0.relationship == table.namingRelationship }
      ?? (origins.1?.relationship != table.namingRelationship)
    let chosen = isLarger ? larger.name : smaller.name
    naming.relationships[entity.name, default: []].insert(chosen)
    let old = source.model.entity(name: table.first.entityName)
    let isSame =
      old.map {
        EntityDifference.isUnchanged($0, in: source.model, as: entity, in: model)
      } ?? false
    let before = assumed.first {
      $0.entity == table.first.entityName && $0.relationship == table.namingRelationship
    }
    if !isSame || before != nil {
      choices.append(
        Choice(
          entity: entity.name, relationship: chosen,
          other: isLarger ? smaller.name : larger.name, reason: before?.reason ?? .kept))
    }
  }

  /// The source's relationship that one continues, and its table.
  private func origin(
    of relationship: Relationship, entity: Entity
  ) -> (relationship: String, table: JoinTable)? {
    for mapping in mappings where model.isKind(mapping.destinationEntityName, of: entity.name) {
      guard let old = mapping.sourceEntityName.flatMap({ source.model.entity(name: $0) }),
        let name = mapping.relationshipMappings.first(where: { $0.name == relationship.name })?
          .sourceRelationshipName
      else { continue }
      let levels = source.model.lineage(of: old).map(\.name)
      let table = source.joinTables.first { table in
        [table.first, table.second].contains {
          $0.relationshipName == name && levels.contains($0.entityName)
        }
      }
      if let table { return (name, table) }
    }
    return nil
  }

  /// Columns of one name keep their numbers where all of them continue columns of the source.
  private mutating func number(entity: Entity) {
    let groups = Dictionary(
      grouping: entity.relationships.filter(isManyToMany),
      by: { $0.inverseName?.uppercased() ?? "" })
    for members in groups.values where members.count > 1 {
      if members.contains(where: { naming.suffixes[entity.name]?[$0.name] != nil }) { continue }
      var suffixes: [String: String] = [:]
      for member in members {
        guard let (name, table) = origin(of: member, entity: entity) else { continue }
        let isFirst = table.first.relationshipName == name
        let (end, inverse) = isFirst ? (table.first, table.second) : (table.second, table.first)
        suffixes[member.name] = source.columnSuffix(of: end, inverse: inverse)
      }
      if suffixes.count == members.count, Set(suffixes.values).count == members.count {
        naming.suffixes[entity.name, default: [:]].merge(suffixes) { $1 }
      }
    }
  }
}

extension StoreSchema {
  /// The names of this store's own tables and columns, where the model leaves them open.
  package var joinNaming: JoinNaming {
    var result = JoinNaming()
    for table in joinTables {
      if table.joinsItself {
        result.relationships[table.first.entityName, default: []].insert(table.namingRelationship)
      }
      for (end, inverse) in [(table.first, table.second), (table.second, table.first)] {
        guard let suffix = columnSuffix(of: end, inverse: inverse) else { continue }
        result.suffixes[end.entityName, default: [:]][end.relationshipName] = suffix
      }
    }
    return result
  }
}
