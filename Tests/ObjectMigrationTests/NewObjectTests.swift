import Expressions
import Mapping
import ObjectMigration
import ObjectModel
import Schema
import SystemPackage
import TestSupport
import Testing

@Suite(.scratchFolder) struct NewObjectTests {
  private let old: ManagedObjectModel
  private let new: ManagedObjectModel

  init() throws {
    old = try ManagedObjectModel(
      Entity(
        "Book", [.optional("title"), .optional("author"), .optional("rank", .integer32)],
        [.toMany("tags", "Tag", inverse: "books"), .toOne("shelf", "Shelf", inverse: "books")]),
      Entity("Person", [.optional("name")]),
      Entity("Shelf", [.optional("name")], [.toMany("books", "Book", inverse: "shelf")]),
      Entity("Tag", [.optional("name")], [.toMany("books", "Book", inverse: "tags")]))
    new = try ManagedObjectModel(
      Entity(
        "Book", [.optional("title")],
        [
          .toOne("writer", "Person", inverse: "books"),
          .toMany("tagged", "Tagging", inverse: "book"),
          .toOne("shelf", "Shelf", inverse: "books"), .toOne("home", "Home", inverse: "books"),
        ]),
      Entity("Home", [.optional("name")], [.toMany("books", "Book", inverse: "home")]),
      Entity("Person", [.optional("name")], [.toMany("books", "Book", inverse: "writer")]),
      Entity(
        "Shelf", [.optional("name")],
        [.toMany("books", "Book", inverse: "shelf", isOrdered: true)]),
      Entity("Tag", [.optional("name")], [.toMany("tagged", "Tagging", inverse: "tag")]),
      Entity(
        "Tagging", [.optional("text")],
        [.toOne("book", "Book", inverse: "tagged"), .toOne("tag", "Tag", inverse: "tagged")]))
  }

  private func store() throws -> FilePath {
    let join = try StoreSchema(old).joinTables[0]
    let (books, tags) =
      join.first.entityName == "Book"
      ? (join.first.keyColumn, join.second.keyColumn)
      : (join.second.keyColumn, join.first.keyColumn)
    return try Herds.make(
      old,
      [
        "INSERT INTO ZSHELF (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (3, 3, 1, 's'), (4, 3, 1, 't')",
        """
        INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZTITLE, ZAUTHOR, ZRANK, ZSHELF) VALUES
        (2, 1, 1, 'b', 'Bob', 7, 3), (5, 1, 1, 'e', 'Ann', NULL, 3), (6, 1, 1, 'f', NULL, 5, 3),
        (7, 1, 1, 'g', 'Bob', 5, 3), (9, 1, 1, 'i', 'Eve', 1, 4)
        """,
        """
        INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES
        (2, 2, 1, 'Ann'), (3, 2, 1, 'Zoe'), (4, 2, 1, 'Ann'), (5, 2, 1, NULL)
        """,
        "INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 4, 1, 'x'), (8, 4, 1, 'y')",
        """
        INSERT INTO \(join.name) (\(books), \(tags)) VALUES (9, 1), (2, 8), (2, 1), (9, 77)
        """,
      ], maxima: ["Book": 9, "Person": 11, "Shelf": 4, "Tag": 8])
  }

  private func copies(leaving filter: String? = nil) -> [EntityMapping] {
    ["Book", "Person", "Shelf", "Tag"].map { (name: String) in
      var mapping = EntityMapping(
        name: "\(name)To\(name)", kind: .copy, source: name, destination: name)
      if name == "Tag", let filter {
        mapping.sourceExpression = .sourceObjects(of: "Tag", where: filter)
      }
      return mapping
    }
  }

  private func migrate(
    _ mappings: [EntityMapping]
  ) throws -> (query: Query, report: ObjectMigration.Report) {
    let mapping = MappingModel(entityMappings: mappings).completingCopies(from: old, to: new)
    let (path, report) = try CorpusMigration().step(
      store(), from: old, to: new, by: [mapping])
    return (try Query(path), report)
  }

  private func mapping(
    _ destination: String, _ unit: NewObjects.Unit, source: String? = nil, member: String? = nil,
    attribute: String? = nil, finds: Bool = false
  ) -> EntityMapping {
    var mapping = EntityMapping(
      name: "New\(destination)", kind: .transform, source: "Book", destination: destination)
    var objects = NewObjects(unit: unit)
    (objects.sourceRelationship, objects.memberRelationship) = (source, member)
    (objects.attribute, objects.findsExisting) = (attribute, finds)
    mapping.newObjects = objects
    return mapping
  }

  private func pairs() throws -> EntityMapping {
    var mapping = mapping(
      "Tagging", .pair(relationship: "tags"), source: "book", member: "tag")
    mapping.attributeMappings = [
      PropertyMapping(
        name: "text", valueExpression: try ValueExpression(format: "$member.name"))
    ]
    return mapping
  }

  private static let taggings = """
    SELECT Z_PK || ' ' || ZBOOK || ' ' || ZTAG || ' ' || ifnull(ZTEXT, '') FROM ZTAGGING
    ORDER BY Z_PK
    """

  @Test func `each pair becomes an object, in the order of owners and members`() throws {
    // New objects wait for all others, wherever their mapping stands.
    let (query, report) = try migrate([try pairs()] + copies())
    #expect(try query.texts(Self.taggings) == ["1 2 1 x", "2 2 8 y", "3 9 1 x"])
    #expect(report.maxima["Tagging"] == 3)
    #expect(report.accounts.mappings.first { $0.mapping == "NewTagging" }?.made == 3)
    #expect(report.accounts.entities.allSatisfy { $0.dropped == 0 })
  }

  @Test func `a relationship does not hold new objects of its objects`() throws {
    var mappings = copies() + [try pairs()]
    mappings[2].relationshipMappings = [
      PropertyMapping(name: "books", valueExpression: .destinations(ofRelationship: "books"))
    ]
    let (query, _) = try migrate(mappings)
    #expect(try query.texts(Self.taggings) == ["1 2 1 x", "2 2 8 y", "3 9 1 x"])
    #expect(
      try query.texts("SELECT Z_PK || ' ' || ZSHELF FROM ZBOOK ORDER BY Z_PK")
        == ["2 3", "5 3", "6 3", "7 3", "9 4"])
  }

  @Test func `a pair goes with an object that no mapping takes`() throws {
    let (query, _) = try migrate(copies(leaving: "name == 'y'") + [try pairs()])
    #expect(try query.texts(Self.taggings) == ["1 2 8 y"])
  }

  private static let writers = """
    SELECT b.ZTITLE || ' ' || ifnull(b.ZWRITER, '-') || ' ' || ifnull(p.ZNAME, '-')
    FROM ZBOOK AS b LEFT JOIN ZPERSON AS p ON p.Z_PK = b.ZWRITER ORDER BY b.Z_PK
    """

  private func writers(nil takesNil: Bool, finds: Bool) -> EntityMapping {
    mapping(
      "Person", .value(.source(name: "author"), takesNil: takesNil), source: "books",
      attribute: "name", finds: finds)
  }

  @Test func `each value becomes an object with a key above all others`() throws {
    let (query, report) = try migrate(copies() + [writers(nil: false, finds: false)])
    #expect(
      try query.texts(Self.writers)
        == ["b 12 Bob", "e 13 Ann", "f - -", "g 12 Bob", "i 14 Eve"])
    #expect(report.maxima["Person"] == 14)
    #expect(report.accounts.rows["Person"] == 7)
  }

  @Test func `an object that is there is found, the one with the lowest key`() throws {
    let (query, report) = try migrate(copies() + [writers(nil: false, finds: true)])
    #expect(
      try query.texts(Self.writers)
        == ["b 12 Bob", "e 2 Ann", "f - -", "g 12 Bob", "i 13 Eve"])
    let account = report.accounts.mappings.first { $0.mapping == "NewPerson" }
    #expect(account?.made == 2)
    #expect(account?.used == 4)
    let (other, _) = try migrate(copies() + [writers(nil: true, finds: true)])
    #expect(try other.texts(Self.writers)[2] == "f 5 -")
  }

  @Test func `nil is a value where the mapping says so`() throws {
    let (query, _) = try migrate(copies() + [writers(nil: true, finds: false)])
    #expect(
      try query.texts(Self.writers)
        == ["b 12 Bob", "e 13 Ann", "f 14 -", "g 12 Bob", "i 15 Eve"])
  }

  @Test func `a value that no attribute holds makes objects as well`() throws {
    var homes = mapping("Home", .value(.source(name: "rank"), takesNil: false), source: "books")
    homes.attributeMappings = [
      PropertyMapping(name: "name", valueExpression: .source(name: "title"))
    ]
    let (query, _) = try migrate(copies() + [homes])
    #expect(
      try query.texts("SELECT ZTITLE || ifnull(ZHOME, '-') FROM ZBOOK ORDER BY Z_PK")
        == ["b1", "e-", "f2", "g2", "i3"])
    #expect(try query.texts("SELECT ZNAME FROM ZHOME ORDER BY Z_PK") == ["b", "f", "i"])
  }

  @Test func `one object is for all that a filter takes, and is there without any`() throws {
    var home = mapping("Home", .all, source: "books")
    home.sourceExpression = .sourceObjects(of: "Book", where: "rank == 5")
    home.attributeMappings = [
      PropertyMapping(name: "name", valueExpression: .constant(.string("all")))
    ]
    let (query, _) = try migrate(copies() + [home])
    #expect(try query.texts("SELECT Z_PK || ZNAME FROM ZHOME") == ["1all"])
    #expect(
      try query.texts("SELECT ZTITLE FROM ZBOOK WHERE ZHOME = 1 ORDER BY Z_PK") == ["f", "g"])
    home.sourceExpression = .sourceObjects(of: "Book", where: "rank == 99")
    let (none, report) = try migrate(copies() + [home])
    #expect(try none.texts("SELECT Z_PK || ZNAME FROM ZHOME") == ["1all"])
    #expect(try none.number("SELECT count(*) FROM ZBOOK WHERE ZHOME NOT NULL") == 0)
    #expect(report.maxima["Home"] == 1)
    var alone = EntityMapping(name: "Home", kind: .add, source: nil, destination: "Home")
    alone.newObjects = NewObjects(unit: .all)
    alone.attributeMappings = home.attributeMappings
    let (single, accounts) = try migrate(copies() + [alone])
    #expect(try single.texts("SELECT Z_PK || ZNAME FROM ZHOME") == ["1all"])
    #expect(accounts.accounts.mappings.last?.made == 1)
  }

  private func sorted(_ keys: [SortKey]) throws -> [String] {
    var mappings = copies()
    var property = PropertyMapping(name: "books", valueExpression: nil)
    property.sortedBy = keys
    mappings[2].relationshipMappings = [property]
    return try migrate(mappings).query.texts(
      "SELECT ZTITLE || Z_FOK_SHELF FROM ZBOOK WHERE ZSHELF = 3 ORDER BY Z_FOK_SHELF")
  }

  @Test func `an ordered relationship is sorted by attributes, nil first, then by keys`() throws {
    #expect(
      try sorted([SortKey(path: "rank", isDescending: false)])
        == ["e2048", "f3072", "g4096", "b5120"])
    #expect(
      try sorted([
        SortKey(path: "rank", isDescending: true), SortKey(path: "title", isDescending: true),
      ]) == ["b2048", "g3072", "f4096", "e5120"])
    #expect(
      try sorted([
        SortKey(path: "shelf.name", isDescending: false),
        SortKey(path: "author", isDescending: false),
      ]) == ["f2048", "e3072", "b4096", "g5120"])
  }

  @Test func `an error of another entity's object names that entity`() throws {
    var mapping = EntityMapping(
      name: "Odd", kind: .transform, source: "Book", destination: "Tagging")
    mapping.sourceExpression = try ValueExpression(
      format: """
        FETCH(FUNCTION($manager, "fetchRequestForSourceEntityNamed:predicateString:", "Tag", \
        "TRUEPREDICATE"), $manager.sourceContext, NO)
        """)
    mapping.attributeMappings = [
      PropertyMapping(name: "text", valueExpression: .source(name: "title"))
    ]
    var found: ObjectMigrationError?
    do {
      _ = try migrate(copies() + [mapping])
    } catch let error as ObjectMigrationError {
      found = error
    }
    #expect(found?.entity == "Tag")
    #expect(found?.key == 1)
    mapping.attributeMappings = []
    mapping.relationshipMappings = [
      PropertyMapping(name: "book", valueExpression: .source(name: "title"))
    ]
    found = nil
    do {
      _ = try migrate(copies() + [mapping])
    } catch let error as ObjectMigrationError {
      found = error
    }
    #expect(found?.entity == "Tag")
  }
}
