import Expressions
import GRDB
import Godwit
import Mapping
import ObjectMigration
import ObjectModel
import Schema
import StoreFormat
import Synchronization
import SystemPackage
import TestSupport
import Testing

/// A policy whose hooks are given as closures.
private final class ProbePolicy: EntityMigrationPolicy {
  let onCreate: (MigrationObject, Godwit.EntityMapping, MigrationManager) throws -> Bool

  init(
    _ onCreate: @escaping (MigrationObject, Godwit.EntityMapping, MigrationManager) throws -> Bool
  ) { self.onCreate = onCreate }

  override func createDestinationInstances(
    forSource source: MigrationObject, in mapping: Godwit.EntityMapping,
    manager: MigrationManager
  ) throws {
    guard try onCreate(source, mapping, manager) else { return }
    try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
  }

  override func value(
    ofFunction selector: String, arguments: [FunctionValue], manager: MigrationManager
  ) throws -> FunctionValue? {
    guard selector == "older:by:", case .value(let age)? = arguments.first,
      case .value(let years)? = arguments.last
    else { return nil }
    return .value(.integer((age.integerValue ?? 0) + (years.integerValue ?? 0)))
  }
}

private struct Complaint: Error, Equatable { var text: String }

/// Writes down which hook ran, into a list that outlives it.
private final class DiaryPolicy: EntityMigrationPolicy {
  private func note(_ hook: String, _ mapping: Godwit.EntityMapping, _ manager: MigrationManager) {
    var diary = Self.diary(manager)
    diary.append("\(hook) \(mapping.name)")
    manager.userInfo["diary"] = diary
  }

  static func diary(_ manager: MigrationManager) -> [String] {
    manager.userInfo["diary"] as? [String] ?? []
  }

  private let finished: (([String]) -> Void)

  init(_ finished: @escaping ([String]) -> Void) { self.finished = finished }

  override func begin(_ mapping: Godwit.EntityMapping, with manager: MigrationManager) {
    note("begin", mapping, manager)
  }
  override func createDestinationInstances(
    forSource source: MigrationObject, in mapping: Godwit.EntityMapping,
    manager: MigrationManager
  ) throws {
    note("create \(source.primaryKey)", mapping, manager)
    try super.createDestinationInstances(forSource: source, in: mapping, manager: manager)
  }
  override func endInstanceCreation(
    forMapping mapping: Godwit.EntityMapping, manager: MigrationManager
  ) { note("created", mapping, manager) }
  override func createRelationships(
    forDestination destination: MigrationObject, in mapping: Godwit.EntityMapping,
    manager: MigrationManager
  ) throws {
    note("relate \(destination.primaryKey)", mapping, manager)
    try super.createRelationships(forDestination: destination, in: mapping, manager: manager)
  }
  override func endRelationshipCreation(
    forMapping mapping: Godwit.EntityMapping, manager: MigrationManager
  ) { note("related", mapping, manager) }
  override func performCustomValidation(
    forMapping mapping: Godwit.EntityMapping, manager: MigrationManager
  ) { note("validate", mapping, manager) }
  override func end(_ mapping: Godwit.EntityMapping, manager: MigrationManager) {
    note("end", mapping, manager)
    finished(Self.diary(manager))
  }
}

/// Makes friends of those whom a person follows.
private final class FriendPolicy: EntityMigrationPolicy {
  override func createRelationships(
    forDestination destination: MigrationObject, in mapping: Godwit.EntityMapping,
    manager: MigrationManager
  ) throws {
    let before = try manager.sourceInstances(
      forEntityMappingName: mapping.name, destinationInstances: [destination])
    let friends = try manager.destinationInstances(
      forEntityMappingName: mapping.name,
      sourceInstances: before.flatMap { try $0.objects("follows") })
    try destination.addObjects(friends, to: "friends")
  }
}

@Suite(.scratchFolder) struct PolicyTests {
  private func run(
    _ mapping: MappingModel? = nil, policy: (@Sendable () -> EntityMigrationPolicy)? = nil
  ) throws -> FilePath {
    var model = try mapping ?? Herds.split()
    var migration = CorpusMigration()
    if let policy {
      for index in model.entityMappings.indices {
        model.entityMappings[index].migrationPolicyClassName = "Shop.Policy"
        model.entityMappings[index].kind = .custom
      }
      migration.policies.register("Shop.Policy", policy)
    }
    return try migration.step(
      Herds.makeStore(), from: Herds.together(), to: Herds.apart(), by: [model]
    ).store
  }

  private func failure(
    _ mapping: MappingModel? = nil, policy: (@Sendable () -> EntityMigrationPolicy)? = nil
  ) -> ObjectMigrationError? {
    #expect(throws: ObjectMigrationError.self) { _ = try run(mapping, policy: policy) }
  }

  @Test func `hooks run in three passes over all mappings`() throws {
    let pages = Mutex<[String]>([])
    _ = try run(policy: { DiaryPolicy { diary in pages.withLock { $0 = diary } } })
    let diary = pages.withLock { $0 }
    #expect(
      diary == [
        "begin HerdToHerd", "create 1 HerdToHerd", "create 2 HerdToHerd", "created HerdToHerd",
        "begin ObjectToHuman", "create 1 ObjectToHuman", "create 5 ObjectToHuman",
        "create 9 ObjectToHuman", "created ObjectToHuman", "begin ObjectToAnimal",
        "create 2 ObjectToAnimal", "create 3 ObjectToAnimal", "create 4 ObjectToAnimal",
        "created ObjectToAnimal", "relate 1 HerdToHerd", "relate 2 HerdToHerd",
        "related HerdToHerd", "relate 1 ObjectToHuman", "relate 5 ObjectToHuman",
        "relate 9 ObjectToHuman", "related ObjectToHuman", "relate 2 ObjectToAnimal",
        "relate 3 ObjectToAnimal", "relate 4 ObjectToAnimal", "related ObjectToAnimal",
        "validate HerdToHerd", "end HerdToHerd", "validate ObjectToHuman", "end ObjectToHuman",
        "validate ObjectToAnimal", "end ObjectToAnimal",
      ])
  }

  @Test func `a policy that throws ends the migration at the object`() {
    let error = failure(policy: {
      ProbePolicy { source, _, _ in
        if source.primaryKey == 5 { throw Complaint(text: "no") }
        return true
      }
    })
    #expect(error?.problem == .policyFailed(hook: "createDestinationInstances"))
    #expect(error?.mapping == "ObjectToHuman")
    #expect(error?.key == 5)
    #expect(error?.cause as? Complaint == Complaint(text: "no"))
    #expect(error?.code == 134170)
  }

  @Test func `an object that is never associated ends the migration`() {
    let error = failure(policy: {
      ProbePolicy { _, mapping, manager in
        guard mapping.destinationEntityName == "Human" else { return true }
        _ = try manager.insertNewObject(forEntityName: "Human")
        return false
      }
    })
    #expect(error?.problem == .notAssociated)
    #expect(error?.mapping == "ObjectToHuman")
    #expect(error?.key == 1)
  }

  @Test func `a policy cancels with its own error`() {
    let error = failure(policy: {
      ProbePolicy { source, _, manager in
        if source.primaryKey == 3 { manager.cancelMigrationWithError(Complaint(text: "enough")) }
        return true
      }
    })
    #expect(error?.problem == .cancelled)
    #expect(error?.code == 134120)
    #expect(error?.cause as? Complaint == Complaint(text: "enough"))
  }

  @Test func `a policy that nobody registered is named`() throws {
    var mapping = try Herds.split()
    mapping.entityMappings[1].migrationPolicyClassName = "Shop.Missing"
    #expect(failure(mapping)?.problem == .policiesNotInWorker(["Shop.Missing"]))
  }

  @Test func `a policy drops objects by making none`() throws {
    let store = try run(policy: { ProbePolicy { source, _, _ in source.primaryKey != 5 } })
    #expect(try Query(store).texts("SELECT ZNAME FROM ZHUMAN ORDER BY 1") == ["ann", "flo"])
  }

  @Test func `a value expression calls the policy`() throws {
    var mapping = try Herds.split()
    mapping.entityMappings[1].attributeMappings[2].valueExpression = try ValueExpression(
      format: "FUNCTION($entityPolicy, \"older:by:\", $source.age, 100)")
    let store = try run(mapping, policy: { ProbePolicy { _, _, _ in true } })
    #expect(try Query(store).texts("SELECT ZAGE FROM ZHUMAN ORDER BY 1") == ["130", "140", "150"])
  }

  @Test func `a typo in an expression names mapping, property and object`() throws {
    var mapping = try Herds.split()
    mapping.entityMappings[1].attributeMappings[0].valueExpression = .keyPath(
      operand: .variable("source"), "nane.length")
    let error = failure(mapping)
    #expect(error?.problem == .expressionFailed)
    #expect(error?.mapping == "ObjectToHuman")
    #expect(error?.property == "name")
    #expect(error?.key == 1)
    let cause = error?.cause as? EvaluationError
    #expect(cause?.problem == .unknownKey("nane", of: "Object"))
  }

  @Test func `a typo in a filter names the mapping and the column`() throws {
    var mapping = try Herds.split()
    mapping.entityMappings[1].sourceExpression = .sourceObjects(of: "Object", where: "kind ==")
    let error = failure(mapping)
    #expect(error?.mapping == "ObjectToHuman")
    #expect((error?.cause as? FormatError)?.column == 8)
  }

  @Test(arguments: [
    ("age", "'old'", ObjectMigrationError.Problem.valueRefused(type: .integer32, found: "a text")),
    ("age", "3000000000", .valueOutOfRange(type: .integer32)),
    ("name", "5", .valueRefused(type: .string, found: "a number")),
    ("name", "$source.herd", .valueRefused(type: .string, found: "Herd")),
    (
      "nothing", "1",
      .unknownProperty(
        "nothing", known: ["age", "herd", "kind", "likedBy", "likes", "name", "partner"])
    ),
  ])
  func `a value that does not fit is refused at its place`(
    property: String, expression: String, problem: ObjectMigrationError.Problem
  ) throws {
    var mapping = try Herds.split()
    mapping.entityMappings[1].attributeMappings = [
      PropertyMapping(name: property, valueExpression: try ValueExpression(format: expression))
    ]
    let error = failure(mapping)
    #expect(error?.problem == problem)
    #expect(error?.property == property)
  }

  @Test func `an object of another entity is refused in a relationship`() throws {
    var mapping = try Herds.split()
    mapping.entityMappings[1].relationshipMappings = [
      PropertyMapping(
        name: "herd", valueExpression: .destinations(ofRelationship: "likes", mapping: nil))
    ]
    #expect(failure(mapping)?.problem == .wrongObject(expected: "Herd", found: "Human"))
  }

  @Test func `a pair of a relationship that is its own inverse leads both ways`() throws {
    let old = try ManagedObjectModel(
      Entity(
        "Person", [],
        [
          .toMany("follows", "Person", inverse: "fans"),
          .toMany("fans", "Person", inverse: "follows"),
        ]))
    let new = try ManagedObjectModel(
      Entity("Person", [], [.toMany("friends", "Person", inverse: "friends")]))
    let table = try StoreSchema(old).joinTables[0]
    let ends = [table.first, table.second].sorted { $0.relationshipName > $1.relationshipName }
    let store = try Herds.make(
      old,
      [
        "INSERT INTO ZPERSON (Z_PK, Z_ENT, Z_OPT) VALUES (1, 1, 1), (2, 1, 1), (3, 1, 1)",
        "INSERT INTO \(table.name) (\(ends[0].keyColumn), \(ends[1].keyColumn)) VALUES (1, 2), (2, 3)",
      ], maxima: ["Person": 3])
    var mapping = EntityMapping(
      name: "Persons", kind: .custom, source: "Person", destination: "Person")
    mapping.migrationPolicyClassName = "Friends"
    var migration = CorpusMigration()
    migration.policies.register("Friends") { FriendPolicy() }
    let made = try migration.step(
      store, from: old, to: new, by: [MappingModel(entityMappings: [mapping])]
    ).store
    let friends = try StoreSchema(new).joinTables[0]
    let names = "\(friends.first.keyColumn) || \(friends.second.keyColumn)"
    let pairs = try StoreConnection.immutable(made).run {
      try String.fetchAll($0, sql: "SELECT \(names) FROM \(friends.name) ORDER BY 1")
    }
    #expect(pairs == ["12", "21", "23", "32"])
  }
}
