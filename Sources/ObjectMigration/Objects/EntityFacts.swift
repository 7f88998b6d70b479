package import Expressions
package import ObjectModel
package import Schema

/// Where a store keeps the objects of a relationship.
package enum RelationshipStorage {
  /// The owner's row has the key of the object.
  case toOne(column: String, entityColumn: String?, orderColumn: String?)
  /// The rows of the objects have the owner's key.
  case children(table: String, column: String, entityColumn: String?, orderColumn: String?)
  /// Pairs of keys; the order column holds the place of the object among the owner's.
  case join(
    table: String, owner: String, target: String, orderColumn: String?, ownerOrderColumn: String?)
  /// Transient, or in a table that the store lacks.
  case none
}

/// One relationship of an entity, with where its objects are.
package final class RelationshipFacts {
  /// The model's description of it.
  package let relationship: Relationship
  /// Where the store keeps its objects.
  package fileprivate(set) var storage = RelationshipStorage.none
  /// The table of the entity itself.
  let ownerTable: String
  /// The table of the destination entity, and its place among the tables.
  package let targetTable: String
  let targetTableIndex: Int
  /// The entities whose objects it may hold.
  package let targetNames: Set<String>
  /// The column of the other end, if it is a to-one relationship.
  fileprivate(set) var inverseColumn: String?
  fileprivate(set) var inverseEntityColumn: String?
  /// Whether each reference leads both ways.
  fileprivate(set) var isOwnInverse = false
  /// The number of the destination entity, where nothing inherits from it.
  fileprivate(set) var onlyNumber: Int64?
  /// What reads and writes it, once something does.
  var statements: RelationshipStatements?
  /// Whether it was read from an object.
  var isRead = false

  var name: String { relationship.name }

  /// Whether a to-one relationship can be set whatever it was before: neither the other end of a
  /// pair nor a place in an order depends on that.
  var isPlain: Bool {
    if case .toOne(_, _, nil) = storage { inverseColumn == nil } else { false }
  }

  fileprivate init(
    relationship: Relationship, ownerTable: String, targetTable: EntityTable?,
    targetTableIndex: Int, targetNames: Set<String>
  ) {
    self.relationship = relationship
    self.ownerTable = ownerTable
    self.targetTable = targetTable?.name ?? ""
    self.targetTableIndex = targetTableIndex
    self.targetNames = targetNames
  }
}

/// One stored attribute of an entity and its column.
package final class AttributeFacts {
  /// The model's description of it.
  package let attribute: Attribute
  /// The place among the columns of the entity's rows.
  package let index: Int
  let form: AttributeForm

  fileprivate init(attribute: Attribute, index: Int) {
    self.attribute = attribute
    form = AttributeForm(attribute)
    self.index = index
  }

  /// The value of the attribute by what a store holds, apart from those in files of their own.
  package func value(stored: StoredValue) -> AttributeValue {
    AttributeConversion.value(stored: stored, of: form)
  }
}

/// What it takes to read and write the objects of one entity.
package final class EntityFacts {
  /// The model's description of it.
  package let entity: Entity
  /// Its number in the store.
  package let number: Int64
  /// The table of its rows.
  package let tableName: String
  /// The place of the table among those of the schema.
  let tableIndex: Int
  /// The columns that rows are read with: attributes first, then the keys of to-one relationships.
  package let columns: [String]
  /// The stored attributes, by name.
  package let attributes: [String: AttributeFacts]
  /// The relationships, by name.
  package let relationships: [String: RelationshipFacts]
  let columnIndexes: [String: Int]
  /// The names of the elements of each composite attribute, in declared order.
  let composites: [String: [String]]
  /// Names that exist and are never stored.
  let unstored: Set<String>

  /// The attributes by their places.
  private let ordered: [Attribute]
  /// The columns of a new object, with the default values of its attributes.
  let newRow: [StoredValue]
  /// What reads and writes rows, once something does.
  var statements: EntityStatements?
  /// What was copied last from objects of another entity.
  var copies: AttributeCopies?
  /// Whether an attribute was read from an object, by the places of attributes.
  private(set) var isRead: [Bool]

  var name: String { entity.name }

  /// The names that values and objects can be read by, sorted.
  var propertyNames: [String] {
    let parts = Set(composites.flatMap { name, parts in parts.map { "\(name).\($0)" } })
    let names = attributes.keys.filter { !parts.contains($0) } + composites.keys
    return (names + relationships.keys).sorted()
  }

  /// The attribute whose column has that place; nil where it is a relationship's.
  func attribute(at index: Int) -> Attribute? {
    ordered.indices.contains(index) ? ordered[index] : nil
  }

  /// Records that the attribute at that place was read from an object.
  func noteRead(at index: Int) { isRead[index] = true }

  /// Finds the columns of an entity; nil where the schema has no table of it.
  package init?(entity: Entity, schema: StoreSchema) {
    guard let table = schema.table(of: entity), let number = schema.numbers[entity.name],
      let index = schema.tables.firstIndex(where: { $0.name == table.name })
    else { return nil }
    tableIndex = index
    self.entity = entity
    self.number = number.rawValue
    tableName = table.name
    let reader = FactsReader(schema: schema, entity: entity, table: table)
    var columns: [String] = []
    var attributes: [String: AttributeFacts] = [:]
    var unstored = Set(schema.model.lineage(of: entity).flatMap(\.fetchedProperties).map(\.name))
    for attribute in schema.model.allLeafAttributes(of: entity) {
      guard let column = reader.column(of: attribute) else {
        unstored.insert(attribute.name)
        continue
      }
      attributes[attribute.name] = AttributeFacts(attribute: attribute, index: columns.count)
      columns.append(column)
    }
    var relationships: [String: RelationshipFacts] = [:]
    for relationship in schema.model.allRelationships(of: entity) {
      let facts = reader.facts(of: relationship)
      relationships[relationship.name] = facts
      if case .toOne(let column, let entityColumn, let orderColumn) = facts.storage {
        columns += [column, entityColumn, orderColumn].compactMap(\.self)
      }
    }
    self.columns = columns
    self.attributes = attributes
    ordered = attributes.values.sorted { $0.index < $1.index }.map(\.attribute)
    newRow = Self.newRow(attributes, columns: columns.count)
    isRead = [Bool](repeating: false, count: columns.count)
    self.relationships = relationships
    composites = Dictionary(
      schema.model.allAttributes(of: entity).filter { $0.type == .composite && !$0.isTransient }
        .map { ($0.name, $0.elements.map(\.name)) }, uniquingKeysWith: { first, _ in first })
    self.unstored = unstored
    columnIndexes = Dictionary(
      columns.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
  }
}

extension EntityFacts {
  private static func newRow(
    _ attributes: [String: AttributeFacts], columns: Int
  ) -> [StoredValue] {
    var row = [StoredValue](repeating: .null, count: columns)
    for facts in attributes.values {
      row[facts.index] = StoredValue(value: facts.attribute.defaultValue, of: facts.attribute)
    }
    return row
  }
}

/// Finds the columns of an entity's properties in a schema.
private struct FactsReader {
  let schema: StoreSchema
  let entity: Entity
  let table: EntityTable

  func column(of attribute: Attribute) -> String? {
    guard !attribute.isTransient else { return nil }
    for level in schema.model.lineage(of: entity) {
      let role = Column.Role.attribute(entity: level.name, name: attribute.name)
      if let column = table.column(role: role) { return column.name }
    }
    return nil
  }

  func facts(of relationship: Relationship) -> RelationshipFacts {
    let model = schema.model
    let family = model.family(of: relationship.destinationEntityName)
    let target = model.entity(name: relationship.destinationEntityName)
    let targetTable = target.flatMap { schema.table(of: $0) }
    let facts = RelationshipFacts(
      relationship: relationship, ownerTable: table.name, targetTable: targetTable,
      targetTableIndex: schema.tables.firstIndex { $0.name == targetTable?.name } ?? -1,
      targetNames: Set(family.map(\.name)))
    if family.count == 1 {
      facts.onlyNumber = schema.numbers[relationship.destinationEntityName]?.rawValue
    }
    guard !relationship.isTransient, let targetTable else { return facts }
    let inverse = model.inverseWithOwner(of: relationship)
    facts.isOwnInverse = model.isOwnInverse(relationship, of: entity)
    if let inverse, !inverse.relationship.isToMany {
      let (owner, name) = (inverse.entity.name, inverse.relationship.name)
      facts.inverseColumn = targetTable.column(role: .toOne(entity: owner, name: name))?.name
      facts.inverseEntityColumn =
        targetTable.column(role: .toOneEntity(entity: owner, name: name))?.name
    }
    if !relationship.isToMany {
      facts.storage = toOne(relationship: relationship)
    } else if let inverse, inverse.relationship.isToMany {
      facts.storage = join(
        relationship, inverseOwner: inverse.entity.name, inverseName: inverse.relationship.name)
    } else {
      facts.storage = children(
        relationship: relationship, inverseOwner: inverse?.entity.name, facts: facts,
        target: targetTable)
    }
    return facts
  }

  private var lineage: [String] { schema.model.lineage(of: entity).map(\.name) }

  private func toOne(relationship: Relationship) -> RelationshipStorage {
    for level in lineage {
      guard let column = table.column(role: .toOne(entity: level, name: relationship.name)) else {
        continue
      }
      return .toOne(
        column: column.name,
        entityColumn: table.column(role: .toOneEntity(entity: level, name: relationship.name))?
          .name,
        orderColumn: table.column(role: .toOneOrder(entity: level, name: relationship.name))?.name)
    }
    return .none
  }

  private func children(
    relationship: Relationship, inverseOwner: String?, facts: RelationshipFacts,
    target: EntityTable
  ) -> RelationshipStorage {
    if let column = facts.inverseColumn, let inverseOwner, let name = relationship.inverseName {
      return .children(
        table: target.name, column: column, entityColumn: facts.inverseEntityColumn,
        orderColumn: target.column(role: .toOneOrder(entity: inverseOwner, name: name))?.name)
    }
    for level in lineage {
      guard let column = target.column(role: .owner(entity: level, name: relationship.name)) else {
        continue
      }
      return .children(
        table: target.name, column: column.name, entityColumn: nil,
        orderColumn: target.column(role: .ownerOrder(entity: level, name: relationship.name))?.name)
    }
    return .none
  }

  private func join(
    _ relationship: Relationship, inverseOwner: String, inverseName: String
  ) -> RelationshipStorage {
    for level in lineage {
      for join in schema.joinTables {
        let ends = [(join.first, join.second), (join.second, join.first)]
        for (mine, theirs) in ends
        where mine.entityName == level && mine.relationshipName == relationship.name {
          return .join(
            table: join.name, owner: mine.keyColumn, target: theirs.keyColumn,
            orderColumn: theirs.orderColumn, ownerOrderColumn: mine.orderColumn)
        }
      }
    }
    return .none
  }
}
