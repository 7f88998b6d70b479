import Expressions
import Mapping
import MappingFiles
import ObjectModel
import Planning
import StoreFormat
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// References within a family of entities of which only some mappings read them: each is kept by
/// either of its ends, and lost where neither is read.
@Suite(.scratchFolder) struct FamilyReferenceTests {
  private static let names = ["boss", "friendOf", "friends", "staff"]
  private let given: GivenMigration

  init() throws {
    given = try GivenMigration(from: Self.model(), to: Self.model([.optional("age")]), rows: 40)
  }

  private static func model(_ more: [Attribute] = []) throws -> ManagedObjectModel {
    try ManagedObjectModel(
      Entity(
        "Person", [.optional("name")] + more,
        [
          .toOne("boss", "Person", inverse: "staff"), .toMany("staff", "Person", inverse: "boss"),
          .toMany("friends", "Person", inverse: "friendOf"),
          .toMany("friendOf", "Person", inverse: "friends"),
        ]), Entity("Worker", in: "Person", [.optional("code")]))
  }

  /// A mapping that reads all attributes, and those relationships.
  private func mapping(
    _ entity: String, reading names: [String], name: String? = nil, where filter: String? = nil
  ) -> EntityMapping {
    var mapping = EntityMapping(
      name: name ?? entity, kind: .transform, source: entity, destination: entity)
    mapping.attributeMappings = (entity == "Worker" ? ["code", "name"] : ["name"])
      .map { PropertyMapping(name: $0, valueExpression: .source(name: $0)) }
    mapping.relationshipMappings = names.map {
      PropertyMapping(name: $0, valueExpression: .destinations(ofRelationship: $0))
    }
    mapping.sourceExpression = filter.map { .sourceObjects(of: entity, where: $0) }
    return mapping
  }

  private func request(_ mappings: [EntityMapping], engine: EngineName?) throws -> MigrationRequest
  {
    let file = given.folder.appending("Map.json")
    let text = try MappingText.text(mapping: MappingModel(entityMappings: mappings))
    try Files.writeFileAtomically(Array(text.utf8), to: file)
    var request = given.request(output: given.folder.appending("New.sqlite"))
    request.mappings = [file]
    request.engine = engine
    return request
  }

  /// The losses that are refused, by name.
  private func refused(
    _ mappings: [EntityMapping], engine: EngineName? = .objects
  ) async throws -> [String: Int64] {
    do {
      _ = try await given.run(try request(mappings, engine: engine))
    } catch MigrationError.losses(_, let refusal) {
      return Dictionary(uniqueKeysWithValues: refusal.refused.map { ($0.name, $0.count) })
    }
    return [:]
  }

  /// How many references there are, of objects that satisfy a test to those that satisfy another.
  private func count(
    _ store: FilePath, friends: Bool, _ owner: String = "1", _ target: String = "1"
  ) throws -> Int64 {
    let pairs =
      friends
      ? "(SELECT Z_1FRIENDOF AS a, Z_1FRIENDS AS b FROM Z_1FRIENDS)"
      : "(SELECT Z_PK AS a, ZBOSS AS b FROM ZPERSON WHERE ZBOSS NOT NULL)"
    return try StoreReader(immutable: store).number(
      sql: """
        SELECT count(*) FROM \(pairs) JOIN (SELECT * FROM ZPERSON WHERE \(owner)) x ON a = x.Z_PK \
        JOIN (SELECT * FROM ZPERSON WHERE \(target)) y ON b = y.Z_PK
        """)
  }

  @Test(arguments: [EngineName.sql, .pages, .objects])
  func `a copy keeps what the mapping of a subentity says the same of`(
    engine: EngineName?
  ) async throws {
    var copy = mapping("Person", reading: [])
    copy.kind = .copy
    let request = try request([copy, mapping("Worker", reading: Self.names)], engine: engine)
    _ = try await given.run(request)
    for friends in [true, false] {
      let before = try count(given.store, friends: friends)
      #expect(before > 0)
      #expect(try count(request.destination, friends: friends) == before)
    }
  }

  @Test func `a copy leaves a reference to the other end that says something else`() throws {
    let model = try Self.model()
    var copy = mapping("Person", reading: [])
    copy.kind = .copy
    var worker = mapping("Worker", reading: [])
    worker.relationshipMappings = [
      PropertyMapping(name: "friends", valueExpression: .constant(.null))
    ]
    let completed = MappingModel(entityMappings: [copy, worker])
      .completingCopies(from: model, to: model).entityMappings
    #expect(completed[0].relationshipMappings.map(\.name).sorted() == ["boss", "friends", "staff"])
    #expect(completed[1].relationshipMappings.map(\.name) == ["friends"])
  }

  @Test(arguments: [nil, EngineName.sql, .pages, .objects])
  func `references between objects of which nothing reads either end are asked for`(
    engine: EngineName?
  ) async throws {
    let half = [mapping("Person", reading: []), mapping("Worker", reading: Self.names)]
    let wanted = [
      "Person.boss": try count(given.store, friends: false, "Z_ENT = 1", "Z_ENT = 1"),
      "Person.friends": try count(given.store, friends: true, "Z_ENT = 1", "Z_ENT = 1"),
    ]
    #expect(wanted.values.allSatisfy { $0 > 0 })
    #expect(try await refused(half, engine: engine) == wanted)
    let ends = [
      mapping("Person", reading: ["boss", "friends"]),
      mapping("Worker", reading: ["staff", "friendOf"]),
    ]
    #expect(
      try await refused(ends, engine: engine) == [
        "Worker.boss": try count(given.store, friends: false, "Z_ENT = 2", "Z_ENT = 1"),
        "Worker.friends": try count(given.store, friends: true, "Z_ENT = 2", "Z_ENT = 1"),
      ])
    var request = try request(half, engine: engine)
    request.lossConsent = .some(["Person.boss", "Person.friends"])
    let report = try await given.run(request)
    #expect(report.engine == .objects)
    for (friends, name) in [(false, "Person.boss"), (true, "Person.friends")] {
      #expect(
        try count(request.destination, friends: friends) == count(given.store, friends: friends)
          - wanted[name, default: 0])
    }
  }

  @Test func `of an entity in two, references are lost that the taking mapping leaves`()
    async throws
  {
    let split = [
      mapping("Person", reading: Self.names, name: "Low", where: "name < 'n'"),
      mapping("Person", reading: [], name: "High", where: "NOT (name < 'n')"),
      mapping("Worker", reading: Self.names),
    ]
    try given.change("UPDATE ZPERSON SET ZNAME = CASE WHEN Z_PK % 4 < 2 THEN 'a' ELSE 'z' END")
    let high = "Z_ENT = 1 AND ZNAME = 'z'"
    let wanted = [
      "Person.boss": try count(given.store, friends: false, high, "Z_ENT = 1"),
      "Person.staff": try count(given.store, friends: false, "Z_ENT = 1", high),
      "Person.friends": try count(given.store, friends: true, high, "Z_ENT = 1"),
      "Person.friendOf": try count(given.store, friends: true, "Z_ENT = 1", high),
    ]
    #expect(wanted.values.allSatisfy { $0 > 0 })
    #expect(try await refused(split) == wanted)
  }
}
