import ObjectMigration
import ObjectModel
package import Schema

/// An attribute whose value names an object wherever another one refers to it.
package struct ExportLabel: Hashable, Sendable {
  /// The entity.
  package var entity: String
  /// The attribute.
  package var attribute: String

  /// Takes the names of an entity and one of its attributes, which the plan does not check.
  package init(entity: String, attribute: String) {
    (self.entity, self.attribute) = (entity, attribute)
  }
}

/// The tables of an export and the queries that fill them, decided before anything is read.
package struct ExportPlan: Sendable {
  var scans: [ExportScan]
  /// The names of all entities, by number.
  var entityNames: [Int64: String]

  /// Plans the export of a store whose model is known.
  ///
  /// - Parameters:
  ///   - schema: the schema with the names that the store uses.
  ///   - entities: the entities to export, with their subentities; nil for all.
  ///   - labels: attributes that are shown next to references.
  package init(schema: StoreSchema, entities: Set<String>?, labels: [ExportLabel]) {
    let planner = ModelPlanner(schema: schema, entities: entities, labels: labels)
    scans = schema.tables.compactMap(planner.objects)
    scans += schema.tables.flatMap(planner.ownedPairs)
    scans += schema.joinTables.compactMap(planner.pairs)
    entityNames = planner.entityNames
  }

  init(scans: [ExportScan], entityNames: [Int64: String]) {
    (self.scans, self.entityNames) = (scans, entityNames)
  }

  /// The tables of the store that are read.
  package var sourceTables: [String] { scans.map(\.table) }
}

/// Makes the queries for a model.
private struct ModelPlanner {
  let schema: StoreSchema
  let entities: Set<String>?
  let labels: [ExportLabel]
  let entityNames: [Int64: String]
  private let facts: [String: EntityFacts]

  init(schema: StoreSchema, entities: Set<String>?, labels: [ExportLabel]) {
    (self.schema, self.labels) = (schema, labels)
    self.entities = entities.map { names in
      Set(names.flatMap { schema.model.family(of: $0).map(\.name) })
    }
    var names: [Int64: String] = [:]
    var facts: [String: EntityFacts] = [:]
    for entity in schema.model.entities {
      if let number = schema.numbers[entity.name] { names[number.rawValue] = entity.name }
      facts[entity.name] = EntityFacts(entity: entity, schema: schema)
    }
    (entityNames, self.facts) = (names, facts)
  }

  private func isWanted(_ entity: String) -> Bool { entities?.contains(entity) ?? true }

  // MARK: Objects

  func objects(of table: EntityTable) -> ExportScan? {
    let wanted = table.entityNames.filter(isWanted).compactMap { facts[$0] }
    if wanted.isEmpty { return nil }
    var builder = ScanBuilder(table: table.name, key: "t.Z_PK", entityNumber: "t.Z_ENT")
    var scan = ExportScan(table: table.name, sql: "")
    scan.entityNumbers = table.entityNames.compactMap { facts[$0]?.number }
    for facts in wanted {
      let columns = columns(of: facts, in: &builder)
      scan.outputs[facts.number] = ExportScan.Output(
        table: ExportTable(
          name: facts.entity.name, contents: .objects, columns: columns.map(\.column),
          isGuessed: false),
        sources: columns.map(\.source), isRequired: !facts.entity.isAbstract)
    }
    scan.sql = builder.sql(orderedBy: "t.Z_PK")
    return scan
  }

  private func columns(of facts: EntityFacts, in builder: inout ScanBuilder) -> [PlannedColumn] {
    var columns = [
      PlannedColumn(ExportColumn(name: "_key", kind: .key), .init(index: 0, conversion: .plain))
    ]
    for attribute in schema.model.allLeafAttributes(of: facts.entity) {
      guard let found = facts.attributes[attribute.name] else { continue }
      columns.append(
        PlannedColumn(
          attribute, column: facts.columns[found.index], entity: facts.entity.name, in: &builder))
    }
    for name in facts.relationships.keys.sorted() {
      guard let relationship = facts.relationships[name],
        case .toOne(let column, _, let order) = relationship.storage
      else { continue }
      columns += reference(
        named: name, to: relationship.relationship.destinationEntityName,
        key: ScanBuilder.own(column), in: &builder)
      if let order {
        columns.append(.order(named: "\(name)._order", ScanBuilder.own(order), in: &builder))
      }
    }
    return columns
  }

  /// The columns of a reference: its key, its entity where that may vary, and its labels.
  private func reference(
    named name: String, to destination: String, key: String, in builder: inout ScanBuilder
  ) -> [PlannedColumn] {
    var columns = [
      PlannedColumn(
        ExportColumn(name: name, kind: .reference, destination: destination),
        .init(index: builder.place(of: key), conversion: .plain))
    ]
    guard let target = schema.model.entity(name: destination).flatMap(schema.table(of:)) else {
      return columns
    }
    if !schema.model.subentities(of: destination).isEmpty {
      let number = "\(builder.join(target.name, key: key)).Z_ENT"
      columns.append(
        PlannedColumn(
          ExportColumn(name: "\(name)._entity", kind: .entity),
          .init(index: builder.place(of: number), conversion: .entityName)))
    }
    for label in labels {
      guard let facts = facts[label.entity],
        schema.model.isKind(label.entity, of: destination)
          || schema.model.isKind(destination, of: label.entity),
        let found = facts.attributes[label.attribute]
      else { continue }
      let alias = builder.join(target.name, key: key)
      let column = "\(alias).\(SQL.identifier(name: facts.columns[found.index]))"
      columns.append(
        PlannedColumn(
          ExportColumn(
            name: "\(name).\(label.attribute)", kind: .attribute(found.attribute.type)),
          .init(
            index: builder.place(of: column),
            conversion: .init(label: found.attribute.type))))
    }
    return columns
  }

  // MARK: Pairs

  /// The pairs of relationships without inverse, whose keys are on the rows of their members.
  func ownedPairs(of table: EntityTable) -> [ExportScan] {
    table.columns.compactMap { column in
      guard case .owner(let owner, let name) = column.role,
        isWanted(owner) || isWanted(table.rootName),
        let relationship = facts[owner]?.relationships[name]?.relationship
      else { return nil }
      let key = ScanBuilder.own(column.name)
      let order = table.column(role: .ownerOrder(entity: owner, name: name))?.name
      return pairs(
        named: "\(owner).\(name)", from: table.name,
        ends: [
          (owner, key, nil),
          (relationship.destinationEntityName, "t.Z_PK", order.map(ScanBuilder.own)),
        ], where: "\(key) IS NOT NULL")
    }
  }

  func pairs(of table: JoinTable) -> ExportScan? {
    guard isWanted(table.first.entityName) || isWanted(table.second.entityName) else { return nil }
    return pairs(
      named: "\(table.first.entityName).\(table.first.relationshipName)", from: table.name,
      ends: [table.first, table.second].map {
        ($0.entityName, ScanBuilder.own($0.keyColumn), $0.orderColumn.map(ScanBuilder.own))
      }, where: nil)
  }

  private typealias End = (entity: String, key: String, order: String?)

  private func pairs(
    named name: String, from table: String, ends: [End], where condition: String?
  ) -> ExportScan {
    var builder = ScanBuilder(table: table, key: ends[0].key, entityNumber: "0")
    var columns: [PlannedColumn] = []
    for (end, title) in zip(ends, ["owner", "member"]) {
      columns += reference(named: title, to: end.entity, key: end.key, in: &builder)
      if let order = end.order {
        columns.append(.order(named: "\(title)._order", order, in: &builder))
      }
    }
    let output = ExportScan.Output(
      table: ExportTable(
        name: name, contents: .pairs, columns: columns.map(\.column), isGuessed: false),
      sources: columns.map(\.source), isRequired: true)
    return ExportScan(table: table, sql: builder.sql(where: condition), outputs: [0: output])
  }
}

/// A column of the export with its source.
struct PlannedColumn {
  var column: ExportColumn
  var source: ExportScan.Source

  init(_ column: ExportColumn, _ source: ExportScan.Source) {
    (self.column, self.source) = (column, source)
  }

  /// The value of an attribute.
  init(
    _ attribute: Attribute, column: String, entity: String, in builder: inout ScanBuilder
  ) {
    let type = attribute.type
    let holdsBytes = type == .binary || type == .transformable
    let conversion: ExportScan.Source.Conversion =
      holdsBytes
      ? .bytes(column: column, isExternal: attribute.storesBinaryDataExternally)
      : .init(label: type)
    let index =
      holdsBytes
      ? builder.place(ofBytes: column) : builder.place(of: ScanBuilder.own(column))
    self.init(
      ExportColumn(name: attribute.name, kind: .attribute(type)),
      .init(index: index, conversion: conversion, folder: "\(entity).\(attribute.name)"))
  }

  /// A place in an order.
  static func order(
    named name: String, _ expression: String, in builder: inout ScanBuilder
  ) -> PlannedColumn {
    PlannedColumn(
      ExportColumn(name: name, kind: .order),
      .init(index: builder.place(of: expression), conversion: .plain))
  }
}

extension ExportScan.Source.Conversion {
  /// The conversion of values that are not bytes.
  fileprivate init(label type: AttributeType) {
    switch type {
    case .boolean: self = .boolean
    case .decimal: self = .decimal
    case .date: self = .date
    case .string, .uri: self = .text
    case .uuid: self = .uuid
    case .integer16, .integer32, .integer64, .double, .float, .undefined, .binary, .transformable,
      .objectID, .composite:
      self = .plain
    }
  }
}
