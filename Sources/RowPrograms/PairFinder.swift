import ObjectModel
import Schema

/// Where a store keeps the pairs of a relationship: one row each, owner and target in two columns.
struct PairSource: Hashable {
  var table: String
  var ownerColumn: String
  var targetColumn: String
  /// The owner's place in the target's inverse.
  var ownerOrder: String?
  /// The target's place in the owner's relationship.
  var targetOrder: String?
  var filters: [JoinProgram.Filter]
  var drops: [JoinProgram.Drop]
  var form: Form

  enum Form: Hashable { case toOneOfOwner, toOneOfTarget, joinTable }

  /// Which owners have a place, where some may have none and only their rows show it.
  var ownerFilter: ReferenceFilter? {
    filters.first { $0.keyColumn == ownerColumn }.map {
      ReferenceFilter(column: ownerColumn, table: $0.table, kept: $0.kept)
    }
  }

  /// The owners that are left out, where mappings choose among them.
  var untakenOwners: UntakenRows? { drops.first { $0.column == ownerColumn }?.rows }

  /// The source numbers of the entities whose rows hold the pairs.
  var rowEntities: [Int64] { filters.first { $0.keyColumn == nil }?.kept ?? [] }

  /// The same pairs seen from the other end.
  var flipped: PairSource {
    PairSource(
      table: table, ownerColumn: targetColumn, targetColumn: ownerColumn, ownerOrder: targetOrder,
      targetOrder: ownerOrder, filters: filters, drops: drops,
      form: form == .toOneOfOwner ? .toOneOfTarget : form == .toOneOfTarget ? .toOneOfOwner : form)
  }
}

/// Finds where a source store keeps the pairs of a destination's relationship.
struct PairFinder {
  let compiler: ProgramCompiler
  /// The destination entities that the relationship joins.
  let owners: String
  let targets: String

  private var source: StoreSchema { compiler.source }
  private var flipped: PairFinder {
    PairFinder(compiler: compiler, owners: targets, targets: owners)
  }

  /// The pairs of a relationship of the entity, own or inherited; nil where the store has none.
  func pairs(entity name: String, relationship: String) -> PairSource? {
    guard let entity = source.model.entity(name: name),
      let (declaring, found) = declaration(of: relationship, from: entity)
    else { return nil }
    if !found.isToMany { return toOne(relationship: found, declaredBy: declaring) }
    guard let (other, inverse) = source.model.inverseWithOwner(of: found) else {
      return withoutInverse(found, declaredBy: declaring)
    }
    if !inverse.isToMany { return flipped.toOne(relationship: inverse, declaredBy: other)?.flipped }
    return joined(found, declaredBy: declaring)
  }

  private func declaration(
    of name: String, from entity: Entity
  ) -> (Entity, Relationship)? {
    for level in source.model.lineage(of: entity) {
      if let found = level.relationships.first(where: { $0.name == name }) { return (level, found) }
    }
    return nil
  }

  /// Kept on the owner's rows, in the column of the to-one relationship.
  private func toOne(relationship: Relationship, declaredBy entity: Entity) -> PairSource? {
    guard let table = source.table(of: entity),
      let column = table.column(role: .toOne(entity: entity.name, name: relationship.name))
    else { return nil }
    return PairSource(
      table: table.name, ownerColumn: "Z_PK", targetColumn: column.name,
      ownerOrder: table.column(role: .toOneOrder(entity: entity.name, name: relationship.name))?
        .name,
      targetOrder: nil,
      filters: rowFilter(table: table, family: entity.name, within: owners)
        + keyFilter(
          column: column.name, family: relationship.destinationEntityName, within: targets),
      drops: drops("Z_PK", of: entity.name, within: owners)
        + drops(column.name, of: relationship.destinationEntityName, within: targets),
      form: .toOneOfOwner)
  }

  /// Kept on the target's rows, in the column of the owner.
  private func withoutInverse(
    _ relationship: Relationship, declaredBy entity: Entity
  ) -> PairSource? {
    guard let destination = source.model.entity(name: relationship.destinationEntityName),
      let table = source.table(of: destination),
      let column = table.column(role: .owner(entity: entity.name, name: relationship.name))
    else { return nil }
    return PairSource(
      table: table.name, ownerColumn: column.name, targetColumn: "Z_PK", ownerOrder: nil,
      targetOrder: table.column(role: .ownerOrder(entity: entity.name, name: relationship.name))?
        .name,
      filters: rowFilter(table: table, family: destination.name, within: targets)
        + keyFilter(column: column.name, family: entity.name, within: owners),
      drops: drops("Z_PK", of: destination.name, within: targets)
        + drops(column.name, of: entity.name, within: owners),
      form: .toOneOfTarget)
  }

  private func joined(_ relationship: Relationship, declaredBy entity: Entity) -> PairSource? {
    func isEnd(_ end: JoinTable.End) -> Bool {
      end.entityName == entity.name && end.relationshipName == relationship.name
    }
    guard let table = source.joinTables.first(where: { isEnd($0.first) || isEnd($0.second) })
    else { return nil }
    let (owner, target) =
      isEnd(table.first) ? (table.first, table.second) : (table.second, table.first)
    return PairSource(
      table: table.name, ownerColumn: owner.keyColumn, targetColumn: target.keyColumn,
      ownerOrder: owner.orderColumn, targetOrder: target.orderColumn,
      filters: keyFilter(column: owner.keyColumn, family: owner.entityName, within: owners)
        + keyFilter(column: target.keyColumn, family: target.entityName, within: targets),
      drops: drops(owner.keyColumn, of: owner.entityName, within: owners)
        + drops(target.keyColumn, of: target.entityName, within: targets),
      form: .joinTable)
  }

  /// Leaves out rows whose key leads to an object that no mapping takes which counts, where there
  /// may be any.
  private func drops(
    _ column: String, of entity: String, within: String
  ) -> [JoinProgram.Drop] {
    compiler.untaken(ofFamily: entity, within: within).map { [.init(column: column, rows: $0)] }
      ?? []
  }

  /// Leaves out the rows themselves whose entity has no place.
  private func rowFilter(
    table: EntityTable, family: String, within: String
  ) -> [JoinProgram.Filter] {
    [
      .init(
        keyColumn: nil, table: table.name,
        kept: compiler.kept(ofFamily: family, within: within))
    ]
  }

  /// Leaves out rows whose key leads to an object that stays behind, where there may be any.
  private func keyFilter(
    column: String, family: String, within: String
  ) -> [JoinProgram.Filter] {
    guard compiler.losesObjects(ofFamily: family, within: within),
      let entity = source.model.entity(name: family),
      let table = source.table(of: entity)
    else { return [] }
    return [
      .init(
        keyColumn: column, table: table.name,
        kept: compiler.kept(ofFamily: family, within: within))
    ]
  }
}
