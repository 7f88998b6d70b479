import Expressions
import Foundation
import GRDB
import Mapping
import ObjectModel
import Schema
import StoreFormat
import SystemPackage
import TestSupport

/// Models of a herd: all creatures in one entity, or each kind in its own.
enum Herds {
  static func attribute(
    _ name: String, _ type: AttributeType, optional: Bool = true
  ) -> Attribute {
    var attribute = Attribute(name: name, type: type)
    attribute.isOptional = optional
    return attribute
  }

  private static func relationship(
    _ name: String, _ destination: String, _ inverse: String?, many: Bool = false,
    ordered: Bool = false
  ) -> Relationship {
    var relationship = Relationship(name: name, to: destination, inverse: inverse, isToMany: many)
    relationship.isOptional = true
    relationship.isOrdered = ordered
    return relationship
  }

  private static func creature(_ name: String, members: String) -> Entity {
    var entity = Entity(name)
    entity.attributes = [
      attribute("name", .string), attribute("age", .integer32), attribute("kind", .string),
    ]
    entity.relationships = [
      relationship("herd", "Herd", members),
      relationship("likes", name, "likedBy", many: true),
      relationship("likedBy", name, "likes", many: true),
      relationship("partner", name, "partner"),
    ]
    return entity
  }

  private static func herd(_ members: [(String, String)]) -> Entity {
    var entity = Entity("Herd")
    entity.attributes = [attribute("name", .string)]
    entity.relationships = members.map {
      relationship($0.0, $0.1, "herd", many: true, ordered: true)
    }
    return entity
  }

  static func together() throws -> ManagedObjectModel {
    try ManagedObjectModel(entities: [
      creature("Object", members: "members"), herd([("members", "Object")]),
    ])
  }

  static func apart() throws -> ManagedObjectModel {
    try ManagedObjectModel(entities: [
      creature("Human", members: "humans"), creature("Animal", members: "animals"),
      herd([("humans", "Human"), ("animals", "Animal")]),
    ])
  }

  /// The mapping that splits objects by their kind.
  static func split() throws -> MappingModel {
    MappingModel(entityMappings: [
      try herd(
        [("humans", "ObjectToHuman"), ("animals", "ObjectToAnimal")].map { name, mapping in
          (name, .destinations(ofRelationship: "members", mapping: mapping))
        }),
      try creature("Object", "Human", where: "kind == 'human'", age: "$source.age + 1"),
      try creature("Object", "Animal", where: "kind != 'human'", age: "$source.age * 2"),
    ])
  }

  /// The mapping that undoes it.
  static func merged() throws -> MappingModel {
    MappingModel(entityMappings: [
      try herd([("members", nil)]),
      try creature("Human", "Object", where: "TRUEPREDICATE", age: "$source.age - 1"),
      try creature("Animal", "Object", where: "TRUEPREDICATE", age: "$source.age / 2"),
    ])
  }

  private static func herd(_ members: [(String, ValueExpression?)]) throws -> EntityMapping {
    var mapping = EntityMapping(
      name: "HerdToHerd", kind: .copy, source: "Herd", destination: "Herd")
    mapping.attributeMappings = [
      PropertyMapping(name: "name", valueExpression: .source(name: "name"))
    ]
    mapping.relationshipMappings = members.map {
      PropertyMapping(name: $0.0, valueExpression: $0.1)
    }
    return mapping
  }

  static func creature(
    _ source: String, _ destination: String, where filter: String, age: String
  ) throws -> EntityMapping {
    let name = "\(source)To\(destination)"
    var mapping = EntityMapping(
      name: name, kind: .copy, source: source, destination: destination)
    mapping.sourceExpression = .sourceObjects(of: source, where: filter)
    mapping.attributeMappings = [
      PropertyMapping(name: "name", valueExpression: .source(name: "name")),
      PropertyMapping(name: "kind", valueExpression: .source(name: "kind")),
      PropertyMapping(name: "age", valueExpression: try ValueExpression(format: age)),
    ]
    mapping.relationshipMappings = [
      PropertyMapping(
        name: "herd", valueExpression: .destinations(ofRelationship: "herd", mapping: "HerdToHerd")),
      PropertyMapping(
        name: "likes", valueExpression: .destinations(ofRelationship: "likes", mapping: name)),
      PropertyMapping(
        name: "partner", valueExpression: .destinations(ofRelationship: "partner", mapping: name)),
    ]
    return mapping
  }

  /// Six creatures in two herds, liking each other in a ring of their kind.
  static let rows = [
    "INSERT INTO ZHERD (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 1, 1, 'one'), (2, 1, 1, 'two')",
    """
    INSERT INTO ZOBJECT (Z_PK, Z_ENT, Z_OPT, ZNAME, ZAGE, ZKIND, ZHERD, Z_FOK_HERD, ZPARTNER) VALUES
    (1, 2, 1, 'ann', 30, 'human', 1, 4096, 5), (2, 2, 1, 'bee', 1, 'animal', 1, 2048, NULL),
    (3, 2, 1, 'cow', 5, 'animal', 2, 2048, 4), (4, 2, 1, 'dog', 7, 'animal', 1, 3072, 3),
    (5, 2, 1, 'eve', 40, 'human', 1, 1024, 1), (9, 2, 1, 'flo', 50, 'human', NULL, NULL, NULL)
    """,
  ]
  static let pairs = [(1, 5), (5, 9), (9, 1), (2, 3), (3, 2)]

  /// Makes a store of creatures together.
  static func makeStore() throws -> FilePath {
    let model = try together()
    let schema = try StoreSchema(model)
    let table = schema.joinTables[0]
    let likes =
      table.first.relationshipName == "likes"
      ? (table.first, table.second) : (table.second, table.first)
    let joins = pairs.map { owner, target in
      """
      INSERT INTO \(table.name) (\(likes.0.keyColumn), \(likes.1.keyColumn))
      VALUES (\(owner), \(target))
      """
    }
    return try make(model, rows + joins, maxima: ["Object": 9, "Herd": 2])
  }

  /// Makes a store of a model with rows.
  static func make(
    _ model: ManagedObjectModel, _ statements: [String], maxima: [String: Int64] = [:]
  ) throws -> FilePath {
    let schema = try StoreSchema(model)
    let path = ScratchFolder.current.appending("\(UUID().uuidString).sqlite")
    let connection = try StoreConnection.scratch(path, cacheBytes: 1 << 20)
    try connection.run { db in
      try StoreWriter.createTables(schema, in: db)
      for statement in statements { try db.execute(sql: statement) }
      try StoreWriter.writePrimaryKeys(schema, maxima: maxima, in: db)
      try StoreWriter.writeMetadata(
        StoreMetadata(uuid: UUID().uuidString, plist: [:]), modelCache: nil, in: db)
    }
    try connection.queue.close()
    return path
  }
}
