import Foundation
import GRDB
import Planning
import Subprocess
import SystemPackage
import TestSupport
import Testing

/// Whole migrations by the built tool, with worker processes.
@Suite(.scratchFolder) struct ToolTests {
  private static let scenarios = FilePath(#filePath).removingLastComponent().appending("Scenarios")
  private var folder: FilePath { ScratchFolder.current }
  private var store: FilePath { folder.appending("Store.sqlite") }
  private var destination: FilePath { models.appending("destination.xcdatamodel") }
  private let models = scenarios.appending("one-to-many-becomes-ordered-many-to-many")

  private var names: [String] {
    get throws { try FileManager.default.contentsOfDirectory(atPath: folder.string).sorted() }
  }

  private func generate(rows: Int) async throws {
    let made = try await BuiltTool.run([
      "generate", models.appending("source.xcdatamodel").string, "--rows", "\(rows)", "--output",
      store.string,
    ])
    try #require(made.status == 0, "\(made.standardError)")
  }

  private func migrate(
    _ more: [String] = [], to model: FilePath? = nil, faults: FaultPoint? = nil
  ) async throws -> BuiltTool.Outcome {
    try await BuiltTool.run(
      ["migrate", store.string, "--to", (model ?? destination).string] + more,
      environment: BuiltTool.environment(dyingAt: faults))
  }

  @Test func `a store is migrated in its place by processes, and verifies`() async throws {
    try await generate(rows: 2_000)
    let old = try Data(contentsOf: URL(filePath: store.string))
    let outcome = try await migrate(["--workers", "2", "--verify", "full"])
    #expect(outcome.status == 0, "\(outcome.standardError)")
    let left = try names
    #expect(left.count == 3 && left[0] == "Store.sqlite")
    #expect(left[2] == "Store.sqlite.godwit-kept.json")
    let kept = folder.appending(left[1])
    #expect(try Data(contentsOf: URL(filePath: kept.string)) == old)
    let verified = try await BuiltTool.run(["verify", kept.string, store.string])
    #expect(verified.status == 0, "\(verified.standardError)")
    let again = try await migrate()
    #expect(again.status == 0)
    #expect(try names == left)
  }

  @Test(.disabled(if: ToolTests.isRelease, "a release build has no fault points"))
  func `a killed worker is replaced, and the result is the same`() async throws {
    try await generate(rows: 300)
    let plain = folder.appending("Plain.sqlite")
    let other = folder.appending("Other.sqlite")
    #expect(try await migrate(["--output", plain.string]).status == 0)
    let report = folder.appending("report.json")
    let killed = try await migrate(
      ["--output", other.string, "--report", report.string], faults: .workerFirstFlush)
    #expect(killed.status == 0, "\(killed.standardError)")
    #expect(try StoreDump.text(of: plain) == StoreDump.text(of: other))
    let text = try String(contentsOfFile: report.string, encoding: .utf8)
    #expect(text.contains("\"attempts\" : 2") || text.contains("\"attempts\":2"))
    #expect(try names == ["Other.sqlite", "Plain.sqlite", "Store.sqlite", "report.json"])
  }

  @Test(.disabled(if: ToolTests.isRelease, "a release build has no fault points"))
  func `a killed coordinator leaves a migration that goes on`() async throws {
    try await generate(rows: 300)
    let old = try Data(contentsOf: URL(filePath: store.string))
    let more = ["--range-rows", "20", "--workers", "1"]
    #expect(try await migrate(more, faults: .coordinatorMigrating).status == -9)
    #expect(try Data(contentsOf: URL(filePath: store.string)) == old)
    #expect(try names == ["Store.sqlite", "Store.sqlite.godwit"])
    let report = folder.appending("report.json")
    let resumed = try await migrate(more + ["--report", report.string])
    #expect(resumed.status == 0, "\(resumed.standardError)")
    let text = try String(contentsOfFile: report.string, encoding: .utf8)
    #expect(text.contains("\"resumed\" : true") || text.contains("\"resumed\":true"))
    #expect(try names.count == 4)
  }

  @Test(
    .disabled(if: ToolTests.isRelease, "a release build has no fault points"),
    arguments: [FaultPoint.coordinatorMigrating, .coordinatorAssembled], [false, true])
  func `what a killed coordinator leaves in pages is used once, or is free`(
    fault: FaultPoint, hasPartialIndex: Bool
  ) async throws {
    try await generate(rows: 3_000)
    let model = hasPartialIndex ? try withPartialIndex() : destination
    let (plain, taken) = (folder.appending("Plain.sqlite"), folder.appending("Taken.sqlite"))
    let ranges = ["--range-rows", "200", "--workers", "3"]
    let made = try await migrate(["--output", plain.string, "--engine", "sql"], to: model)
    #expect(made.status == 0, "\(made.standardError)")
    let more = ranges + ["--output", taken.string, "--engine", "pages"]
    #expect(try await migrate(more, to: model, faults: fault).status == -9)
    let report = folder.appending("report.json")
    let resumed = try await migrate(more + ["--report", report.string], to: model)
    #expect(resumed.status == 0, "\(resumed.standardError)")
    let text = try String(contentsOfFile: report.string, encoding: .utf8)
    #expect(text.contains("\"resumed\" : true"))
    #expect(text.contains("\"engine\" : \"pages\""))
    #expect(try vacuumed(taken) == vacuumed(plain))
  }

  @Test(
    .disabled(if: ToolTests.isRelease, "a release build has no fault points"),
    arguments: [
      FaultPoint.coordinatorAssembled, .coordinatorJournaled, .coordinatorKept, .coordinatorSwapped,
    ],
    ["sql", "pages"])
  func `a store in its place is whole whenever the coordinator is killed`(
    fault: FaultPoint, engine: String
  ) async throws {
    try await generate(rows: 3_000)
    let old = try vacuumed(store)
    let plain = folder.appending("Plain.sqlite")
    #expect(try await migrate(["--output", plain.string]).status == 0)
    let more = ["--range-rows", "200", "--workers", "2", "--engine", engine]
    #expect(try await migrate(more, faults: fault).status == -9)
    #expect(try vacuumed(store) == (fault == .coordinatorSwapped ? vacuumed(plain) : old))
    let again = try await migrate(more)
    #expect(again.status == 0, "\(again.standardError)")
    #expect(try vacuumed(store) == vacuumed(plain))
    let kept = try names.filter { $0.contains(".before-") && !$0.hasSuffix(".vacuumed") }
    #expect(try kept.map { try vacuumed(folder.appending($0)) } == [old])
    #expect(try !names.contains("Store.sqlite.godwit"))
  }

  @Test(
    .disabled(if: ToolTests.isRelease, "a release build has no fault points"),
    arguments: [FaultPoint.coordinatorStageNamed, .coordinatorStageDone], ["sql", "pages"])
  func `a killed migration in stages goes on with whole stores`(
    fault: FaultPoint, engine: String
  ) async throws {
    let library = FilePath(#filePath).removingLastComponent().removingLastComponent()
      .removingLastComponent().appending("docs/sample/Library.xcdatamodeld").string
    let made = try await BuiltTool.run([
      "generate", library, "--version", "Library 1", "--rows", "500", "--output", store.string,
    ])
    try #require(made.status == 0, "\(made.standardError)")
    func migrate(_ name: String, _ fault: FaultPoint?) async throws -> BuiltTool.Outcome {
      try await BuiltTool.run(
        [
          "migrate", store.string, "--to", library, "--progressive", "--stepwise", "--engine",
          engine, "--output", folder.appending(name).string,
        ], environment: BuiltTool.environment(dyingAt: fault))
    }
    #expect(try await migrate("Plain.sqlite", nil).status == 0)
    #expect(try await migrate("Taken.sqlite", fault).status == -9)
    let again = try await migrate("Taken.sqlite", nil)
    #expect(again.status == 0, "\(again.standardError)")
    #expect(
      try vacuumed(folder.appending("Taken.sqlite"))
        == vacuumed(folder.appending("Plain.sqlite")))
  }

  @Test(.disabled(if: ToolTests.isRelease, "a release build has no fault points"))
  func `a run that was killed with its output in place is finished by the next`() async throws {
    try await generate(rows: 300)
    let output = ["--output", folder.appending("New.sqlite").string]
    #expect(try await migrate(output, faults: .coordinatorOutput).status == -9)
    #expect(try names == ["New.sqlite", "New.sqlite.godwit", "Store.sqlite"])
    let result = try Data(contentsOf: URL(filePath: output[1]))
    // In its place, New.sqlite is a store like any other.
    let inPlace = try await BuiltTool.run(["migrate", output[1], "--to", destination.string])
    #expect(inPlace.status == 0, "\(inPlace.standardError)")
    #expect(try Data(contentsOf: URL(filePath: output[1])) == result)
    try FileManager.default.removeItem(atPath: output[1])
    #expect(try await migrate(output, faults: .coordinatorOutput).status == -9)
    // What would choose the mapping otherwise makes another output.
    #expect(try await migrate(output + ["--infer-only"]).status == 73)
    let again = try await migrate(output)
    #expect(again.status == 0, "\(again.standardError)")
    #expect(try names == ["New.sqlite", "Store.sqlite"])
    #expect(try Data(contentsOf: URL(filePath: output[1])) == result)
    #expect(try await migrate(output).status == 73)
  }

  @Test(
    .disabled(if: ToolTests.isRelease, "a release build has no fault points"),
    arguments: [FaultPoint.coordinatorJournaled, .coordinatorKept])
  func `a swap that was cut off after the log went into the store is resumed`(
    fault: FaultPoint
  ) async throws {
    try await generate(rows: 300)
    let copy = folder.appending("Copy.sqlite")
    let open = try DatabaseQueue(path: store.string)
    try open.inDatabase { db in
      try db.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
      try db.execute(sql: "UPDATE Z_PRIMARYKEY SET Z_MAX = Z_MAX + 1")
    }
    for suffix in ["", "-wal"] {
      try FileManager.default.copyItem(atPath: store.string + suffix, toPath: copy.string + suffix)
    }
    try open.close()
    let migrate = ["migrate", copy.string, "--to", destination.string, "--workers", "2"]
    let killed = try await BuiltTool.run(
      migrate, environment: BuiltTool.environment(dyingAt: fault))
    #expect(killed.status == -9)
    let again = try await BuiltTool.run(migrate)
    #expect(again.status == 0, "\(again.standardError)")
    #expect(try !names.contains { $0.hasSuffix(".godwit") })
  }

  @Test(.disabled(if: ToolTests.isRelease, "a release build has no fault points"))
  func `a run that was killed after its swap is in no other's way`() async throws {
    try await generate(rows: 300)
    #expect(try await migrate(faults: .coordinatorSwapped).status == -9)
    let back = try await migrate(["--allow-loss"], to: models.appending("source.xcdatamodel"))
    #expect(back.status == 0, "\(back.standardError)")
    #expect(try !names.contains { $0.hasSuffix(".godwit") })
  }

  @Test func `a report that cannot be written keeps neither another one nor the receipt away`()
    async throws
  {
    try await generate(rows: 50)
    let files = ["report.json", "receipt.json"].map { folder.appending($0).string }
    let outcome = try await migrate([
      "--report", "/dev/full", "--report", files[0], "--receipt", files[1],
    ])
    #expect(outcome.status == 74)
    #expect(outcome.standardError.contains("/dev/full"))
    for file in files { #expect(FileManager.default.fileExists(atPath: file), "\(file)") }
  }

  @Test func `a report of a failure that cannot be written is told`() async throws {
    try await generate(rows: 50)
    let outcome = try await migrate(["--report", "/dev/full", "--fail-on-loss", "--no-infer"])
    #expect(outcome.status == 78)
    #expect(outcome.standardError.contains("the report of what failed cannot be written to"))
  }

  @Test func `a file that is to hold a swap goes where nothing is swapped`() async throws {
    try await generate(rows: 50)
    let hold = folder.appending("hold").string
    let output = ["--output", folder.appending("New.sqlite").string, "--postpone-swap", hold]
    #expect(try await migrate(output + ["--no-infer"]).status == 78)
    #expect(try names == ["Store.sqlite"])
    #expect(try await migrate().status == 0)
    let left = try names
    #expect(try await migrate(["--postpone-swap", hold]).status == 0)
    #expect(try names == left)
    // What somebody else has made stays.
    try Data().write(to: URL(filePath: hold))
    #expect(try await migrate(["--postpone-swap", hold]).status == 0)
    #expect(try names.contains("hold"))
  }

  @Test func `an output that is there is not said to be verified`() async throws {
    try await generate(rows: 50)
    let output = folder.appending("New.sqlite").string
    func made(_ more: [String]) async throws -> BuiltTool.Outcome {
      try await BuiltTool.run(
        ["migrate", store.string, "--to", destination.string, "--output", output] + more,
        keepsRecord: true)
    }
    #expect(try await made([]).status == 0)
    #expect(try await !made([]).standardOutput.contains("verif"))
    let again = try await made(["--verify", "full"])
    #expect(again.status == 0)
    #expect(again.standardOutput.contains("It was not verified again"))
  }

  /// The destination with an index that only SQLite makes.
  private func withPartialIndex() throws -> FilePath {
    let model = folder.appending("Indexed.xcdatamodel")
    try FileManager.default.createDirectory(
      atPath: model.string, withIntermediateDirectories: true)
    let text = try String(
      contentsOfFile: destination.appending("contents").string, encoding: .utf8)
    let entity = #"<entity name="Book" syncable="YES">"#
    try #require(text.contains(entity))
    try text.replacing(
      entity,
      with: entity
        + #"""
        <attribute name="pages" attributeType="Integer 64" defaultValueString="7"/>
        <fetchIndex name="long" partialIndexPredicate="pages &gt; 3">
        <fetchIndexElement property="pages" type="Binary" order="ascending"/></fetchIndex>
        """#
    ).write(toFile: model.appending("contents").string, atomically: true, encoding: .utf8)
    return model
  }

  static let isRelease: Bool = {
    #if DEBUG
      false
    #else
      true
    #endif
  }()
}
