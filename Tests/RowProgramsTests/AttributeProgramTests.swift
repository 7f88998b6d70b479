import Expressions
import GRDB
import ObjectModel
import RowPrograms
import Schema
import TestSupport
import Testing

struct AttributeProgramTests {
  @Test func `renamed entities and attributes keep their values, keys and save counts`() throws {
    let store = try SmallStore(
      [Entity("Aa"), Entity("Car", [.optional("colour"), .optional("gone")])],
      [Entity("Vehicle", was: "Car", [.optional("color", was: "colour")])],
      "INSERT INTO ZCAR VALUES (4, 2, 9, 'red', 'x'), (7, 2, 1, NULL, 'y')")
    #expect(try store.rows("ZVEHICLE") == ["Z_PK=4 Z_ENT=1 ZCOLOR='red'", "Z_PK=7 Z_ENT=1"])
    #expect(store.program.tables[0].query(in: .all, schema: "src").contains("s.Z_OPT AS Z_OPT"))
  }

  @Test func `a new attribute has its default in every row`() throws {
    let store = try SmallStore(
      [Entity("A")],
      [
        Entity(
          "A",
          [
            .optional("b", .boolean, default: .boolean(true)),
            .optional("i", .integer64, default: .integer(.min)),
            .optional("r", .double, default: .integer(2)), .optional("s", default: .string("it's")),
            .optional("d", .date, default: .date(0.5)), .external("x", default: .data([9])),
            .optional("u", .uuid, default: .uuid([0xAB])), .optional("n"),
          ])
      ],
      "INSERT INTO ZA VALUES (1, 1, 1)")
    #expect(
      try store.rows("ZA") == [
        "Z_PK=1 Z_ENT=1 ZB=1 ZI=-9223372036854775808 ZD=0.5 ZR=2.0 ZS='it's' ZU=xab ZX=x0109"
      ])
  }

  @Test func `an optional attribute becomes mandatory with its default, and back`() throws {
    let store = try SmallStore(
      [Entity("A", [.optional("x"), .mandatory("y")])],
      [Entity("A", [.mandatory("x", default: .string("none")), .optional("y")])],
      "INSERT INTO ZA VALUES (1, 1, 1, NULL, 'q'), (2, 1, 1, 'v', NULL)")
    #expect(
      try store.rows("ZA") == ["Z_PK=1 Z_ENT=1 ZX='none' ZY='q'", "Z_PK=2 Z_ENT=1 ZX='v'"])
  }

  private static let numeric = AttributeType.allCases.filter(\.isNumeric)

  @Test(arguments: numeric, numeric)
  func `a number becomes one of another type, toward zero`(
    old: AttributeType, new: AttributeType
  ) throws {
    let hasFraction = [.decimal, .double, .float].contains(old)
    let values =
      old == .boolean ? ["0", "1"] : hasFraction ? ["-2.75", "0", "2.75"] : ["-3", "0", "3"]
    let store = try SmallStore(
      [Entity("A", [.optional("x", old)])], [Entity("A", [.optional("x", new)])],
      "INSERT INTO ZA VALUES (0, 1, 1, NULL)",
      "INSERT INTO ZA VALUES "
        + values.enumerated().map { "(\($0 + 1), 1, 1, \($1))" }.joined(separator: ", "))
    let expected = values.map { text -> String in
      let number = Double(text) ?? 0
      switch new {
      case .boolean: return number == 0 ? "0" : "1"
      case .integer16, .integer32, .integer64: return "\(Int(number))"
      case .double, .float: return "\(number)"
      // NUMERIC affinity keeps a whole number as an integer, in whatever form it comes.
      default: return old == .double || old == .float ? "\(number)" : text
      }
    }
    #expect(
      try store.rows("ZA")
        == ["Z_PK=0 Z_ENT=1"]
        + expected.enumerated().map { "Z_PK=\($0 + 1) Z_ENT=1 ZX=\($1)" })
  }

  @Test func `a converted value that is missing gets the default`() throws {
    let store = try SmallStore(
      [Entity("A", [.optional("x", .double)])],
      [Entity("A", [.mandatory("x", .integer16, default: .integer(-1))])],
      "INSERT INTO ZA VALUES (1, 1, 1, NULL), (2, 1, 1, 1e3)")
    #expect(try store.rows("ZA") == ["Z_PK=1 Z_ENT=1 ZX=-1", "Z_PK=2 Z_ENT=1 ZX=1000"])
  }

  @Test func `external storage puts a tag before the bytes, and takes it off`() throws {
    let on = try SmallStore(
      [Entity("A", [.optional("x", .binary)])], [Entity("A", [.external("x")])],
      "INSERT INTO ZA VALUES (1, 1, 1, x'00ff80'), (2, 1, 1, NULL), (3, 1, 1, x'')")
    #expect(
      try on.rows("ZA") == [
        "Z_PK=1 Z_ENT=1 ZX=x0100ff80", "Z_PK=2 Z_ENT=1", "Z_PK=3 Z_ENT=1 ZX=x01",
      ])
    let off = try SmallStore(
      [Entity("A", [.external("x")])], [Entity("A", [.optional("x", .binary)])],
      "INSERT INTO ZA VALUES (1, 1, 1, x'0100ff80'), (2, 1, 1, NULL), (3, 1, 1, x'01')",
      "INSERT INTO ZA VALUES (4, 1, 1, CAST(x'02' || 'NAME' AS BLOB))")
    #expect(
      try off.rows("ZA").prefix(3) == [
        "Z_PK=1 Z_ENT=1 ZX=x00ff80", "Z_PK=2 Z_ENT=1", "Z_PK=3 Z_ENT=1 ZX=x",
      ])
    #expect(try off.rows("ZA").last?.hasPrefix("Z_PK=4 Z_ENT=1 ZX='file ") == true)
  }

  @Test func `what has no tag stays as it is where external storage goes`() throws {
    let off = try SmallStore(
      [Entity("A", [.external("x")])], [Entity("A", [.optional("x", .binary)])],
      "INSERT INTO ZA VALUES (1, 1, 1, 'abc'), (2, 1, 1, 5.5), (3, 1, 1, 123), (4, 1, 1, x'ff00')")
    #expect(
      try off.rows("ZA") == [
        "Z_PK=1 Z_ENT=1 ZX='abc'", "Z_PK=2 Z_ENT=1 ZX=5.5", "Z_PK=3 Z_ENT=1 ZX=123",
        "Z_PK=4 Z_ENT=1 ZX=xff00",
      ])
  }

  @Test func `external storage and a default for what is missing come together`() throws {
    let on = try SmallStore(
      [Entity("A", [.optional("x", .binary)])],
      [Entity("A", [.external("x", isOptional: false, default: .data([7]))])],
      "INSERT INTO ZA VALUES (1, 1, 1, NULL)")
    #expect(try on.rows("ZA") == ["Z_PK=1 Z_ENT=1 ZX=x0107"])
    let off = try SmallStore(
      [Entity("A", [.external("x")])],
      [Entity("A", [.mandatory("x", .binary, default: .data([7]))])],
      "INSERT INTO ZA VALUES (1, 1, 1, NULL)")
    #expect(try off.rows("ZA") == ["Z_PK=1 Z_ENT=1 ZX=x07"])
  }

  @Test func `a decimal default is the number that its column would make of it`() throws {
    let store = try SmallStore(
      [Entity("A")],
      [
        Entity(
          "A",
          [
            .optional("a", .decimal, default: .decimal("0")),
            .optional("b", .decimal, default: .decimal("12.5")),
          ])
      ],
      "INSERT INTO ZA VALUES (1, 1, 1)")
    #expect(try store.rows("ZA") == ["Z_PK=1 Z_ENT=1 ZA=0 ZB=12.5"])
  }

  @Test func `columns with collision suffixes go by their property`() throws {
    let store = try SmallStore(
      [
        Entity("P"), Entity("A", in: "P", [.optional("size", .integer16)]),
        Entity("B", in: "P", [.optional("size", .integer32)]),
      ],
      [
        Entity("P"), Entity("A", in: "P"), Entity("B", in: "P", [.optional("size", .integer32)]),
        Entity("C", in: "P", [.optional("size")]),
      ],
      "INSERT INTO ZP VALUES (1, 2, 1, 5, NULL), (2, 3, 1, NULL, 6), (3, 1, 1, NULL, NULL)")
    #expect(
      try store.rows("ZP") == ["Z_PK=1 Z_ENT=2", "Z_PK=2 Z_ENT=3 ZSIZE=6", "Z_PK=3 Z_ENT=1"])
  }

  @Test func `a property moves up, and down`() throws {
    let apart = [
      Entity("P"), Entity("A", in: "P", [.optional("x")]), Entity("B", in: "P", [.optional("x")]),
    ]
    let above = [Entity("P", [.optional("x")]), Entity("A", in: "P"), Entity("B", in: "P")]
    let up = try SmallStore(
      apart, above,
      "INSERT INTO ZP VALUES (1, 2, 1, 'a', NULL), (2, 3, 1, NULL, 'b'), (3, 1, 1, NULL, NULL)")
    #expect(
      try up.rows("ZP") == ["Z_PK=1 Z_ENT=2 ZX='a'", "Z_PK=2 Z_ENT=3 ZX='b'", "Z_PK=3 Z_ENT=1"])
    let down = try SmallStore(
      above, apart, "INSERT INTO ZP VALUES (1, 2, 1, 'a'), (2, 3, 1, 'b'), (3, 1, 1, 'p')")
    #expect(
      try down.rows("ZP") == ["Z_PK=1 Z_ENT=2 ZX='a'", "Z_PK=2 Z_ENT=3 ZX1='b'", "Z_PK=3 Z_ENT=1"])
  }

  @Test func `an entity gets a parent and a child, and keeps its rows`() throws {
    let store = try SmallStore(
      [Entity("Dog", [.optional("name")])],
      [
        Entity("Animal", isAbstract: true), Entity("Dog", in: "Animal", [.optional("name")]),
        Entity("Puppy", in: "Dog"),
      ],
      "INSERT INTO ZDOG VALUES (1, 1, 1, 'Rex')")
    #expect(try store.rows("ZANIMAL") == ["Z_PK=1 Z_ENT=2 ZNAME='Rex'"])
    #expect(store.program.tables.map(\.sourceTable) == ["ZDOG"])
  }

  @Test func `an entity that leaves its hierarchy takes its rows along`() throws {
    let store = try SmallStore(
      [Entity("P", [.optional("x")]), Entity("A", in: "P", [.optional("y")])],
      [Entity("P", [.optional("x")]), Entity("A", [.optional("x"), .optional("y")])],
      "INSERT INTO ZP VALUES (1, 1, 1, 'p', NULL), (2, 2, 1, 'a', 'y')")
    #expect(try store.rows("ZP") == ["Z_PK=1 Z_ENT=2 ZX='p'"])
    #expect(try store.rows("ZA") == ["Z_PK=2 Z_ENT=1 ZX='a' ZY='y'"])
  }

  @Test func `a query takes a range of keys, in their order`() throws {
    let store = try SmallStore(
      [Entity("A")], [Entity("A", [.optional("n")])],
      "INSERT INTO ZA VALUES (30, 1, 1), (-5, 1, 1), (10, 1, 1), (20, 7, 1)")
    #expect(try store.rows("ZA").count == 3)
    #expect(
      try store.rows("ZA", in: KeyRange(first: .min, last: 10)) == [
        "Z_PK=-5 Z_ENT=1", "Z_PK=10 Z_ENT=1",
      ])
    #expect(try store.rows("ZA", in: KeyRange(first: 11, last: .max)) == ["Z_PK=30 Z_ENT=1"])
    #expect(try store.rows("ZA", in: nil).isEmpty)
  }
}
