import Foundation
import Godwit
import Mapping
import MigrationStatus
import MigrationWorker
import ModelFiles
import ObjectModel
import Planning
import StoreFormat
import StoreNames
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// Files that another version of Godwit left are not taken up, and nothing is lost by that.
@Suite(.scratchFolder) struct FormatVersionTests {
  /// Has a file name another version of its format than the one it has.
  private func change(_ path: FilePath, to version: Int? = 2, from own: Int = 1) throws {
    let text = String(decoding: try Files.readFile(path, limit: 1 << 26), as: UTF8.self)
    let parts = text.split(separator: "\"format\":\(own)", omittingEmptySubsequences: false)
    try #require(parts.count == 2, "\(path) names the version of its format once")
    let other = version.map { "\"format\":\($0)" } ?? "\"other\":1"
    try Files.writeFileAtomically(Array(parts.joined(separator: other).utf8), to: path)
  }

  /// A migration of four work orders that was interrupted after two.
  private func interrupted() async throws -> (GivenMigration, MigrationPaths) {
    let given = try GivenMigration()
    let launcher = FaultyLauncher { _, count in
      if count == 3 { throw CancellationError() }
      return nil
    }
    await #expect(throws: MigrationError.self) {
      try await given.run(given.request(rangeRows: 10), launcher)
    }
    return (given, MigrationPaths(destination: given.store))
  }

  /// Whether the store became what an uninterrupted migration makes of it.
  private func expectWhole(_ given: GivenMigration, _ report: MigrationReport) async throws {
    let expected = given.folder.appending("Expected.sqlite")
    var request = given.request(output: expected)
    request.store = FilePath(try #require(report.oldStore))
    _ = try await given.run(request)
    #expect(try StoreDump.text(of: given.store) == StoreDump.text(of: expected))
  }

  @Test(arguments: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, nil])
  func `a plan of another version is made anew, with all its work`(version: Int?) async throws {
    let (given, paths) = try await interrupted()
    try change(paths.plan, to: version, from: 11)
    let second = FaultyLauncher { _, _ in nil }
    let report = try await given.run(given.request(rangeRows: 10), second)
    #expect(second.starts.sorted() == ["1.1", "2.1", "3.1", "4.1"])
    #expect(!report.resumed)
    try await expectWhole(given, report)
  }

  @Test(arguments: [1, 3, nil])
  func `a shard whose manifest is of another version is made anew`(version: Int?) async throws {
    let (given, paths) = try await interrupted()
    try change(paths.manifest(2), to: version, from: 2)
    let second = FaultyLauncher { _, _ in nil }
    let report = try await given.run(given.request(rangeRows: 10), second)
    #expect(second.starts.sorted() == ["2.1", "3.1", "4.1"])
    #expect(report.resumed)
    try await expectWhole(given, report)
  }

  @Test func `every document that an interrupted run leaves has a version`() async throws {
    let (_, paths) = try await interrupted()
    let documents = try Files.listDirectory(paths.work).filter { $0.extension == "json" }
    #expect(
      documents.map(\.string).sorted()
        == ["godwit.json", "plan.json", "run.json", "shard-1.json", "shard-2.json"])
    for name in documents {
      let data = Data(try Files.readFile(paths.work.appending(name), limit: 1 << 26))
      let object = try JSONSerialization.jsonObject(with: data) as? [String: Any]
      let own = ["godwit.json": 1, "run.json": 5, "plan.json": 11]
      #expect(object?["format"] as? Int == own[name.string] ?? 2, "\(name)")
    }
  }

  @Test func `a work folder of another version is refused and stays`() async throws {
    let (given, paths) = try await interrupted()
    try change(paths.mark)
    try await expectRefusal(given, paths)
  }

  @Test func `inputs of another version are refused and stay`() async throws {
    let (given, paths) = try await interrupted()
    try change(paths.run, to: 4, from: 5)
    try await expectRefusal(given, paths, 4)
  }

  @Test(arguments: [1, 2, 3, 5, nil])
  func `a swap of another version is refused and stays`(version: Int?) async throws {
    let (given, paths) = try await interrupted()
    let named = FilePath("\(try Files.resolved(given.store)).before-20260101-000000")
    try Files.writeFileAtomically([1], to: named)
    try SwapJournal(MigrationPaths(destination: Files.resolved(given.store)))
      .begin(.init(result: .init(try Files.fileStatus(named))))
    try change(paths.swapJournal, to: version, from: 4)
    try await expectRefusal(given, paths, version ?? 0)
  }

  @Test func `an output of another version's swap is not taken for finished`() async throws {
    let given = try GivenMigration()
    let output = try Files.resolvedFolder(of: given.folder.appending("New.sqlite"))
    let paths = MigrationPaths(destination: output)
    _ = try Workspace.open(paths, store: given.store)
    try Files.writeFileAtomically([1], to: output)
    try SwapJournal(paths).begin(.init(result: .init(try Files.fileStatus(output))))
    try change(paths.swapJournal, to: 5, from: 4)
    try await expectRefusal(given, paths, 5, request: given.request(output: output))
  }

  /// Refused by name, with every file as it was.
  private func expectRefusal(
    _ given: GivenMigration, _ paths: MigrationPaths, _ format: Int = 2,
    request: MigrationRequest? = nil
  ) async throws {
    let before = (try given.names, try Files.listDirectory(paths.work))
    let bytes = try given.bytes(given.store)
    let error = await #expect(throws: PlaceError.self) {
      try await given.run(request ?? given.request(rangeRows: 10))
    }
    guard case .workFolderForeign(_, .otherFormat(let found))? = error, found == format else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(try given.names == before.0)
    #expect(try Files.listDirectory(paths.work) == before.1)
    #expect(try given.bytes(given.store) == bytes)
  }

  @Test func `a record of another version is not believed, and stays`() async throws {
    let given = try GivenMigration()
    var request = given.request(output: given.folder.appending("New.sqlite"))
    request.keepsRecord = true
    _ = try await given.run(request)
    #expect(try await given.run(request).outcome == .alreadyThere)
    let path = OutcomeFile(beside: request.destination).path
    let text = String(decoding: try given.bytes(path), as: UTF8.self)
    let other = text.replacing("\"version\" : 1", with: "\"version\" : 2")
    try #require(other != text)
    try Files.writeFileAtomically(Array(other.utf8), to: path)
    let error = await #expect(throws: PlaceError.self) { try await given.run(request) }
    guard case .outputExists? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(try given.bytes(path) == Array(other.utf8))
  }
}

/// Stages whose stores are complete are kept, unless another version made them.
@Suite(.scratchFolder) struct StageFormatVersionTests {
  private static func version(_ attributes: [String]) throws -> ManagedObjectModel {
    try ManagedObjectModel(
      Entity("Note", attributes.map { .optional($0) } + [.external("photo")]))
  }

  /// A migration over two versions with a store for each, interrupted in the second.
  private func interrupted(
    over attributes: [[String]] = [["a"], ["a", "b"], ["a", "b", "c"]],
    change: (inout MigrationRequest) -> Void = { _ in }
  ) async throws -> (GivenMigration, MigrationRequest) {
    let models = try attributes.map { try Self.version($0) }
    let given = try GivenMigration(from: models[0], to: models[2], rows: 30)
    let bundle = try given.bundle(of: models)
    var request = given.request()
    change(&request)
    request.target = [bundle]
    request.isProgressive = true
    request.isStepwise = true
    let launcher = FaultyLauncher { document, _ in
      if document.source.hasSuffix("stage-1.sqlite") { throw CancellationError() }
      return nil
    }
    await #expect(throws: MigrationError.self) { try await given.run(request, launcher) }
    try #require(launcher.starts.count == 2)
    return (given, request)
  }

  @Test func `losses of finished stages need the consent of the run that resumes`() async throws {
    let (given, first) = try await interrupted(over: [["a", "b"], ["a"], ["a", "c"]])
    let work = try Files.listDirectory(MigrationPaths(destination: given.store).work)
    let changes: [(inout MigrationRequest) -> Void] = [
      { $0.failsOnLoss = true }, { $0.discardsOld = true },
    ]
    for change in changes {
      var request = first
      change(&request)
      let error = await #expect(throws: MigrationError.self) { try await given.run(request) }
      guard case .losses(_, let refusal)? = error else {
        Issue.record("\(String(describing: error))")
        return
      }
      #expect(refusal.refused.map(\.name) == ["Note.b"])
    }
    let now = try Files.listDirectory(MigrationPaths(destination: given.store).work)
    #expect(Set(now).isSuperset(of: work.filter { $0.string.hasPrefix("step-") }))
    var request = first
    request.discardsOld = true
    request.lossConsent = .some(["Note.b"])
    let report = try await given.run(request)
    #expect(report.resumed && report.losses.map(\.cause) == [.lastCopy])
  }

  @Test func `a resumed run names the causes that its own losses have`() async throws {
    let (given, first) = try await interrupted(over: [["a", "b"], ["a"], ["a", "c"]]) {
      $0.discardsOld = true
      $0.lossConsent = .all
    }
    var request = first
    (request.discardsOld, request.lossConsent) = (false, .none)
    let report = try await given.run(request)
    #expect(report.resumed && report.losses.map(\.cause) == [.removed])
  }

  @Test(arguments: [9, 10])
  func `a stage is kept if this version made it`(version: Int) async throws {
    let (given, request) = try await interrupted()
    let marker = MigrationPaths(destination: given.store).stageMarker(1)
    let text = String(decoding: try given.bytes(marker), as: UTF8.self)
    try #require(text.contains("\"format\":9"))
    try Files.writeFileAtomically(
      Array(text.replacing("\"format\":9", with: "\"format\":\(version)").utf8), to: marker)
    let second = FaultyLauncher { _, _ in nil }
    let report = try await given.run(request, second)
    #expect(second.starts.count == (version == 9 ? 1 : 2))
    #expect(report.resumed == (version == 9))
    let reader = try StoreReader(immutable: given.store)
    #expect(try reader.number(sql: "SELECT count(*) FROM ZNOTE WHERE ZC IS NULL") == 30)
    #expect(try given.names.filter { $0.hasSuffix(".godwit") } == [])
  }

  @Test(arguments: [false, true])
  func `a stage whose external files changed since is made again`(isGone: Bool) async throws {
    let (given, request) = try await interrupted()
    let store = MigrationPaths(destination: given.store).stage(number: 1).destination
    let data = ExternalDataFolder.files(support: SupportFolder.path(of: store))
    let name = try #require(try Files.listDirectory(data).first)
    let own = ExternalDataFolder.files(support: SupportFolder.path(of: given.store))
    let bytes = try given.bytes(own.appending(name))
    if isGone {
      try Files.remove(data.appending(name))
    } else {
      try Files.writeFileAtomically([bytes[0] ^ 1] + bytes.dropFirst(), to: data.appending(name))
    }
    let second = FaultyLauncher { _, _ in nil }
    let report = try await given.run(request, second)
    #expect(second.starts.count == 2)
    #expect(!report.resumed && report.missingExternalFiles == [])
    #expect(try given.bytes(own.appending(name)) == bytes)
  }

  @Test func `a stage whose store changed since is made again`() async throws {
    let (given, request) = try await interrupted()
    let store = MigrationPaths(destination: given.store).stage(number: 1).destination
    var bytes = try given.bytes(store)
    bytes[bytes.count - 1] ^= 1
    try Files.writeFileAtomically(bytes, to: store)
    let second = FaultyLauncher { _, _ in nil }
    let report = try await given.run(request, second)
    #expect(second.starts.count == 2)
    #expect(!report.resumed)
    let reader = try StoreReader(immutable: given.store)
    #expect(try reader.number(sql: "SELECT count(*) FROM ZNOTE WHERE ZC IS NULL") == 30)
  }
}
