import Expressions
import ObjectModel
import Schema
import TestSupport
import Testing

/// Derived attributes and R-trees: which are known, and the statements that keep them.
struct DerivedAttributeTests {
  /// `Comic` inherits from `Book`; an author has books, a book leads to its author.
  private static func model(
    _ derived: [String: String], of entity: String = "Book", inverse: String? = "book"
  ) throws -> ManagedObjectModel {
    let attributes = try derived.map { name, text in
      try Attribute.derived(name, from: text)
    }
    var entities = [
      Entity(
        "Author", [.optional("name"), .external("image")],
        [.toMany("books", "Book", inverse: "author")]),
      Entity(
        "Book", [.optional("title")],
        [
          .toOne("author", "Author", inverse: "books"), .toMany("pages", "Page", inverse: inverse),
          .toMany("tags", "Tag", inverse: "books"),
        ]),
      Entity("Comic", in: "Book", [.optional("ink")]),
      Entity(
        "Page", [.optional("text")],
        inverse.map { [.toOne($0, "Book", inverse: "pages")] } ?? []),
      Entity("Tag", [], [.toMany("books", "Book", inverse: "tags")]),
    ]
    let place = try #require(entities.firstIndex { $0.name == entity })
    entities[place].attributes += attributes
    return try ManagedObjectModel(entities: entities)
  }

  @Test func `a count is kept by five triggers`() throws {
    let schema = try StoreSchema(Self.model(["pagesCount": "pages.@count"]))
    #expect(schema.openDerivations.isEmpty)
    #expect(
      schema.triggers.map(\.statement) == [
        "CREATE TRIGGER Z_DA_ZPAGE_Book_pagesCount_PARAMETER_INSERT AFTER INSERT ON ZPAGE FOR EACH ROW WHEN (NEW.ZBOOK NOT NULL) BEGIN UPDATE ZBOOK SET ZPAGESCOUNT = IFNULL(ZPAGESCOUNT, 0) + 1 WHERE Z_PK = NEW.ZBOOK; SELECT NSCoreDataDATriggerUpdatedAffectedObjectValue('ZBOOK', Z_ENT, Z_PK, 'pagesCount', ZPAGESCOUNT) FROM ZBOOK WHERE Z_PK = NEW.ZBOOK; END",
        "CREATE TRIGGER Z_DA_ZPAGE_Book_pagesCount_PARAMETER_UPDATE_INCREMENT AFTER UPDATE OF ZBOOK ON ZPAGE FOR EACH ROW WHEN (NEW.ZBOOK NOT NULL) BEGIN UPDATE ZBOOK SET ZPAGESCOUNT = ZPAGESCOUNT + 1 WHERE Z_PK = NEW.ZBOOK; SELECT NSCoreDataDATriggerUpdatedAffectedObjectValue('ZBOOK', Z_ENT, Z_PK, 'pagesCount', ZPAGESCOUNT) FROM ZBOOK WHERE Z_PK = NEW.ZBOOK; END",
        "CREATE TRIGGER Z_DA_ZPAGE_Book_pagesCount_PARAMETER_UPDATE_DECREMENT AFTER UPDATE OF ZBOOK ON ZPAGE FOR EACH ROW WHEN (OLD.ZBOOK NOT NULL) BEGIN UPDATE ZBOOK SET ZPAGESCOUNT = ZPAGESCOUNT - 1 WHERE Z_PK = OLD.ZBOOK; SELECT NSCoreDataDATriggerUpdatedAffectedObjectValue('ZBOOK', Z_ENT, Z_PK, 'pagesCount', ZPAGESCOUNT) FROM ZBOOK WHERE Z_PK = OLD.ZBOOK; END",
        "CREATE TRIGGER Z_DA_ZPAGE_Book_pagesCount_PARAMETER_DELETE AFTER DELETE ON ZPAGE FOR EACH ROW WHEN (OLD.ZBOOK NOT NULL) BEGIN UPDATE ZBOOK SET ZPAGESCOUNT = ZPAGESCOUNT - 1 WHERE Z_PK = OLD.ZBOOK; SELECT NSCoreDataDATriggerUpdatedAffectedObjectValue('ZBOOK', Z_ENT, Z_PK, 'pagesCount', ZPAGESCOUNT) FROM ZBOOK WHERE Z_PK = OLD.ZBOOK; END",
        "CREATE TRIGGER Z_DA_ZBOOK_Book_pagesCount_SOURCE_INSERT AFTER INSERT ON ZBOOK FOR EACH ROW BEGIN UPDATE ZBOOK SET ZPAGESCOUNT = (SELECT IFNULL(COUNT(ZBOOK), 0) FROM ZPAGE WHERE ZBOOK = NEW.Z_PK) WHERE Z_PK = NEW.Z_PK; SELECT NSCoreDataDATriggerInsertUpdatedAffectedObjectValue('ZBOOK', Z_ENT, Z_PK, 'pagesCount', ZPAGESCOUNT) FROM ZBOOK WHERE Z_PK = NEW.Z_PK; END",
      ])
  }

  /// `Book` with a subentity, and the pages that it counts; the first entity by number.
  private static func corpusModel(inverse: String?) throws -> ManagedObjectModel {
    try ManagedObjectModel(
      entities: [
        Entity(
          "Book", [.derived("pagesCount", from: "pages.@count")],
          [.toMany("pages", "Page", inverse: inverse)]),
        Entity("Comic", in: "Book", []),
        Entity("Page", [], inverse.map { [.toOne($0, "Book", inverse: "pages")] } ?? []),
      ])
  }

  @Test(.needsCorpus) func `the triggers of a count are those of two real stores`() throws {
    let text = String(decoding: try Corpus.bytes("derived/count-triggers.txt"), as: UTF8.self)
    let real = text.split(separator: "\n").filter { $0.hasPrefix("CREATE TRIGGER ") }
      .map(String.init)
    let plain = try StoreSchema(Self.corpusModel(inverse: "book"))
    var ranged = try StoreSchema(Self.corpusModel(inverse: nil))
    ranged.derived[0].namesNumbers = true
    #expect(plain.triggers.map(\.statement) == Array(real.prefix(5)))
    #expect(ranged.triggers.map(\.statement) == Array(real.dropFirst(5)))
  }

  @Test func `triggers name entity numbers where those of a store do`() throws {
    let plain = try StoreSchema(Self.model(["pagesCount": "pages.@count"], inverse: nil))
    var ranged = plain
    ranged.derived[0].namesNumbers = true
    let last = try #require(ranged.triggers.last).statement
    #expect(last.contains("FOR EACH ROW WHEN 2 <= NEW.Z_ENT AND NEW.Z_ENT <= 3 BEGIN "))
    #expect(last.hasSuffix("WHERE Z_PK = NEW.Z_PK; END"))
    let first = try #require(ranged.triggers.first).statement
    #expect(first.contains("WHERE Z_PK = NEW.Z2PAGES AND 2 <= Z_ENT AND Z_ENT <= 3; SELECT "))
    #expect(first.hasSuffix("WHERE Z_PK = NEW.Z2PAGES AND 2 <= Z_ENT AND Z_ENT <= 3; END"))
    let tables = Dictionary(
      uniqueKeysWithValues: plain.tables.map { ($0.name, Set($0.columns.map(\.name))) })
    for schema in [plain, ranged] {
      let catalog = Catalog(tables: tables, triggers: schema.triggers)
      #expect(plain.resolved(in: catalog).schema.triggers == schema.triggers)
    }
  }

  @Test func `a value of a to-one relationship's object is kept by four triggers`() throws {
    let schema = try StoreSchema(Self.model(["authorName": "author.name"]))
    #expect(
      schema.derived.map(\.source) == [
        .value(link: "ZAUTHOR", table: "ZAUTHOR", column: "ZNAME")
      ])
    #expect(schema.triggers.map(\.table) == ["ZBOOK", "ZBOOK", "ZAUTHOR", "ZAUTHOR"])
    #expect(
      schema.triggers.first?.statement
        == "CREATE TRIGGER Z_DA_ZBOOK_Book_authorName_SOURCE_INSERT AFTER INSERT ON ZBOOK FOR EACH ROW BEGIN UPDATE ZBOOK SET ZAUTHORNAME = (SELECT ZNAME FROM ZAUTHOR WHERE Z_PK = NEW.ZAUTHOR) WHERE Z_PK = NEW.Z_PK; SELECT NSCoreDataDATriggerInsertUpdatedAffectedObjectValue('ZBOOK', Z_ENT, Z_PK, 'authorName', ZAUTHORNAME) FROM ZBOOK WHERE Z_PK = NEW.Z_PK; END"
    )
  }

  @Test(
    arguments: [
      "now()", "canonical:(title)", "title", "tags.@count", "author.image", "author.books.@count",
      "pages.@sum.text",
    ])
  func `other forms are not known`(text: String) throws {
    let schema = try StoreSchema(Self.model(["other": text]))
    #expect(schema.derived.isEmpty)
    #expect(schema.openDerivations.map(\.attribute) == ["other"])
  }

  @Test func `what a subentity derives is not known`() throws {
    let schema = try StoreSchema(Self.model(["pagesCount": "pages.@count"], of: "Comic"))
    #expect(schema.derived.isEmpty && schema.openDerivations.map(\.entity) == ["Comic"])
  }

  @Test(arguments: ["latitude, longitude", "longitude, latitude"])
  func `an R-tree is known where its coordinates are`(components: String) throws {
    var point = Attribute.optional("place", .undefined)
    point.isTransient = true
    point.userInfo = ["_NSLocationAttributeDerivedComponents": components]
    let schema = try StoreSchema(
      ManagedObjectModel(
        Entity("Asset", [.optional("latitude", .double), .optional("longitude", .double), point])))
    let isKnown = components.hasPrefix("latitude")
    #expect(schema.spatialIndexes.map(\.name) == (isKnown ? ["Z_RT_Asset_place"] : []))
    #expect(schema.omissions.map(\.index) == (isKnown ? [] : ["place"]))
    #expect(schema.triggers.count == (isKnown ? 3 : 0))
  }
}
