import Expressions
import GRDB
import Godwit
import KeyedArchives
import Mapping
import ModelFiles
import ObjectModel
import Planning
import StoreFormat
import Survey
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

@Suite(.scratchFolder) struct RefusedMigrationTests {
  /// Refused before anything is written: nothing but what was there is there.
  private func refusal<Failure: Error>(
    _ given: GivenMigration, _ request: MigrationRequest? = nil,
    _ launcher: any WorkerLauncher = InProcessLauncher(), as _: Failure.Type = MigrationError.self
  ) async throws -> Failure? {
    let old = try given.bytes(given.store)
    let names = try given.names
    let error = await #expect(throws: Failure.self) {
      try await given.run(request ?? given.request(), launcher)
    }
    #expect(try given.bytes(given.store) == old)
    #expect(try given.names == names)
    return error
  }

  @Test func `every reason of a refusal is named, with counts and keys`() async throws {
    let given = try GivenMigration(
      from: ManagedObjectModel(
        Entity("A", [.optional("x"), .optional("n", .integer64), .optional("s")]),
        Entity("B", [], [.toMany("as", "A", inverse: nil)])),
      to: ManagedObjectModel(
        Entity(
          "A", [.optional("x", .date), .optional("n", .integer16), .mandatory("must")],
          unique: [["t"]]
        ).adding(.optional("t", was: "s")),
        Entity("B", [], [.toOne("a", "A", inverse: nil, was: "as")])), rows: 20)
    try StoreConnection.writable(given.store).run { db in
      try db.execute(sql: "UPDATE ZA SET ZN = CASE WHEN Z_PK < 3 THEN 40000 ELSE 7 END, ZS = 'one'")
    }
    guard case .impossible(_, let refusals, _)? = try await refusal(given) else {
      Issue.record("the migration was not refused as impossible")
      return
    }
    #expect(
      Set(refusals.map { "\($0.entity).\($0.property ?? "") \($0.code.rawValue)" }) == [
        "A.x 134190", "B.a 134110", "A.n 134110", "A.must 1570", "A. 134111",
      ])
    let fit = refusals.first { $0.property == "n" }?.reason
    #expect(
      fit == .condition(.valuesFit(attribute: "n", type: "Integer 16"), count: 2, keys: [1, 2]))
  }

  @Test func `values that become the same break a constraint before anything is written`()
    async throws
  {
    let given = try GivenMigration(
      from: ManagedObjectModel(
        Entity("A", [.optional("x", .double), .optional("y")], unique: [["x"], ["y"]])),
      to: ManagedObjectModel(
        Entity(
          "A", [.optional("x", .integer32), .mandatory("y", default: .string("?"))],
          unique: [["x"], ["y"]])), rows: 4)
    let connection = try StoreConnection.writable(given.store)
    try connection.run { db in
      try db.execute(sql: "UPDATE ZA SET ZX = CASE Z_PK WHEN 2 THEN 1.25 ELSE Z_PK + 0.5 END")
      try db.execute(sql: "UPDATE ZA SET ZY = CASE WHEN Z_PK > 2 THEN Z_PK END")
    }
    try connection.queue.close()
    guard case .impossible(_, let refusals, let losses)? = try await refusal(given) else {
      Issue.record("the migration was not refused as impossible")
      return
    }
    #expect(
      refusals.map(\.reason) == [
        .condition(.unique(properties: ["x"]), count: 2, keys: [1]),
        .condition(.defaultsDiffer(properties: ["y"], beside: "y"), count: 2, keys: [1]),
      ])
    #expect(losses.map(\.cause) == [.conversion] && losses.map(\.kind) == [.attribute])
    #expect(losses.map(\.keys) == [[1, 2, 3, 4]])
  }

  @Test func `loss is refused where it is not wanted`() async throws {
    let given = try GivenMigration()
    var request = given.request()
    request.failsOnLoss = true
    guard case .losses(_, let refusal)? = try await refusal(given, request) else {
      Issue.record("the loss was not refused")
      return
    }
    #expect(refusal.isForbidden)
    #expect(refusal.refused.map(\.name) == ["Book.gone", "Comic.gone"])
    #expect(refusal.refused.allSatisfy { $0.kind == .attribute && $0.count > 0 })
    #expect(refusal.losses.map(\.name) == ["Book.gone", "Comic.gone", "Comic.pages"])
  }

  @Test func `a worker that always dies is tried three times`() async throws {
    let given = try GivenMigration()
    let launcher = FaultyLauncher { _, _ in .failed(.killed(signal: 9)) }
    guard
      case .workOrderFailed(_, let attempts, let fault)? =
        try await refusal(given, nil, launcher, as: WorkError.self)
    else {
      Issue.record("the failure was not told")
      return
    }
    #expect(attempts == 3)
    #expect(fault == .killed(signal: 9))
    #expect(launcher.starts == ["1.1", "1.2", "1.3"])
  }

  @Test func `what appears at the output meanwhile stays`() async throws {
    let given = try GivenMigration()
    let output = given.folder.appending("New.sqlite")
    let launcher = FaultyLauncher { _, _ in
      try Files.writeFileAtomically([1, 2, 3], to: output)
      return nil
    }
    let error = await #expect(throws: PlaceError.self) {
      try await given.run(given.request(output: output), launcher)
    }
    guard case .outputExists(output)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(try given.bytes(output) == [1, 2, 3])
  }

  @Test(arguments: ["-wal", "-journal", "-shm"], [false, true])
  func `a log beside the output, which SQLite would replay, is told and stays`(
    suffix: String, comesLate: Bool
  ) async throws {
    let given = try GivenMigration()
    let output = given.folder.appending("New.sqlite")
    let log = FilePath("\(output)\(suffix)")
    if !comesLate { try Files.writeFileAtomically([1, 2, 3], to: log) }
    let launcher = FaultyLauncher { _, _ in
      if comesLate { try Files.writeFileAtomically([1, 2, 3], to: log) }
      return nil
    }
    let error = await #expect(throws: PlaceError.self) {
      try await given.run(given.request(output: output), launcher)
    }
    guard case .outputExists(log)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(try given.bytes(log) == [1, 2, 3])
    #expect(try Files.fileStatusIfPresent(output) == nil)
  }

  @Test func `a worker that says that its order is at fault is not tried again`() async throws {
    let given = try GivenMigration()
    let failure = WorkerFailure(
      exitStatus: 65, kind: "fileDamaged", sentences: ["Shop.sqlite is damaged."],
      file: "/Shop.sqlite", disposition: .damage)
    let told = try failure.message()
    let launcher = FaultyLauncher { _, _ in
      WorkerEnding(exitStatus: WorkerProtocol.failed, facts: told)
    }
    let error = try #require(try await refusal(given, nil, launcher, as: WorkError.self))
    guard case .workOrderFailed(_, 1, .reported(failure)) = error else {
      Issue.record("\(error)")
      return
    }
    #expect(launcher.starts == ["1.1"])
    let shown = MigrationFailure(error)
    #expect(shown.exitStatus == .damaged && shown.sentences == failure.sentences)
    #expect(shown.kind == .fileDamaged && shown.file == "/Shop.sqlite")
  }

  @Test func `a worker that lacked what comes and goes is tried again, and its status stays`()
    async throws
  {
    let given = try GivenMigration()
    let told = try WorkerFailure(
      exitStatus: 71, kind: "systemResources", sentences: ["no memory."],
      disposition: [.workReusable, .retryable]
    ).message()
    let launcher = FaultyLauncher { _, _ in
      WorkerEnding(exitStatus: WorkerProtocol.failed, facts: told)
    }
    let error = try #require(try await refusal(given, nil, launcher, as: WorkError.self))
    #expect(launcher.starts == ["1.1", "1.2", "1.3"])
    let shown = MigrationFailure(error)
    #expect(shown.exitStatus == .system && shown.sentences.count == 2)
  }

  @Test func `a store that is being migrated is left to the one who does it`() async throws {
    let given = try GivenMigration()
    let paths = MigrationPaths(destination: given.store)
    try Files.createDirectory(paths.work)
    let lock = try #require(try FileLock.acquire(paths.lock))
    let error = try await refusal(given, as: PlaceError.self)
    guard case .alreadyRunning? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    withExtendedLifetime(lock) {}
  }

  @Test func `a store of an unknown model is refused with the places searched`() async throws {
    let given = try GivenMigration()
    try StoreConnection.writable(given.store).run {
      try $0.execute(sql: "DELETE FROM Z_MODELCACHE")
    }
    guard case .sourceModelMissing(_, let searched, _)? = try await refusal(given) else {
      Issue.record("the missing model was not told")
      return
    }
    #expect(searched == [given.target])
  }

  @Test(
    arguments: [
      (
        "CREATE TABLE ACHANGE (Z_PK INTEGER)", nil
      ), ("CREATE TABLE ACHANGE AS SELECT 1 AS Z_PK", .persistentHistory),
      ("CREATE TABLE ANSCKEVENT (Z_PK INTEGER)", .cloudKitMirroring),
    ] as [(String, UnsupportedFeature?)])
  func `what cannot be carried over is refused by name`(
    statement: String, feature: UnsupportedFeature?
  ) async throws {
    let given = try GivenMigration()
    let connection = try StoreConnection.writable(given.store)
    try connection.run { try $0.execute(sql: statement) }
    try connection.queue.close()
    guard let feature else {
      #expect(try await given.run(given.request()).extraTables == ["ACHANGE"])
      return
    }
    guard case .unsupported(_, let found, _)? = try await refusal(given) else {
      Issue.record("\(feature) was not refused")
      return
    }
    #expect(found == [feature])
  }

  @Test func `columns that the model asks for are missed by name`() async throws {
    let given = try GivenMigration()
    try given.change("ALTER TABLE ZTAG DROP COLUMN ZWORD; ALTER TABLE ZBOOK DROP COLUMN ZYEAR")
    let error = await #expect(throws: StoreError.self) { try await given.run(given.request()) }
    #expect(error?.problem == .columnsMissing(["ZBOOK.ZYEAR", "ZTAG.ZWORD"]))
    let sentence = MigrationFailure(try #require(error) as any Error).sentences.joined()
    #expect(sentence.hasPrefix("\(given.store) does not fit the version hashes"))
    #expect(sentence.contains("(ZBOOK.ZYEAR, ZTAG.ZWORD)"))
  }

  @Test func `a model with the same hashes and another derived attribute is no damage`()
    async throws
  {
    func model(_ derived: String) throws -> ManagedObjectModel {
      try ManagedObjectModel(
        Entity("Book", [.optional("title"), .derived(derived, from: "canonical:(title)")]))
    }
    let given = try GivenMigration(from: model("key"), to: model("index"), rows: 4)
    let error = await #expect(throws: StoreError.self) { try await given.run(given.request()) }
    #expect(error?.problem == .derivedColumnsMissing(["Book.index"]))
    #expect(MigrationFailure(try #require(error) as any Error).exitStatus.rawValue == 78)
  }

  @Test(arguments: [["key"], ["index"], ["key", "index"], ["index", "key"]])
  func `of models with the same hashes the one whose columns the store has is its own`(
    models: [String]
  ) async throws {
    func model(_ derived: String, _ others: Attribute...) throws -> ManagedObjectModel {
      try ManagedObjectModel(
        Entity(
          "Book",
          [.optional("title"), .derived(derived, .string, from: "canonical:(title)")]
            + others))
    }
    let given = try GivenMigration(
      from: model("index"), to: model("index", .optional("pages", .integer32)), rows: 9)
    var request = given.request(output: given.folder.appending("New.sqlite"))
    request.models = try models.map { name in
      let path = given.folder.appending("\(name).mom")
      try Files.writeFileAtomically(ModelArchive.encode(model(name)).bytes, to: path)
      return path
    }
    _ = try await given.run(request)
    let different = try StoreReader(immutable: request.destination).number(
      sql: "SELECT count(*) FROM ZBOOK WHERE (ZINDEX IS NULL) != (ZTITLE IS NULL)")
    #expect(different == 0)
  }

  @Test(arguments: [PropertyList.boolean(true), .integer(1), .boolean(false)])
  func `a migration that Core Data has put off is to be finished first`(
    value: PropertyList
  ) async throws {
    let given = try GivenMigration()
    var metadata = try StoreReader(immutable: given.store).metadata()
    metadata.plist[StoreMetadata.Key.deferredMigration] = value
    try given.write(metadata)
    if value == .boolean(false) {
      _ = try await given.run(given.request())
      let made = try StoreReader(immutable: given.store).metadata()
      #expect(made.plist[StoreMetadata.Key.deferredMigration] == nil)
      return
    }
    guard case .unsupported(_, let found, _)? = try await refusal(given) else {
      Issue.record("the migration was not refused")
      return
    }
    #expect(found == [.deferredMigration])
    #expect(throws: MigrationError.self) {
      let target = try TargetModel(paths: [given.target], configuration: nil)
      try MigrationPreview.with(given.request(), target: target) { _ in }
    }
    #expect(try StoreInspection(of: given.store).hasDeferredMigration)
  }

  @Test func `a version without a file is called by its identifiers`() async throws {
    var (old, new) = (GivenMigration.old, GivenMigration.new)
    (old.versionIdentifiers, new.versionIdentifiers) = (["1.0.0"], ["2.0.0"])
    let given = try GivenMigration(from: old, to: new)
    let report = try await given.run(given.request())
    #expect(report.steps.map(\.from) == [["1.0.0"]])
    #expect(report.steps.map(\.to) == [["New"]])
  }
}
