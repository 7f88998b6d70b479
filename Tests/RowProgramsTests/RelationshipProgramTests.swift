import ObjectModel
import Schema
import TestSupport
import Testing

@testable import RowPrograms

struct RelationshipProgramTests {
  @Test func `a to-one without inverse becomes a to-many without inverse`() throws {
    let store = try SmallStore(
      [Entity("Team", [], [.toOne("captain", "Man", inverse: nil)]), Entity("Man")],
      [Entity("Team", [], [.toMany("heads", "Man", inverse: nil, was: "captain")]), Entity("Man")],
      "INSERT INTO ZTEAM VALUES (1, 2, 1, 5), (2, 2, 1, NULL)",
      "INSERT INTO ZMAN VALUES (5, 1, 1), (6, 1, 1)")
    #expect(try store.rows("ZTEAM") == ["Z_PK=1 Z_ENT=2", "Z_PK=2 Z_ENT=2"])
    #expect(try store.rows("ZMAN") == ["Z_PK=5 Z_ENT=1 Z2HEADS=1", "Z_PK=6 Z_ENT=1"])
  }

  @Test func `a one-to-one becomes a one-to-many from either side`() throws {
    let store = try SmallStore(
      [
        Entity("Man", [], [.toOne("home", "Home", inverse: "man")]),
        Entity("Home", [], [.toOne("man", "Man", inverse: "home")]),
      ],
      [
        Entity("Man", [], [.toOne("home", "Home", inverse: "men")]),
        Entity("Home", [], [.toMany("men", "Man", inverse: "home", was: "man")]),
      ],
      "INSERT INTO ZMAN VALUES (1, 2, 1, 8), (2, 2, 1, NULL)",
      "INSERT INTO ZHOME VALUES (8, 1, 1, 1), (9, 1, 1, NULL)")
    #expect(try store.rows("ZMAN") == ["Z_PK=1 Z_ENT=2 ZHOME=8", "Z_PK=2 Z_ENT=2"])
    #expect(try store.rows("ZHOME") == ["Z_PK=8 Z_ENT=1", "Z_PK=9 Z_ENT=1"])
  }

  private static let oneToMany = [
    Entity("Book", [], [.toOne("author", "Man", inverse: "books")]),
    Entity("Man", [], [.toMany("books", "Book", inverse: "author")]),
  ]

  private static func manyToMany(isOrdered: Bool) -> [Entity] {
    [
      Entity("Book", [], [.toMany("authors", "Man", inverse: "books", was: "author")]),
      Entity("Man", [], [.toMany("books", "Book", inverse: "authors", isOrdered: isOrdered)]),
    ]
  }

  private static let books = "INSERT INTO ZBOOK VALUES (1, 1, 1, 5), (2, 1, 1, NULL), (3, 1, 1, 5)"

  @Test func `a one-to-many becomes a many-to-many`() throws {
    let store = try SmallStore(Self.oneToMany, Self.manyToMany(isOrdered: false), Self.books)
    #expect(try store.rows("Z_1AUTHORS") == ["Z_1BOOKS=1 Z_2AUTHORS=5", "Z_1BOOKS=3 Z_2AUTHORS=5"])
    #expect(store.program.orderFills.isEmpty)
    #expect(
      Set(store.program.references) == [
        ReferenceCheck(table: "Z_1AUTHORS", column: "Z_1BOOKS", destinationTable: "ZBOOK"),
        ReferenceCheck(table: "Z_1AUTHORS", column: "Z_2AUTHORS", destinationTable: "ZMAN"),
      ])
  }

  @Test func `a many-to-many that had no order is numbered by key`() throws {
    let store = try SmallStore(Self.oneToMany, Self.manyToMany(isOrdered: true), Self.books)
    #expect(
      store.program.orderFills == [
        OrderFill(
          table: "Z_1AUTHORS", ownerColumn: "Z_2AUTHORS", keyColumn: "Z_1BOOKS",
          orderColumn: "Z_FOK_1BOOKS")
      ])
  }

  @Test func `a many-to-many keeps its pairs and its places when its ends swap`() throws {
    let store = try SmallStore(
      [
        Entity("Note", [], [.toMany("tags", "Tag", inverse: "notes", isOrdered: true)]),
        Entity("Tag", [], [.toMany("notes", "Note", inverse: "tags")]),
      ],
      [
        Entity("Paper", was: "Tag", [], [.toMany("notes", "Text", inverse: "tags")]),
        Entity(
          "Text", was: "Note", [], [.toMany("tags", "Paper", inverse: "notes", isOrdered: true)]),
      ],
      "INSERT INTO Z_1TAGS VALUES (1, 7, 2048), (1, 6, 3072), (2, 7, 2048)")
    #expect(
      Set(try store.rows("Z_1NOTES")) == [
        "Z_1TAGS=7 Z_2NOTES=1 Z_FOK_1TAGS=2048", "Z_1TAGS=6 Z_2NOTES=1 Z_FOK_1TAGS=3072",
        "Z_1TAGS=7 Z_2NOTES=2 Z_FOK_1TAGS=2048",
      ])
  }

  private static func list(isOrdered: Bool) -> [Entity] {
    [
      Entity("List", [], [.toMany("items", "Row", inverse: "list", isOrdered: isOrdered)]),
      Entity("Row", [], [.toOne("list", "List", inverse: "items")]),
    ]
  }

  @Test func `order is switched on, kept, and switched off`() throws {
    let on = try SmallStore(
      Self.list(isOrdered: false), Self.list(isOrdered: true),
      "INSERT INTO ZROW VALUES (1, 2, 1, 4)")
    #expect(try on.rows("ZROW") == ["Z_PK=1 Z_ENT=2 ZLIST=4"])
    #expect(
      on.program.orderFills == [
        OrderFill(
          table: "ZROW", ownerColumn: "ZLIST", keyColumn: "Z_PK", orderColumn: "Z_FOK_LIST")
      ])
    let kept = try SmallStore(
      Self.list(isOrdered: true), Self.list(isOrdered: true),
      "INSERT INTO ZROW VALUES (1, 2, 1, 4, 2048)")
    #expect(try kept.rows("ZROW") == ["Z_PK=1 Z_ENT=2 ZLIST=4 Z_FOK_LIST=2048"])
    #expect(kept.program.orderFills.isEmpty)
    let off = try SmallStore(
      Self.list(isOrdered: true), Self.list(isOrdered: false),
      "INSERT INTO ZROW VALUES (1, 2, 1, 4, 2048)")
    #expect(try off.rows("ZROW") == ["Z_PK=1 Z_ENT=2 ZLIST=4"])
  }

  @Test func `a to-many without inverse keeps its owners and places`() throws {
    func entities(_ name: String, was: String? = nil) -> [Entity] {
      [
        Entity("Album", [], [.toMany(name, "Photo", inverse: nil, isOrdered: true, was: was)]),
        Entity("Photo"),
      ]
    }
    let store = try SmallStore(
      entities("photos"), [Entity("Aaa")] + entities("shots", was: "photos"),
      "INSERT INTO ZPHOTO VALUES (1, 2, 1, 4, 2048), (2, 2, 1, NULL, NULL)")
    #expect(
      try store.rows("ZPHOTO") == [
        "Z_PK=1 Z_ENT=3 Z2SHOTS=4 Z_FOK_2SHOTS=2048", "Z_PK=2 Z_ENT=3",
      ])
  }

  @Test func `references to a family have the new entity number`() throws {
    let owner = Entity("Z", [], [.toOne("pet", "Animal", inverse: nil)])
    let store = try SmallStore(
      [Entity("Animal"), Entity("Cat", in: "Animal"), owner],
      [
        Entity("Aaa"), Entity("Animal"), Entity("Ant", in: "Animal"), Entity("Cat", in: "Animal"),
        owner,
      ],
      "INSERT INTO ZZ VALUES (1, 3, 1, 10, 2), (2, 3, 1, 11, 1), (3, 3, 1, NULL, NULL)")
    #expect(
      try store.rows("ZZ") == [
        "Z_PK=1 Z_ENT=5 ZPET=10 Z2_PET=4", "Z_PK=2 Z_ENT=5 ZPET=11 Z2_PET=2", "Z_PK=3 Z_ENT=5",
      ])
  }

  @Test func `a first child gives references the number of the row that they lead to`() throws {
    let owner = Entity("Z", [], [.toOne("pet", "Animal", inverse: nil)])
    let store = try SmallStore(
      [Entity("Animal"), owner], [Entity("Animal"), Entity("Cat", in: "Animal"), owner],
      "INSERT INTO ZANIMAL VALUES (10, 1, 1)", "INSERT INTO ZZ VALUES (1, 2, 1, 10)")
    #expect(try store.rows("ZZ") == ["Z_PK=1 Z_ENT=3 ZPET=10 Z1_PET=1"])
  }

  @Test func `references to objects of a dropped child become nil`() throws {
    let owner = Entity("Z", [], [.toOne("pet", "Animal", inverse: nil)])
    let store = try SmallStore(
      [Entity("Animal"), Entity("Cat", in: "Animal"), Entity("Dog", in: "Animal"), owner],
      [Entity("Animal"), Entity("Dog", in: "Animal"), owner],
      "INSERT INTO ZANIMAL VALUES (1, 1, 1), (2, 2, 1), (3, 3, 1)",
      "INSERT INTO ZZ VALUES (1, 4, 1, 1, 1), (2, 4, 1, 2, 2), (3, 4, 1, 3, 3)")
    #expect(try store.rows("ZANIMAL") == ["Z_PK=1 Z_ENT=1", "Z_PK=3 Z_ENT=2"])
    #expect(
      try store.rows("ZZ") == [
        "Z_PK=1 Z_ENT=3 ZPET=1 Z1_PET=1", "Z_PK=2 Z_ENT=3", "Z_PK=3 Z_ENT=3 ZPET=3 Z1_PET=2",
      ])
  }

  @Test func `pairs with objects of a dropped child are left out`() throws {
    func tag(_ inverse: String = "tags") -> Entity {
      Entity("Tag", [], [.toMany("notes", "Note", inverse: inverse)])
    }
    let note = Entity("Note", [], [.toMany("tags", "Tag", inverse: "notes")])
    let store = try SmallStore(
      [note, Entity("Memo", in: "Note"), tag()], [note, tag()],
      "INSERT INTO ZNOTE VALUES (1, 1, 1), (2, 2, 1)", "INSERT INTO Z_1TAGS VALUES (1, 9), (2, 9)")
    #expect(try store.rows("Z_1TAGS") == ["Z_1NOTES=1 Z_2TAGS=9"])
  }

  @Test func `owners of a dropped child leave their objects without owner`() throws {
    let album = Entity("Album", [], [.toMany("photos", "Photo", inverse: nil, isOrdered: true)])
    let store = try SmallStore(
      [album, Entity("Box", in: "Album"), Entity("Photo")], [album, Entity("Photo")],
      "INSERT INTO ZALBUM VALUES (4, 1, 1), (5, 2, 1)",
      "INSERT INTO ZPHOTO VALUES (1, 3, 1, 4, 2048), (2, 3, 1, 5, 2048)")
    #expect(
      try store.rows("ZPHOTO") == [
        "Z_PK=1 Z_ENT=2 Z1PHOTOS=4 Z_FOK_1PHOTOS=2048", "Z_PK=2 Z_ENT=2",
      ])
  }

  @Test func `rows of a join table go on after a pair of keys`() throws {
    let note = Entity("Note", [], [.toMany("tags", "Tag", inverse: "notes")])
    let tag = Entity("Tag", [], [.toMany("notes", "Note", inverse: "tags")])
    let store = try SmallStore([note, tag], [note, tag])
    var join = try #require(store.program.joins.first)
    join.keepsRowNumbers = false
    let sql = join.query(in: KeyRange(first: 1, last: 5), after: "1, 7", schema: "src")
    #expect(sql.contains("(s.Z_1NOTES, s.Z_2TAGS) > (1, 7)"))
    #expect(sql.contains("s.Z_1NOTES >= 1 AND s.Z_1NOTES < 6"))
    #expect(sql.hasSuffix("ORDER BY s.Z_1NOTES, s.Z_2TAGS"))
  }

  @Test func `each row of a join table is in one range, whatever its keys are`() throws {
    let note = Entity("Note", [], [.toMany("tags", "Tag", inverse: "notes")])
    let tag = Entity("Tag", [], [.toMany("notes", "Note", inverse: "tags")])
    let part = Entity("Part", in: "Tag")
    let store = try SmallStore(
      [note, tag, part], [note, tag],
      "INSERT INTO ZTAG VALUES (7, 2, 1)",
      """
      INSERT INTO Z_1TAGS VALUES (1, 7), (1.5, 7), (2, 7), (-9e999, 7), (9e999, 7), ('abc', 7),
      (x'00', 7), (-9223372036854775808, 7), (9223372036854775807, 7)
      """)
    let all = try store.rows("Z_1TAGS")
    let ranges = [(Int64.min, Int64.min), (.min + 1, 1), (2, 2), (3, .max - 1), (.max, .max)]
    let parts = try ranges.flatMap {
      try store.rows("Z_1TAGS", in: KeyRange(first: $0.0, last: $0.1))
    }
    #expect(all.count == 9)
    #expect(parts == all)
  }

  @Test func `rows of a join table that is left alone keep their numbers`() throws {
    let note = Entity("Note", [], [.toMany("tags", "Tag", inverse: "notes")])
    let tag = Entity("Tag", [], [.toMany("notes", "Note", inverse: "tags")])
    let same = try #require(try SmallStore([note, tag], [note, tag]).program.joins.first)
    #expect(same.keepsRowNumbers)
    #expect(
      same.query(in: .all, after: "7", schema: "src", numbered: true).hasSuffix(
        "AND s.rowid > 7\nORDER BY s.rowid"))
    let part = Entity("Part", in: "Tag")
    let fewer = try #require(try SmallStore([note, tag, part], [note, tag]).program.joins.first)
    #expect(!fewer.keepsRowNumbers)
  }

  @Test func `a table without any old entity has no program`() throws {
    let store = try SmallStore([Entity("A")], [Entity("A"), Entity("B", [.mandatory("x")])])
    #expect(store.program.tables.map(\.destinationTable) == ["ZA"])
  }
}
