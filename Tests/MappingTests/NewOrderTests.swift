import Expressions
import Mapping
import ObjectModel
import TestSupport
import Testing

struct NewOrderTests {
  private func model(isOrdered: Bool, one: Bool = false) throws -> ManagedObjectModel {
    let items: Relationship =
      one
      ? .toOne("items", "Item", inverse: "list")
      : .toMany("items", "Item", inverse: "list", isOrdered: isOrdered)
    return try ManagedObjectModel(
      Entity("List", [], [items]), Entity("Special", in: "List"),
      Entity("Item", [.optional("place", .integer64)], [.toOne("list", "List", inverse: "items")]))
  }

  @Test func `an order that begins is found in each entity whose objects get it`() throws {
    let found = NewOrder.all(
      models: [], from: try model(isOrdered: false), to: try model(isOrdered: true))
    #expect(
      found == [
        NewOrder(entity: "List", property: "items", source: "List"),
        NewOrder(entity: "List", property: "items", source: "Special"),
      ])
  }

  @Test func `an order from before, and that of one object, begin nothing`() throws {
    let new = try model(isOrdered: true)
    #expect(NewOrder.all(models: [], from: new, to: new).isEmpty)
    #expect(NewOrder.all(models: [], from: try model(isOrdered: false, one: true), to: new).isEmpty)
    #expect(NewOrder.all(models: [], from: new, to: try model(isOrdered: false)).isEmpty)
  }

  @Test func `a mapping that sorts chooses its order itself`() throws {
    let (old, new) = (try model(isOrdered: false), try model(isOrdered: true))
    var mapping = EntityMapping(name: "L", kind: .transform, source: "List", destination: "List")
    mapping.relationshipMappings = [PropertyMapping(name: "items", valueExpression: nil)]
    func found() -> Int {
      NewOrder.all(models: [MappingModel(entityMappings: [mapping])], from: old, to: new).count
    }
    #expect(found() == 1)
    mapping.relationshipMappings[0].sortedBy = [SortKey(path: "place", isDescending: false)]
    #expect(found() == 0)
  }
}
