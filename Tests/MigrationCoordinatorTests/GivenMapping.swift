import Expressions
import Godwit
import Mapping
import MappingFiles
import ObjectMigration
import ObjectModel
import SystemCalls
import SystemPackage
import TestPolicies
import TestSupport
import Testing

@testable import MigrationCoordinator

/// A store, two models and a mapping model between them: readers with their cards, and two
/// entities that nothing joins to anything.
struct GivenMapping {
  let given: GivenMigration
  var mapping: MappingModel
  var policies = MigrationPolicies()

  init(rows: Int64 = 400) throws {
    given = try GivenMigration(from: Self.old, to: Self.new, rows: rows)
    let inference = MappingInference(from: Self.old, to: Self.new)
    mapping = .inferred(inference, source: Self.old, destination: Self.new)
    policies.registerOdd()
    policies.registerLossy()
    let shout = try ValueExpression(format: "uppercase($source.word)")
    change("Lonely") { mapping in
      let index = mapping.attributeMappings.firstIndex { $0.name == "shout" } ?? 0
      mapping.attributeMappings[index].valueExpression = shout
    }
  }

  mutating func change(_ entity: String, _ body: (inout Mapping.EntityMapping) -> Void) {
    for index in mapping.entityMappings.indices
    where mapping.entityMappings[index].destinationEntityName == entity {
      body(&mapping.entityMappings[index])
    }
  }

  mutating func setPolicy(_ name: String, of entity: String) {
    change(entity) {
      $0.migrationPolicyClassName = name
      $0.kind = .custom
    }
  }

  func request(workers: Int = 2, output: String = "New.sqlite") throws -> MigrationRequest {
    let file = given.folder.appending("Map.json")
    try Files.writeFileAtomically(Array(MappingText.text(mapping: mapping).utf8), to: file)
    var request = given.request(workers: workers, output: given.folder.appending(output))
    request.mappings = [file]
    request.policies = policies.factories
    return request
  }

  func run(
    _ request: MigrationRequest, _ launcher: (any WorkerLauncher)? = nil
  ) async throws -> MigrationReport {
    try await given.run(request, launcher ?? InProcessLauncher(policies: policies))
  }

  /// The error that a migration ends with; nothing is left of it.
  func failure(_ request: MigrationRequest? = nil) async throws -> (any Error)? {
    let request = try request ?? self.request()
    let (bytes, names) = (try given.bytes(given.store), try given.names)
    var found: (any Error)?
    do { _ = try await run(request) } catch { found = error }
    #expect(try given.bytes(given.store) == bytes)
    #expect(try given.names == names)
    return found
  }

  private static func made(_ make: () throws -> ManagedObjectModel) -> ManagedObjectModel {
    do { return try make() } catch { preconditionFailure("\(error)") }
  }

  static let old = made {
    try ManagedObjectModel(
      Entity("Card", [.optional("code")], [.toOne("reader", "Reader", inverse: "cards")]),
      Entity("Lonely", [.optional("word")]), Entity("Other", [.optional("number", .integer32)]),
      Entity("Gone", [.optional("text")]),
      Entity("Reader", [.optional("name")], [.toMany("cards", "Card", inverse: "reader")]))
  }

  static let new = made {
    try ManagedObjectModel(
      Entity(
        "Card", [.optional("code"), .optional("note")],
        [.toOne("reader", "Reader", inverse: "cards")]),
      Entity("Lonely", [.optional("word"), .optional("shout")]),
      Entity("Other", [.optional("number", .integer64)]),
      Entity("Reader", [.optional("name")], [.toMany("cards", "Card", inverse: "reader")]))
  }
}

extension GivenMapping {
  /// Any two models, whose mapping can be inferred, with twenty objects of each entity.
  init(from old: ManagedObjectModel, to new: ManagedObjectModel) throws {
    given = try GivenMigration(from: old, to: new, rows: 40)
    mapping = .inferred(MappingInference(from: old, to: new), source: old, destination: new)
  }
}
