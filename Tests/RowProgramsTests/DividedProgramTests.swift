import Expressions
import Mapping
import ObjectModel
import TestSupport
import Testing

@testable import RowPrograms

/// Programs of entities whose rows several mappings share out, or put together.
struct DividedProgramTests {
  private static func mapping(
    _ source: String, _ destination: String, where filter: String? = nil,
    _ attributes: [String] = [], relationships: [String: ValueExpression] = [:]
  ) -> EntityMapping {
    var mapping = EntityMapping(
      name: "\(source)To\(destination)", kind: .transform, source: source,
      destination: destination)
    if let filter { mapping.sourceExpression = .sourceObjects(of: source, where: filter) }
    mapping.attributeMappings = attributes.map {
      PropertyMapping(name: $0, valueExpression: .source(name: $0))
    }
    mapping.relationshipMappings = relationships.map {
      PropertyMapping(name: $0.key, valueExpression: $0.value)
    }
    return mapping
  }

  private static func item(_ name: String, in parent: String? = nil, _ inverse: String) -> Entity {
    Entity(
      name, in: parent, [.optional("kind", .integer16)],
      [
        .toMany("orders", "Order", inverse: inverse),
        .toMany("tags", "Tag", inverse: "\(inverse)s"),
      ])
  }

  private static let old = [
    item("Item", "item"),
    Entity("Order", [], [.toOne("item", "Item", inverse: "orders")]),
    Entity("Tag", [], [.toMany("items", "Item", inverse: "tags")]),
  ]

  private static let rows = [
    "INSERT INTO ZITEM VALUES (1, 1, 1, 5), (2, 1, 1, 7), (3, 1, 1, NULL)",
    "INSERT INTO ZORDER VALUES (1, 2, 1, 1), (2, 2, 1, 2), (3, 2, 1, 3), (4, 2, 1, NULL)",
    "INSERT INTO Z_1TAGS VALUES (1, 8), (2, 8), (3, 9)",
    "INSERT INTO ZTAG VALUES (8, 3, 1), (9, 3, 1)",
  ]

  @Test func `rows go to the table of the mapping that takes them, references with them`() throws {
    let new = [
      Self.item("Item", "item"), Self.item("Rest", "rest"),
      Entity(
        "Order", [],
        [.toOne("item", "Item", inverse: "orders"), .toOne("rest", "Rest", inverse: "orders")]),
      Entity(
        "Tag", [],
        [.toMany("items", "Item", inverse: "tags"), .toMany("rests", "Rest", inverse: "tags")]),
    ]
    let read: [String: ValueExpression] = ["tags": .destinations(ofRelationship: "tags")]
    let mapping = MappingModel(entityMappings: [
      Self.mapping("Item", "Item", where: "kind == 5", ["kind"], relationships: read),
      Self.mapping("Item", "Rest", where: "kind == 7", ["kind"], relationships: read),
      Self.mapping(
        "Order", "Order",
        relationships: [
          "item": .destinations(ofRelationship: "item", mapping: "ItemToItem"),
          "rest": .destinations(ofRelationship: "item", mapping: "ItemToRest"),
        ]), Self.mapping("Tag", "Tag"),
    ])
    let store = try SmallStore(
      Self.old, new, mapping: mapping, untaken: ["ZITEM 0": [2, 3], "ZITEM 1": [1, 3]], Self.rows)
    #expect(try store.rows("ZITEM") == ["Z_PK=1 Z_ENT=1 ZKIND=5"])
    #expect(try store.rows("ZREST") == ["Z_PK=2 Z_ENT=3 ZKIND=7"])
    #expect(
      try store.rows("ZORDER") == [
        "Z_PK=1 Z_ENT=2 ZITEM=1", "Z_PK=2 Z_ENT=2 ZREST=2", "Z_PK=3 Z_ENT=2", "Z_PK=4 Z_ENT=2",
      ])
    #expect(try store.rows("Z_1TAGS") == ["Z_1ITEMS=1 Z_4TAGS=8"])
    #expect(try store.rows("Z_3TAGS") == ["Z_3RESTS=2 Z_4TAGS1=8"])
    #expect(store.program.isDivided)
    #expect(store.program.untakenRows.map(\.name).sorted() == ["ZITEM 0", "ZITEM 1"])
  }

  @Test func `within one table rows and references get the number of what took them`() throws {
    let new = [
      Self.item("Item", "item"),
      Entity("Rest", in: "Item", [.optional("other", .integer16)]),
      Entity("Order", [], [.toOne("item", "Item", inverse: "orders")]),
      Entity("Tag", [], [.toMany("items", "Item", inverse: "tags")]),
    ]
    let mapping = MappingModel(entityMappings: [
      Self.mapping("Item", "Item", where: "kind == 5", ["kind"]),
      Self.mapping("Item", "Rest", where: "kind == 7", []),
      Self.mapping(
        "Order", "Order", relationships: ["item": .destinations(ofRelationship: "item")]),
      Self.mapping(
        "Tag", "Tag", relationships: ["items": .destinations(ofRelationship: "items")]),
    ])
    let store = try SmallStore(
      Self.old, new, mapping: mapping,
      untaken: ["ZITEM 0": [2, 3], "ZITEM 1": [1, 3], "ZITEM 0+1": [3]], Self.rows)
    #expect(
      try store.rows("ZITEM") == ["Z_PK=1 Z_ENT=1 ZKIND=5", "Z_PK=2 Z_ENT=2"])
    #expect(
      try store.rows("ZORDER") == [
        "Z_PK=1 Z_ENT=3 ZITEM=1 Z1_ITEM=1", "Z_PK=2 Z_ENT=3 ZITEM=2 Z1_ITEM=2", "Z_PK=3 Z_ENT=3",
        "Z_PK=4 Z_ENT=3",
      ])
    #expect(try store.rows("Z_1TAGS") == ["Z_1ITEMS=1 Z_4TAGS=8", "Z_1ITEMS=2 Z_4TAGS=8"])
    #expect(store.program.untakenRows.map(\.name).sorted() == ["ZITEM 0", "ZITEM 0+1", "ZITEM 1"])
  }

  @Test func `entities of one table that become one keep their keys`() throws {
    let old = [
      Entity("Thing", isAbstract: true), Entity("A", in: "Thing", [.optional("x", .integer16)]),
      Entity("B", in: "Thing", [.optional("y", .integer16)]),
      Entity("Order", [], [.toOne("thing", "Thing", inverse: nil)]),
    ]
    let new = [
      Entity("A", [.optional("x", .integer16)]),
      Entity("Order", [], [.toOne("thing", "A", inverse: nil)]),
    ]
    var merged = Self.mapping("B", "A")
    merged.attributeMappings = [PropertyMapping(name: "x", valueExpression: .source(name: "y"))]
    let mapping = MappingModel(entityMappings: [
      Self.mapping("A", "A", ["x"]), merged,
      Self.mapping(
        "Order", "Order", relationships: ["thing": .destinations(ofRelationship: "thing")]),
    ])
    let store = try SmallStore(
      old, new, mapping: mapping, untaken: [:],
      [
        "INSERT INTO ZTHING (Z_PK, Z_ENT, Z_OPT, ZX, ZY) VALUES (1, 3, 1, 5, NULL), (2, 4, 1, NULL, 6)",
        "INSERT INTO ZORDER (Z_PK, Z_ENT, Z_OPT, ZTHING, Z2_THING) VALUES (1, 1, 1, 2, 4)",
      ])
    #expect(try store.rows("ZA") == ["Z_PK=1 Z_ENT=1 ZX=5", "Z_PK=2 Z_ENT=1 ZX=6"])
    #expect(try store.rows("ZORDER") == ["Z_PK=1 Z_ENT=2 ZTHING=2"])
    #expect(store.program.isDivided)
    #expect(store.program.untakenRows.isEmpty)
  }
}
