import Expressions
import ObjectModel
import Schema
import TestSupport
import Testing

struct IndexTests {
  private func statements(_ entities: Entity...) throws -> [String] {
    try StoreSchema(ManagedObjectModel(entities: entities)).indexes.map(\.createStatement)
  }

  @Test func `to-one relationships and entity numbers have indexes of their own`() throws {
    #expect(
      try statements(
        Entity("A", [], [.toOne("b", "B", inverse: nil), .toMany("cs", "C", inverse: nil)]),
        Entity("B"), Entity("C"), Entity("D", in: "C")) == [
          "CREATE INDEX ZA_ZB_INDEX ON ZA (ZB)",
          "CREATE INDEX ZC_Z1CS_INDEX ON ZC (Z1CS)",
          "CREATE INDEX ZC_Z_ENT_INDEX ON ZC (Z_ENT)",
        ])
  }

  @Test func `a join table is indexed from its second key to its first`() throws {
    #expect(
      try statements(
        Entity("A", [], [.toMany("bs", "B", inverse: "as")]),
        Entity("B", [], [.toMany("as", "A", inverse: "bs")])) == [
          "CREATE INDEX Z_1BS_Z_2BS_INDEX ON Z_1BS (Z_2BS, Z_1AS)"
        ])
  }

  @Test func `fetch indexes and constraints spell collation and direction out`() throws {
    var book = Entity("Book", [.optional("title"), .optional("year", .integer16)])
    book.uniquenessConstraints = [["title", "year"]]
    book.fetchIndexes = [
      FetchIndex(
        name: "byYear",
        elements: [.init(property: "year", isAscending: false), .init(property: "title")])
    ]
    #expect(
      try statements(book) == [
        "CREATE INDEX Z_Book_byYear ON ZBOOK (ZYEAR COLLATE BINARY DESC, ZTITLE COLLATE BINARY ASC)",
        "CREATE UNIQUE INDEX Z_Book_UNIQUE_title_year ON ZBOOK "
          + "(ZTITLE COLLATE BINARY ASC, ZYEAR COLLATE BINARY ASC)",
      ])
  }

  @Test func `a partial index has its predicate as a condition`() throws {
    var book = Entity("Book", [.optional("title"), .optional("year", .integer16)])
    book.fetchIndexes = [
      FetchIndex(
        name: "late", elements: [.init(property: "title")],
        partialPredicate: .and([
          .comparison(
            .keyPath(operand: nil, "year"), .greaterThan, .constant(.integer(2000)),
            modifier: .direct, caseInsensitive: false, diacriticInsensitive: false),
          .comparison(
            .keyPath(operand: nil, "title"), .notEqual, .constant(.null), modifier: .direct,
            caseInsensitive: false, diacriticInsensitive: false),
        ]))
    ]
    #expect(
      try statements(book) == [
        "CREATE INDEX Z_Book_late ON ZBOOK (ZTITLE COLLATE BINARY ASC) "
          + "WHERE (ZYEAR > 2000 AND ZTITLE IS NOT NULL)"
      ])
  }

  @Test func `an index that cannot be made is told with its reason`() throws {
    var place = Entity("Place", [.optional("x", .double)])
    var tree = FetchIndex(name: "near", elements: [.init(property: "x")])
    tree.elements[0].kind = .rTree
    place.fetchIndexes = [tree, FetchIndex(name: "gone", elements: [.init(property: "y")])]
    let schema = try StoreSchema(ManagedObjectModel(place))
    #expect(schema.indexes.isEmpty)
    #expect(schema.omissions.map(\.index) == ["near", "gone"])
    #expect(schema.omissions.allSatisfy { $0.entity == "Place" && !$0.reason.isEmpty })
  }

  @Test func `a flag for an index at a transient attribute asks for nothing`() throws {
    var place = Entity("Place", [.optional("x", .double), .optional("y", .double)])
    place.attributes[0].isTransient = true
    place.attributes[0].isIndexed = true
    place.attributes[1].isIndexed = true
    let schema = try StoreSchema(ManagedObjectModel(place))
    #expect(schema.indexes.map(\.name) == ["Z_Place_y"])
    #expect(schema.omissions.isEmpty)
  }
}
