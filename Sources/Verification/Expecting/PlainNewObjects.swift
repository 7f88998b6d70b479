import Expressions
import Mapping
import ObjectModel
import Schema
import StoreFormat

/// Computes new objects, and the order of sorted relationships, by SQL over the old store, and
/// restores what an object-by-object migration has made otherwise.
///
/// It covers mappings of all objects of an entity, whose keys stay, by an attribute or a
/// relationship; the verification does not rely on its own objects there. The rest is what the
/// objects came to.
struct PlainNewObjects {
  let step: VerificationOrder.Step
  let sourceSchema: StoreSchema
  let made: RawStore
  let destination: StoreSchema

  /// The highest keys of the tables that were computed, by root entity.
  func apply(reading source: RawStore) throws -> [String: Int64] {
    var maxima: [String: Int64] = [:]
    let isWanted = step.mappings.flatMap(\.entityMappings).contains { mapping in
      mapping.newObjects != nil
        || mapping.relationshipMappings.contains { !$0.sortedBy.isEmpty }
    }
    guard isWanted else { return [:] }
    try made.execute("ATTACH \(quoted(StoreConnection.uri(reading: source.path))) AS old")
    for model in step.mappings {
      for mapping in model.entityMappings {
        if let plain = Plain(mapping, of: model, old: sourceSchema, new: destination) {
          let highest = try restore(plain)
          maxima[destination.model.root(of: plain.entity).name] = highest
        }
      }
      // Sorted relationships may hold new objects.
      for mapping in model.entityMappings {
        for property in mapping.relationshipMappings where !property.sortedBy.isEmpty {
          let order = PlainOrder(
            property, mapping: mapping, of: model, old: sourceSchema, new: destination)
          if let order { try made.execute(order.statement) }
        }
      }
    }
    try made.execute("DETACH old")
    return maxima
  }

  private func quoted(_ text: String) -> String {
    "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
  }

  /// Makes the rows what they have to be; their highest key.
  private func restore(_ plain: Plain) throws -> Int64 {
    let table = "main.\(plain.table)"
    let columns = plain.columns.map { ", \($0)" }.joined()
    try made.execute(
      """
      DROP TABLE IF EXISTS temp.wanted;
      CREATE TEMP TABLE wanted (key INTEGER PRIMARY KEY\(columns), value);
      INSERT INTO wanted \(plain.wanted);
      CREATE INDEX temp.wanted_value ON wanted (value);
      DELETE FROM \(table) WHERE Z_PK NOT IN (SELECT key FROM wanted);
      INSERT INTO \(table) (Z_PK, Z_ENT, Z_OPT)
      SELECT key, \(plain.number), 1 FROM wanted WHERE key NOT IN (SELECT Z_PK FROM \(table));
      """)
    for column in plain.columns {
      let wanted = "(SELECT w.\(column) FROM wanted AS w WHERE w.key = Z_PK)"
      try made.execute(
        "UPDATE \(table) SET \(column) = \(wanted) WHERE \(column) IS NOT \(wanted)")
    }
    for statement in plain.references { try made.execute(statement) }
    return try made.number(sql: "SELECT max(key) FROM wanted")
  }
}

/// A mapping of new objects in SQL.
private struct Plain {
  let entity: Entity
  let table: String
  let number: Int64
  /// The columns of new rows that are known, in the order of `wanted`.
  private(set) var columns: [String] = []
  /// Selects keys, the columns and the value that makes an object.
  private(set) var wanted = ""
  /// Statements that set the references to the new rows.
  private(set) var references: [String] = []

  private let objects: NewObjects
  private let model: MappingModel
  private let origin: Entity
  private let originNumber: Int64
  private let originRows: String
  private let kept: KeptKeys

  init?(_ mapping: EntityMapping, of model: MappingModel, old: StoreSchema, new: StoreSchema) {
    kept = KeptKeys(model.entityMappings, old: old, new: new)
    guard let objects = mapping.newObjects, mapping.takesAll,
      let entity = mapping.destinationEntityName.flatMap({ new.model.entity(name: $0) }),
      let place = new.table(of: entity), let number = new.numbers[entity.name]?.rawValue,
      let origin = mapping.sourceEntityName.flatMap({ old.model.entity(name: $0) }),
      let from = old.table(of: origin), let oldNumber = old.numbers[origin.name]?.rawValue,
      kept.makers(into: place.name).count == 1
    else { return nil }
    (self.entity, table, self.number) = (entity, SQL.identifier(name: place.name), number)
    (self.objects, self.model, self.origin, originNumber) = (objects, model, origin, oldNumber)
    originRows = "old.\(SQL.identifier(name: from.name))"
    let isPlain =
      switch objects.unit {
      case .pair(let name): selectPairs(name, old: old, new: new)
      case .value(.keyPath(.variable("source")?, let name), let takesNil):
        selectValues(name, takesNil: takesNil, old: old, new: new)
      case .value: false
      case .all: selectOne(old: old, new: new)
      }
    guard isPlain else { return nil }
  }

  private mutating func selectPairs(_ name: String, old: StoreSchema, new: StoreSchema) -> Bool {
    guard let pairs = old.pairs(of: name, in: origin) else { return false }
    var tests = ["o.Z_ENT = \(originNumber)"]
    var values = ["row_number() OVER (ORDER BY p.owner, p.place, p.member)"]
    for (relationship, key, end) in [
      (objects.sourceRelationship, "p.owner", origin),
      (objects.memberRelationship, "p.member", pairs.target),
    ] {
      guard let relationship else { continue }
      guard let column = new.reference(relationship, of: entity),
        let ends = kept.single(from: end)
      else { return false }
      columns.append(column)
      values.append(key)
      // A pair goes with an object that no mapping takes.
      tests.append("\(key) IN (SELECT Z_PK FROM main.\(ends))")
    }
    wanted = """
      SELECT \((values + ["NULL"]).joined(separator: ", ")) FROM (\(pairs.query)) AS p
      JOIN \(originRows) AS o ON o.Z_PK = p.owner JOIN \(pairs.targetRows) AS m
      ON m.Z_PK = p.member WHERE \(tests.joined(separator: " AND "))
      """
    return true
  }

  private mutating func selectValues(
    _ name: String, takesNil: Bool, old: StoreSchema, new: StoreSchema
  ) -> Bool {
    guard let attribute = objects.attribute, let to = new.column(attribute, of: entity),
      let value = old.column(name, of: origin), to.type == value.type, !to.isExternal,
      !value.isExternal
    else { return false }
    columns = [to.name]
    wanted = """
      SELECT row_number() OVER (ORDER BY min(Z_PK)), \(value.name), \(value.name)
      FROM \(originRows) WHERE Z_ENT = \(originNumber)
      \(takesNil ? "" : "AND \(value.name) IS NOT NULL") GROUP BY \(value.name)
      """
    // A value without the affinity of its column is looked up in the index.
    return addReferences(
      to: """
        SELECT w.key FROM \(originRows) AS s JOIN wanted AS w ON w.value IS +s.\(value.name)
        """, new: new)
  }

  private mutating func selectOne(old: StoreSchema, new: StoreSchema) -> Bool {
    wanted = "SELECT 1, NULL"
    return addReferences(to: "SELECT 1 FROM \(originRows) AS s", new: new)
  }

  /// Adds what the other ends of the references hold; false where it is not known.
  private mutating func addReferences(to query: String, new: StoreSchema) -> Bool {
    guard let name = objects.sourceRelationship else { return true }
    guard
      let relationship = new.model.relationship(named: name, of: entity),
      relationship.isToMany, let inverse = new.model.inverseWithOwner(of: relationship),
      !inverse.relationship.isToMany,
      let column = new.reference(inverse.relationship.name, of: inverse.entity),
      let ends = kept.single(from: origin),
      // Another mapping may define the other end.
      !model.entityMappings.contains(where: { mapping in
        mapping.relationshipMappings.contains {
          $0.name == inverse.relationship.name && $0.valueExpression != nil
        }
      })
    else { return false }
    let wanted = "(\(query) WHERE s.Z_PK = r.Z_PK AND s.Z_ENT = \(originNumber))"
    references.append(
      "UPDATE main.\(ends) AS r SET \(column) = \(wanted) WHERE \(column) IS NOT \(wanted)")
    return true
  }
}

/// The order of a sorted relationship in SQL.
private struct PlainOrder {
  let statement: String

  init?(
    _ property: PropertyMapping, mapping: EntityMapping, of model: MappingModel,
    old: StoreSchema, new: StoreSchema
  ) {
    let kept = KeptKeys(model.entityMappings, old: old, new: new)
    guard let owner = mapping.destinationEntityName.flatMap({ new.model.entity(name: $0) }),
      let relationship = new.model.relationship(named: property.name, of: owner),
      let rows = new.orderedRows(of: relationship, in: owner),
      new.table(of: owner).map({ kept.makers(into: $0.name).count }) == 1,
      let target = new.model.entity(name: relationship.destinationEntityName),
      let table = new.table(of: target), kept.makers(into: table.name).count == 1,
      let maker = kept.makers(into: table.name).first, maker.newObjects == nil,
      let origin = maker.sourceEntityName.flatMap({ old.model.entity(name: $0) }),
      kept.single(from: origin) != nil, let from = old.table(of: origin)
    else { return nil }
    var order: [String] = []
    for key in property.sortedBy {
      guard let column = old.column(key.path, of: origin) else { return nil }
      order.append("s.\(column.name)\(key.isDescending ? " DESC" : "")")
    }
    let (name, key) = (SQL.identifier(name: rows.table), rows.member)
    statement = """
      UPDATE main.\(name) AS r SET \(rows.place) = n.place FROM (
        SELECT t.rowid AS row, 1024 + 1024 * row_number() OVER (
          PARTITION BY t.\(rows.owner) ORDER BY \((order + ["t.\(key)"]).joined(separator: ", "))
        ) AS place FROM main.\(name) AS t
        JOIN old.\(SQL.identifier(name: from.name)) AS s ON s.Z_PK = t.\(key)
        WHERE t.\(rows.owner) IS NOT NULL
      ) AS n WHERE n.row = r.rowid AND r.\(rows.place) IS NOT n.place
      """
  }
}
