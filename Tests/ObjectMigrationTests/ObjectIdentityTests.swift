import Expressions
import GRDB
import Mapping
import ObjectMigration
import Schema
import StoreFormat
import SystemPackage
import TestSupport
import Testing

/// What expressions make of objects themselves, row by row and object by object.
@Suite(.scratchFolder) struct ObjectIdentityTests {
  private func mapping(_ name: String, filter: String = "TRUEPREDICATE") throws -> MappingModel {
    var mapping = try Herds.creature("Object", "Object", where: filter, age: "$source.age")
    mapping.attributeMappings[0].valueExpression = try ValueExpression(format: name)
    mapping.relationshipMappings = []
    mapping.userInfo = ["who": .string("us")]
    return MappingModel(entityMappings: [mapping])
  }

  private func byRow(_ mapping: MappingModel, store: FilePath) throws -> String? {
    let schema = try StoreSchema(Herds.together())
    return try DatabaseQueue().writeWithoutTransaction { db in
      try db.execute(sql: "ATTACH ? AS src", arguments: [store.string])
      let caller = try RowCaller(
        mappingModel: mapping, source: schema, destination: schema, db: db, support: nil, now: 0)
      defer { caller.close() }
      guard case .text(let text) = try caller.value(mapping: 0, property: "name", key: 1) else {
        return nil
      }
      return text
    }
  }

  private func byObject(_ mapping: MappingModel, store: FilePath) throws -> String? {
    let model = try Herds.together()
    let (result, _) = try CorpusMigration().step(store, from: model, to: model, by: [mapping])
    return try Query(result).texts("SELECT ZNAME FROM ZOBJECT WHERE Z_PK = 1").first
  }

  @Test(arguments: [
    ("$source.objectID.URIRepresentation.absoluteString", "x-coredata://STORE/Object/p1"),
    (
      "FUNCTION(FUNCTION($source, \"objectID\"), \"URIRepresentation\").absoluteString",
      "x-coredata://STORE/Object/p1"
    ),
    ("$source.partner.objectID.URIRepresentation.lastPathComponent", "p5"),
    ("TERNARY($source.objectID == $source.partner.partner.objectID, \"same\", \"other\")", "same"),
    ("TERNARY($source.objectID == $source.partner.objectID, \"same\", \"other\")", "other"),
    ("TERNARY($source == $source.partner.partner, \"same\", \"other\")", "same"),
    ("TERNARY($source.entity == $source.partner.entity, \"same\", \"other\")", "same"),
    ("TERNARY($source.entity == $source.herd.entity, \"same\", \"other\")", "other"),
    ("TERNARY($source.objectID.isTemporaryID == NO, \"saved\", \"new\")", "saved"),
    ("$source.entity.name", "Object"), ("$source.objectID.entity.name", "Object"),
    ("FUNCTION($source.entity, \"name\")", "Object"),
    ("TERNARY($source.entity.superentity == nil, \"root\", \"sub\")", "root"),
    ("TERNARY($source.entity.isAbstract == NO, \"real\", \"abstract\")", "real"),
    ("FUNCTION($source, \"kind\")", "human"),
    ("FUNCTION($source, \"valueForKeyPath:\", \"herd.name\")", "one"),
    ("FUNCTION($entityMapping, \"name\")", "ObjectToObject"),
    ("FUNCTION($entityMapping, \"valueForKey:\", \"sourceEntityName\")", "Object"),
    ("FUNCTION($entityMapping.userInfo, \"objectForKey:\", \"who\")", "us"),
    ("FUNCTION($entityMapping, \"valueForKeyPath:\", \"userInfo.who\")", "us"),
    ("FUNCTION($propertyMapping, \"name\")", "name"),
  ])
  func `an object has one identity row by row and object by object`(
    text: String, expected: String
  ) throws {
    let store = try Herds.makeStore()
    let identifier = try StoreReader(immutable: store).metadata().uuid
    let mapping = try mapping(text)
    let wanted = expected.replacing("STORE", with: identifier)
    #expect(try byRow(mapping, store: store) == wanted)
    #expect(try byObject(mapping, store: store) == wanted)
  }

  @Test(arguments: [
    ("$source.objectID.persistentStore", "an object ID has no property persistentStore"),
    ("$source.entity.managedObjectClassName", "an entity has no property managedObjectClassName"),
    ("FUNCTION($source, \"objectID:\", 1)", "Object has no method objectID:"),
    ("FUNCTION($entityMapping, \"title\")", "the entity mapping has no method title"),
    ("FUNCTION($entityMapping.userInfo, \"count\")", "a dictionary has no method count"),
    ("CAST($source.herd, \"NSString\")", "Herd cannot be cast to NSString"),
  ])
  func `what has no certain value is refused with its expression and place`(
    text: String, why: String
  ) throws {
    let store = try Herds.makeStore()
    let mapping = try mapping(text)
    for road in [byRow, byObject] {
      let error = try #require(throws: ObjectMigrationError.self) { try road(mapping, store) }
      #expect(error.problem == .expressionFailed)
      #expect(error.mapping == "ObjectToObject")
      #expect(error.property == "name")
      #expect(error.key == 1)
      #expect("\(try #require(error.cause))".hasPrefix("\(why), in: "))
    }
  }

  @Test func `a new object has no ID yet`() throws {
    let store = try Herds.makeStore()
    let error = try #require(throws: ObjectMigrationError.self) {
      try byObject(mapping("$destination.objectID.entity.name"), store: store)
    }
    #expect(
      "\(try #require(error.cause))".hasPrefix("a new Object has no objectID before it is saved"))
  }

  @Test(arguments: [
    ("objectID == partner.partner.objectID", "1 3 4 5"), ("entity.name == 'Herd'", ""),
    ("objectID.URIRepresentation.lastPathComponent IN {'p2', 'p9'}", "2 9"),
    ("SELF.entity == herd.objectID.entity OR entity.superentity != nil", ""),
  ])
  func `a filter may ask for what every object has`(filter: String, keys: String) throws {
    let model = try Herds.together()
    let (result, _) = try CorpusMigration().step(
      Herds.makeStore(), from: model, to: model,
      by: [mapping("$source.name", filter: filter)])
    let found = try Query(result).texts("SELECT Z_PK FROM ZOBJECT ORDER BY Z_PK")
    #expect(found.joined(separator: " ") == keys)
  }
}
