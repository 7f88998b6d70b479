import Expressions
import Foundation
import GRDB
import Godwit
import Mapping
import MappingFiles
import ObjectMigration
import ObjectModel
import Planning
import StoreFormat
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

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
    #expect(error?.problem == .policyFailed(hook: "createDestinationInstances"))
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
