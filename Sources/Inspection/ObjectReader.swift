import Expressions
package import GRDB
import ObjectMigration
import ObjectModel
package import Schema
package import SystemPackage

/// Reads objects of a store for people: values by their types, of long ones the beginning.
package final class ObjectReader {
  let schema: StoreSchema
  let statements: PreparedStatements
  var isUTF16: Bool { statements.isUTF16 }
  let support: FilePath
  private let extent: ValueExtent
  private var facts: [String: EntityFacts] = [:]
  private var readers: [String: CellReader] = [:]

  /// Takes a connection to a store, the schema with the names that the store uses, and the folder
  /// of its external files.
  package init(
    db: Database, schema: StoreSchema, support: FilePath, extent: ValueExtent = .beginning
  ) {
    statements = PreparedStatements(db)
    self.schema = schema
    self.support = support
    self.extent = extent
    for entity in schema.model.entities {
      facts[entity.name] = EntityFacts(entity: entity, schema: schema)
    }
  }

  /// Ends what would keep the connection from closing.
  package func close() {
    for reader in readers.values { reader.close() }
    readers = [:]
    statements.close()
  }

  /// The object of an entity and a key; without properties where the store has no table of it.
  package func object(of entity: String, key: Int64) throws -> InspectedObject {
    var object = InspectedObject(entity: entity, key: key, properties: [])
    guard let facts = facts[entity] else { return object }
    for name in facts.attributes.keys.sorted() {
      if let property = try attribute(named: name, of: facts, key: key) {
        object.properties.append(property)
      }
    }
    for name in facts.relationships.keys.sorted() {
      if let property = try relationship(named: name, of: facts, key: key) {
        object.properties.append(property)
      }
    }
    return object
  }

  /// A property of an object; nil where its entity stores none of that name.
  package func property(named name: String, of entity: String, key: Int64) throws
    -> InspectedProperty?
  {
    guard let facts = facts[entity] else { return nil }
    return try attribute(named: name, of: facts, key: key)
      ?? relationship(named: name, of: facts, key: key)
  }

  /// The cells of an entity's rows, its attributes' columns first.
  func reader(of facts: EntityFacts) -> CellReader {
    if let known = readers[facts.entity.name] { return known }
    let made = CellReader(
      table: facts.tableName, columns: facts.columns, statements: statements, isUTF16: isUTF16)
    readers[facts.entity.name] = made
    return made
  }

  // MARK: Attributes

  private func attribute(
    named name: String, of facts: EntityFacts, key: Int64
  ) throws -> InspectedProperty? {
    guard let found = facts.attributes[name] else { return nil }
    let attribute = found.attribute
    var property = InspectedProperty(name: name, type: attribute.type.name)
    let reader = reader(of: facts)
    guard
      let cell = try reader.cell(column: found.index, key: key, head: extent.textBytes)
    else {
      property.fault = "there is no such row"
      return property
    }
    if case .blob(_, let bytes) = cell, attribute.type.holdsBytes {
      property.bytes = bytes
      try describe(
        try reader.handle(column: found.index, key: key), of: attribute, in: &property)
    } else {
      property.take(cell, of: attribute, isUTF16: isUTF16, extent: extent)
      if property.fault == nil, !property.isCut {
        property.value = found.value(stored: cell.stored(isUTF16: isUTF16))
      }
    }
    return property
  }

  private func describe(
    _ handle: BlobHandle, of attribute: Attribute, in property: inout InspectedProperty
  ) throws {
    do {
      let value = try ValueBytes(
        of: handle, isExternal: attribute.storesBinaryDataExternally, support: support)
      defer { value.close() }
      property.bytes = value.count
      property.file = value.file
      let form = try BinaryForm(
        value, isTransformable: attribute.type == .transformable, extent: extent)
      (property.text, property.isCut) = (form.text, form.isCut)
      property.value = form.bytes.map { .data($0) }
    } catch let fault as ValueBytes.Fault {
      (property.file, property.fault) = (fault.file, fault.words)
      property.bytes = nil
      property.text = ""
    }
  }

  // MARK: Relationships

  /// How many objects of a to-many relationship are named.
  static let firstObjects = 5

  private func relationship(
    named name: String, of facts: EntityFacts, key: Int64
  ) throws -> InspectedProperty? {
    guard let found = facts.relationships[name], !found.relationship.isTransient else { return nil }
    let relationship = found.relationship
    let words = relationship.isOrdered ? "ordered to many" : "to many"
    var property = InspectedProperty(name: name, type: relationship.isToMany ? words : "to one")
    switch found.storage {
    case .none: property.fault = "its table is missing"
    case .toOne(let column, _, _):
      let index = facts.columns.firstIndex(of: column)
      let cell = try index.flatMap { try reader(of: facts).cell(column: $0, key: key) }
      switch cell {
      case nil, .null?: break
      case .integer(let target)?: property.references = [try reference(to: target, of: found)]
      case let other?: property.fault = "\(other.kindWords) instead of a key"
      }
    case .children(let table, let column, _, let order):
      let places = [order, "Z_PK"].compactMap(\.self).map(SQL.identifier)
      try members(
        from: "main.\(SQL.identifier(name: table)) AS t",
        owner: "t.\(SQL.identifier(name: column))", columns: "t.Z_PK, t.Z_ENT, 1",
        order: places.map { "t.\($0)" }, of: key, relationship: found, into: &property)
    case .join(let table, let owner, let target, let order, _):
      let (mine, theirs) = (SQL.identifier(name: owner), SQL.identifier(name: target))
      let places = [order.map { SQL.identifier(name: $0) }, theirs].compactMap(\.self)
      try members(
        from: """
          main.\(SQL.identifier(name: table)) AS j LEFT JOIN \
          main.\(SQL.identifier(name: found.targetTable)) AS t ON t.Z_PK = j.\(theirs)
          """,
        owner: "j.\(mine)", columns: "j.\(theirs), t.Z_ENT, t.Z_PK IS NOT NULL",
        order: places.map { "j.\($0)" }, of: key, relationship: found, into: &property)
    }
    return property
  }

  private func members(
    from: String, owner: String, columns: String, order: [String], of key: Int64,
    relationship: RelationshipFacts, into property: inout InspectedProperty
  ) throws {
    let count = try statements.statement(
      sql: "SELECT count(*) FROM \(from) WHERE \(owner) = ?1")
    count.bind(key, at: 1)
    guard try count.step() else { return }
    property.count = count.integer(column: 0)
    count.reset()
    if property.count == 0 { return }
    let first = try statements.statement(
      sql: """
        SELECT \(columns) FROM \(from) WHERE \(owner) = ?1 \
        ORDER BY \(order.joined(separator: ", ")) LIMIT \(Self.firstObjects)
        """)
    first.bind(key, at: 1)
    defer { first.reset() }
    while try first.step() {
      property.references.append(
        reference(
          to: first.integer(column: 0), number: first.key(column: 1),
          exists: first.integer(column: 2) == 1, of: relationship))
    }
  }

  private func reference(
    to key: Int64, of relationship: RelationshipFacts
  ) throws -> InspectedReference {
    let statement = try statements.statement(
      sql: """
        SELECT Z_ENT FROM main.\(SQL.identifier(name: relationship.targetTable)) WHERE Z_PK = ?1
        """)
    statement.bind(key, at: 1)
    let exists = try statement.step()
    defer { statement.reset() }
    return reference(
      to: key, number: exists ? statement.key(column: 0) : nil, exists: exists, of: relationship)
  }

  private func reference(
    to key: Int64, number: Int64?, exists: Bool, of relationship: RelationshipFacts
  ) -> InspectedReference {
    let expected = relationship.relationship.destinationEntityName
    guard exists else {
      return InspectedReference(entity: expected, key: key, fault: "there is no such object")
    }
    guard let name = number.flatMap({ schema.numbers[EntityNumber(rawValue: $0)] }) else {
      let words = number.map { "unknown entity number \($0)" } ?? "no entity number"
      return InspectedReference(entity: expected, key: key, fault: words)
    }
    let fits = relationship.targetNames.contains(name)
    return InspectedReference(
      entity: name, key: key, fault: fits ? nil : "which is no \(expected)")
  }
}

extension AttributeType {
  /// Whether its values are bytes that people see the beginning of.
  fileprivate var holdsBytes: Bool {
    switch self {
    case .binary, .transformable: true
    case .undefined, .integer16, .integer32, .integer64, .decimal, .double, .float, .string,
      .boolean, .date, .uuid, .uri, .objectID, .composite:
      false
    }
  }
}
