import GRDB
import Mapping
import ObjectModel
import RowPrograms
import Schema
import StoreFormat

/// Counts what possible losses of one step's mapping affect.
extension ConditionChecker {
  /// What to count for a possible loss.
  enum LossQuestion {
    /// Rows that satisfy the test are lost.
    case rows(RowCounter.Question)
    /// A query that returns the count.
    case number(String)
  }

  /// The question of a possible loss; nil if nothing can be lost, or if the loss is counted with
  /// the inverse relationship.
  func question(possible: PossibleLoss) -> LossQuestion? {
    switch possible.kind {
    case .entity: return place(name: possible.entity).map { .rows($0.isOf("1")) }
    case .attribute(let name):
      guard let place = place(name: possible.entity),
        let column = column(attribute: name, place: place)
      else {
        return nil
      }
      return .rows(place.isOf("(\(column)) IS NOT NULL"))
    case .order(let name):
      return members(
        ofOrdered: name, entityName: possible.entity, targets: (possible.targets ?? []).sorted())
    case .relationship(let name) where possible.cause == .order:
      return members(
        ofOrdered: name, entityName: possible.entity, targets: (possible.targets ?? []).sorted())
    case .relationship(let name):
      return question(
        ofRelationship: name, entityName: possible.entity, targets: possible.targets?.sorted())
    case .conversion(let name, let type):
      guard let place = place(name: possible.entity),
        let column = column(attribute: name, place: place),
        let old = view.model.leafAttribute(named: name, of: place.entity)?.type
      else {
        return nil
      }
      let makers = converters(of: name, of: place.entity, to: type)
      let test = type.changes("(\(column))", of: old)
      return .rows(place.isOf(taken(test, of: place, by: makers)))
    }
  }

  /// The mappings that make values of a type of an attribute.
  func converters(
    of attribute: String, of entity: Entity, to type: AttributeType
  ) -> [EntityMapping] {
    mapping.makers(ofSource: entity.name).filter { maker in
      guard let new = maker.destinationEntityName.flatMap({ destination.model.entity(name: $0) })
      else { return false }
      return maker.attributeMappings.contains { property in
        guard case .attribute(attribute, _) = property.origin else { return false }
        return destination.model.leafAttribute(named: property.name, of: new)?.type == type
      }
    }
  }

  /// A relationship of an entity, and the entity of its lineage that declares it.
  func declared(
    _ name: String, by entityName: String
  ) -> (level: Entity, relationship: Relationship)? {
    view.model.entity(name: entityName).flatMap { entity in
      view.model.lineage(of: entity).lazy.compactMap { level in
        level.relationships.first { $0.name == name }.map { (level, $0) }
      }.first
    }
  }

  /// The question of references to objects of the target entities, or to any.
  private func question(
    ofRelationship name: String, entityName: String, targets: [String]?
  ) -> LossQuestion? {
    guard let (level, relationship) = declared(name, by: entityName) else { return nil }
    if !relationship.isToMany {
      guard let place = place(name: entityName),
        let column = place.table.column(role: .toOne(entity: level.name, name: name))
      else { return nil }
      let value = "(\(place.rows.value(column: column.name, of: place.number)))"
      return .rows(place.isOf(targets.map { view.isOf($0, key: value) } ?? "\(value) IS NOT NULL"))
    }
    // If the table has only one entity, it identifies the rows.
    let isAlone = view.schema.table(of: level)?.entityNames.count == 1
    if let join = view.schema.joinTables.first(where: {
      $0.first.entityName == level.name && $0.first.relationshipName == name
    }) {
      return view.pairCount(join, first: isAlone ? nil : [entityName], second: targets)
        .map { .number($0) }
    }
    guard relationship.inverseName == nil,
      let (rows, table, _) = view.rows(ofEntity: relationship.destinationEntityName),
      let column = table.column(role: .owner(entity: level.name, name: name))
    else { return nil }
    let all = rows.isOf(table.entityNames.compactMap { view.schema.numbers[$0] })
    let owner = "(\(rows.value(column: column.name, of: nil)))"
    let isOwned = isAlone ? "\(owner) IS NOT NULL" : view.isOf([entityName], key: owner)
    return .rows(.init(rows, test: "\(all) AND \(isOwned)"))
  }

  /// The question for target objects in an ordered relationship with several objects: one alone has
  /// no order.
  private func members(
    ofOrdered name: String, entityName: String, targets: [String]
  ) -> LossQuestion? {
    guard let (level, relationship) = declared(name, by: entityName) else { return nil }
    let from: String
    let owner: String
    let target: String
    if let inverse = view.model.inverseWithOwner(of: relationship), !inverse.relationship.isToMany {
      guard let (rows, table, _) = view.rows(ofEntity: relationship.destinationEntityName),
        let column = table.column(
          role: .toOne(entity: inverse.entity.name, name: inverse.relationship.name))
      else { return nil }
      (from, owner) = (rows.from, rows.value(column: column.name, of: nil))
      target = "s.Z_PK"
    } else if relationship.inverseName == nil {
      guard let (rows, table, _) = view.rows(ofEntity: relationship.destinationEntityName),
        let column = table.column(role: .owner(entity: level.name, name: name))
      else { return nil }
      (from, owner) = (rows.from, rows.value(column: column.name, of: nil))
      target = "s.Z_PK"
    } else {
      let found = view.schema.joinTables.flatMap { join in
        [(join, join.first, join.second), (join, join.second, join.first)]
      }.first { $0.1.entityName == level.name && $0.1.relationshipName == name }
      guard let (join, own, other) = found, let pairs = view.pairs(join) else { return nil }
      from = "\(pairs) AS p"
      owner = "p.\(SQL.identifier(name: own.keyColumn))"
      target = "p.\(SQL.identifier(name: other.keyColumn))"
    }
    return .number(
      """
      SELECT ifnull(sum(n), 0) FROM (SELECT count(*) AS n FROM \(from)
      WHERE \(view.isOf([entityName], key: "(\(owner))"))
      AND \(view.isOf(targets, key: target)) GROUP BY \(owner) HAVING n > 1)
      """)
  }

  /// The loss with its count, nil if nothing is lost.
  func loss(
    possible: PossibleLoss, question: LossQuestion, counter: RowCounter
  ) throws -> Loss? {
    let count =
      switch question {
      case .rows(let rows): counter.answer(rows)
      case .number(let sql): try reader.number(sql: sql)
      }
    if count == 0 { return nil }
    var keys: [Int64] = []
    // The model removes all of them, so listing a few keys is useless.
    if case .rows(let rows) = question, case .conversion = possible.kind {
      keys = try self.keys("SELECT s.Z_PK FROM \(rows.from) WHERE \(rows.test) ORDER BY 1")
    }
    let kind: Loss.Kind
    let property: String?
    switch possible.kind {
    case .entity: (kind, property) = (.entity, nil)
    case .attribute(let name), .conversion(let name, _): (kind, property) = (.attribute, name)
    case .relationship(let name): (kind, property) = (.relationship, name)
    case .order(let name): (kind, property) = (.order, name)
    }
    return Loss(
      kind: kind, cause: possible.cause, entity: possible.entity, property: property,
      count: count, keys: keys)
  }

  /// The first keys that a query gives.
  func keys(_ query: String) throws -> [Int64] {
    try reader.connection.run { db in
      try Int64.fetchAll(db, sql: "\(query) LIMIT \(Loss.keyLimit)")
    }
  }
}
