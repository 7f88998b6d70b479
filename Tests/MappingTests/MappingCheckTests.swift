import Expressions
import Mapping
import ObjectModel
import TestSupport
import Testing

struct MappingCheckTests {
  private let old: ManagedObjectModel
  private let new: ManagedObjectModel

  init() throws {
    old = try ManagedObjectModel(
      Entity("Item", [.optional("code")], [.toOne("owner", "Person", inverse: nil)]),
      Entity("Person", [.optional("name")]), Entity("Child", in: "Person", [.optional("age")]))
    new = try ManagedObjectModel(
      Entity("Item", [.optional("code")], [.toOne("owner", "Person", inverse: nil)]),
      Entity("Person", [.optional("name")]))
  }

  private func mapping(
    _ attributes: [PropertyMapping] = [], _ relationships: [PropertyMapping] = [],
    filter: String? = nil, policy: String? = nil, destination: String = "Item"
  ) -> MappingModel {
    var mapping = EntityMapping(
      name: "ItemToItem", kind: .transform, source: "Item", destination: destination)
    mapping.attributeMappings = attributes
    mapping.relationshipMappings = relationships
    mapping.migrationPolicyClassName = policy
    if let filter { mapping.sourceExpression = .sourceObjects(of: "Item", where: filter) }
    return MappingModel(entityMappings: [mapping])
  }

  private func reasons(_ mapping: MappingModel) -> [MappingProblem.Reason] {
    MappingCheck(models: [mapping], source: old, destination: new).problems.map(\.reason)
  }

  @Test func `names that exist are no problem`() {
    let sound = mapping(
      [
        PropertyMapping(name: "code", valueExpression: .source(name: "code")),
        PropertyMapping(name: "code", valueExpression: .source(name: "owner.age")),
        PropertyMapping(name: "code", valueExpression: .source(name: "owner.@count")),
        PropertyMapping(name: "code", valueExpression: nil),
      ], [PropertyMapping(name: "owner", valueExpression: .destinations(ofRelationship: "owner"))],
      filter: "code != nil AND owner.name == 'x'")
    #expect(reasons(sound).isEmpty)
  }

  @Test func `every name that leads nowhere is found`() {
    #expect(
      reasons(mapping([PropertyMapping(name: "cod", valueExpression: .source(name: "code"))]))
        == [.propertyMissing(entity: "Item")])
    #expect(
      reasons(mapping([PropertyMapping(name: "code", valueExpression: .source(name: "kode"))]))
        == [.sourcePropertyMissing(entity: "Item", property: "kode")])
    #expect(
      reasons(mapping([PropertyMapping(name: "code", valueExpression: .source(name: "owner.nam"))]))
        == [.sourcePropertyMissing(entity: "Person", property: "nam")])
    #expect(
      reasons(
        mapping(
          [],
          [
            PropertyMapping(
              name: "owner",
              valueExpression: .destinations(ofRelationship: "owner", mapping: "PersonToPerson"))
          ])) == [.mappingMissing("PersonToPerson")])
    #expect(reasons(mapping(destination: "Thing")) == [.entityMissing(.destination, "Thing")])
    #expect(
      reasons(mapping(filter: "kode == 1"))
        == [.sourcePropertyMissing(entity: "Item", property: "kode")])
    #expect(reasons(mapping(filter: "code ==")).count == 1)
  }

  @Test func `what a policy makes of its mapping is its own business`() {
    #expect(
      reasons(
        mapping([PropertyMapping(name: "cod", valueExpression: .source(name: "kode"))], policy: "P")
      ).isEmpty)
    #expect(
      reasons(mapping(policy: "P", destination: "Thing"))
        == [.entityMissing(.destination, "Thing")])
  }
}
