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
import TestSupport
import Testing

@testable import MigrationCoordinator

private final class PlainPolicy: MigrationPolicy {}

@Suite(.scratchFolder) struct MadeOutputTests {
  /// A version between the two of `GivenMigration`: the new one without an entity.
  private static var between: ManagedObjectModel {
    get throws {
      try ManagedObjectModel(entities: GivenMigration.new.entities.filter { $0.name != "Added" })
    }
  }

  private func request(_ given: GivenMigration, to target: FilePath? = nil) -> MigrationRequest {
    var request = given.request(output: given.folder.appending("Output.sqlite"))
    request.keepsRecord = true
    if let target { request.target = [target] }
    return request
  }

  private func makeCurrent(_ name: String, in bundle: FilePath) throws {
    let info = ["NSManagedObjectModel_CurrentVersionName": name]
    let text = try PropertyListSerialization.data(fromPropertyList: info, format: .xml, options: 0)
    try Files.writeFileAtomically(Array(text), to: bundle.appending("VersionInfo.plist"))
  }

  /// Requires that a migration is refused for the output that is there, which stays.
  private func requireRefused(_ request: MigrationRequest, _ given: GivenMigration) async throws {
    let output = try #require(request.output)
    let before = try given.bytes(output)
    let error = await #expect(throws: (any Error).self) { try await given.run(request) }
    #expect(error.map { MigrationFailure($0).exitStatus } == .cannotCreate)
    #expect(try given.bytes(output) == before)
  }

  @Test func `an output of another version of the same bundle is no output of this one`()
    async throws
  {
    let given = try GivenMigration()
    let bundle = try given.bundle(of: [GivenMigration.old, Self.between, GivenMigration.new])
    let request = request(given, to: bundle)
    #expect(try await given.run(request).outcome == .migrated)
    #expect(try await given.run(request).outcome == .alreadyThere)
    try makeCurrent("Shop 2", in: bundle)
    try await requireRefused(request, given)
    try makeCurrent("Shop 3", in: bundle)
    #expect(try await given.run(request).outcome == .alreadyThere)
  }

  @Test func `the same model at another path makes the same output`() async throws {
    let given = try GivenMigration()
    #expect(try await given.run(request(given)).outcome == .migrated)
    let folder = given.folder.appending("elsewhere")
    try Files.createDirectory(folder)
    let copy = folder.appending("Renamed.mom")
    try Files.writeFileAtomically(given.bytes(given.target), to: copy)
    #expect(try await given.run(request(given, to: copy)).outcome == .alreadyThere)
  }

  @Test func `a model that differs in a default value makes another output`() async throws {
    let given = try GivenMigration()
    #expect(try await given.run(request(given)).outcome == .migrated)
    let other = try GivenMigration.withOtherPrice
    #expect(try other.versionHashes() == GivenMigration.new.versionHashes())
    try Files.writeFileAtomically(ModelArchive.encode(other).bytes, to: given.target)
    try await requireRefused(request(given), given)
  }

  @Test func `an output that lacks what may not be lost is not accepted`() async throws {
    let given = try GivenMigration()
    var request = request(given)
    #expect(try await given.run(request).losses.map(\.name).contains("Comic.pages"))
    #expect(try await given.run(request).outcome == .alreadyThere)
    for forbids in [false, true] {
      (request.lossConsent, request.failsOnLoss) = (.none, forbids)
      let error = await #expect(throws: MigrationError.self) { try await given.run(request) }
      #expect(error.map { MigrationFailure($0).exitStatus } == .impossible)
    }
    request.lossConsent = .all
    #expect(try await given.run(request).outcome == .alreadyThere)
  }

  @Test func `objects that a choice removed are lost where nothing may be lost`() async throws {
    func model(_ isUnique: Bool) throws -> ManagedObjectModel {
      var note = Entity("Note", [.optional("title"), .optional("size", .integer64)])
      if isUnique { note.uniquenessConstraints = [["title"]] }
      return try ManagedObjectModel(entities: [note])
    }
    let given = try GivenMigration(from: model(false), to: model(true), rows: 20)
    let connection = try StoreConnection.writable(given.store)
    try connection.run { try $0.execute(sql: "UPDATE ZNOTE SET ZTITLE = 'a' WHERE Z_PK < 4") }
    try connection.queue.close()
    var request = request(given)
    request.defectChoices.duplicates = .keepFirst
    #expect(try await given.run(request).outcome == .migrated)
    #expect(try await given.run(request).outcome == .alreadyThere)
    request.failsOnLoss = true
    let error = await #expect(throws: MigrationError.self) { try await given.run(request) }
    #expect(error.map { MigrationFailure($0).exitStatus } == .impossible)
    request.lossConsent = .some(["Note"])
    #expect(try await given.run(request).outcome == .alreadyThere)
  }

  @Test func `an output by another build of the policies is another output`() async throws {
    let given = try GivenMigration()
    var request = request(given)
    let program = given.folder.appending("program")
    try Files.writeFileAtomically([1], to: program)
    (request.executable, request.policies) = (program, ["Own": { PlainPolicy() }])
    #expect(try await given.run(request).outcome == .migrated)
    #expect(try await given.run(request).outcome == .alreadyThere)
    try Files.writeFileAtomically([1, 2], to: program)
    try await requireRefused(request, given)
    request.policies = [:]
    try await requireRefused(request, given)
  }

  @Test func `an output without tables of no model is not accepted either`() async throws {
    let given = try GivenMigration()
    let connection = try StoreConnection.writable(given.store)
    try connection.run { db in
      try db.execute(sql: "CREATE TABLE own (a)")
      try db.execute(sql: "INSERT INTO own VALUES (1)")
    }
    try connection.queue.close()
    var request = request(given)
    request.extraTables = .drop
    #expect(try await given.run(request).outcome == .migrated)
    #expect(try await given.run(request).outcome == .alreadyThere)
    request.failsOnLoss = true
    request.lossConsent = .some(["Comic.pages", "Book.gone"])
    await #expect(throws: MigrationError.self) { try await given.run(request) }
  }

  @Test func `the work of a later run in the place of the output stays`() async throws {
    let given = try GivenMigration()
    let request = request(given)
    #expect(try await given.run(request).outcome == .migrated)
    let next = given.folder.appending("Next.mom")
    try Files.writeFileAtomically(ModelArchive.encode(GivenMigration.old).bytes, to: next)
    var later = MigrationRequest(
      store: request.destination, target: [next], workers: 1, memory: 64 << 20)
    (later.rangeRows, later.lossConsent) = (10, .all)
    let launcher = FaultyLauncher { _, count in
      if count == 3 { throw CancellationError() }
      return nil
    }
    await #expect(throws: MigrationError.self) { try await given.run(later, launcher) }
    let work = MigrationPaths(destination: request.destination).work
    let names = try Files.listDirectory(work).map(\.string).sorted()
    #expect(try await given.run(request).outcome == .finishedEarlier)
    #expect(try Files.listDirectory(work).map(\.string).sorted() == names)
    #expect(try await given.run(later).resumed)
  }

  @Test func `a mapping model that was edited makes another output`() async throws {
    var mapped = try GivenMapping()
    var request = try mapped.request()
    request.keepsRecord = true
    #expect(try await mapped.run(request).outcome == .migrated)
    #expect(try await mapped.run(request).outcome == .alreadyThere)
    let expression = try ValueExpression(format: "lowercase($source.word)")
    mapped.change("Lonely") { mapping in
      let index = mapping.attributeMappings.firstIndex { $0.name == "shout" } ?? 0
      mapping.attributeMappings[index].valueExpression = expression
    }
    _ = try mapped.request()
    try await requireRefused(request, mapped.given)
  }

  @Test func `a mapping model that has come next to the model makes another output`() async throws {
    let given = try GivenMigration()
    #expect(try await given.run(request(given)).outcome == .migrated)
    let mapping = MappingModel.inferred(
      MappingInference(from: GivenMigration.old, to: GivenMigration.new),
      source: GivenMigration.old, destination: GivenMigration.new)
    let file = given.folder.appending("Map.json")
    try Files.writeFileAtomically(Array(MappingText.text(mapping: mapping).utf8), to: file)
    try await requireRefused(request(given), given)
    try Files.remove(file)
    #expect(try await given.run(request(given)).outcome == .alreadyThere)
  }

  @Test func `a version on the way that goes makes another output`() async throws {
    let given = try GivenMigration()
    let bundle = try given.bundle(of: [GivenMigration.old, Self.between, GivenMigration.new])
    var request = request(given, to: bundle)
    (request.isProgressive, request.versionOrder) = (true, ["Shop 1", "Shop 2", "Shop 3"])
    request.lossConsent = .all
    #expect(try await given.run(request).outcome == .migrated)
    #expect(try await given.run(request).outcome == .alreadyThere)
    let version = bundle.appending("Shop 2.mom")
    try Files.writeFileAtomically(ModelArchive.encode(GivenMigration.old).bytes, to: version)
    // What was read of models is not read again.
    request.library = ModelLibrary()
    try await requireRefused(request, given)
  }

  @Test func `a copy of a store that is current is found again`() async throws {
    let given = try GivenMigration()
    _ = try await given.run(given.request())
    var request = request(given)
    request.copiesIfCurrent = true
    #expect(try await given.run(request).outcome == .copied)
    #expect(try await given.run(request).outcome == .alreadyThere)
    request.journalMode = .wal
    try await requireRefused(request, given)
  }
}
