import ObjectModel
import Schema

/// Where plain properties of the two models are, for queries of their content.
extension StoreSchema {
  /// The column of a plain attribute, as an SQL identifier.
  func column(
    _ name: String, of entity: Entity
  ) -> (name: String, type: AttributeType, isExternal: Bool)? {
    guard let table = table(of: entity) else { return nil }
    for level in model.lineage(of: entity) {
      if let attribute = level.leafAttributes.first(where: { $0.name == name }),
        let column = table.column(role: .attribute(entity: level.name, name: name))
      {
        let isExternal = attribute.storesBinaryDataExternally
        return (SQL.identifier(name: column.name), attribute.type, isExternal)
      }
    }
    return nil
  }

  /// The column of a to-one relationship without an entity column, without an order, and whose
  /// inverse is not to-one.
  func reference(_ name: String, of entity: Entity) -> String? {
    guard let table = table(of: entity),
      let relationship = model.relationship(named: name, of: entity),
      !relationship.isToMany, model.inverse(of: relationship)?.isToMany != false
    else { return nil }
    for level in model.lineage(of: entity) {
      guard let column = table.column(role: .toOne(entity: level.name, name: name)) else {
        continue
      }
      let hasEntity = table.column(role: .toOneEntity(entity: level.name, name: name)) != nil
      return hasEntity ? nil : SQL.identifier(name: column.name)
    }
    return nil
  }

  /// Selects the owner, the member and the place of each pair of a relationship, and where the
  /// members are.
  func pairs(
    of name: String, in entity: Entity
  ) -> (query: String, target: Entity, targetRows: String)? {
    guard
      let relationship = model.relationship(named: name, of: entity),
      let target = model.entity(name: relationship.destinationEntityName),
      let targets = table(of: target), let owners = table(of: entity)
    else { return nil }
    let targetRows = "old.\(SQL.identifier(name: targets.name))"
    let query: String
    if !relationship.isToMany {
      guard let column = reference(name, of: entity) else { return nil }
      query =
        "SELECT Z_PK AS owner, \(column) AS member, 0 AS place "
        + "FROM old.\(SQL.identifier(name: owners.name)) WHERE \(column) IS NOT NULL"
    } else {
      guard let rows = rows(of: relationship, in: entity) else { return nil }
      query =
        "SELECT \(rows.owner) AS owner, \(rows.member) AS member, \(rows.place ?? "0") AS place "
        + "FROM old.\(SQL.identifier(name: rows.table)) WHERE \(rows.owner) IS NOT NULL"
    }
    return (query, target, targetRows)
  }

  /// The rows that hold the objects of a to-many relationship.
  private func rows(
    of relationship: Relationship, in entity: Entity
  ) -> (table: String, owner: String, member: String, place: String?)? {
    guard let inverse = model.inverseWithOwner(of: relationship) else { return nil }
    let levels = Set(model.lineage(of: entity).map(\.name))
    if inverse.relationship.isToMany {
      for join in joinTables {
        for (mine, theirs) in [(join.first, join.second), (join.second, join.first)]
        where levels.contains(mine.entityName) && mine.relationshipName == relationship.name {
          return (
            join.name, SQL.identifier(name: mine.keyColumn), SQL.identifier(name: theirs.keyColumn),
            theirs.orderColumn.map(SQL.identifier)
          )
        }
      }
      return nil
    }
    let (owner, name) = (inverse.entity.name, inverse.relationship.name)
    guard let table = table(of: inverse.entity),
      let column = table.column(role: .toOne(entity: owner, name: name))
    else { return nil }
    let place = table.column(role: .toOneOrder(entity: owner, name: name))
    return (
      table.name, SQL.identifier(name: column.name), "Z_PK",
      place.map { SQL.identifier(name: $0.name) }
    )
  }

  /// The rows that hold the places of an ordered relationship.
  func orderedRows(
    of relationship: Relationship, in entity: Entity
  ) -> (table: String, owner: String, member: String, place: String)? {
    rows(of: relationship, in: entity).flatMap { rows in
      rows.place.map { (rows.table, rows.owner, rows.member, $0) }
    }
  }
}
