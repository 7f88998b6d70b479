import Foundation
import Synchronization
import SystemPackage
import Testing

@testable import Godwit

@Suite struct StagedMigrationTests {
  /// Three versions, of which the last one needs what the code between fills in.
  private func givenStore() throws -> GivenStore {
    let mandatory = Model.attribute("title", "String", "")
    return try GivenStore(
      Model.note, Model.longNote,
      Model.entity(
        "Note",
        mandatory + Model.attribute("pages", "Integer 64") + Model.attribute("text", "String")))
  }

  /// Runs a statement by the SQLite that Python brings, as any program might in a handler.
  private static func execute(_ statement: String, in store: FilePath) throws {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [
      "python3", "-c",
      "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute(sys.argv[2]); c.commit()",
      store.string, statement,
    ]
    try process.run()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
  }

  private func stages(
    of given: GivenStore, will: MigrationStage.Handler? = nil, did: MigrationStage.Handler? = nil
  ) -> [MigrationStage] {
    [
      .lightweight([given.version("1"), given.version("2")]),
      .custom(
        from: given.version("2"), to: given.version("3"), willMigrate: will, didMigrate: did),
    ]
  }

  private static let fill = "UPDATE ZNOTE SET ZTITLE = 'none' WHERE ZTITLE IS NULL"

  @Test func `code between the stages fills in what the next version demands`() async throws {
    let given = try givenStore()
    try Self.execute(
      "UPDATE ZNOTE SET ZTITLE = NULL WHERE Z_PK = 7", in: FilePath(given.store.path))
    let before = try Data(contentsOf: given.store)
    let empty = try count("ZTITLE IS NULL", in: given.store)
    // Without the code the last stage is refused.
    let plain = StagedMigration(of: given.migration(), stages: stages(of: given))
    let error = await #expect(throws: MigrationFailure.self) { try await plain.run() }
    #expect(error?.reasons.map(\.cause) == [.valuesMissing])
    let marked = "UPDATE ZNOTE SET ZTEXT = 'after'"
    let staged = StagedMigration(
      of: given.migration(),
      stages: stages(of: given) { store in
        try Self.execute(Self.fill, in: store)
      } did: { store in
        #expect(try StoreInspection(of: store).model.identifiers == ["3"])
        try Self.execute(marked, in: store)
      })
    let result = try await staged.run()
    #expect(result.resumed && result.steps.map(\.rows) == [60])
    #expect(try Data(contentsOf: given.store) == before)
    #expect(try given.names == ["Notes.xcdatamodeld", "Store.sqlite", "New.sqlite"])
    #expect(try StoreInspection(of: given.output).model.identifiers == ["3"])
    #expect(try count("ZTITLE = 'none'", in: given.output) == empty)
    #expect(try count("ZTEXT = 'after'", in: given.output) == 60)
  }

  @Test func `a handler that fails leaves a run that goes on with its stage`() async throws {
    struct Failure: Error {}
    let given = try givenStore()
    let calls = Mutex(0)
    let handler: MigrationStage.Handler = { store in
      // What the attempt before did is not there any more.
      #expect(try Self.count("ZTEXT = 'once'", in: store) == 0)
      try Self.execute("UPDATE ZNOTE SET ZTEXT = 'once', ZTITLE = 'a'", in: store)
      let call = calls.withLock { calls in
        calls += 1
        return calls
      }
      if call == 1 { throw Failure() }
    }
    let staged = StagedMigration(
      of: given.migration(), stages: stages(of: given, will: handler))
    await #expect(throws: Failure.self) { try await staged.run() }
    #expect(try given.names.contains("New.sqlite.godwit-stages"))
    #expect(try !given.names.contains("New.sqlite"))
    let result = try await staged.run()
    #expect(result.resumed && result.steps.count == 1 && calls.withLock { $0 } == 2)
    #expect(try count("ZTEXT = 'once'", in: given.output) == 60)
  }

  @Test func `what was done of another source is not taken up`() async throws {
    struct Failure: Error {}
    let given = try givenStore()
    let failing = StagedMigration(
      of: given.migration(), stages: stages(of: given) { _ in throw Failure() })
    await #expect(throws: Failure.self) { try await failing.run() }
    try Self.execute(
      "UPDATE ZNOTE SET ZTITLE = 'changed'", in: FilePath(given.store.path))
    var staged = StagedMigration(of: given.migration(), stages: stages(of: given))
    let error = await #expect(throws: MigrationFailure.self) { try await staged.run() }
    #expect(error?.kind == .otherRun && error?.description.contains("has changed since") == true)
    staged.migration.restarts = true
    let result = try await staged.run()
    #expect(!result.resumed && result.steps.count == 2)
    #expect(try count("ZTITLE = 'changed'", in: given.output) == 60)
  }

  @Test func `what was done is taken up for what it was made for alone`() async throws {
    struct Failure: Error {}
    let given = try givenStore()
    let first = MigrationStage.custom(from: given.version("1"), to: given.version("2")) {
      try Self.execute(Self.fill, in: $0)
    }
    let last = MigrationStage.custom(from: given.version("2"), to: given.version("3")) {
      try Self.execute(Self.fill, in: $0)
    }
    let failing = MigrationStage.custom(from: given.version("2"), to: given.version("3")) { _ in
      throw Failure()
    }
    await #expect(throws: Failure.self) {
      try await StagedMigration(of: given.migration(), stages: [first, failing]).run()
    }
    // Another default value leaves the hashes as they are.
    let bundle = given.folder.appending(path: "Other.xcdatamodeld")
    try FileManager.default.copyItem(
      at: given.folder.appending(path: "Notes.xcdatamodeld"), to: bundle)
    let contents = bundle.appending(path: "2.xcdatamodel/contents")
    let model = try String(contentsOf: contents, encoding: .utf8)
    let changed = model.replacing(
      #"name="title" attributeType="String""#,
      with: #"name="title" defaultValueString="new" attributeType="String""#)
    #expect(changed != model)
    try changed.write(to: contents, atomically: true, encoding: .utf8)
    let other = StagedMigration(
      of: given.migration(),
      stages: [
        .custom(
          from: given.version("1"), to: bundle.appending(path: "2.xcdatamodel")
        ) {
          try Self.execute(Self.fill, in: $0)
        }, last,
      ])
    #expect(await refusal(of: other).contains("another target model"))
    let without = StagedMigration(
      of: given.migration(),
      stages: [.lightweight([given.version("1"), given.version("2")]), last])
    #expect(await refusal(of: without).contains("its policies and handlers"))
    var choosing = StagedMigration(of: given.migration(), stages: [first, last])
    choosing.migration.choices.history = .drop
    #expect(await refusal(of: choosing).contains("choices.history"))
    choosing.migration.choices.history = .keep
    let result = try await choosing.run()
    #expect(result.resumed && result.steps.count == 1)
  }

  @Test func `what finished stages lost needs the consent of the run that takes them up`()
    async throws
  {
    struct Failure: Error {}
    let given = try GivenStore(
      Model.longNote, Model.noteWithoutPages,
      Model.entity("Note", Model.attribute("title", "String") + Model.attribute("size", "Float")))
    let stage = MigrationStage.lightweight([given.version("1"), given.version("2")])
    let failing = MigrationStage.custom(from: given.version("2"), to: given.version("3")) { _ in
      throw Failure()
    }
    await #expect(throws: Failure.self) {
      try await StagedMigration(of: given.migration(), stages: [stage, failing]).run()
    }
    var staged = StagedMigration(
      of: given.migration(), stages: [stage, .lightweight([given.version("3")])])
    staged.migration.choices.failsOnLoss = true
    let error = await #expect(throws: MigrationFailure.self) { try await staged.run() }
    #expect(error?.exitStatus == .impossible)
    staged.stages[0].allowedLoss = .anything
    staged.stages[1].allowedLoss = .anything
    let result = try await staged.run()
    #expect(result.resumed && result.steps.count == 1)
  }

  /// The description of the failure of a migration that is another one than was interrupted.
  private func refusal(of staged: StagedMigration) async -> String {
    let error = await #expect(throws: MigrationFailure.self) { try await staged.run() }
    #expect(error?.kind == .otherRun)
    return error?.description ?? ""
  }

  @Test(arguments: [false, true])
  func `a run that ended before it had removed its folder is complete`(noted: Bool) async throws {
    let given = try givenStore()
    let place = given.output
    let staged = StagedMigration(
      of: given.migration(),
      stages: stages(of: given) { store in
        try Self.execute(Self.fill, in: store)
      } did: { _ in
        // The output cannot be made now.
        try Data("mine".utf8).write(to: place)
      })
    let error = await #expect(throws: MigrationFailure.self) { try await staged.run() }
    #expect(error?.kind == .fileExists)
    #expect(try Data(contentsOf: given.output) == Data("mine".utf8))
    // A file that no stage made is no output.
    let again = await #expect(throws: MigrationFailure.self) { try await staged.run() }
    #expect(again?.kind == .fileExists)
    try FileManager.default.removeItem(at: given.output)
    let route = try StagedRoute(
      stages: staged.stages, store: staged.migration.store, configuration: nil)
    let output = FilePath(given.output.path)
    do {
      let work = try StagedWork(.init(staged.migration, route), output: output)
      #expect(work.done == 2)
      if noted {
        try await staged.publish(work, version: route.last, count: 2, output: output)
      } else {
        try await staged.copy(work.made(2), of: route.last, to: output, keepsRecord: true)
      }
    }
    let result = try await staged.run()
    #expect(result.resumed && result.steps.isEmpty && result.destination == output)
    #expect(try given.names == ["Notes.xcdatamodeld", "Store.sqlite", "New.sqlite"])
    #expect(try count("ZTITLE IS NULL", in: given.output) == 0)
    let late = await #expect(throws: MigrationFailure.self) { try await staged.run() }
    #expect(late?.kind == .fileExists)
  }

  @Test func `two runs to one output keep apart`() async throws {
    let given = try givenStore()
    let (migration, plain) = (given.migration(), stages(of: given))
    let staged = StagedMigration(
      of: migration,
      stages: stages(of: given) { store in
        try Self.execute(Self.fill, in: store)
        let other = StagedMigration(of: migration, stages: plain)
        let error = await #expect(throws: MigrationFailure.self) { try await other.run() }
        #expect(error?.kind == .inUse)
      })
    #expect(try await staged.run().steps.count == 2)
  }

  @Test func `a folder that somebody else made is left alone`() async throws {
    let given = try givenStore()
    let folder = given.folder.appending(path: "New.sqlite.godwit-stages")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    try Data("mine".utf8).write(to: folder.appending(path: "stages.json"))
    let staged = StagedMigration(of: given.migration(), stages: stages(of: given))
    let error = await #expect(throws: MigrationFailure.self) { try await staged.run() }
    #expect(error?.kind == .fileExists && error?.file == FilePath(folder.path))
    #expect(try Data(contentsOf: folder.appending(path: "stages.json")) == Data("mine".utf8))
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["stages.json"])
  }

  @Test func `a store begins with the stage of its version, and needs none at the end`()
    async throws
  {
    let given = try givenStore()
    try FileManager.default.removeItem(at: given.store)
    try given.makeStore(of: "3", objects: 9, at: given.store)
    let result = try await StagedMigration(of: given.migration(), stages: stages(of: given)).run()
    #expect(result.steps.isEmpty && result.destination == FilePath(given.store.path))
  }

  @Test func `stages that contradict each other or the store are refused`() async throws {
    let given = try givenStore()
    func failure(_ stages: [MigrationStage]) async throws -> MigrationFailure {
      let staged = StagedMigration(of: given.migration(), stages: stages)
      return try #require(
        await #expect(throws: MigrationFailure.self) { try await staged.run() })
    }
    let (one, two, three) = (given.version("1"), given.version("2"), given.version("3"))
    #expect(try await failure([]).exitStatus == .usage)
    let unknown = try await failure([.lightweight([two, three])])
    #expect(unknown.coreDataCode == 134504 && (unknown as NSError).code == 134504)
    let twice = try await failure([.lightweight([one, two]), .lightweight([one, three])])
    #expect(twice.description.contains("has the same hashes as"))
    let apart = try await failure([.lightweight([one, two]), .custom(from: one, to: three)])
    #expect(apart.description.contains("the one before it ends with"))
    var inPlace = StagedMigration(of: given.migration(), stages: stages(of: given))
    inPlace.migration.output = nil
    let missing = await #expect(throws: MigrationFailure.self) { try await inPlace.run() }
    #expect(missing?.kind == .invalidRequest)
  }

  private func count(_ condition: String, in store: URL) throws -> Int {
    try Self.count(condition, in: FilePath(store.path))
  }

  /// Notes that satisfy a condition.
  private static func count(_ condition: String, in store: FilePath) throws -> Int {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [
      "python3", "-c",
      "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone()[0])",
      store.string, "SELECT count(*) FROM ZNOTE WHERE \(condition)",
    ]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let said = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return try #require(
      Int(String(decoding: said, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)))
  }
}
