import Expressions
import Mapping
import ObjectModel
import TestSupport
import Testing

/// Entities whose objects mappings share out, or put together.
struct RowDivisionTests {
  private static func entities(_ names: String..., in parent: String? = nil) -> [Entity] {
    names.map { name in
      Entity(
        name, in: parent, [.optional("kind", .integer16)],
        [.toMany("orders", "Order", inverse: "of\(name)")])
    }
  }

  private static func order(_ targets: String...) -> Entity {
    Entity(
      "Order", [.optional("kind", .integer16)],
      targets.map { .toOne("of\($0)", $0, inverse: "orders") })
  }

  private func mapping(
    _ source: String, _ destination: String, where filter: String? = nil,
    relationships: [String: ValueExpression] = [:]
  ) -> EntityMapping {
    var mapping = EntityMapping(
      name: "\(source)To\(destination)", kind: .transform, source: source,
      destination: destination)
    if let filter { mapping.sourceExpression = .sourceObjects(of: source, where: filter) }
    mapping.attributeMappings = [
      PropertyMapping(name: "kind", valueExpression: .source(name: "kind"))
    ]
    mapping.relationshipMappings = relationships.map {
      PropertyMapping(name: $0.key, valueExpression: $0.value)
    }
    return mapping
  }

  private func calls(
    _ old: [Entity], _ new: [Entity], _ mappings: EntityMapping..., allowsFilters: Bool = true
  ) throws -> RowCalls {
    try RowCalls(
      mapping: MappingModel(entityMappings: mappings),
      source: ManagedObjectModel(entities: old), destination: ManagedObjectModel(entities: new),
      independentPolicies: [], allowsFilters: allowsFilters)
  }

  private func reason(_ body: () throws -> RowCalls) throws -> RowFallback.Reason? {
    do {
      _ = try body()
      return nil
    } catch let fallback as RowFallback {
      return fallback.reason
    }
  }

  private static let one = [Entity("Item", [.optional("kind", .integer16)])]
  private static let two = [
    Entity("Item", [.optional("kind", .integer16)]),
    Entity("Rest", [.optional("kind", .integer16)]),
  ]

  @Test func `filters split an entity into two tables`() throws {
    let calls = try calls(
      Self.one, Self.two, mapping("Item", "Item", where: "kind == 1"),
      mapping("Item", "Rest", where: "kind != 1"))
    #expect(calls.isDivided)
    #expect(calls.isEmpty)
    #expect(calls.exclusive.isEmpty)
    #expect(calls.losses.divisions.map(\.mappings) == [["ItemToItem", "ItemToRest"]])
  }

  @Test func `a split without a filter, and one into the same entity, stay together`() throws {
    #expect(
      try reason {
        try calls(
          Self.one, Self.two, mapping("Item", "Item", where: "kind == 1"), mapping("Item", "Rest"))
      } == .shared(by: "ItemToRest"))
    var again = mapping("Item", "Item", where: "kind != 1")
    again.name = "Again"
    #expect(
      try reason {
        try calls(Self.one, Self.two, mapping("Item", "Item", where: "kind == 1"), again)
      } == .shared(by: "Again"))
    #expect(
      try reason {
        try calls(
          Self.one, Self.two, mapping("Item", "Item", where: "kind == 1"),
          mapping("Item", "Rest", where: "kind != 1"), allowsFilters: false)
      } == .watched)
  }

  @Test func `within one table no two mappings may take an object`() throws {
    let new = [
      Entity("Item", [.optional("kind", .integer16)]),
      Entity("Rest", in: "Item", []),
    ]
    let calls = try calls(
      Self.one, new, mapping("Item", "Item", where: "kind == 1"),
      mapping("Item", "Rest", where: "kind != 1"))
    #expect(calls.exclusive == ["Item"])
  }

  @Test func `entities of one table become one, those of two do not`() throws {
    func old(_ parent: String?) -> [Entity] {
      [
        Entity("Item", isAbstract: true), Entity("A", in: "Item", [.optional("kind", .integer16)]),
        Entity("B", in: parent, [.optional("kind", .integer16)]),
      ]
    }
    let merging = [mapping("A", "Item"), mapping("B", "Item")]
    let calls = try calls(old("Item"), Self.one, merging[0], merging[1])
    #expect(calls.isDivided)
    #expect(!calls.isFiltered)
    #expect(
      try reason { try self.calls(old(nil), Self.one, merging[0], merging[1]) }
        == .shared(by: "BToItem"))
    #expect(
      try reason {
        try self.calls(old("Item"), Self.one, merging[0], merging[1], allowsFilters: false)
      } == .watched)
  }

  @Test func `a value that has to be unique in all that is put together is compared`() throws {
    func unique(_ name: String, _ constraints: [[String]], in parent: String? = nil) -> Entity {
      Entity(name, in: parent, [.optional("kind", .integer16)], unique: constraints)
    }
    let old = [
      unique("Item", [["kind"]]), Entity("A", in: "Item", []), Entity("B", in: "Item", []),
    ]
    let apart = [
      Entity("Item", isAbstract: true), unique("A", [["kind"]], in: "Item"),
      unique("B", [["kind"]], in: "Item"),
    ]
    let new = [unique("Item", [["kind"]])]
    #expect(
      try reason { try calls(old, new, mapping("A", "Item"), mapping("B", "Item")) } == nil)
    #expect(
      try reason { try calls(apart, new, mapping("A", "Item"), mapping("B", "Item")) }
        == .constraint)
  }

  @Test func `a reference to what one mapping of a split made goes by rows`() throws {
    let old = Self.entities("Item") + [Self.order("Item")]
    let new = Self.entities("Item", "Rest") + [Self.order("Item", "Rest")]
    func calls(_ value: ValueExpression) throws -> RowCalls {
      try self.calls(
        old, new,
        mapping("Item", "Item", where: "kind == 1"),
        mapping(
          "Item", "Rest", where: "kind != 1",
          relationships: ["orders": .destinations(ofRelationship: "orders")]),
        mapping("Order", "Order", relationships: ["ofRest": value]))
    }
    #expect(
      try reason {
        try calls(.destinations(ofRelationship: "ofItem", mapping: "ItemToRest"))
      } == nil)
    // What the other mapping made is no object of the relationship.
    #expect(
      try reason {
        try calls(.destinations(ofRelationship: "ofItem", mapping: "ItemToItem"))
      } == .relationship)
    #expect(
      try reason { try calls(.destinations(ofRelationship: "ofItem")) } == .relationship)
  }

  @Test func `a to-many without inverse is read by all owners or by none`() throws {
    let old = [
      Entity("Box", [.optional("kind", .integer16)], [.toMany("items", "Item", inverse: nil)]),
      Entity("Item"),
    ]
    let new = old + [Entity("Rest", in: "Box", [])]
    func calls(_ relationships: [String: ValueExpression]) throws -> RowCalls {
      let read: [String: ValueExpression] = ["items": .destinations(ofRelationship: "items")]
      return try self.calls(
        old, new, mapping("Box", "Box", where: "kind == 1", relationships: read),
        mapping("Box", "Rest", where: "kind != 1", relationships: relationships),
        EntityMapping(name: "Items", kind: .copy, source: "Item", destination: "Item"))
    }
    #expect(try reason { try calls(["items": .destinations(ofRelationship: "items")]) } == nil)
    #expect(try reason { try calls([:]) } == .relationship)
  }
}
