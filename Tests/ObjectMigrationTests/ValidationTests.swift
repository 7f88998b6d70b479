import Expressions
import Mapping
import ObjectMigration
import ObjectModel
import TestSupport
import Testing

@Suite(.scratchFolder) struct ValidationTests {
  /// The creatures under rules that most of them break.
  private func strictModel(unique: Bool) throws -> ManagedObjectModel {
    var object = Entity("Object")
    var name = Herds.attribute("name", .string, optional: false)
    name.limits.minimumLength = 3
    name.limits.maximumLength = 3
    name.limits.pattern = "[a-e].*"
    var age = Herds.attribute("age", .integer32)
    age.limits.minimum = .integer(2)
    age.limits.maximum = .integer(40)
    let nick = Herds.attribute("nick", .string, optional: false)
    object.attributes = [name, age, nick, Herds.attribute("kind", .string)]
    if unique { object.uniquenessConstraints = [["kind"]] }
    var herd = Relationship(name: "herd", to: "Herd", inverse: "members")
    herd.isOptional = false
    object.relationships = [herd]
    var group = Entity("Herd")
    var members = Relationship(name: "members", to: "Object", inverse: "herd", isToMany: true)
    members.minCount = 2
    members.maxCount = 3
    members.isOptional = true
    group.relationships = [members]
    return try ManagedObjectModel(entities: [object, group])
  }

  private func mapping() throws -> MappingModel {
    var object = try Herds.creature("Object", "Object", where: "TRUEPREDICATE", age: "$source.age")
    object.relationshipMappings = [
      PropertyMapping(
        name: "herd", valueExpression: .destinations(ofRelationship: "herd", mapping: "HerdToHerd"))
    ]
    object.attributeMappings[1].valueExpression = try ValueExpression(
      format: "TERNARY($source.age == 30 OR $source.age == 40, 'twin', nil)")
    let herd = EntityMapping(
      name: "HerdToHerd", kind: .copy, source: "Herd", destination: "Herd")
    return MappingModel(entityMappings: [herd, object])
  }

  private func run(_ mode: ValidationMode, unique: Bool = false) throws -> ObjectMigration.Report {
    var migration = CorpusMigration()
    migration.validation = mode
    return try migration.step(
      Herds.makeStore(), from: Herds.together(), to: strictModel(unique: unique), by: [mapping()]
    ).report
  }

  @Test func `every violation is told with its entity, key, property and rule`() throws {
    let report = try run(.report)
    let told = report.violations.first.map { "\($0.entity) \($0.key) \($0.property) \($0.code)" }
    #expect(
      told.sorted() == [
        "Herd 1 members 1590", "Herd 2 members 1580", "Object 1 nick 1570", "Object 2 age 1620",
        "Object 2 nick 1570", "Object 3 nick 1570", "Object 4 nick 1570", "Object 5 nick 1570",
        "Object 9 age 1610", "Object 9 herd 1570", "Object 9 name 1680", "Object 9 nick 1570",
      ])
    #expect(report.violations.count == 12)
  }

  @Test func `strict validation ends the migration and counts`() {
    let error = #expect(throws: ObjectMigrationError.self) { try run(.strict, unique: true) }
    #expect(error?.problem == .invalid(violations: 13))
    #expect(error?.code == 1560)
  }

  @Test(arguments: [ValidationMode.report, .off])
  func `objects that a constraint takes for one end the migration in any mode`(
    mode: ValidationMode
  ) {
    let error = #expect(throws: ObjectMigrationError.self) { try run(mode, unique: true) }
    #expect(error?.problem == .notUnique(violations: 1))
    #expect(error?.code == 134111)
    #expect(error?.key == 5)
  }

  @Test func `nothing is checked where validation is off`() throws {
    #expect(try run(.off).violations.count == 0)
  }
}
