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

  @Test func `a to-many becomes a to-one where no object has several`() throws {
    let inference = try MappingInference(
      from: ManagedObjectModel(
        entities: [Entity("A", [], [.toMany("bs", "B", inverse: nil)]), Entity("B")]),
      to: ManagedObjectModel(
        entities: [Entity("A", [], [.toOne("b", "B", inverse: nil, was: "bs")]), Entity("B")]))
    #expect(inference.refusals.isEmpty)
    #expect(inference.conditions.map(\.demand) == [.singleObject(relationship: "bs")])
    #expect(inference.conditions.map(\.code) == [.migration])
  }

  @Test func `a destination widens to an ancestor, and to nothing else`() throws {
    func found(_ target: String) throws -> [Refusal] {
      let animals = [Entity("Animal"), Entity("Cat", in: "Animal"), Entity("Dog", in: "Animal")]
      return try refusals(
        animals + [Entity("Owner", [], [.toOne("pet", "Cat", inverse: nil)])],
        animals + [Entity("Owner", [], [.toOne("pet", target, inverse: nil)])])
    }
    #expect(try found("Animal").isEmpty)
    #expect(
      try found("Dog") == [
        Refusal(
          reason: .destinationEntityChanged(source: "Cat", destination: "Dog"), entity: "Owner",
          property: "pet")
      ])
  }

  @Test func `what a to-one inverse demands of a many-to-many is demanded once`() throws {
    func many(_ name: String) -> Relationship { .toMany(name, "B", inverse: "as") }
    let old = [
      Entity("A", [], [many("bs")]), Entity("B", [], [.toMany("as", "A", inverse: "bs")]),
    ]
    func demands(_ inverse: Relationship) throws -> [Condition.Demand] {
      var own = many("bs")
      own.inverseName = inverse.name
      return try MappingInference(
        from: ManagedObjectModel(entities: old),
        to: ManagedObjectModel(entities: [Entity("A", [], [own]), Entity("B", [], [inverse])])
      ).conditions.map(\.demand)
    }
    #expect(
      try demands(.toOne("a", "A", inverse: "bs")) == [.singleOwner(relationship: "bs")])
    #expect(
      try demands(.toOne("a", "A", inverse: "bs", was: "as"))
        == [.singleObject(relationship: "as")])
  }

  @Test func `mandatory to-one relationships are demanded, to-many ones are not`() throws {
    let old = try ManagedObjectModel(
      entities: [
        Entity("A", [], [.toOne("kept", "B", inverse: nil, isOptional: false)]), Entity("B"),
      ])
    var many = Relationship.toMany("many", "B", inverse: nil)
    many.isOptional = false
    let new = try ManagedObjectModel(
      entities: [
        Entity(
          "A", [],
          [
            .toOne("kept", "B", inverse: nil, isOptional: false), many,
            .toOne("new", "B", inverse: nil, isOptional: false), .toOne("free", "B", inverse: nil),
          ]), Entity("B"),
      ])
    let inference = MappingInference(from: old, to: new)
    let found = inference.mapping.mandatoryReferences(from: old, to: new)
    #expect(
      Dictionary(uniqueKeysWithValues: found.map { ($0.property, $0.demand) }) == [
        "kept": .noMissingReferences(before: "kept"), "new": .noMissingReferences(before: nil),
      ])
    #expect(inference.newMandatoryReferences.map(\.property) == ["new"])
    #expect(found.allSatisfy { $0.code == .migration })
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

  @Test(arguments: ["fans", "follows", nil])
  func `a relationship becomes its own inverse only if it was its own`(inverse: String?) throws {
    let old: [Relationship] =
      inverse == "fans"
      ? [
        .toMany("follows", "Person", inverse: "fans"),
        .toMany("fans", "Person", inverse: "follows"),
      ] : [.toMany("follows", "Person", inverse: inverse)]
    let found = try refusals(
      [Entity("Person", [], old)],
      [Entity("Person", [], [.toMany("friends", "Person", inverse: "friends", was: "follows")])])
    #expect(
      found.filter { $0.reason == .relationshipForm }
        == (inverse == "follows"
          ? [] : [Refusal(reason: .relationshipForm, entity: "Person", property: "friends")]))
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
        Entity("C", [], [.toOne("p", "A", inverse: nil, was: "ps")]),
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
