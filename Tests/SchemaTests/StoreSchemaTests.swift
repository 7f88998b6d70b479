import Expressions
import ObjectModel
import Schema
import TestSupport
import Testing

struct StoreSchemaTests {
  private func columns(_ model: ManagedObjectModel, _ table: String) throws -> [String] {
    let schema = try StoreSchema(model)
    return try #require(schema.tables.first { $0.name == table }).columns.map {
      "\($0.name) \($0.type.rawValue)"
    }
  }

  @Test func `entities are numbered depth first, siblings without regard to case`() throws {
    let model = try ManagedObjectModel(
      Entity("zebra"), Entity("Apple"), Entity("banana", in: "Apple"),
      Entity("Cherry", in: "Apple"),
      Entity("Aunt", in: "banana"))
    let numbers = EntityNumbers(model)
    #expect(numbers.names == ["Apple", "banana", "Aunt", "Cherry", "zebra"])
    #expect(numbers["Cherry"] == EntityNumber(rawValue: 4))
    #expect(numbers[EntityNumber(rawValue: 5)] == "zebra")
    #expect(numbers[EntityNumber(rawValue: 0)] == nil)
    #expect(numbers[EntityNumber(rawValue: .max)] == nil)
  }

  @Test func `columns lie in runs by type and bear the type that Core Data declares`() throws {
    let types: [AttributeType] = [
      .binary, .transformable, .uuid, .uri, .string, .decimal, .date, .float, .double, .boolean,
      .integer64, .integer32, .integer16,
    ]
    let names = types.map { $0.name.filter { $0 != " " } }
    let model = try ManagedObjectModel(
      Entity("Thing", zip(names, types).map { .optional($0, $1) }))
    #expect(
      try columns(model, "ZTHING") == [
        "Z_PK INTEGER", "Z_ENT INTEGER", "Z_OPT INTEGER", "ZBOOLEAN INTEGER", "ZINTEGER16 INTEGER",
        "ZINTEGER32 INTEGER", "ZINTEGER64 INTEGER", "ZDATE TIMESTAMP", "ZDOUBLE FLOAT",
        "ZFLOAT FLOAT", "ZDECIMAL DECIMAL", "ZSTRING VARCHAR", "ZURI VARCHAR", "ZUUID BLOB",
        "ZTRANSFORMABLE BLOB", "ZBINARY BLOB",
      ])
  }

  @Test func `a family shares one table, and names that collide get suffixes`() throws {
    let model = try ManagedObjectModel(
      Entity("Base", [.optional("text")]),
      Entity("A", in: "Base", [.optional("size", .integer16)]),
      Entity("B", in: "Base", [.optional("size", .double)]),
      Entity("C", in: "Base", [.optional("SIZE")]))
    #expect(
      try columns(model, "ZBASE").dropFirst(3) == [
        "ZSIZE INTEGER", "ZSIZE1 FLOAT", "ZTEXT VARCHAR", "ZSIZE2 VARCHAR",
      ])
    #expect(try StoreSchema(model).tables.map(\.entityNames) == [["Base", "A", "B", "C"]])
  }

  @Test func `one model has the tables of each naming that is asked for`() throws {
    let model = try ManagedObjectModel(
      Entity(
        "Person", [],
        [
          .toMany("knows", "Person", inverse: "isKnownBy"),
          .toMany("isKnownBy", "Person", inverse: "knows"),
        ]))
    let fresh = try StoreSchema(model).joinTables.map(\.name)
    let other = JoinNaming(relationships: ["Person": ["isKnownBy"]])
    let named = try StoreSchema(model, naming: other).joinTables.map(\.name)
    #expect(fresh != named)
    #expect(try StoreSchema(model).joinTables.map(\.name) == fresh)
    #expect(try StoreSchema(model, naming: other).joinTables.map(\.name) == named)
  }

  @Test func `a to-one relationship to a family has a column of the entity number`() throws {
    let model = try ManagedObjectModel(
      Entity("Animal"), Entity("Cat", in: "Animal"),
      Entity(
        "Owner", [], [.toOne("pet", "Animal", inverse: nil), .toOne("cat", "Cat", inverse: nil)])
    )
    #expect(
      try columns(model, "ZOWNER").dropFirst(3) == [
        "ZCAT INTEGER", "ZPET INTEGER", "Z1_PET INTEGER",
      ])
  }

  @Test func `an ordered to-many keeps its places beside the to-one of its inverse`() throws {
    let model = try ManagedObjectModel(
      Entity("List", [], [.toMany("items", "Item", inverse: "list", isOrdered: true)]),
      Entity("Item", [.optional("count", .integer16)], [.toOne("list", "List", inverse: "items")]))
    #expect(
      try columns(model, "ZITEM").dropFirst(3) == [
        "ZCOUNT INTEGER", "ZLIST INTEGER", "Z_FOK_LIST INTEGER",
      ])
  }

  @Test func `a to-many without inverse lies on the rows of its objects`() throws {
    let model = try ManagedObjectModel(
      Entity("Album", [], [.toMany("photos", "Photo", inverse: nil, isOrdered: true)]),
      Entity("Photo"))
    #expect(
      try columns(model, "ZPHOTO").dropFirst(3) == ["Z1PHOTOS INTEGER", "Z_FOK_1PHOTOS INTEGER"])
  }

  @Test func `transient properties have no column`() throws {
    var shown = Attribute.optional("shown")
    shown.isTransient = true
    var near = Relationship.toOne("near", "Thing", inverse: nil)
    near.isTransient = true
    #expect(try columns(ManagedObjectModel(Entity("Thing", [shown], [near])), "ZTHING").count == 3)
  }

  @Test func `an attribute of a type that no real store shows is refused by name`() throws {
    let model = try ManagedObjectModel(
      Entity(
        "Thing", [.optional("what", .undefined), .optional("name"), .optional("id", .objectID)])
    )
    let error = #expect(throws: SchemaError.self) { try StoreSchema(model) }
    #expect(error?.places.map(\.property).sorted() == ["id", "what"])
  }

  @Test func `a table of more columns than SQLite allows is refused by name`() throws {
    func model(_ count: Int) throws -> ManagedObjectModel {
      let attributes = (0..<count).map { Attribute.optional("a\($0)", .integer32) }
      return try ManagedObjectModel(
        Entity("Thing", [.optional("name")]), Entity("Part", in: "Thing", attributes))
    }
    #expect(try StoreSchema(model(1_996)).tables.first?.columns.count == 2_000)
    let error = #expect(throws: SchemaError.self) { try StoreSchema(model(1_997)) }
    #expect(error?.wide.map(\.entity) == ["Thing"] && error?.wide.map(\.columns) == [2_001])
  }

  @Test(arguments: [
    (["Item", "item"], "ZITEM", ["Item", "item"]), (["_METADATA"], "Z_METADATA", ["_METADATA"]),
    (["A", "B", "_2bs"], "Z_2BS", ["A.bs", "_2bs"]),
  ])
  func `two tables of one name are told`(
    names: [String], table: String, owners: [String]
  ) throws {
    let entities = names.map { name in
      switch name {
      case "A": Entity(name, [], [.toMany("bs", "B", inverse: "as")])
      case "B": Entity(name, [], [.toMany("as", "A", inverse: "bs")])
      default: Entity(name, [.optional("title")])
      }
    }
    let model = try ManagedObjectModel(entities: entities)
    let error = #expect(throws: SchemaError.self) { try StoreSchema(model) }
    #expect(error?.clashes.map(\.table) == [table] && error?.clashes.map(\.owners) == [owners])
  }

  @Test func `a statement quotes names that SQL would misread`() throws {
    let model = try ManagedObjectModel(Entity("Größe", [.optional("it\"s")]))
    let table = try #require(try StoreSchema(model).tables.first)
    #expect(
      table.createStatement
        == "CREATE TABLE \"ZGRÖSSE\" ( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, "
        + "\"ZIT\"\"S\" VARCHAR )")
  }
}

struct JoinTableTests {
  private func joins(_ entities: Entity...) throws -> [JoinTable] {
    try StoreSchema(ManagedObjectModel(entities: entities)).joinTables
  }

  @Test func `the end with the smaller entity number comes first`() throws {
    let table = try #require(
      try joins(
        Entity("Tag", [], [.toMany("notes", "Note", inverse: "tags", isOrdered: true)]),
        Entity("Note", [], [.toMany("tags", "Tag", inverse: "notes")])
      ).first)
    #expect(table.name == "Z_1TAGS")
    #expect(table.alternateName == "Z_2NOTES")
    // The places of the tag's notes stand beside the key of the note.
    #expect(table.columnNames == ["Z_1NOTES", "Z_2TAGS", "Z_FOK_1NOTES"])
    #expect(
      table.createStatement
        == "CREATE TABLE Z_1TAGS ( Z_1NOTES INTEGER, Z_2TAGS INTEGER, Z_FOK_1NOTES INTEGER, "
        + "PRIMARY KEY (Z_1NOTES, Z_2TAGS) )")
  }

  @Test func `an entity joined with itself puts the larger name first`() throws {
    let table = try #require(
      try joins(
        Entity(
          "Person", [],
          [
            .toMany("fans", "Person", inverse: "idols"),
            .toMany("idols", "Person", inverse: "fans"),
          ])
      ).first)
    #expect(table.name == "Z_1IDOLS")
    #expect(table.alternateName == "Z_1FANS")
    #expect(table.columnNames == ["Z_1FANS", "Z_1IDOLS"])
  }

  @Test func `a relationship that is its own inverse has a reflexive column`() throws {
    let tables = try joins(
      Entity("Person", [], [.toMany("friends", "Person", inverse: "friends", isOrdered: true)]))
    #expect(tables.count == 1)
    #expect(
      tables.first?.columnNames == [
        "Z_1FRIENDS", "REFLEXIVE", "Z_FOK_1FRIENDS", "Z_FOK_REFLEXIVE",
      ])
  }

  @Test func `two inverses of one name get a suffix`() throws {
    let tables = try joins(
      Entity(
        "User", [],
        [
          .toMany("likes", "Post", inverse: "users"), .toMany("saves", "Page", inverse: "users"),
        ]),
      Entity("Post", [], [.toMany("users", "User", inverse: "likes")]),
      Entity("Page", [], [.toMany("users", "User", inverse: "saves")]))
    #expect(
      tables.map(\.columnNames) == [["Z_1SAVES", "Z_3USERS1"], ["Z_2LIKES", "Z_3USERS"]])
  }
}
