import Foundation
import Godwit
import Logging
import MigrationStatus
import StoreNames
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

@Suite(.scratchFolder) struct OutcomeKeeperTests {
  private func run(_ request: MigrationRequest) async throws -> MigrationReport {
    try await MigrationRun.migrate(
      request, launcher: InProcessLauncher(),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, words: .sentences)
  }

  private func request(_ given: GivenMigration, output: FilePath? = nil) -> MigrationRequest {
    var request = given.request(output: output)
    request.keepsRecord = true
    return request
  }

  private func record(_ store: FilePath) throws -> OutcomeRecord? {
    try OutcomeFile(beside: Files.resolved(Files.parent(of: store)).appending(name(store))).read()
  }

  private func name(_ path: FilePath) -> FilePath.Component { path.lastComponent ?? "none" }

  @Test func `a migration leaves its outcome next to its output alone`() async throws {
    let given = try GivenMigration()
    let output = given.folder.appending("New.sqlite")
    let report = try await run(request(given, output: output))
    #expect(try record(given.store) == nil)
    let record = try #require(try record(output))
    #expect(record.state == .done && record.exitStatus == 0 && record.rows == report.rows)
    #expect(record.ended ?? 0 >= record.started)
    #expect(record.losses.count == report.losses.count && !record.losses.isEmpty)
    #expect(FilePath(record.destination).lastComponent == "New.sqlite")
    #expect(record.source == (try Files.resolved(given.store)).string)
    // The source leads to the record that names it.
    #expect(try StatusWatch(given.store).look()?.record == record)
    var foreign = record
    foreign.source += "x"
    try OutcomeFile(beside: Files.resolved(output)).write(foreign, mode: .ownerReadWrite)
    #expect(try StatusWatch(given.store).look() == nil)
  }

  @Test(arguments: [true, false])
  func `the record of a run at work stays next to the store`(_ isAtWork: Bool) async throws {
    let given = try GivenMigration()
    let store = try Files.resolved(given.store)
    var other = OutcomeRecord(
      run: .random(), source: store, destination: given.folder.appending("Other.sqlite"),
      work: given.folder.appending("Other.sqlite.godwit"))
    if !isAtWork { other.end(exitStatus: 0, sentences: [], losses: []) }
    try OutcomeFile(beside: store).write(other, mode: .ownerReadWrite)
    let output = given.folder.appending("New.sqlite")
    _ = try await run(request(given, output: output))
    #expect(try record(output)?.state == .done)
    #expect(try record(store) == other)
    var request = request(given)
    request.failsOnLoss = true
    await #expect(throws: MigrationError.self) { try await run(request) }
    #expect(try record(store) == other)
    _ = try await run(self.request(given))
    #expect((try record(store) == other) == isAtWork)
  }

  @Test func `none is left unless it is asked for`() async throws {
    let given = try GivenMigration()
    _ = try await run(given.request())
    #expect(try record(given.store) == nil)
  }

  @Test func `a failure is told in the sentences of the tool`() async throws {
    let given = try GivenMigration()
    let bytes = try given.bytes(given.store)
    let damaged = bytes.prefix(8192) + [UInt8](repeating: 255, count: bytes.count - 8192)
    try Files.writeFileAtomically(Array(damaged), to: given.store)
    let request = request(given)
    let error = await #expect(throws: (any Error).self) { try await run(request) }
    let failure = MigrationFailure(try #require(error))
    let record = try #require(try record(given.store))
    #expect(record.state == .failed && record.sentences == failure.sentences)
    try Files.writeFileAtomically(bytes, to: given.store)
    _ = try await run(request)
    #expect(try self.record(given.store)?.state == .done)
  }

  @Test(arguments: [true, false])
  func `a run that is refused leaves the record that was there, or none`(
    _ hasOutput: Bool
  ) async throws {
    let given = try GivenMigration()
    let output = hasOutput ? given.folder.appending("New.sqlite") : nil
    var request = request(given, output: output)
    request.failsOnLoss = true
    await #expect(throws: MigrationError.self) { try await run(request) }
    #expect(try !given.names.contains { $0.hasSuffix(StoreCompanion.record.rawValue) })
    var earlier = OutcomeRecord(
      run: .random(), source: given.store, destination: output ?? given.store, work: "/gone")
    earlier.end(exitStatus: 74, sentences: ["a device failed"], losses: [])
    let store = try Files.resolved(given.folder).appending(name(output ?? given.store))
    let file = OutcomeFile(beside: store)
    try file.write(earlier, mode: .ownerReadWrite)
    await #expect(throws: MigrationError.self) { try await run(request) }
    #expect(try file.read() == earlier)
  }

  @Test func `a run with nothing to do leaves what the last one said`() async throws {
    let given = try GivenMigration()
    _ = try await run(request(given))
    let before = try record(given.store)
    #expect(try await run(request(given)).outcome == .alreadyCurrent)
    #expect(try record(given.store) == before)
  }

  @Test func `no record stays beside an output that was not to be made`() async throws {
    let given = try GivenMigration()
    _ = try await run(request(given))
    let output = given.folder.appending("New.sqlite")
    let report = try await run(request(given, output: output))
    #expect(report.outcome == .alreadyCurrent)
    #expect(try record(output) == nil)
    #expect(try record(given.store)?.state == .done)
  }

  @Test func `a store that is as it was gets no record`() async throws {
    let given = try GivenMigration()
    _ = try await run(given.request())
    #expect(try await run(request(given)).outcome == .alreadyCurrent)
    #expect(try !given.names.contains { $0.hasSuffix(StoreCompanion.record.rawValue) })
  }

  @Test func `a status tells what has become of the old store`() async throws {
    let given = try GivenMigration()
    let kept = try #require(try await run(request(given)).oldStore)
    func told() throws -> [String] { try #require(try StatusWatch(given.store).look()).sentences }
    #expect(try told() == ["The old store is kept as \(kept)."])
    _ = try StoreUpkeep(of: given.store).rollBack()
    let back = try told()
    #expect(back.count == 1 && back[0].hasSuffix(" \(kept) was put back in place."))
    _ = try await run(request(given))
    _ = try StoreUpkeep(of: given.store).finish()
    #expect(try told() == ["The old store is no longer kept."])
  }

  @Test func `what another run says that is at work stays`() async throws {
    let given = try GivenMigration()
    let other = OutcomeRecord(
      run: .random(), source: given.store, destination: given.store, work: "/elsewhere")
    let store = try Files.resolved(given.store)
    try OutcomeFile(beside: store).write(other, mode: .ownerReadWrite)
    var missing = request(given)
    missing.target = [given.folder.appending("Missing.mom")]
    await #expect(throws: (any Error).self) { try await run(missing) }
    #expect(try record(given.store) == other)
  }

  @Test func `no store, no record`() async throws {
    let given = try GivenMigration()
    var missing = request(given)
    missing.store = given.folder.appending("Missing.sqlite")
    await #expect(throws: (any Error).self) { try await run(missing) }
    #expect(try !given.names.contains { $0.hasSuffix(StoreCompanion.record.rawValue) })
  }

  @Test func `a record that cannot be written fails no migration`() async throws {
    let given = try GivenMigration()
    let file = OutcomeFile(beside: given.store).path
    try Files.writeFileAtomically(Array("mine".utf8), to: file)
    _ = try await run(request(given))
    #expect(try given.bytes(file) == Array("mine".utf8))
  }
}
