import Expressions
import Foundation
import GRDB
import Godwit
import Mapping
import MigrationStatus
import ModelFiles
import ObjectEngine
import ObjectModel
import Planning
import StoreFormat
import SystemCalls
import SystemPackage
import TestPolicies
import TestSupport
import Testing

@testable import MigrationCoordinator

/// What goes with the model goes; anything else is asked for, with its counts.
@Suite struct LossDecisionTests {
  private func decide(
    _ causes: LossCause..., consent: LossConsent = .none, failsOnLoss: Bool = false,
    discardsOld: Bool = false, keepsNothing: Bool = false
  ) -> (causes: [LossCause], refused: [String]) {
    let losses = causes.enumerated().map { index, cause in
      Loss(kind: .attribute, cause: cause, entity: "E", property: "p\(index)", count: 1)
    }
    let decision = LossDecision(
      consent: consent, failsOnLoss: failsOnLoss, discardsOld: discardsOld
    ).decide(losses, keepsNothing: keepsNothing)
    return (decision.losses.map(\.cause), decision.refusal?.refused.map(\.name) ?? [])
  }

  @Test func `what the model removes goes unasked`() {
    #expect(decide(.removed).refused.isEmpty)
  }

  @Test(arguments: [LossCause.duplicate, .severalObjects, .outsideModel])
  func `what goes by a choice goes unasked, unless no loss is wanted`(cause: LossCause) {
    #expect(decide(cause).refused.isEmpty)
    #expect(decide(cause, failsOnLoss: true).refused == ["E.p0"])
  }

  @Test(
    arguments: LossCause.allCases.filter {
      ![.removed, .severalObjects, .duplicate, .outsideModel].contains($0)
    })
  func `every other loss is asked for`(cause: LossCause) {
    #expect(decide(cause).refused == ["E.p0"])
    #expect(decide(.removed, cause).refused == ["E.p1"])
    #expect(decide(cause, consent: .all).refused.isEmpty)
  }

  @Test func `a consent covers what it names and no more`() {
    let three = (LossCause.filter, LossCause.policy, LossCause.conversion)
    #expect(
      decide(three.0, three.1, three.2, consent: .some(["E.p1"])).refused == ["E.p0", "E.p2"])
    #expect(decide(three.0, three.1, consent: .some(["E"])).refused.isEmpty)
    #expect(decide(three.0, consent: .some(["F", "p0"])).refused == ["E.p0"])
  }

  @Test func `a consent to a property covers it in subentities`() throws {
    let model = try ManagedObjectModel(
      Entity("Animal", isAbstract: true, [.optional("size")]), Entity("Dog", in: "Animal"),
      Entity("Puppy", in: "Dog"), Entity("Stone", [.optional("size")]))
    let names = LossConsent.some(["Animal.size", "Stone"]).inheritedNames(in: [model])
    #expect(names == ["Dog.size", "Puppy.size"])
    #expect(LossConsent.some(["Dog.size", "Animal"]).inheritedNames(in: [model]) == ["Puppy.size"])
    #expect(LossConsent.all.inheritedNames(in: [model]).isEmpty)
  }

  @Test func `where no loss is wanted, the model's is refused too, unless it is named`() {
    #expect(decide(.removed, failsOnLoss: true).refused == ["E.p0"])
    #expect(decide(.removed, consent: .some(["E.p0"]), failsOnLoss: true).refused.isEmpty)
  }

  @Test func `the last copy and the last object are asked for`() {
    let discarded = decide(.removed, .filter, discardsOld: true)
    #expect(discarded.causes == [.lastCopy, .filter])
    #expect(discarded.refused == ["E.p0", "E.p1"])
    #expect(decide(.removed, keepsNothing: true).causes == [.allObjects])
    #expect(decide(.removed, keepsNothing: true).refused == ["E.p0"])
    #expect(decide(discardsOld: true).refused.isEmpty)
  }

  @Test func `names that no version has are told with those that there are`() throws {
    let model = try ManagedObjectModel(
      Entity("Item", [.optional("code")]), Entity("Box", [.optional("size")]))
    let names = LossConsent.some(["Item", "Item.code", "Item.cod", "Bax"]).unknownNames([model])
    #expect(names.unknown == ["Bax", "Item.cod"])
    #expect(names.known == ["Box", "Item", "Item.code"])
  }
}

/// Losses of mapping models, in stores of Reader, Card, Lonely, Other and Gone.
@Suite(.scratchFolder) struct MappedLossTests {
  /// Forty objects each of Lonely and Other, whose words and numbers say their keys.
  private func given(numbers: String = "Z_PK") throws -> GivenMapping {
    let given = try GivenMapping()
    let connection = try StoreConnection.writable(given.given.store)
    try connection.run { db in
      try db.execute(
        sql: "UPDATE ZOTHER SET ZNUMBER = \(numbers); UPDATE ZLONELY SET ZWORD = 'w' || Z_PK")
    }
    try connection.queue.close()
    return given
  }

  private func refusal(_ given: GivenMapping, _ request: MigrationRequest) async throws -> [Loss] {
    guard case MigrationError.losses(_, let refusal)? = try await given.failure(request) else {
      Issue.record("nothing was refused")
      return []
    }
    return refusal.refused
  }

  private func account(
    _ report: MigrationReport, _ entity: String
  ) throws -> StageAccounts.OfEntity {
    try #require(report.accounts.first?.entities.first { $0.entity == entity })
  }

  @Test(arguments: [EngineName.sql, .pages, .objects])
  func `objects that no filter takes are counted before anything is written`(
    engine: EngineName
  ) async throws {
    var given = try given()
    given.change("Other") {
      $0.sourceExpression = .sourceObjects(of: "Other", where: "number > 12 OR number == 3")
    }
    var request = try given.request()
    request.engine = engine
    let launcher = FaultyLauncher(policies: given.policies) { _, _ in nil }
    await #expect(throws: MigrationError.self) { try await given.run(request, launcher) }
    #expect(launcher.starts.isEmpty)
    let losses = try await refusal(given, request)
    #expect(losses.map(\.name) == ["Other"])
    #expect(losses.map(\.cause) == [.filter])
    #expect(losses.map(\.count) == [11])
    #expect(losses.first?.keys == [1, 2, 4, 5, 6, 7, 8, 9, 10, 11])
    request.lossConsent = .some(["Other"])
    let report = try await given.run(request)
    #expect(report.engine == engine)
    let account = try account(report, "Other")
    #expect(account.rowsIn == account.rowsOut + 11)
    #expect(account.dropped == [.init(cause: .filter, objects: 11)])
    #expect(report.accounts.first?.rows["Other"] == account.rowsOut)
  }

  @Test func `objects that several filters leave are those that none takes`() async throws {
    var given = try given()
    given.change("Other") {
      $0.sourceExpression = .sourceObjects(of: "Other", where: "number < 10")
    }
    var second = try #require(given.mapping.mapping(toDestination: "Other"))
    second.name = "Second"
    second.sourceExpression = .sourceObjects(of: "Other", where: "number > 20")
    given.mapping.entityMappings.append(second)
    var request = try given.request()
    #expect(try await refusal(given, request).map(\.count) == [11])
    request.lossConsent = .all
    #expect(try account(try await given.run(request), "Other").dropped.map(\.objects) == [11])
  }

  @Test func `what a policy makes nothing of is refused before the swap`() async throws {
    var given = try given()
    given.setPolicy("Dropping", of: "Other")
    var request = try given.request()
    request.output = nil
    let losses = try await refusal(given, request)
    let count = Int64(
      try StoreReader(immutable: given.given.store).number(sql: "SELECT count(*) FROM ZOTHER"))
    #expect(losses.map(\.cause) == [.policy])
    #expect(losses.map(\.count) == [count / 5])
    #expect(losses.first?.keys.prefix(2) == [5, 10])
    request.lossConsent = .some(["Other"])
    let report = try await given.run(request)
    #expect(try account(report, "Other").dropped == [.init(cause: .policy, objects: count / 5)])
    #expect(try account(report, "Other").rowsOut == count - count / 5)
  }

  @Test func `a policy that makes more of an object is in the accounts`() async throws {
    var given = try given()
    given.setPolicy("Doubling", of: "Other")
    let report = try await given.run(try given.request())
    let mapping = try #require(
      report.accounts.first?.mappings.first { $0.destination == "Other" })
    #expect(mapping.made == mapping.used + mapping.used / 7)
    #expect(mapping.used == mapping.taken)
    #expect(report.accounts.first?.rows["Other"] == mapping.made)
    #expect(try account(report, "Other").dropped.isEmpty)
  }

  @Test(arguments: [EngineName.sql, .pages, .objects])
  func `a forgotten attribute is refused by every engine`(
    engine: EngineName
  ) async throws {
    var given = try given()
    given.change("Other") {
      $0.kind = .transform
      $0.attributeMappings = []
    }
    var request = try given.request()
    request.engine = engine
    let count = try StoreReader(immutable: given.given.store).number(
      sql: "SELECT count(*) FROM ZOTHER")
    let losses = try await refusal(given, request)
    #expect(losses.map(\.name) == ["Other.number"])
    #expect(losses.map(\.cause) == [.unmappedProperty])
    #expect(losses.map(\.count) == [count])
    request.lossConsent = .some(["Other.number"])
    let report = try await given.run(request)
    #expect(Set(report.losses.map(\.name)) == ["Gone", "Other.number"])
    #expect(
      report.accounts.first?.entities.allSatisfy {
        $0.rowsIn == $0.rowsOut + $0.dropped.reduce(0) { $0 + $1.objects }
      } == true)
  }

  @Test(arguments: [EngineName.sql, .objects])
  func `a copy copies what its file does not list`(
    engine: EngineName
  ) async throws {
    var given = try given()
    for entity in ["Other", "Card", "Reader"] {
      given.change(entity) {
        $0.kind = .copy
        $0.attributeMappings = []
        $0.relationshipMappings = []
      }
    }
    var request = try given.request()
    request.engine = engine
    let report = try await given.run(request)
    #expect(report.losses.map(\.name) == ["Gone"])
    let (old, new) = (
      try StoreReader(immutable: given.given.store), try StoreReader(immutable: request.destination)
    )
    for query in [
      "SELECT sum(ZNUMBER) FROM ZOTHER", "SELECT count(ZCODE) FROM ZCARD",
      "SELECT count(ZREADER) FROM ZCARD", "SELECT sum(ZREADER) FROM ZCARD",
      "SELECT count(ZNAME) FROM ZREADER",
    ] {
      #expect(try new.number(sql: query) == old.number(sql: query), "\(query)")
      #expect(try old.number(sql: query) > 0)
    }
  }

  @Test func `an entity that the model has and no mapping takes is refused`() async throws {
    var given = try given()
    given.mapping.entityMappings.removeAll { $0.destinationEntityName == "Other" }
    let losses = try await refusal(given, try given.request())
    #expect(losses.map(\.name) == ["Other"])
    #expect(losses.map(\.cause) == [.unmappedEntity])
  }

  @Test func `an entity that no policy reads on loses what it could have read`() async throws {
    var given = try given()
    given.setPolicy("Doubling", of: "Other")
    given.change("Other") { $0.attributeMappings = [] }
    let losses = try await refusal(given, try given.request())
    #expect(losses.map(\.name) == ["Other.number"])
    #expect(losses.map(\.cause) == [.unmappedProperty])
  }

  @Test(arguments: [EngineName.sql, .pages, .objects])
  func `accounts that do not add up swap nothing`(
    engine: EngineName
  ) async throws {
    let given = try given()
    var request = try given.request()
    request.engine = engine
    let launcher = TamperingLauncher(policies: given.policies) { manifest in
      if var outcome = try? manifest.outcome?.decoded(as: ObjectOutcome.self) {
        outcome.accounts.mappings[0].made += 1
        manifest.outcome = EnginePayload(outcome)
      }
      for index in manifest.pieces.indices { manifest.pieces[index].count?.made[0].rows -= 1 }
    }
    let error = await #expect(throws: MigrationError.self) {
      try await given.run(request, launcher)
    }
    guard case .accountsDiffer(let found)? = error else {
      Issue.record("nobody noticed")
      return
    }
    #expect(found.contains { $0.side == (engine == .objects ? .mapping : .destination) })
    #expect(try Files.fileStatusIfPresent(request.destination) == nil)
  }

  @Test func `a table that is not what its shards were is no result`() async throws {
    let given = try GivenMigration(rows: 30)
    var request = given.request()
    request.engine = .sql
    let launcher = TamperingLauncher { manifest in manifest.pieces[0].digest ^= 1 }
    let error = await #expect(throws: WorkError.self) {
      try await given.run(request, launcher)
    }
    guard case .verificationFailed? = error else {
      Issue.record("nobody noticed: \(String(describing: error))")
      return
    }
  }
}

/// Changes the manifests of workers before anybody reads them.
struct TamperingLauncher: WorkerLauncher {
  var policies = MigrationPolicies()
  let change: @Sendable (inout ShardManifest) -> Void

  func execute(_ document: WorkOrderDocument, link: OrderLink) async throws -> WorkerEnding {
    let ending = try await InProcessLauncher(policies: policies).execute(document, link: link)
    guard case .made(var manifest) = ending else { return ending }
    change(&manifest)
    return .made(manifest)
  }
}
