import GRDB
package import ObjectModel
import Schema
package import StoreFormat

/// The numbers of objects and references of a store, counted row by row.
package struct ObjectCounts: Hashable, Sendable {
  /// The references of one relationship; the pairs of a many-to-many relationship count once, under
  /// the relationship after which its table is named.
  package struct References: Hashable, Sendable {
    /// The entity that declares the relationship.
    package var entity: String
    /// The relationship.
    package var relationship: String
    /// The references, those that lead nowhere among them.
    package var count: Int64
  }

  /// Objects by entity, without those of subentities; entities without objects are missing.
  package private(set) var objects: [String: Int64] = [:]
  /// References by relationship, in the order of the tables; relationships without any are missing.
  package private(set) var references: [References] = []

  /// Counts the rows of an open store.
  package init(_ reader: StoreReader, model: ManagedObjectModel) throws {
    let catalog = try reader.catalog()
    let schema = try StoreSchema(model).resolved(in: catalog).schema
    for table in schema.tables {
      try count(table, schema: schema, columns: catalog.tables[table.name] ?? [], reader: reader)
    }
    for table in schema.joinTables where catalog.tables[table.name] != nil {
      let pairs = try reader.rowCount(of: table.name, by: .rows)
      note(pairs, entity: table.first.entityName, relationship: table.first.relationshipName)
    }
  }

  /// A column of references, and the entities whose rows have it.
  private struct ReferenceColumn {
    var name, entity, relationship: String
    var numbers: Set<EntityNumber>
  }

  private mutating func count(
    _ table: EntityTable, schema: StoreSchema, columns: Set<String>, reader: StoreReader
  ) throws {
    let kept = table.columns.compactMap { column -> ReferenceColumn? in
      guard columns.contains(column.name) else { return nil }
      switch column.role {
      case .toOne(let entity, let name):
        return ReferenceColumn(
          name: column.name, entity: entity, relationship: name,
          numbers: Self.numbers(ofFamily: entity, schema))
      case .owner(let entity, let name):
        let owner = schema.model.entity(name: entity)
        let destination = owner?.relationships.first { $0.name == name }?.destinationEntityName
        return ReferenceColumn(
          name: column.name, entity: entity, relationship: name,
          numbers: Self.numbers(ofFamily: destination ?? "", schema))
      default: return nil
      }
    }
    let own = Set(table.entityNames.compactMap { schema.numbers[$0] })
    let counts = kept.map { ", count(\(SQL.identifier(name: $0.name)))" }.joined()
    var sums = [Int64](repeating: 0, count: kept.count)
    try reader.connection.run { db in
      let rows = try Row.fetchCursor(
        db,
        sql: "SELECT Z_ENT, count(*)\(counts) FROM \(SQL.identifier(name: table.name)) NOT INDEXED "
          + "GROUP BY Z_ENT")
      while let row = try rows.next() {
        let number = EntityNumber(rawValue: Int64.fromDatabaseValue(row[0]) ?? 0)
        guard own.contains(number), let name = schema.numbers[number] else { continue }
        objects[name, default: 0] += Int64.fromDatabaseValue(row[1]) ?? 0
        for (index, column) in kept.enumerated() where column.numbers.contains(number) {
          sums[index] += Int64.fromDatabaseValue(row[index + 2]) ?? 0
        }
      }
    }
    for (column, sum) in zip(kept, sums) {
      note(sum, entity: column.entity, relationship: column.relationship)
    }
  }

  private mutating func note(_ count: Int64, entity: String, relationship: String) {
    guard count > 0 else { return }
    references.append(.init(entity: entity, relationship: relationship, count: count))
  }

  /// The numbers of an entity and its subentities.
  private static func numbers(ofFamily name: String, _ schema: StoreSchema) -> Set<EntityNumber> {
    Set(schema.model.family(of: name).compactMap { schema.numbers[$0.name] })
  }
}
