import GRDB
import Mapping
import ObjectModel
import Schema

/// Keeps the first object where an object has several in a relationship that is to-one now, where
/// that is chosen.
extension DefectRepair {
  /// What leaves the first object of each relationship: by its place where they are ordered, else
  /// by its key.
  ///
  /// A step with such a relationship begins with a store of its own (`RowStep.needsStore`).
  func firsts(_ demands: [StageDemands]) -> [Repair] {
    guard choices.many == .first, let step = demands.first, step.checker.view.program == nil else {
      return []
    }
    return step.conditions.compactMap { condition in
      guard case .singleObject(let relationship) = condition.demand else { return nil }
      return first(of: relationship, condition: condition, checker: step.checker)
    }
  }

  private func first(
    of relationship: String, condition: Condition, checker: ConditionChecker
  ) -> Repair? {
    guard let (level, found) = checker.declared(relationship, by: condition.sourceEntity) else {
      return nil
    }
    let owners = [condition.sourceEntity]
    if let (join, own, other) = checker.joined(level, found) {
      let rows = Self.later(
        in: join.name, key: "rowid", owner: own.keyColumn, place: other.orderColumn,
        tie: other.keyColumn, where: { checker.view.isOf(owners, key: $0) })
      return Repair(
        defect: Defect(
          kind: .severalObjects, entity: level.name, property: relationship, count: 0, keys: [],
          fate: .removed),
        find: { try Int64.fetchAll($0, sql: "SELECT owner FROM \(rows) ORDER BY 1") },
        statement: "DELETE FROM \(SQL.identifier(name: join.name)) "
          + "WHERE rowid IN (SELECT row FROM \(rows))")
    }
    return column(of: found, declaredBy: level, owners: owners, checker: checker)
  }

  /// The same of a relationship that rows of its objects hold.
  private func column(
    of relationship: Relationship, declaredBy level: Entity, owners: [String],
    checker: ConditionChecker
  ) -> Repair? {
    let inverse = checker.view.model.inverseWithOwner(of: relationship)
    let holder = inverse?.entity.name ?? relationship.destinationEntityName
    let place = (
      inverse?.entity.name ?? level.name, inverse?.relationship.name ?? relationship.name
    )
    let roles: [Schema.Column.Role] =
      inverse == nil
      ? [
        .owner(entity: place.0, name: place.1), .ownerOrder(entity: place.0, name: place.1),
      ]
      : [
        .toOne(entity: place.0, name: place.1), .toOneOrder(entity: place.0, name: place.1),
        .toOneEntity(entity: place.0, name: place.1),
      ]
    guard let (_, table, _) = checker.view.rows(ofEntity: holder),
      let key = table.column(role: roles[0])?.name
    else { return nil }
    let columns = roles.compactMap { table.column(role: $0)?.name }
    let rows = Self.later(
      in: table.name, key: "Z_PK", owner: key, place: table.column(role: roles[1])?.name,
      tie: "Z_PK", where: { checker.view.isOf(owners, key: $0) })
    let list = columns.map { "\(SQL.identifier(name: $0)) = NULL" }.joined(separator: ", ")
    return Repair(
      defect: Defect(
        kind: .severalObjects, entity: place.0, property: place.1, count: 0, keys: [],
        fate: .nullified),
      find: { try Int64.fetchAll($0, sql: "SELECT row FROM \(rows) ORDER BY 1") },
      statement: "UPDATE \(SQL.identifier(name: table.name)) SET \(list) "
        + "WHERE Z_PK IN (SELECT key FROM temp.touched)")
  }

  /// The rows, with their owners, of all but the first object of each owner.
  private static func later(
    in table: String, key: String, owner: String, place: String?, tie: String,
    where test: (String) -> String
  ) -> String {
    let owner = "s.\(SQL.identifier(name: owner))"
    let order = ([place, tie].compactMap(\.self)).map { "s.\(SQL.identifier(name: $0))" }
    return "(SELECT * FROM (SELECT s.\(key) AS row, \(owner) AS owner, row_number() OVER "
      + "(PARTITION BY \(owner) ORDER BY \(order.joined(separator: ", "))) AS n "
      + "FROM \(SQL.identifier(name: table)) AS s WHERE \(test(owner))) WHERE n > 1)"
  }
}

extension Loss {
  /// References that a choice gave up.
  static func givenUp(by repaired: [Defect]) -> [Loss] {
    repaired.filter { $0.kind == .severalObjects }.map {
      Loss(
        kind: .relationship, cause: .severalObjects, entity: $0.entity, property: $0.property,
        count: $0.count, keys: Array($0.keys.prefix(Loss.keyLimit)))
    }
  }
}
