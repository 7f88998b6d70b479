import ObjectModel
import TestSupport
import Testing

@testable import Schema

/// Bits of changes, as stores of a photo library show them.
struct HistoryLayoutTests {
  private func layout(_ name: String, _ model: ManagedObjectModel) throws -> HistoryLayout {
    let schema = try StoreSchema(model)
    let entity = try #require(model.entity(name: name))
    return HistoryLayout(of: entity, table: try #require(schema.table(of: entity)), in: model)
  }

  @Test func `bits come by form, from the ancestors on, and by name`() throws {
    let model = try ManagedObjectModel(
      Entity(
        "Base", isAbstract: true, [.optional("zeal")], [.toOne("owner", "Base", inverse: nil)]),
      Entity(
        "Item", in: "Base", [.optional("b"), .optional("a")],
        [
          .toOne("box", "Box", inverse: "items"), .toMany("all", "Box", inverse: "many"),
        ]),
      Entity(
        "Box", [],
        [
          .toMany("items", "Item", inverse: "box", isOrdered: true),
          .toMany("many", "Item", inverse: "all"), .toMany("loose", "Item", inverse: nil),
        ]))
    #expect(
      try layout("Item", model).slots == [
        .property("owner"), .property("box"), .owner(entity: "Box", relationship: "loose"),
        .entityNumber(relationship: "owner"), .order(relationship: "box"), .property("zeal"),
        .property("a"), .property("b"), .property("all"),
      ])
    #expect(try layout("Item", model).bytes == 2)
  }

  @Test func `a table with keys is found by its name, history's too`() throws {
    var schema = try StoreSchema(ManagedObjectModel(Entity("Box"), Entity("Item")))
    #expect(schema.keyedTable(named: "ZITEM")?.rootName == "Item")
    #expect(schema.keyedTable(named: HistoryTables.changes) == nil)
    #expect(schema.keyedTables == schema.tables && schema.allIndexes == schema.indexes)
    schema.history = HistoryTables(tombstones: 1)
    #expect(schema.keyedTable(named: HistoryTables.changes)?.columns.last?.name == "ZTOMBSTONE0")
    #expect(schema.keyedTables.map(\.name) == HistoryTables.names + ["ZBOX", "ZITEM"])
  }

  @Test func `the hash of a name is the published one`() {
    // By hand: r = 2; r = (2 * 257 + 97) * 257 + 98; then r << 2 is added.
    let pair = ((2 * 257 + 97) * 257 + 98) as UInt64
    #expect(NameTable.hash("ab") == pair + pair << 2)
    #expect(NameTable.hash("") == 0)
  }

  @Test func `where an unknown entry may push a name past another, only the set is known`() throws {
    // Of 13 places, `b` has its own right before that of `a`.
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"]
    let table = NameTable(names: names, watched: Set(names), entries: 11)
    let clusters = table.clusters(of: table.ordered(names))
    #expect(clusters.flatMap(\.self).count == Set(clusters.flatMap(\.self)).count)
    let lone = NameTable(names: ["a"], watched: ["a"], entries: 6)
    #expect(lone.clusters(of: ["a"]).isEmpty)
    let many = NameTable(names: names, watched: Set(names), entries: 5_000)
    #expect(many.clusters(of: names) == [Array(0..<8)])
  }
}
