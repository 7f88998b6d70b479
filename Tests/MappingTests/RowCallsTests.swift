import Expressions
import Mapping
import ObjectModel
import TestSupport
import Testing

struct RowCallsTests {
  private func calls(
    independent: Set<String> = [], allowsFilters: Bool = true,
    _ change: (inout MappingModel) throws -> Void = { _ in }
  ) throws -> RowCalls {
    let model = try ShopModels.model()
    var mapping = ShopModels.mapping()
    try change(&mapping)
    return try RowCalls(
      mapping: mapping, source: model, destination: model, independentPolicies: independent,
      allowsFilters: allowsFilters)
  }

  private func fallback(
    _ change: (inout MappingModel) throws -> Void
  ) throws -> RowFallback? {
    do {
      _ = try calls(change)
      return nil
    } catch let fallback as RowFallback {
      return fallback
    }
  }

  @Test func `a mapping that copies needs no calls`() throws {
    let calls = try calls()
    #expect(calls.isEmpty)
    #expect(calls.mapping(of: "name", in: ShopModels.mapping().entityMappings[0]) == nil)
  }

  @Test func `an expression on the source object is called for its attribute alone`() throws {
    var customer: EntityMapping?
    let calls = try calls { mapping in
      mapping.entityMappings[0].attributeMappings[0].valueExpression = try ValueExpression(
        format: "uppercase($source.name)")
      customer = mapping.entityMappings[0]
    }
    #expect(!calls.isEmpty)
    #expect(calls.mapping(of: "name", in: try #require(customer)) == 0)
    #expect(calls.mapping(of: "number", in: ShopModels.mapping().entityMappings[2]) == nil)
  }

  @Test func `an independent policy is called for every attribute of its entity`() throws {
    let calls = try calls(independent: ["OrderPolicy"]) {
      $0.entityMappings[2].migrationPolicyClassName = "OrderPolicy"
    }
    var order = ShopModels.mapping().entityMappings[2]
    order.migrationPolicyClassName = "OrderPolicy"
    #expect(calls.mapping(of: "number", in: order) == 2)
  }

  @Test func `a subquery's own variable goes row by row, the manager is`() throws {
    let count = "SUBQUERY($source.orders, $order, $order.number > 3).@count"
    #expect(
      try fallback {
        $0.entityMappings[0].attributeMappings[0].valueExpression = try ValueExpression(
          format: count)
      } == nil)
    let found = try fallback {
      $0.entityMappings[0].attributeMappings[0].valueExpression = try ValueExpression(
        format: "$manager.migrationProgress")
    }
    #expect(found?.reason == .expression)
    #expect(found?.mapping == "CustomerToCustomer")
    #expect(found?.property == "name")
  }

  @Test func `a filter keeps nothing together, unless it tells the time`() throws {
    func calls(_ filter: String, allowsFilters: Bool = true) throws -> RowCalls {
      try self.calls(allowsFilters: allowsFilters) {
        $0.entityMappings[1].sourceExpression = .sourceObjects(of: "Log", where: filter)
      }
    }
    let filtered = try calls("text != ''")
    #expect(filtered.isFiltered)
    #expect(filtered.isEmpty)
    #expect(filtered.losses.divisions.map(\.entity) == ["Log"])
    #expect(try !calls(ValueExpression.everything).isFiltered)
    let timed = #expect(throws: RowFallback.self) { try calls("now() != nil") }
    #expect(timed?.reason == .moment)
    let watched = #expect(throws: RowFallback.self) {
      try calls("text != ''", allowsFilters: false)
    }
    #expect(watched?.reason == .watched)
  }

  @Test func `a policy for an abstract destination makes the objects itself`() throws {
    let source = try ManagedObjectModel(Entity("Item", [.optional("code")]))
    let destination = try ManagedObjectModel(
      Entity("Item", isAbstract: true, [.optional("code")]), Entity("Part", in: "Item"))
    var mapping = EntityMapping(
      name: "ItemToItem", kind: .custom, source: "Item", destination: "Item")
    mapping.migrationPolicyClassName = "Choosing"
    let fallback = #expect(throws: RowFallback.self) {
      try RowCalls(
        mapping: MappingModel(entityMappings: [mapping]), source: source,
        destination: destination, independentPolicies: ["Choosing"], allowsFilters: true)
    }
    #expect(fallback?.reason == .policy("Choosing"))
  }

  @Test func `another expression, a policy and a shared entity keep objects together`() throws {
    #expect(
      try fallback {
        $0.entityMappings[1].sourceExpression = try ValueExpression(
          format: "FETCH($manager, $manager, FALSE)")
      }?.reason == .selection)
    #expect(
      try fallback { $0.entityMappings[1].migrationPolicyClassName = "LogPolicy" }?.reason
        == .policy("LogPolicy"))
    #expect(
      try fallback { mapping in
        var second = mapping.entityMappings[1]
        second.name = "Again"
        mapping.entityMappings.append(second)
      }?.reason == .shared(by: "Again"))
  }

  @Test func `a relationship must continue one of the source, and its inverse the same`() throws {
    #expect(
      try fallback {
        $0.entityMappings[2].relationshipMappings[0].valueExpression =
          try ValueExpression(format: "FETCH($manager, $manager, FALSE)")
      }?.reason == .relationship)
    #expect(
      try fallback {
        $0.entityMappings[2].relationshipMappings[0].valueExpression =
          .destinations(ofRelationship: "customer", mapping: "LogToLog")
      }?.reason == .relationship)
  }

  @Test func `a text does not become a number`() throws {
    #expect(
      try fallback {
        $0.entityMappings[2].attributeMappings[0].valueExpression = .source(name: "customer")
      }?.reason == .expression)
    #expect(
      try fallback {
        $0.entityMappings[1].attributeMappings[0] = PropertyMapping(
          name: "text", valueExpression: .source(name: "text"))
      } == nil)
  }
}
