import Expressions
import Foundation
import GRDB
import Godwit
import Mapping
import MappingFiles
import ModelFiles
import ObjectMigration
import ObjectModel
import Planning
import StoreFormat
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

@Suite(.scratchFolder) struct MappedMigrationTests {
  private func vacuumed(_ path: FilePath) throws -> [UInt8] {
    let copy = FilePath("\(path).vacuumed")
    let connection = try StoreConnection.immutable(path)
    try connection.run { try $0.execute(sql: "VACUUM INTO ?", arguments: [copy.string]) }
    return try Files.readFile(copy, limit: 1 << 30)
  }

  @Test func `unrelated mappings are work orders of their own, and the result is the same`()
    async throws
  {
    let given = try GivenMapping()
    let one = try given.request(workers: 1, output: "One.sqlite")
    let three = try given.request(workers: 3, output: "Three.sqlite")
    let report = try await given.run(one)
    _ = try await given.run(three)
    #expect(report.workOrders.count == 3)
    #expect(report.workOrders.allSatisfy { $0.peakMemory > 0 && $0.attempts == 1 })
    #expect(try vacuumed(one.destination) == vacuumed(three.destination))
    let reader = try StoreReader(immutable: one.destination)
    #expect(try reader.metadata().versionHashes == GivenMapping.new.versionHashes())
    let words = try reader.connection.run { db in
      try Row.fetchAll(db, sql: "SELECT ZWORD, ZSHOUT FROM ZLONELY").map { ($0[0], $0[1]) }
        as [(String?, String?)]
    }
    #expect(words.count > 50)
    #expect(words.allSatisfy { $0?.uppercased() == $1 })
    #expect(report.losses.map(\.entity) == ["Gone"])
    let before = try StoreReader(immutable: given.given.store)
    for list in [
      "SELECT count(*) FROM ZCARD WHERE ZREADER NOT NULL", "SELECT sum(ZREADER) FROM ZCARD",
    ] {
      #expect(try reader.number(sql: list) == before.number(sql: list))
    }
  }

  @Test func `mapping by objects and inference make the same store`() async throws {
    var given = try GivenMapping()
    given.mapping = .inferred(
      MappingInference(from: GivenMapping.old, to: GivenMapping.new), source: GivenMapping.old,
      destination: GivenMapping.new)
    let mapped = try given.request(output: "Mapped.sqlite")
    var inferred = try given.request(output: "Inferred.sqlite")
    inferred.mappings = []
    _ = try await given.run(mapped)
    _ = try await given.run(inferred)
    func dump(_ path: FilePath) throws -> String {
      // New objects count their saves anew (docs/reference/migration-policies.md, "Keys").
      try StoreDump.text(of: path).replacing(/Z_OPT=\d+/, with: "")
    }
    #expect(try dump(mapped.destination) == dump(inferred.destination))
  }

  @Test func `mappings with policies share a work order with what is related to them`() throws {
    var given = try GivenMapping()
    given.setPolicy("Talkative", of: "Card")
    given.setPolicy("Talkative", of: "Other")
    let groups = MappingGroups(
      models: [given.mapping], source: GivenMapping.old, destination: GivenMapping.new)
    #expect(groups.groups.map(\.roots) == [["Card", "Other", "Reader"], ["Lonely"]])
  }

  @Test func `a policy that looks beyond its group has everything migrated as one`() async throws {
    var given = try GivenMapping()
    given.setPolicy("Curious", of: "Other")
    let request = try given.request()
    let report = try await given.run(request)
    #expect(report.workOrders.count == 1)
    given.setPolicy("Talkative", of: "Other")
    let plain = try given.request(output: "Plain.sqlite")
    #expect(try await given.run(plain).workOrders.count == 3)
    #expect(try vacuumed(request.destination) == vacuumed(plain.destination))
  }

  @Test func `a policy that nobody registered is refused with all its like`() async throws {
    var given = try GivenMapping()
    given.setPolicy("Shop.A", of: "Card")
    given.setPolicy("Shop.B", of: "Other")
    let error = try await given.failure() as? ObjectMigrationError
    #expect(error?.problem == .policiesNotRegistered(["Shop.A", "Shop.B"]))
  }

  @Test func `what a policy throws comes back with its place`() async throws {
    var given = try GivenMapping()
    given.setPolicy("Throwing", of: "Card")
    let error = try await given.failure() as? ObjectMigrationError
    #expect(error?.problem == .policyFailed(hook: "createDestinations"))
    #expect(error?.mapping == "IEM_Transform_Card")
    #expect(error?.entity == "Card")
    #expect(error?.key == 5)
    #expect(error.flatMap { $0.cause.map { "\($0)" } } == "no more of these")
    #expect(error?.code == 134170)
  }

  @Test func `a policy cancels, and the code is Core Data's`() async throws {
    var given = try GivenMapping()
    given.setPolicy("Cancelling", of: "Other")
    let error = try await given.failure() as? ObjectMigrationError
    #expect(error?.problem == .cancelled)
    #expect(error?.code == 134120)
    #expect(
      MigrationFailure(error ?? MigrationFailure(.bug, "")).coreDataCode == 134120)
  }

  @Test func `an object that was not associated ends the migration`() async throws {
    var given = try GivenMapping()
    given.setPolicy("Forgetful", of: "Lonely")
    let error = try await given.failure() as? ObjectMigrationError
    #expect(error?.problem == .notAssociated)
    #expect(error?.entity == "Lonely")
    #expect(error?.key == 5)
  }

  @Test func `an expression that fails is told with property and key`() async throws {
    var given = try GivenMapping()
    given.change("Lonely") { mapping in
      let index = mapping.attributeMappings.firstIndex { $0.name == "shout" } ?? 0
      mapping.attributeMappings[index].valueExpression = try? ValueExpression(
        format: "CAST(CAST($source.word, \"NSUUID\"), \"NSString\")")
    }
    let error = try await given.failure() as? ObjectMigrationError
    #expect(error?.problem == .expressionFailed)
    #expect(error?.property == "shout")
    #expect(error?.key == 1)
  }

  @Test func `names that lead nowhere are told before anything is migrated`() async throws {
    var given = try GivenMapping()
    given.change("Lonely") { mapping in
      let index = mapping.attributeMappings.firstIndex { $0.name == "shout" } ?? 0
      mapping.attributeMappings[index].valueExpression = .keyPath(
        operand: .variable("source"), "wrod")
    }
    let error = try await given.failure()
    guard case MigrationError.mappingProblems(_, let problems)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(problems.map(\.reason) == [.sourcePropertyMissing(entity: "Lonely", property: "wrod")])
    let sentence = error.map { MigrationFailure($0).description } ?? ""
    #expect(sentence.contains("it reads wrod, which Lonely"), "\(sentence)")
  }

  @Test func `a mapping model for a model that changed since is refused`() async throws {
    var given = try GivenMapping()
    given.change("Card") { $0.sourceVersionHash = $0.destinationVersionHash }
    guard case MigrationError.mappingMismatch(_, let mismatches)? = try await given.failure() else {
      Issue.record("another error")
      return
    }
    #expect(mismatches.map(\.entity) == ["Card"])
  }

  @Test func `mapping models that overlap are refused`() async throws {
    let given = try GivenMapping()
    var request = try given.request()
    let half = given.given.folder.appending("Half.json")
    let cards = given.mapping.entityMappings.filter { $0.sourceEntityName == "Card" }
    try Files.writeFileAtomically(
      Array(MappingText.text(mapping: MappingModel(entityMappings: cards)).utf8), to: half)
    request.mappings.append(half)
    guard case MigrationError.mappingSet(let twice)? = try await given.failure(request) else {
      Issue.record("another error")
      return
    }
    #expect(twice.contains { if case .coveredTwice = $0.reason { true } else { false } })
  }

  @Test func `objects of entities that no mapping model mentions are not dropped unasked`()
    async throws
  {
    let given = try GivenMapping()
    var request = try given.request()
    let half = given.given.folder.appending("Half.json")
    let lonely = given.mapping.entityMappings.filter { $0.sourceEntityName == "Lonely" }
    try Files.writeFileAtomically(
      Array(MappingText.text(mapping: MappingModel(entityMappings: lonely)).utf8), to: half)
    request.mappings = [half]
    let error = try await given.failure(request)
    guard case MigrationError.losses(_, let refusal)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(refusal.refused.contains { $0.entity == "Other" && $0.cause == .unmappedEntity })
  }

  @Test func `a killed worker is tried again, a policy's error is not`() async throws {
    var given = try GivenMapping()
    let killed = FaultyLauncher(policies: given.policies) { document, _ in
      document.order.number == 1 && document.attempt < 3 ? .failed(.killed(signal: 9)) : nil
    }
    let report = try await given.run(try given.request(workers: 1), killed)
    #expect(report.workOrders.map(\.attempts) == [3, 1, 1])
    given.setPolicy("Throwing", of: "Card")
    let once = FaultyLauncher(policies: given.policies) { _, _ in nil }
    let request = try given.request(workers: 1, output: "Never.sqlite")
    await #expect(throws: ObjectMigrationError.self) { try await given.run(request, once) }
    #expect(once.starts == ["1.1"])
  }

  @Test func `an interrupted migration keeps the groups that are done`() async throws {
    let given = try GivenMapping()
    let request = try given.request(workers: 1)
    let interrupted = FaultyLauncher { _, count in
      if count == 3 { throw CancellationError() }
      return nil
    }
    await #expect(throws: MigrationError.self) { try await given.run(request, interrupted) }
    let second = FaultyLauncher { _, _ in nil }
    let report = try await given.run(request, second)
    #expect(second.starts == ["3.1"])
    #expect(report.resumed)
    let plain = try given.request(output: "Plain.sqlite")
    _ = try await given.run(plain)
    #expect(try vacuumed(request.destination) == vacuumed(plain.destination))
  }

  @Test func `another mapping model makes another plan`() async throws {
    var given = try GivenMapping()
    let interrupted = FaultyLauncher { _, count in
      if count == 3 { throw CancellationError() }
      return nil
    }
    let first = try given.request(workers: 1)
    await #expect(throws: MigrationError.self) { try await given.run(first, interrupted) }
    given.change("Lonely") { $0.attributeMappings.removeAll { $0.name == "shout" } }
    let error = await #expect(throws: PlaceError.self) {
      try await given.run(try given.request(workers: 1))
    }
    guard case .otherRun(_, [.mappings])? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    var anew = try given.request(workers: 1)
    anew.restarts = true
    let report = try await given.run(anew)
    #expect(!report.resumed)
    let reader = try StoreReader(immutable: first.destination)
    #expect(try reader.number(sql: "SELECT count(ZSHOUT) FROM ZLONELY") == 0)
  }
}

/// Rules that objects of several groups break.
@Suite(.scratchFolder) struct MappedValidationTests {
  private let old: ManagedObjectModel
  private let new: ManagedObjectModel

  init() throws {
    old = try ManagedObjectModel(
      Entity("Lonely", [.optional("word")]), Entity("Other", [.optional("number", .integer32)]))
    new = try ManagedObjectModel(
      Entity("Lonely", [.mandatory("word")]),
      Entity("Other", [.mandatory("number", .integer32)]))
  }

  private func given() throws -> (GivenMapping, MigrationRequest) {
    var given = try GivenMapping(from: old, to: new)
    // A constant would be refused before any object is made.
    let nothing = try ValueExpression(format: "TERNARY($source.objectID == nil, nil, nil)")
    for entity in ["Lonely", "Other"] {
      given.change(entity) { mapping in
        for index in mapping.attributeMappings.indices {
          mapping.attributeMappings[index].valueExpression = nothing
        }
      }
    }
    var request = try given.request()
    // What the mappings put nil in the place of.
    request.lossConsent = .some(["Lonely.word", "Other.number"])
    return (given, request)
  }

  @Test func `violations of all groups are told together`() async throws {
    let (given, request) = try given()
    let error = try await given.failure(request) as? ObjectMigrationError
    #expect(error?.problem == .invalid(violations: 40))
    #expect(Set(error?.violations.map(\.entity) ?? []) == ["Lonely", "Other"])
    let sentences = MigrationFailure(error ?? MigrationFailure(.bug, "")).sentences
    #expect(sentences.count == 3)
    #expect(
      sentences.contains {
        $0.hasPrefix("Other.number, 20 objects (Z_PK 1, 2, 3,") && $0.hasSuffix("[1570].")
      })
  }

  @Test func `violations are counted where they are only to be told`() async throws {
    var (given, request) = try given()
    request.validation = .report
    let report = try await given.run(request)
    #expect(report.violations == 40)
    #expect(report.firstViolations.count == 40)
    request.validation = .off
    request.output = given.given.folder.appending("Off.sqlite")
    #expect(try await given.run(request).violations == 0)
  }

  @Test func `violations in the middle of several stages are counted as well`() async throws {
    var (given, request) = try given()
    let last = try ManagedObjectModel(
      Entity("Lonely", [.optional("word"), .optional("later")]),
      Entity("Other", [.optional("number", .integer32)]))
    let bundle = try given.given.bundle(of: [old, new, last])
    (request.target, request.validation, request.isStepwise) = ([bundle], .report, true)
    let launcher = FaultyLauncher { document, _ in
      if document.source.hasSuffix("step-1.sqlite") { throw CancellationError() }
      return nil
    }
    await #expect(throws: MigrationError.self) { try await given.given.run(request, launcher) }
    let report = try await given.run(request)
    #expect(report.resumed && report.accounts.count == 2)
    #expect(report.violations == 40 && report.firstViolations.count == 40)
  }
}

extension GivenMapping {
  /// Any two models, whose mapping can be inferred, with twenty objects of each entity.
  init(from old: ManagedObjectModel, to new: ManagedObjectModel) throws {
    given = try GivenMigration(from: old, to: new, rows: 40)
    mapping = .inferred(MappingInference(from: old, to: new), source: old, destination: new)
  }
}
