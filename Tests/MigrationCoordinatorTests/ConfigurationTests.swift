import Godwit
import Mapping
import MigrationStatus
import ObjectModel
import Planning
import StoreFormat
import Survey
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// A store that is split by the configurations of its model.
@Suite(.scratchFolder) struct ConfigurationTests {
  private static func model() throws -> ManagedObjectModel {
    var model = try ManagedObjectModel(
      Entity("Note", [.optional("text")]), Entity("Setting", [.optional("value")]))
    model.configurations = ["Cloud": ["Note"], "Local": ["Setting"]]
    return model
  }

  private func given() throws -> GivenMigration {
    try GivenMigration(from: Self.model(), to: Self.model(), rows: 40)
  }

  private func request(
    _ given: GivenMigration, _ configuration: String, engine: EngineName, output: FilePath?
  ) -> MigrationRequest {
    var request = given.request(output: output)
    request.configuration = configuration
    request.engine = engine
    return request
  }

  @Test(arguments: [EngineName.sql, .pages], [true, false])
  func `objects outside the configuration are asked for, with their count`(
    engine: EngineName, isInPlace: Bool
  ) async throws {
    let given = try given()
    let output = isInPlace ? nil : given.folder.appending("Cloud.sqlite")
    var request = request(given, "Cloud", engine: engine, output: output)
    await #expect {
      _ = try await given.run(request)
    } throws: { error in
      guard case MigrationError.losses(_, let refusal) = error else { return false }
      return refusal.refused.map(\.cause) == [.outsideConfiguration]
        && refusal.refused.map(\.name) == ["Setting"]
        && refusal.refused.allSatisfy { $0.sentence.contains("\($0.count) objects") }
        && !MigrationFailure(error).description.contains("dropped with the entity")
    }
    request.lossConsent = .some(["Setting"])
    let report = try await given.run(request)
    #expect(report.losses.map(\.cause) == [.outsideConfiguration])
    let drops = report.accounts.flatMap(\.entities).flatMap(\.dropped)
    #expect(drops.map(\.cause) == [.outsideConfiguration])
    #expect(drops.map(\.objects) == report.losses.map(\.count) && drops[0].objects > 0)
  }

  @Test(arguments: [EngineName.sql, .pages])
  func `each half may get an identifier of its own`(engine: EngineName) async throws {
    let given = try given()
    let old = try StoreReader(immutable: given.store).metadata().uuid
    var identifiers: Set<String> = [old]
    for (configuration, isNew) in [("Cloud", false), ("Local", true)] {
      let output = given.folder.appending("\(configuration).sqlite")
      var request = request(given, configuration, engine: engine, output: output)
      request.lossConsent = .all
      request.givesNewUUID = isNew
      _ = try await given.run(request)
      let metadata = try StoreReader(immutable: output).metadata()
      #expect((metadata.uuid == old) != isNew)
      identifiers.insert(metadata.uuid)
      var verification = StoreVerification(of: output, madeFrom: given.store)
      verification.configuration = configuration
      verification.target = [given.target]
      verification.expectsNewUUID = isNew
      let report = try await verification.run()
      #expect(report.isAlike, "\(report.lines)")
      verification.expectsNewUUID = !isNew
      #expect(try await !verification.run().isAlike)
    }
    #expect(identifiers.count == 2)
  }

  @Test func `a copy of a store that has the model gets a new identifier too`() async throws {
    let given = try given()
    let output = given.folder.appending("Copy.sqlite")
    var request = given.request(output: output)
    request.copiesIfCurrent = true
    request.givesNewUUID = true
    _ = try await given.run(request)
    let old = try StoreReader(immutable: given.store).metadata().uuid
    #expect(try StoreReader(immutable: output).metadata().uuid != old)
  }

  // MARK: Numbers

  @Test func `numbers that contradict the model are refused with their entities`() async throws {
    let given = try GivenMigration()
    try given.change(
      "UPDATE Z_PRIMARYKEY SET Z_NAME = CASE Z_NAME WHEN 'Person' THEN 'Tag' ELSE 'Person' END "
        + "WHERE Z_NAME IN ('Person', 'Tag')")
    var request = given.request()
    await #expect {
      _ = try await given.run(request)
    } throws: { error in
      guard case .numbersContradict(let found)? = (error as? StoreError)?.problem else {
        return false
      }
      let failure = MigrationFailure(error)
      return found.map(\.entity) == ["Tag", "Person"] && failure.exitStatus == .damaged
        && failure.description.contains("Tag is 3 there and 4 in the model")
    }
    request.sourceCheck = .off
    _ = try await given.run(request)
  }

  @Test func `a name that no entity has any more is no contradiction`() async throws {
    let given = try GivenMigration()
    try given.change("UPDATE Z_PRIMARYKEY SET Z_NAME = 'Author' WHERE Z_NAME = 'Person'")
    _ = try await given.run(given.request())
  }
}
