import Expressions
import Mapping
import ObjectModel
import Testing

@Suite struct MappingSplitTests {
  private func split(_ mapping: MappingModel) throws -> MappingSplit {
    MappingSplit(
      mapping: mapping, source: try ShopModels.model(), destination: try ShopModels.model())
  }

  @Test func `what no relationship ties becomes a piece of its own`() throws {
    let split = try split(ShopModels.mapping())
    #expect(
      split.pieces.map { $0.entityMappings.map(\.name) } == [
        ["CustomerToCustomer", "OrderToOrder"], ["LogToLog"],
      ])
    #expect(
      split.links == [
        MappingLink(
          cause: .association, mapping: "CustomerToCustomer", property: "orders",
          other: "OrderToOrder"),
        MappingLink(
          cause: .association, mapping: "OrderToOrder", property: "customer",
          other: "CustomerToCustomer"),
      ])
  }

  @Test func `a relationship that nothing fills ties nothing`() throws {
    var mapping = ShopModels.mapping()
    mapping.entityMappings[0].relationshipMappings = [
      PropertyMapping(name: "orders", valueExpression: nil)
    ]
    mapping.entityMappings[2].relationshipMappings = [
      PropertyMapping(name: "customer", valueExpression: nil)
    ]
    #expect(try split(mapping).pieces.count == 3)
  }

  @Test func `a policy may fill what no expression fills`() throws {
    var mapping = ShopModels.mapping()
    mapping.entityMappings[0].relationshipMappings = []
    mapping.entityMappings[2].relationshipMappings = [
      PropertyMapping(name: "customer", valueExpression: nil)
    ]
    mapping.entityMappings[2].migrationPolicyClassName = "OrderPolicy"
    let split = try split(mapping)
    #expect(split.pieces.count == 2)
    #expect(
      split.links == [
        MappingLink(
          cause: .policy, mapping: "OrderToOrder", property: "customer", other: "CustomerToCustomer"
        )
      ])
  }

  @Test func `mappings that share a policy stay together`() throws {
    var mapping = ShopModels.mapping()
    mapping.entityMappings[0].migrationPolicyClassName = "Shared"
    mapping.entityMappings[1].migrationPolicyClassName = "Shared"
    #expect(try split(mapping).pieces.count == 1)
  }

  @Test func `a mapping that makes no objects goes with the first piece`() throws {
    var mapping = ShopModels.mapping()
    mapping.entityMappings[1] = EntityMapping(
      name: "Log", kind: .remove, source: "Log", destination: nil)
    #expect(try split(mapping).pieces.count == 1)
    let only = MappingModel(entityMappings: [mapping.entityMappings[1]])
    #expect(try split(only).pieces.map(\.entityMappings.count) == [1])
    #expect(try split(MappingModel(entityMappings: [])).pieces.isEmpty)
  }

  @Test func `a call inside another expression counts`() throws {
    var mapping = ShopModels.mapping()
    mapping.entityMappings[1].attributeMappings = [
      PropertyMapping(
        name: "text",
        valueExpression: .keyPath(
          operand: .function(
            operand: .variable("manager"), selector: MappingSelector.byMapping,
            [.constant(.string("OrderToOrder")), .variable("source")]), "number"))
    ]
    #expect(try split(mapping).pieces.count == 1)
  }

  // MARK: Sets

  private func set(_ pieces: [[EntityMapping]]) throws -> MappingSet {
    let named = pieces.enumerated().map { index, mappings in
      MappingSet.Piece(
        name: "piece\(index + 1)", mapping: MappingModel(entityMappings: mappings))
    }
    return MappingSet(
      pieces: named, source: try ShopModels.model(), destination: try ShopModels.model())
  }

  @Test func `a set that covers both models once is sound`() throws {
    let all = ShopModels.mapping().entityMappings
    #expect(try set([[all[0], all[2]], [all[1]]]).problems.isEmpty)
  }

  @Test func `what a set leaves out is refused, and told of a single mapping model`() throws {
    let all = ShopModels.mapping().entityMappings
    let missing: [MappingSetProblem] = [
      .init(.notCovered(.source, entity: "Log")), .init(.notCovered(.destination, entity: "Log")),
    ]
    #expect(try set([[all[0], all[2]], []]).problems == missing)
    let single = try set([[all[0], all[2]]])
    #expect(single.problems.isEmpty)
    #expect(single.leftOut == missing)
  }

  @Test func `an entity that the destination lacks is dropped, and needs no mapping`() throws {
    let all = ShopModels.mapping().entityMappings
    let source = try ShopModels.model()
    let destination = try ManagedObjectModel(entities: source.entities.filter { $0.name != "Log" })
    for pieces in [[[all[0], all[2]]], [[all[0], all[2]], []]] {
      let set = MappingSet(
        pieces: pieces.enumerated().map {
          .init(name: "\($0)", mapping: MappingModel(entityMappings: $1))
        }, source: source, destination: destination)
      #expect(set.problems.isEmpty)
      #expect(set.leftOut == [.init(.removed(entity: "Log"))])
    }
  }

  @Test func `an overlap is refused, and disjoint filters are none`() throws {
    var all = ShopModels.mapping().entityMappings
    var again = all[1]
    again.name = "LogAgain"
    #expect(
      try set([all, [again]]).problems == [
        .init(
          .coveredTwice(
            mapping: "LogAgain", otherPiece: "piece1", otherMapping: "LogToLog"),
          piece: "piece2")
      ])
    all[1].sourceExpression = .sourceObjects(of: "Log", where: "text < \"m\"")
    again.sourceExpression = .sourceObjects(of: "Log", where: "text >= \"m\"")
    #expect(try set([all, [again]]).problems.isEmpty)
  }

  @Test func `a relationship across pieces is refused unless a policy fills it`() throws {
    var all = ShopModels.mapping().entityMappings
    all[0].relationshipMappings = []
    let link = MappingLink(
      cause: .association, mapping: "OrderToOrder", property: "customer",
      other: "CustomerToCustomer")
    #expect(
      try set([[all[0], all[1]], [all[2]]]).problems == [
        .init(.related(link, otherPiece: "piece1"), piece: "piece2")
      ])
    all[2].relationshipMappings = [PropertyMapping(name: "customer", valueExpression: nil)]
    all[2].migrationPolicyClassName = "OrderPolicy"
    let sound = try set([[all[0], all[1]], [all[2]]])
    #expect(sound.problems.isEmpty)
    #expect(sound.storedKeyLinks.map(\.cause) == [.policy])
  }

  @Test func `a mapping that does not exist is refused by name`() throws {
    var all = ShopModels.mapping().entityMappings
    all[0].relationshipMappings = [
      PropertyMapping(
        name: "orders", valueExpression: .destinations(ofRelationship: "orders", mapping: "Typo"))
    ]
    let link = MappingLink(
      cause: .association, mapping: "CustomerToCustomer", property: "orders", other: "Typo")
    #expect(try set([all]).problems == [.init(.mappingMissing(link), piece: "piece1")])
  }
}
