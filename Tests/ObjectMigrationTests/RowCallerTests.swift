import Expressions
import GRDB
import Godwit
import Mapping
import ObjectMigration
import ObjectModel
import Schema
import SystemPackage
import TestSupport
import Testing

private struct Complaint: Error {}

/// A policy that declares its objects independent and does what a closure says.
private final class LonePolicy: EntityMigrationPolicy {
  typealias Create =
    @Sendable (MigrationObject, Godwit.EntityMapping, MigrationManager) throws -> Void

  private let create: Create
  init(_ create: @escaping Create) { self.create = create }

  override var objectsAreIndependent: Bool { true }

  override func createDestinationInstances(
    forSource source: MigrationObject, in mapping: Godwit.EntityMapping,
    manager: MigrationManager
  ) throws { try create(source, mapping, manager) }

  /// Makes the object as its mapping says, and gives it.
  static func standard(
    _ source: MigrationObject, _ mapping: Godwit.EntityMapping, _ manager: MigrationManager
  ) throws -> MigrationObject {
    try EntityMigrationPolicy().createDestinationInstances(
      forSource: source, in: mapping, manager: manager)
    let made = try manager.destinationInstances(
      forEntityMappingName: mapping.name, sourceInstances: [source])
    return try #require(made.first)
  }

  override func value(
    ofFunction selector: String, arguments: [FunctionValue], manager: MigrationManager
  ) throws -> FunctionValue? {
    selector == "seven" ? .value(7) : nil
  }
}

@Suite(.scratchFolder) struct RowCallerTests {
  private func mapping(age: String, policy: String? = nil) throws -> MappingModel {
    var mapping = try Herds.creature("Object", "Object", where: "TRUEPREDICATE", age: age)
    mapping.migrationPolicyClassName = policy
    return MappingModel(entityMappings: [mapping])
  }

  /// What a row program that calls for these attributes gets for the object of a key.
  private func values(
    _ mapping: MappingModel, key: Int64, of names: [String],
    _ policy: LonePolicy.Create? = nil
  ) throws -> [StoredValue] {
    let schema = try StoreSchema(Herds.together())
    var policies = MigrationPolicies()
    if let policy {
      policies.register("Lone") { LonePolicy(policy) }
    }
    let path = try Herds.makeStore()
    return try DatabaseQueue().writeWithoutTransaction { db in
      try db.execute(sql: "ATTACH ? AS src", arguments: [path.string])
      let caller = try RowCaller(
        mappingModel: mapping, source: schema, destination: schema, db: db, support: nil, now: 0,
        policies: policies.factories)
      caller.install(in: db)
      do {
        return try names.map { name in
          let value = try DatabaseValue.fetchOne(
            db, sql: "SELECT godwit_call(0, ?, ?)", arguments: [name, key])
          return StoredValue.text("\(value ?? .null)")
        }
      } catch let error as DatabaseError {
        throw caller.failure ?? error
      }
    }
  }

  @Test func `an expression sees its object and those that it leads to`() throws {
    let values = try values(
      mapping(age: "$source.age + $source.partner.age"), key: 1, of: ["age"])
    #expect(values == [.text("70")])
  }

  @Test func `a policy changes what its mapping made`() throws {
    let values = try values(
      mapping(age: "$source.age + 1", policy: "Lone"), key: 1, of: ["age", "name", "kind"]
    ) { source, mapping, manager in
      let object = try LonePolicy.standard(source, mapping, manager)
      #expect(try object.value("age") == 31)
      try object.setValue(.string("\(try source.value("name").stringValue ?? "")!"), for: "name")
      #expect(try object.value("name") == "ann!")
    }
    #expect(values == [.text("31"), .text("\"ann!\""), .text("\"human\"")])
  }

  @Test func `an object that a policy inserts has default values`() throws {
    let values = try values(
      mapping(age: "$source.age + 1", policy: "Lone"), key: 1, of: ["age", "name"]
    ) { source, mapping, manager in
      let object = try manager.insertNewObject(forEntityName: "Object")
      try object.setValue("new", for: "name")
      try manager.associate(sourceInstance: source, withDestinationInstance: object, for: mapping)
    }
    #expect(values == [.text("NULL"), .text("\"new\"")])
  }

  @Test func `a mapping may call functions of the policy`() throws {
    let values = try values(
      mapping(age: "FUNCTION($entityPolicy, \"seven\")", policy: "Lone"), key: 2, of: ["age"]
    ) { source, mapping, manager in _ = try LonePolicy.standard(source, mapping, manager) }
    #expect(values == [.text("7")])
  }

  private static let wishes: [(String, LonePolicy.Create)] = [
    ("make no object", { _, _, _ in }),
    (
      "make a second object",
      { source, mapping, manager in
        _ = try LonePolicy.standard(source, mapping, manager)
        _ = try manager.insertNewObject(forEntityName: "Object")
      }
    ),
    (
      "make an object of Herd",
      { _, _, manager in _ = try manager.insertNewObject(forEntityName: "Herd") }
    ),
    (
      "fetch objects of the destination", { _, _, manager in _ = try manager.fetch("Object") }
    ),
    (
      "reach the relationship herd of a new object",
      { source, mapping, manager in
        _ = try LonePolicy.standard(source, mapping, manager).object("herd")
      }
    ),
    (
      "look up what became of other objects",
      { source, mapping, manager in
        _ = try manager.destinationInstances(
          forEntityMappingName: mapping.name, sourceInstances: source.objects("likes"))
      }
    ),
  ]

  @Test(arguments: wishes.indices)
  func `an independent policy that wants other objects is told so`(_ index: Int) throws {
    let (what, create) = Self.wishes[index]
    let mapping = try mapping(age: "$source.age", policy: "Lone")
    let error = try #require(throws: ObjectMigrationError.self) {
      try values(mapping, key: 1, of: ["age"], create)
    }
    #expect(error.problem == .notIndependent(what))
    #expect(error.mapping == "ObjectToObject")
    #expect(error.key == 1)
  }

  @Test func `what a policy throws and cancels comes out with its place`() throws {
    let mapping = try mapping(age: "$source.age", policy: "Lone")
    let thrown = try #require(throws: ObjectMigrationError.self) {
      try values(mapping, key: 5, of: ["age"]) { _, _, _ in throw Complaint() }
    }
    #expect(thrown.problem == .policyFailed(hook: "createDestinationInstances"))
    #expect(thrown.key == 5)
    let cancelled = try #require(throws: ObjectMigrationError.self) {
      try values(mapping, key: 5, of: ["age"]) { _, _, manager in
        manager.cancelMigrationWithError(Complaint())
      }
    }
    #expect(cancelled.problem == .cancelled)
    #expect(cancelled.code == 134120)
  }
}
