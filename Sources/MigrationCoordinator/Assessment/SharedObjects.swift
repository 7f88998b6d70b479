import Mapping
import ObjectModel
import RowPrograms
import Schema

/// Counts objects of the source that share an object, or have several, in a relationship.
extension ConditionChecker {
  /// Objects that have the same object in a relationship.
  func sharedObjects(_ relationship: String, condition: Condition) -> Question? {
    guard let place = place(name: condition.sourceEntity),
      let (level, found) = declared(relationship, by: condition.sourceEntity)
    else { return nil }
    let family = view.model.family(of: level.name).map(\.name)
    if found.isToMany {
      return joined(level, found).flatMap { join, own, other in
        pairs(join, by: other, key: own, owners: family)
      }
    }
    guard let name = column(place: place, role: { .toOne(entity: $0, name: relationship) }) else {
      return nil
    }
    // Objects of the whole family may share one.
    let numbers = family.compactMap { view.schema.numbers[$0] }
    let column = place.rows.value(column: name, of: excludesUntaken ? place.number : nil)
    let isOf = place.rows.isOf(excludesUntaken ? [place.number] : numbers)
    return .groups(
      Groups(
        table: place.rows.sourceTable, from: place.rows.from,
        test: taken("\(isOf) AND (\(column)) IS NOT NULL", of: place, condition: condition),
        by: [column]))
  }

  /// Objects that have several objects in a to-many relationship.
  func severalObjects(_ relationship: String, condition: Condition) -> Question? {
    guard place(name: condition.sourceEntity) != nil,
      let (level, found) = declared(relationship, by: condition.sourceEntity)
    else { return nil }
    let owners = [condition.sourceEntity]
    if let (join, own, _) = joined(level, found) {
      return pairs(join, by: own, key: own, owners: owners)
    }
    let inverse = view.model.inverseWithOwner(of: found)
    let holder = inverse?.entity.name ?? found.destinationEntityName
    let role: Column.Role =
      inverse.map { .toOne(entity: $0.entity.name, name: $0.relationship.name) }
      ?? .owner(entity: level.name, name: relationship)
    guard let (rows, table, _) = view.rows(ofEntity: holder),
      let name = table.column(role: role)?.name
    else { return nil }
    let column = rows.value(column: name, of: nil)
    return .groups(
      Groups(
        table: rows.sourceTable, from: rows.from, test: view.isOf(owners, key: "(\(column))"),
        by: [column], key: column, countsGroups: true))
  }

  /// The join table of a many-to-many relationship, with its own end and the other one.
  func joined(
    _ level: Entity, _ relationship: Relationship
  ) -> (JoinTable, own: JoinTable.End, other: JoinTable.End)? {
    for join in view.schema.joinTables {
      for (own, other) in [(join.first, join.second), (join.second, join.first)]
      where own.entityName == level.name && own.relationshipName == relationship.name {
        return (join, own, other)
      }
    }
    return nil
  }

  private func pairs(
    _ join: JoinTable, by end: JoinTable.End, key: JoinTable.End, owners: [String]
  ) -> Question? {
    guard let pairs = view.pairs(join) else { return nil }
    func column(_ end: JoinTable.End) -> String { "s.\(SQL.identifier(name: end.keyColumn))" }
    return .groups(
      Groups(
        table: join.name, from: "\(pairs) AS s",
        test: "\(view.isOf(owners, key: column(key))) AND \(column(end)) IS NOT NULL",
        by: [column(end)], key: column(key), countsGroups: end == key, arePairs: true))
  }
}
