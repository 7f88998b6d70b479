import Expressions
import Mapping
import ObjectModel
import TestSupport
import Testing

/// The changes that cannot be inferred.
struct RefusalTests {
  private func refusals(_ old: [Entity], _ new: [Entity]) throws -> [Refusal] {
    MappingInference(
      from: try ManagedObjectModel(entities: old), to: try ManagedObjectModel(entities: new)
    ).refusals
  }

  @Test(
    arguments: AttributeType.allCases.filter { ![.integer32, .undefined].contains($0) })
  func `only numbers change their type`(new: AttributeType) throws {
    let found = try refusals(
      [Entity("A", [.optional("x", .integer32)])], [Entity("A", [.optional("x", new)])])
    let expected = Refusal(
      reason: .incompatibleTypes(source: "Integer 32", destination: new.name), entity: "A",
      property: "x")
    #expect(found == (new.isNumeric ? [] : [expected]))
  }

  @Test func `a to-many does not become a to-one`() throws {
    let found = try refusals(
      [Entity("A", [], [.toMany("bs", "B", inverse: nil)]), Entity("B")],
      [Entity("A", [], [.toOne("b", "B", inverse: nil, was: "bs")]), Entity("B")])
    #expect(found == [Refusal(reason: .toManyBecameToOne, entity: "A", property: "b")])
    #expect(found.first?.code == .inferredMappingModel)
  }

  @Test func `an attribute does not become a relationship, nor the other way round`() throws {
    let old = [Entity("A", [.optional("x")], [.toOne("y", "B", inverse: nil)]), Entity("B")]
    let new = [Entity("A", [.optional("y")], [.toOne("x", "B", inverse: nil)]), Entity("B")]
    #expect(
      Set(try refusals(old, new)) == [
        Refusal(reason: .attributeBecameRelationship, entity: "A", property: "x"),
        Refusal(reason: .relationshipBecameAttribute, entity: "A", property: "y"),
      ])
  }

  @Test func `a relationship does not change its destination entity`() throws {
    let found = try refusals(
      [Entity("A", [], [.toOne("b", "B", inverse: nil)]), Entity("B"), Entity("C")],
      [Entity("A", [], [.toOne("b", "C", inverse: nil)]), Entity("B"), Entity("C")])
    #expect(
      found == [
        Refusal(
          reason: .destinationEntityChanged(source: "B", destination: "C"), entity: "A",
          property: "b")
      ])
    let renamed = try refusals(
      [Entity("A", [], [.toOne("b", "B", inverse: nil)]), Entity("B")],
      [Entity("A", [], [.toOne("b", "C", inverse: nil)]), Entity("C", was: "B")])
    #expect(renamed.isEmpty)
  }

  @Test func `two hierarchies do not become one`() throws {
    let found = try refusals(
      [Entity("A"), Entity("B")],
      [Entity("P"), Entity("A", in: "P"), Entity("B", in: "P")])
    #expect(found == [Refusal(reason: .hierarchiesMerged(roots: ["A", "B"]), entity: "P")])
  }

  @Test func `a new derived attribute cannot be computed`() throws {
    var count = Attribute.optional("n", .integer64)
    count.derivation = .init(expression: .builtIn(name: "count:", [.keyPath(operand: nil, "bs")]))
    #expect(
      try refusals([Entity("A")], [Entity("A", [count])]) == [
        Refusal(reason: .derivationCannotBeComputed, entity: "A", property: "n")
      ])
  }

  @Test func `all refusals are listed, once each, where they are declared`() throws {
    let found = try refusals(
      [
        Entity("P", [.optional("x", .integer16)]), Entity("A", in: "P"), Entity("B", in: "P"),
        Entity("C", [], [.toMany("ps", "P", inverse: nil)]),
      ],
      [
        Entity("P", [.optional("x", .string)]), Entity("A", in: "P"), Entity("B", in: "P"),
        Entity("C", [], [.toOne("p", "P", inverse: nil, was: "ps")]),
      ])
    #expect(found.map { "\($0.entity).\($0.property ?? "")" }.sorted() == ["C.p", "P.x"])
  }

  @Test func `what an abstract entity lacks hurts nobody`() throws {
    let inference = MappingInference(
      from: try ManagedObjectModel(Entity("P", isAbstract: true)),
      to: try ManagedObjectModel(Entity("P", isAbstract: true, [.mandatory("x")])))
    #expect(inference.conditions.isEmpty)
  }

  @Test func `an entity that becomes abstract may have no objects`() throws {
    let inference = MappingInference(
      from: try ManagedObjectModel(Entity("P")),
      to: try ManagedObjectModel(Entity("P", isAbstract: true)))
    #expect(
      inference.conditions == [
        Condition(demand: .noObjectsOfAbstract, sourceEntity: "P", destinationEntity: "P")
      ])
  }
}
