import Mapping
import ObjectModel
import Schema

/// A plain description of one inferred step: the origin of each destination column in the source.
///
/// It is independent of the engines, and written to be read.
struct StepReading {
  let source: StoreSchema
  let destination: StoreSchema
  let match: StepMatch

  /// Objects of a source hierarchy: their table, and which of them a hierarchy of the destination
  /// has a place for.
  struct Family {
    var table: String
    /// Destination entity numbers by source entity number.
    var kept: [Int64: Int64]
    /// Whether the destination has no place for the objects of some entity.
    var mayLose: Bool
  }

  func family(name: String, within: String) -> Family? {
    guard let entity = source.model.entity(name: name), let table = source.table(of: entity) else {
      return nil
    }
    var family = Family(table: table.name, kept: [:], mayLose: false)
    for member in source.model.family(of: name) where !member.isAbstract {
      guard let from = source.numbers[member.name]?.rawValue,
        let new = match.destination(of: member.name), destination.model.isKind(new, of: within),
        let to = destination.numbers[new]?.rawValue
      else {
        family.mayLose = true
        continue
      }
      family.kept[from] = to
    }
    return family
  }

  /// The place of a relationship's pairs in the source: owner and target in one row each.
  struct Pairs {
    /// Which rows contain the pairs.
    enum Form { case ownerRows, targetRows, joinTable }

    var form: Form
    var table: String
    var ownerColumn: String
    var targetColumn: String
    /// The column of the owner's position in the inverse, and below that of the target's in the
    /// relationship.
    var ownerOrder: String?
    var targetOrder: String?
    var owners: Family
    var targets: Family

    /// The same pairs, seen from their other end.
    var flipped: Pairs {
      let form: Form =
        switch form {
        case .ownerRows: .targetRows
        case .targetRows: .ownerRows
        case .joinTable: .joinTable
        }
      return Pairs(
        form: form, table: table, ownerColumn: targetColumn, targetColumn: ownerColumn,
        ownerOrder: targetOrder, targetOrder: ownerOrder, owners: targets, targets: owners)
    }
  }

  /// The pairs that a relationship of the destination continues, nil if it is new.
  func pairs(of name: String, declaredBy entityName: String) -> Pairs? {
    guard let entity = destination.model.entity(name: entityName),
      let relationship = destination.model.relationship(named: name, of: entity)
    else { return nil }
    for member in destination.model.family(of: entityName) {
      if let sourceName = match.entities[member.name],
        let old = match.origin(of: name, in: member.name),
        let found = pairs(
          entityName: sourceName, name: old, owners: entityName,
          targets: relationship.destinationEntityName)
      {
        return found
      }
    }
    return nil
  }

  private func pairs(
    entityName: String, name: String, owners: String, targets: String
  ) -> Pairs? {
    guard let entity = source.model.entity(name: entityName),
      let level = source.model.lineage(of: entity).first(where: {
        $0.relationships.contains { $0.name == name }
      }), let relationship = level.relationships.first(where: { $0.name == name }),
      let ownerFamily = family(name: level.name, within: owners),
      let targetFamily = family(name: relationship.destinationEntityName, within: targets)
    else { return nil }
    if !relationship.isToMany {
      return onRows(
        .ownerRows, of: level, key: .toOne(entity: level.name, name: name),
        order: .toOneOrder(entity: level.name, name: name), owners: ownerFamily,
        targets: targetFamily)
    }
    guard let (other, inverse) = source.model.inverseWithOwner(of: relationship) else {
      guard let declaring = source.model.entity(name: relationship.destinationEntityName) else {
        return nil
      }
      return onRows(
        .targetRows, of: declaring, key: .owner(entity: level.name, name: name),
        order: .ownerOrder(entity: level.name, name: name), owners: ownerFamily,
        targets: targetFamily)
    }
    if !inverse.isToMany {
      return onRows(
        .targetRows, of: other, key: .toOne(entity: other.name, name: inverse.name),
        order: .toOneOrder(entity: other.name, name: inverse.name), owners: ownerFamily,
        targets: targetFamily)
    }
    return joined(level.name, name: name, owners: ownerFamily, targets: targetFamily)
  }

  private func onRows(
    _ form: Pairs.Form, of entity: Entity, key: Column.Role, order: Column.Role,
    owners: Family, targets: Family
  ) -> Pairs? {
    guard let table = source.table(of: entity), let column = table.column(role: key)?.name else {
      return nil
    }
    let place = table.column(role: order)?.name
    let isOwner = form == .ownerRows
    return Pairs(
      form: form, table: table.name, ownerColumn: isOwner ? "Z_PK" : column,
      targetColumn: isOwner ? column : "Z_PK", ownerOrder: isOwner ? place : nil,
      targetOrder: isOwner ? nil : place, owners: owners, targets: targets)
  }

  private func joined(
    _ entity: String, name: String, owners: Family, targets: Family
  ) -> Pairs? {
    for table in source.joinTables {
      for (owner, target) in [(table.first, table.second), (table.second, table.first)]
      where owner.entityName == entity && owner.relationshipName == name {
        return Pairs(
          form: .joinTable, table: table.name, ownerColumn: owner.keyColumn,
          targetColumn: target.keyColumn, ownerOrder: owner.orderColumn,
          targetOrder: target.orderColumn, owners: owners, targets: targets)
      }
    }
    return nil
  }
}
