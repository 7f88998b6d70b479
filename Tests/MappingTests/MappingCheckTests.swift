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

  @Test(arguments: [nil, "Own"])
  func `a policy decides on a relationship that becomes its own inverse`(policy: String?) throws {
    let source = try ManagedObjectModel(
      Entity(
        "Person", [],
        [
          .toOne("wife", "Person", inverse: "husband"),
          .toOne("husband", "Person", inverse: "wife"),
        ]
      ))
    let destination = try ManagedObjectModel(
      Entity("Person", [], [.toOne("spouse", "Person", inverse: "spouse")]))
    var mapping = EntityMapping(
      name: "Persons", kind: .transform, source: "Person", destination: "Person")
    mapping.relationshipMappings = [
      PropertyMapping(name: "spouse", valueExpression: .destinations(ofRelationship: "wife"))
    ]
    mapping.migrationPolicyClassName = policy
    let found = MappingCheck(
      models: [MappingModel(entityMappings: [mapping])], source: source, destination: destination)
    #expect(found.problems.map(\.reason) == (policy == nil ? [.ownInverse("wife")] : []))
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

  @Test(arguments: [
    ("$source.objectID.persistentStore", "an object ID has no property persistentStore"),
    ("$source.objectID.entity.attributesByName", "an entity has no property attributesByName"),
    ("$source.entity.managedObjectClassName", "an entity has no property managedObjectClassName"),
    ("uppercase($entityMapping.title)", "the entity mapping has no property title"),
    ("FUNCTION($propertyMapping, \"value\")", "the property mapping has no method value"),
    ("CAST($source.code, \"NSArray\")", "a value cannot be cast to NSArray"),
  ])
  func `an expression that never has a value is found`(text: String, why: String) throws {
    let found = MappingCheck(
      models: [
        mapping([PropertyMapping(name: "code", valueExpression: try ValueExpression(format: text))])
      ], source: old, destination: new
    ).problems
    #expect(found.map(\.property) == ["code"])
    guard case .valueless(let error)? = found.first?.reason else {
      Issue.record("\(found)")
      return
    }
    #expect("\(error)".hasPrefix("\(why), in: "))
  }

  @Test(arguments: [
    "$source.objectID.URIRepresentation.absoluteString", "$source.objectID.entity.name",
    "$source.entity.superentity.name", "FUNCTION($entityMapping, \"name\")",
    "FUNCTION($propertyMapping, \"valueForKey:\", \"name\")", "$entityMapping.userInfo.anything",
    "CAST($source.code, \"NSString\")",
  ])
  func `an expression of what every object has is no problem`(text: String) throws {
    let sound = mapping(
      [PropertyMapping(name: "code", valueExpression: try ValueExpression(format: text))],
      filter: "entity.name == 'Item' AND objectID != owner.objectID")
    #expect(reasons(sound).isEmpty)
  }

  @Test(arguments: [
    ("sortedArrayUsingDescriptors:", ", {\"name\"}", true), ("allObjects", "", false),
    ("componentsJoinedByString:", ", \",\"", false), ("valueForKey:", ", \"name\"", false),
    ("mutableCopy", "", true),
  ])
  func `what no collection answers is found before an object is read`(
    selector: String, rest: String, isFound: Bool
  ) throws {
    let group = Entity("Group", [], [.toMany("members", "Person", inverse: nil)])
    let model = try ManagedObjectModel(group, Entity("Person", [.optional("name")]))
    var mapping = EntityMapping(
      name: "Groups", kind: .transform, source: "Group", destination: "Group")
    mapping.relationshipMappings = [
      PropertyMapping(
        name: "members",
        valueExpression: try ValueExpression(
          format: "FUNCTION($source.members, \"\(selector)\"\(rest))"))
    ]
    let problems = MappingCheck(
      models: [MappingModel(entityMappings: [mapping])], source: model, destination: model
    ).problems
    #expect(!problems.isEmpty == isFound, "\(problems)")
  }

  @Test func `a getter reads its own property alone`() throws {
    let mapping = mapping([
      PropertyMapping(
        name: "code", valueExpression: try ValueExpression(format: "FUNCTION($source, \"code\")"))
    ]).entityMappings[0]
    let read = PropertiesRead(mapping: mapping, source: old)
    #expect(read.contains("code", of: "Item"))
    #expect(!read.contains("owner", of: "Item"))
  }

  @Test func `a property comes before what every object has`() throws {
    let old = try ManagedObjectModel(
      Entity("Item", [.optional("code")], [.toOne("entity", "Person", inverse: nil)]),
      Entity("Person", [.optional("title")]))
    let mapping = mapping([
      PropertyMapping(name: "code", valueExpression: .source(name: "entity.title"))
    ])
    #expect(MappingCheck(models: [mapping], source: old, destination: new).problems.isEmpty)
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

  @Test func `objects need a concrete destination`() throws {
    let models = try (
      old: ManagedObjectModel(
        Entity("Item", [.optional("code")]), Entity("Part", in: "Item"),
        Entity("Thing", isAbstract: true)),
      new: ManagedObjectModel(
        Entity("Item", isAbstract: true, [.mandatory("code")]), Entity("Part", in: "Item"),
        Entity("Thing", isAbstract: true))
    )
    func problems(_ source: String, _ destination: String, policy: String? = nil)
      -> [MappingProblem.Reason]
    {
      var mapping = EntityMapping(
        name: "One", kind: .transform, source: source, destination: destination)
      mapping.migrationPolicyClassName = policy
      mapping.attributeMappings = [
        PropertyMapping(name: "code", valueExpression: .source(name: "code"))
      ].filter { _ in source != "Thing" }
      return MappingCheck(
        models: [MappingModel(entityMappings: [mapping])], source: models.old,
        destination: models.new
      ).problems.map(\.reason)
    }
    #expect(problems("Item", "Item") == [.abstractDestination("Item")])
    #expect(problems("Item", "Part").isEmpty)
    // No objects are of the source entity, and a policy makes what it wants.
    #expect(problems("Thing", "Thing").isEmpty)
    #expect(problems("Item", "Item", policy: "Choosing").isEmpty)
  }
}
