import GRDB
import Mapping
import MigrationStatus
import MigrationWorker
import ModelFiles
import ObjectMigration
import ObjectModel
import PageEngine
import Planning
import StoreFormat
import Synchronization
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// Makes what the mapping model has.
private final class PlainPolicy: MigrationPolicy {}

@Suite(.scratchFolder) struct ResumingTests {
  /// Interrupts a migration when the third worker is started.
  private func interrupt(_ given: GivenMigration) async throws {
    let launcher = FaultyLauncher { _, count in
      if count == 3 { throw CancellationError() }
      return nil
    }
    let old = try given.bytes(given.store)
    let error = await #expect(throws: MigrationError.self) {
      try await given.run(given.request(rangeRows: 10), launcher)
    }
    guard case .interrupted(let work)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(work == MigrationPaths(destination: given.store).work)
    #expect(try given.bytes(given.store) == old)
  }

  static let dispositions: [(ErrorDisposition, Bool)] = [
    (.device, true), (.system, true), (.refusal, false), (.damage, false), (.fault, false),
  ]

  @Test(arguments: dispositions)
  func `what is done stays as the error says, whatever words show it`(
    disposition: ErrorDisposition, stays: Bool
  ) async throws {
    let given = try GivenMigration()
    let failure = WorkerFailure(
      exitStatus: 1, kind: "fault", sentences: ["x"], disposition: disposition)
    let message = try failure.message()
    let launcher = FaultyLauncher { _, count in
      count == 3 ? WorkerEnding(exitStatus: WorkerProtocol.failed, facts: message) : nil
    }
    await #expect(throws: WorkError.self) {
      try await given.run(given.request(rangeRows: 10), launcher)
    }
    let work = MigrationPaths(destination: given.store).work
    #expect(try (Files.fileStatusIfPresent(work) != nil) == stays)
    let second = FaultyLauncher { _, _ in nil }
    #expect(try await given.run(given.request(rangeRows: 10), second).resumed == stays)
  }

  @Test func `an interrupted migration goes on and does nothing twice`() async throws {
    let given = try GivenMigration()
    try await interrupt(given)
    let second = FaultyLauncher { _, _ in nil }
    let report = try await given.run(given.request(workers: 2, rangeRows: 10), second)
    #expect(report.workOrders.count == 4)
    #expect(Set(second.starts) == ["3.1", "4.1"])
    #expect(report.resumed)
    #expect(try given.names.count == 4)
    let expected = given.folder.appending("Expected.sqlite")
    let kept = FilePath(try #require(report.oldStore))
    var request = given.request(output: expected)
    request.store = kept
    _ = try await given.run(request)
    #expect(try StoreDump.text(of: given.store) == StoreDump.text(of: expected))
  }

  /// Refused for that difference alone, and nothing that was done is touched.
  private func expectOtherRun(
    _ difference: RunDifference, of request: MigrationRequest, in given: GivenMigration
  ) async throws {
    let work = MigrationPaths(destination: given.store).work
    let before = try Files.listDirectory(work)
    let error = await #expect(throws: PlaceError.self) { try await given.run(request) }
    guard case .otherRun(_, let found)? = error, found == [difference] else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(try Set(before).isSubset(of: Files.listDirectory(work)))
  }

  @Test func `a source that has changed meanwhile is migrated anew, where that is asked for`()
    async throws
  {
    let given = try GivenMigration()
    try await interrupt(given)
    let connection = try StoreConnection.writable(given.store)
    try connection.run { try $0.execute(sql: "UPDATE ZTAG SET ZWORD = 'new'") }
    try connection.queue.close()
    try await expectOtherRun(.store, of: given.request(rangeRows: 10), in: given)
    let second = FaultyLauncher { _, _ in nil }
    var request = given.request(rangeRows: 10)
    request.restarts = true
    let report = try await given.run(request, second)
    #expect(second.starts.count == 4)
    #expect(!report.resumed)
    let reader = try StoreReader(immutable: given.store)
    #expect(try reader.number(sql: "SELECT count(*) FROM ZTAG WHERE ZWORD <> 'new'") == 0)
  }

  @Test func `work that was begun for other choices is not taken up`() async throws {
    let given = try GivenMigration()
    try await interrupt(given)
    var request = given.request(rangeRows: 10)
    request.history = .drop
    try await expectOtherRun(.option(.history, earlier: ""), of: request, in: given)
    request.history = .keep
    request.extraTables = .drop
    try await expectOtherRun(.option(.extraTables, earlier: ""), of: request, in: given)
    request.extraTables = .refuse
    #expect(try await given.run(request).resumed)
  }

  @Test func `work for a model that differs in a default value is not taken up`() async throws {
    let given = try GivenMigration()
    try await interrupt(given)
    let target = try given.bytes(given.target)
    let other = try GivenMigration.withOtherPrice
    #expect(try other.versionHashes() == GivenMigration.new.versionHashes())
    try Files.writeFileAtomically(ModelArchive.encode(other).bytes, to: given.target)
    try await expectOtherRun(.targetModel, of: given.request(rangeRows: 10), in: given)
    try Files.writeFileAtomically(target, to: given.target)
    #expect(try await given.run(given.request(rangeRows: 10)).resumed)
  }

  @Test func `work of another build of a program with policies is not taken up`() throws {
    let given = try GivenMigration()
    var request = given.request()
    request.policies["Own"] = { PlainPolicy() }
    let program = given.folder.appending("program")
    request.executable = program
    let target = try TargetModel(paths: request.target, configuration: nil)
    func inputs() throws -> RunInputs {
      try MigrationPreview.with(request, target: target) { preview in
        try RunInputs(request: request, prepared: preview.prepared)
      }
    }
    try Files.writeFileAtomically([1], to: program)
    let made = try inputs()
    #expect(try inputs().differences(from: made).isEmpty)
    try Files.writeFileAtomically([1, 2], to: program)
    #expect(try inputs().differences(from: made) == [.program])
    request.policies = [:]
    let plain = try inputs()
    try Files.writeFileAtomically([1, 2, 3], to: program)
    #expect(try inputs().differences(from: plain).isEmpty)
  }

  @Test func `work in a folder of its own is found by the record beside the store`() async throws {
    let given = try GivenMigration()
    let folder = given.folder.appending("elsewhere")
    try Files.createDirectory(folder)
    var request = given.request(rangeRows: 10)
    request.work = folder
    request.keepsRecord = true
    let killed = FaultyLauncher { _, count in
      if count == 2 { throw CancellationError() }
      return nil
    }
    await #expect(throws: MigrationError.self) { try await given.run(request, killed) }
    let names = try Files.listDirectory(folder)
    #expect(names.count == 1)
    let upkeep = try StoreUpkeep(of: given.store)
    #expect(try upkeep.contents().work?.path == folder.appending(names[0]))
    // A record that names what is not this store's work is not believed.
    let record = OutcomeFile(beside: given.store).path
    let text = String(decoding: try Files.readFile(record, limit: 1 << 20), as: UTF8.self)
    let foreign = given.folder.appending("Other.sqlite.godwit-12345678")
    try Files.createDirectory(foreign)
    let work = folder.appending(names[0]).string.replacing("/", with: "\\/")
    let told = foreign.string.replacing("/", with: "\\/")
    for (before, after) in [(work, told), (folder.appending(names[0]).string, foreign.string)] {
      let changed = text.replacing(before, with: after)
      guard changed != text else { continue }
      try Files.writeFileAtomically(Array(changed.utf8), to: record)
    }
    #expect(try StoreUpkeep(of: given.store).contents().work == nil)
    try Files.writeFileAtomically(Array(text.utf8), to: record)
    #expect(try StoreUpkeep(of: given.store).discard().removed.first == folder.appending(names[0]))
    #expect(try Files.listDirectory(folder).isEmpty)
    #expect(try Files.fileStatusIfPresent(foreign) != nil)
  }

  @Test func `a folder is no store beside which something may lie`() throws {
    let given = try GivenMigration()
    let error = #expect(throws: StoreError.self) { try StoreUpkeep(of: given.folder) }
    #expect(error?.problem == .isFolder)
  }

  @Test func `a shard that is not whole any more is made again`() async throws {
    let given = try GivenMigration()
    try await interrupt(given)
    let paths = MigrationPaths(destination: given.store)
    try Files.writeFileAtomically([1, 2, 3], to: paths.shard(order: 1, attempt: 1))
    try Files.writeFileAtomically(Array("{}".utf8), to: paths.manifest(2))
    let second = FaultyLauncher { _, _ in nil }
    _ = try await given.run(given.request(rangeRows: 10), second)
    #expect(Set(second.starts) == ["1.1", "2.1", "3.1", "4.1"])
  }

  @Test func `pages of workers that died with the coordinator are free`() async throws {
    let given = try GivenMigration()
    let output = given.folder.appending("New.sqlite")
    var request = given.request(rangeRows: 10, output: output)
    request.engine = .pages
    let killed = FaultyLauncher { document, count in
      guard count == 2 else { return nil }
      try Worker(document: document, link: GivenLink()).makeShard()
      throw CancellationError()
    }
    await #expect(throws: MigrationError.self) { try await given.run(request, killed) }
    let report = try await given.run(request)
    #expect(report.resumed)
    let connection = try StoreConnection.immutable(output)
    let faults = try connection.run { try String.fetchAll($0, sql: "PRAGMA integrity_check") }
    #expect(faults == ["ok"])
  }

  @Test func `other ranges make another plan, where that is asked for`() async throws {
    let given = try GivenMigration()
    try await interrupt(given)
    try await expectOtherRun(
      .option(.rangeRows, earlier: "10"), of: given.request(), in: given)
    let second = FaultyLauncher { _, _ in nil }
    var request = given.request()
    request.restarts = true
    let report = try await given.run(request, second)
    #expect(second.starts.first == "1.1")
    #expect(!report.resumed)
  }

  @Test func `work under other choices on defects is not taken up`() async throws {
    let given = try GivenMigration()
    try await interrupt(given)
    var request = given.request(rangeRows: 10)
    request.defectChoices.duplicates = .keepLast
    try await expectOtherRun(.option(.onDuplicate, earlier: ""), of: request, in: given)
  }

  @Test func `what a lost worker writes later is not in the result`() async throws {
    let given = try GivenMigration()
    var request = given.request(rangeRows: 10, output: given.folder.appending("New.sqlite"))
    request.engine = .pages
    request.division.usesLauncher = true
    let late = Mutex<FileDescriptor?>(nil)
    let launcher = FaultyLauncher { document, count in
      guard count == 2 else { return nil }
      let work = try #require(try document.task?.decoded(as: PageWork.self))
      #expect(work.asksForExtents && work.claims == nil && work.syncs)
      late.withLock { $0 = try? Files.open(FilePath(work.file), mode: .readWrite) }
      return .failed(.lost(0, host: "n2"))
    }
    let report = try await given.run(request, launcher)
    #expect(report.workOrders.contains { $0.attempts == 2 })
    let before = try given.bytes(request.destination)
    let file = try #require(late.withLock { $0 })
    try file.writeAll(toAbsoluteOffset: 0, [UInt8](repeating: 0xee, count: 64 * 4096))
    try file.close()
    #expect(try given.bytes(request.destination) == before)
  }

  @Test func `three lost workers end the migration, and what is done is kept`() async throws {
    let given = try GivenMigration()
    let lost = FaultyLauncher { document, _ in
      document.order.number == 2 ? .failed(.lost(1, host: nil)) : nil
    }
    let error = await #expect(throws: WorkError.self) {
      try await given.run(given.request(workers: 1, rangeRows: 10), lost)
    }
    guard case .workOrderFailed(2, 3, .lost(1, host: nil))? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(lost.starts == ["1.1", "2.1", "2.2", "2.3"])
    let second = FaultyLauncher { _, _ in nil }
    _ = try await given.run(given.request(workers: 1, rangeRows: 10), second)
    #expect(second.starts == ["2.1", "3.1", "4.1"])
  }

  @Test func `a worker that dies once is tried again and the attempt is told`() async throws {
    let given = try GivenMigration()
    let launcher = FaultyLauncher { document, _ in
      document.order.number == 2 && document.attempt == 1 ? .failed(.killed(signal: 9)) : nil
    }
    let report = try await given.run(given.request(rangeRows: 10), launcher)
    #expect(report.workOrders.map(\.attempts) == [1, 2, 1, 1])
    #expect(try given.names.count == 4)
  }
}

struct WorkerLifecycleTests {
  @Test func `a worker that dies starts again, three times in all`() {
    var lifecycle = WorkerLifecycle()
    #expect(lifecycle.begin() == 1)
    #expect(lifecycle.attempt(after: .killed(signal: 9)) == 2)
    #expect(lifecycle.attempt(after: .exited(74, message: "disk")) == 3)
    #expect(lifecycle.attempt(after: .lost(1, host: nil)) == nil)
  }

  @Test func `an order that would fail again is given up at once`() {
    var lifecycle = WorkerLifecycle()
    _ = lifecycle.begin()
    let failure = WorkerFailure(
      exitStatus: 74, kind: "diskFull", sentences: ["disk full"], disposition: .noSpace)
    #expect(lifecycle.attempt(after: .reported(failure)) == nil)
  }

  @Test func `what passes is tried three times`() {
    var lifecycle = WorkerLifecycle()
    _ = lifecycle.begin()
    let failure = WorkerFailure(
      exitStatus: 71, kind: "systemResources", sentences: ["no memory"],
      disposition: [.workReusable, .retryable])
    #expect(lifecycle.attempt(after: .reported(failure)) == 2)
    #expect(lifecycle.attempt(after: .reported(failure)) == 3)
    #expect(lifecycle.attempt(after: .reported(failure)) == nil)
  }

  @Test func `a worker that reports no failure is known by its exit status`() throws {
    let ending = WorkerEnding(exitStatus: WorkerProtocol.failed, facts: "no JSON")
    guard case .failed(let fault) = ending else {
      Issue.record("no fault")
      return
    }
    #expect(fault == .exited(WorkerProtocol.failed, message: "no JSON"))
  }
}
