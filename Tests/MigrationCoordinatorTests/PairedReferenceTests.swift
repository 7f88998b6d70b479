import Expressions
import GRDB
import Mapping
import MappingFiles
import ObjectModel
import Planning
import Schema
import StoreFormat
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// Causes for which references go whose two objects are of several entities, mappings and runs.
@Suite(.scratchFolder) struct PairedReferenceTests {
  private func mapping(
    _ entity: String, _ relationships: [String], where filter: String? = nil
  ) -> EntityMapping {
    var mapping = EntityMapping(
      name: entity, kind: .copy, source: entity, destination: entity)
    mapping.relationshipMappings = relationships.map {
      PropertyMapping(name: $0, valueExpression: .destinations(ofRelationship: $0))
    }
    mapping.sourceExpression = filter.map { .sourceObjects(of: entity, where: $0) }
    return mapping
  }

  private func given(
    _ old: [Entity], to new: [Entity], _ rows: String, by mappings: [EntityMapping] = []
  ) throws -> (GivenMigration, MigrationRequest) {
    let given = try GivenMigration(
      from: ManagedObjectModel(entities: old), to: ManagedObjectModel(entities: new), rows: 0)
    try given.change("\(rows); UPDATE Z_PRIMARYKEY SET Z_MAX = 9")
    var request = given.request(output: given.folder.appending("New.sqlite"))
    if !mappings.isEmpty {
      let file = given.folder.appending("Map.json")
      let text = try MappingText.text(mapping: MappingModel(entityMappings: mappings))
      try Files.writeFileAtomically(Array(text.utf8), to: file)
      request.mappings = [file]
    }
    return (given, request)
  }

  /// The losses that are not allowed, and the accounts of references if anything is.
  private func outcome(
    _ given: GivenMigration, _ request: MigrationRequest
  ) async throws -> (refused: Set<String>, accounts: Set<String>) {
    var (request, refused) = (request, Set<String>())
    do {
      _ = try await given.run(request)
    } catch MigrationError.losses(_, let refusal) {
      refused = Set(refusal.refused.map { "\($0.name) \($0.cause) \($0.count)" })
    }
    request.lossConsent = .all
    request.output = given.folder.appending("Again.sqlite")
    let report = try await given.run(request)
    let accounts = report.accounts.flatMap { $0.references ?? [] }
    for account in accounts {
      #expect(
        account.referencesIn
          == account.referencesOut + account.dropped.reduce(0) { $0 + $1.references })
    }
    return (
      refused,
      Set(
        accounts.flatMap { account in
          account.dropped.map {
            "\(account.entity).\(account.relationship) \($0.cause) \($0.references)"
          }
        })
    )
  }

  private static func nodes(_ more: [Attribute] = [], children: [String] = []) -> [Entity] {
    [
      Entity(
        "Node", [.optional("name")] + more,
        [
          .toMany("links", "Node", inverse: "backs", isOrdered: true),
          .toMany("backs", "Node", inverse: "links"),
        ])
    ] + children.map { Entity($0, in: "Node") }
  }

  /// The relationship after which the join table of nodes is named, and SQL for pairs of it.
  private func pairs(
    _ keys: [(Int, Int)], of nodes: [Entity]
  ) throws -> (name: String, sql: String) {
    let join = try StoreSchema(ManagedObjectModel(entities: nodes)).joinTables[0]
    let rows = keys.map { "(\($0.0), \($0.1))" }.joined(separator: ", ")
    return (
      "Node.\(join.first.relationshipName)",
      "INSERT INTO \(join.name) (\(join.first.keyColumn), \(join.second.keyColumn)) VALUES \(rows)"
    )
  }

  @Test(arguments: [EngineName.sql, .pages])
  func `pairs of which both objects go with their entity go for that`(
    engine: EngineName
  ) async throws {
    let nodes = Self.nodes(children: ["Old"])
    let pairs = try pairs([(1, 1), (1, 2)], of: nodes)
    var (given, request) = try given(
      nodes, to: Self.nodes(),
      "INSERT INTO ZNODE (Z_PK, Z_ENT, Z_OPT) VALUES (1, 2, 1), (2, 2, 1); \(pairs.sql)")
    request.engine = engine
    let found = try await outcome(given, request)
    #expect(found.accounts == ["\(pairs.name) removed 2"])
  }

  @Test(arguments: [EngineName.sql, .pages, .objects])
  func `pairs of an object that stays with one that a filter drops are losses`(
    engine: EngineName
  ) async throws {
    let pairs = try pairs([(1, 2), (3, 1), (2, 3), (3, 4)], of: Self.nodes())
    var (given, request) = try given(
      Self.nodes(), to: Self.nodes([.optional("more")]),
      """
      INSERT INTO ZNODE (Z_PK, Z_ENT, Z_OPT, ZNAME)
        VALUES (1, 1, 1, 'a'), (2, 1, 1, 'b'), (3, 1, 1, 'x'), (4, 1, 1, 'x');
      \(pairs.sql)
      """, by: [mapping("Node", ["links", "backs"], where: "name != 'x'")])
    request.engine = engine
    let found = try await outcome(given, request)
    #expect(found.refused == ["Node filter 2", "\(pairs.name) filter 2"])
    #expect(found.accounts == ["\(pairs.name) filter 3"])
  }

  private static func couples(_ more: [Attribute] = []) -> [Entity] {
    [
      Entity("Aunt", more, [.toOne("niece", "Niece", inverse: "aunt")]),
      Entity("Niece", [.optional("name")], [.toOne("aunt", "Aunt", inverse: "niece")]),
      Entity("Special", in: "Niece"), Entity("Zebra", [.optional("name")]),
    ]
  }

  private static let couples = """
    INSERT INTO ZAUNT (Z_PK, Z_ENT, Z_OPT, ZNIECE, Z2_NIECE) VALUES (1, 1, 1, 1, 2), (2, 1, 1, 2, 3);
    INSERT INTO ZNIECE (Z_PK, Z_ENT, Z_OPT, ZAUNT) VALUES (1, 2, 1, 1), (2, 3, 1, 2);
    INSERT INTO ZZEBRA (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 4, 1, 'z')
    """

  @Test func `a run that makes none of the objects accounts for no reference`() async throws {
    var zebra = mapping("Zebra", [])
    zebra.attributeMappings = [
      PropertyMapping(
        name: "name", valueExpression: try ValueExpression(format: "uppercase($source.name)"))
    ]
    var (given, request) = try given(
      Self.couples(), to: Self.couples([.optional("more")]), Self.couples,
      by: [
        mapping("Aunt", ["niece"]), mapping("Niece", ["aunt"]), mapping("Special", ["aunt"]), zebra,
      ])
    request.engine = .objects
    let found = try await outcome(given, request)
    #expect(found.refused.isEmpty && found.accounts.isEmpty)
  }

  @Test(arguments: [EngineName.sql, .pages, .objects])
  func `references to objects of an entity without a mapping are lost with them`(
    engine: EngineName
  ) async throws {
    var (given, request) = try given(
      Self.couples(), to: Self.couples([.optional("more")]), Self.couples,
      by: [mapping("Aunt", []), mapping("Niece", ["aunt"]), mapping("Zebra", [])])
    request.engine = engine
    let found = try await outcome(given, request)
    #expect(found.refused == ["Special unmappedEntity 1", "Aunt.niece unmappedEntity 1"])
  }
}
