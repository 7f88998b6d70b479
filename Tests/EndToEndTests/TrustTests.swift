import Foundation
import GRDB
import Subprocess
import SystemPackage
import TestSupport
import Testing

/// What the tool says and leaves behind, beside the migrated store itself.
@Suite(.scratchFolder) struct TrustTests {
  private var folder: FilePath { ScratchFolder.current }
  private var bundle: FilePath { folder.appending("Model.xcdatamodeld") }
  private var store: FilePath { folder.appending("Store.sqlite") }
  private var output: FilePath { folder.appending("New.sqlite") }
  private var report: FilePath { folder.appending("report.json") }

  /// Makes a bundle of versions, each with one entity `Note` of these attributes.
  private func makeBundle(
    _ versions: [(name: String, attributes: [String: String], identifier: String?)],
    current: String
  ) throws {
    for version in versions {
      let path = bundle.appending("\(version.name).xcdatamodel")
      try FileManager.default.createDirectory(
        atPath: path.string, withIntermediateDirectories: true)
      let attributes = version.attributes.sorted { $0.key < $1.key }.map {
        "<attribute name=\"\($0.key)\" optional=\"YES\" attributeType=\"\($0.value)\"/>"
      }.joined()
      let identifier =
        version.identifier.map { " userDefinedModelVersionIdentifier=\"\($0)\"" } ?? ""
      try """
      <?xml version="1.0" encoding="UTF-8"?>
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0"\(identifier)>
      <entity name="Note">\(attributes)</entity></model>
      """.write(toFile: path.appending("contents").string, atomically: true, encoding: .utf8)
    }
    let list = ["_XCCurrentVersionName": "\(current).xcdatamodel"]
    try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0)
      .write(to: URL(filePath: bundle.appending(".xccurrentversion").string))
  }

  private func generate(_ version: String, rows: Int = 40) async throws {
    let made = try await BuiltTool.run([
      "generate", bundle.string, "--version", version, "--rows", "\(rows)", "--output",
      store.string,
    ])
    try #require(made.status == 0, "\(made.standardError)")
  }

  private func run(
    _ command: String, _ more: String...
  ) async throws -> BuiltTool.Outcome {
    try await BuiltTool.run([command, store.string, "--to", bundle.string] + more)
  }

  private func read(_ path: FilePath) throws -> [String: Any] {
    let data = try Data(contentsOf: URL(filePath: path.string))
    return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
  }

  private func makePlainStep() async throws {
    try makeBundle(
      [("M", ["a": "String"], nil), ("M 2", ["a": "String", "b": "String"], nil)], current: "M 2")
    try await generate("M")
  }

  // MARK: Damage

  @Test(arguments: [("quick", Int32(0)), ("full", 65), ("off", 0)])
  func `check and plan find beforehand what a full check of the source refuses`(
    check: String, status: Int32
  ) async throws {
    try await makePlainStep()
    // Too large to be looked at as a whole unasked, with an index that lacks rows.
    let queue = try DatabaseQueue(path: store.string)
    try await queue.writeWithoutTransaction { db in
      try db.execute(
        sql: """
          UPDATE ZNOTE SET ZA = hex(zeroblob(100000));
          CREATE INDEX ZNOTE_STALE ON ZNOTE (Z_OPT) WHERE Z_PK > 10;
          PRAGMA writable_schema = ON;
          UPDATE sqlite_schema SET sql = 'CREATE INDEX ZNOTE_STALE ON ZNOTE (Z_OPT)'
            WHERE name = 'ZNOTE_STALE';
          """)
    }
    try queue.close()
    for command in ["check", "plan"] {
      let outcome = try await run(command, "--check-source", check)
      #expect(outcome.status == status, "\(outcome.standardError)")
      let said = outcome.standardOutput + outcome.standardError
      #expect(said.contains("ZNOTE_STALE") == (status != 0), "\(said)")
    }
    let migrated = try await run("migrate", "--check-source", "full")
    #expect(migrated.status == 65, "\(migrated.standardError)")
  }

  @Test func `check tries later steps, with choices as well`() async throws {
    try makeBundle(
      [
        ("M", ["a": "String"], "1"), ("M 2", ["a": "String", "b": "String"], "2"),
        ("M 3", ["a": "String", "b": "String", "c": "String"], "3"),
      ], current: "M 3")
    try await generate("M")
    let steps = ["--progressive", "--stepwise"]
    let plain = try await run("check", steps[0], steps[1])
    #expect(plain.status == 0, "\(plain.standardError)")
    // The later steps are tried, so nothing is left open.
    #expect(!plain.standardOutput.contains("are checked once it is made"))
    for choice in ["--on-value=null", "--on-duplicate=keep-last", "--on-dangling=nullify"] {
      let chosen = try await run("check", steps[0], steps[1], choice)
      #expect(chosen.status == 0, "\(chosen.standardError)")
      #expect(!chosen.standardOutput.contains("are checked once it is made"))
    }
  }

  // MARK: Reports

  @Test func `a report that cannot be written keeps the migration from beginning`() async throws {
    try await makePlainStep()
    let before = try Data(contentsOf: URL(filePath: store.string))
    let missing = try await run("migrate", "--report", folder.appending("none/r.json").string)
    #expect(missing.status == 73, "\(missing.standardError)")
    let isFolder = try await run("migrate", "--report", folder.string)
    #expect(isFolder.status == 73, "\(isFolder.standardError)")
    #expect(try Data(contentsOf: URL(filePath: store.string)) == before)
  }

  @Test func `a report tells of a refusal, and of the versions of a migration`() async throws {
    try makeBundle(
      [("M", ["a": "String"], nil), ("M 2", ["a": "Binary"], nil)], current: "M 2")
    try await generate("M")
    #expect(try await run("migrate", "--report", report.string).status == 78)
    let refused = try read(report)
    #expect(refused["outcome"] as? String == "refused")
    let failure = try #require(refused["failure"] as? [String: Any])
    #expect(failure["exitStatus"] as? Int == 78)
    #expect(failure["coreDataCode"] as? Int == 134190)
    try FileManager.default.removeItem(atPath: bundle.string)
    try FileManager.default.removeItem(atPath: store.string)
    try await makePlainStep()
    #expect(try await run("migrate", "--report", report.string).status == 0)
    let steps = try #require(try read(report)["steps"] as? [[String: Any]])
    #expect(steps.map { $0["from"] as? [String] } == [["M"]])
    #expect(steps.map { $0["to"] as? [String] } == [["M 2"]])
  }

  @Test func `a report takes the place of nothing but an earlier report`() async throws {
    try await makePlainStep()
    let contents = bundle.appending("M 2.xcdatamodel/contents")
    let link = folder.appending("link.json")
    try FileManager.default.createSymbolicLink(
      atPath: link.string, withDestinationPath: store.string)
    func refused(_ path: String, status: Int32) async throws {
      let before = FileManager.default.contents(atPath: path)
      let outcome = try await run("migrate", "--output", output.string, "--report", path)
      #expect(outcome.status == status, "\(path): \(outcome.standardError)")
      #expect(FileManager.default.contents(atPath: path) == before)
      #expect(!FileManager.default.fileExists(atPath: output.string))
    }
    // One file cannot be two things of the same command.
    for path in [store, link, output] { try await refused(path.string, status: 64) }
    for path in [contents, FilePath("\(output)-wal"), FilePath("\(store).godwit")] {
      try await refused(path.string, status: 73)
    }
    #expect(try await run("migrate", "--report", report.string).status == 0)
    #expect(try await run("migrate", "--report", report.string).status == 0)
  }

  @Test func `map takes the place of nothing but an earlier mapping model`() async throws {
    try await makePlainStep()
    func map(_ path: FilePath) async throws -> Int32 {
      try await BuiltTool.run([
        "map", "--from", bundle.appending("M.xcdatamodel").string, "--to",
        bundle.appending("M 2.xcdatamodel").string, "--output", path.string,
      ]).status
    }
    let before = try Data(contentsOf: URL(filePath: store.string))
    #expect(try await map(store) == 73)
    #expect(try await map(bundle.appending("M.xcdatamodel/contents")) == 73)
    #expect(try Data(contentsOf: URL(filePath: store.string)) == before)
    #expect(try await map(folder.appending("map.json")) == 0)
    #expect(try await map(folder.appending("map.json")) == 0)
  }

  // MARK: Outputs

  @Test func `a second run with the same output finds it there`() async throws {
    try await makePlainStep()
    func migrate(_ more: String...) async throws -> BuiltTool.Outcome {
      try await BuiltTool.run(
        ["migrate", store.string, "--to", bundle.string, "--output", output.string] + more,
        keepsRecord: true)
    }
    #expect(try await migrate().status == 0)
    let made = try Data(contentsOf: URL(filePath: output.string))
    let again = try await migrate()
    #expect(again.status == 0, "\(again.standardError)")
    #expect(again.standardOutput.contains("already exists"))
    #expect(try Data(contentsOf: URL(filePath: output.string)) == made)
    #expect(try await migrate().status == 0, "it must be known again and again")
    #expect(try await migrate("--journal-mode", "wal").status == 73)
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: store.string)
    #expect(try await migrate().status == 73, "another source must not be taken for the same")
  }

  @Test func `a log at the output's name is not adopted`() async throws {
    try await makePlainStep()
    for name in ["New.sqlite-wal", "New.sqlite-journal", "New.sqlite-shm"] {
      let path = folder.appending(name)
      try "foreign".write(toFile: path.string, atomically: true, encoding: .utf8)
      let outcome = try await run("migrate", "--output", output.string)
      #expect(outcome.status == 73, "\(name): \(outcome.standardError)")
      #expect(!FileManager.default.fileExists(atPath: output.string))
      #expect(FileManager.default.contents(atPath: path.string) == Data("foreign".utf8))
      try FileManager.default.removeItem(atPath: path.string)
    }
    #expect(try await run("migrate", "--output", output.string).status == 0)
  }

  @Test func `a store that has the model is copied only where that is asked for`() async throws {
    try await makePlainStep()
    try FileManager.default.removeItem(atPath: store.string)
    try await generate("M 2")
    let nothing = try await run("migrate", "--output", output.string)
    #expect(nothing.status == 0)
    #expect(nothing.standardOutput.contains("was not made"))
    #expect(!FileManager.default.fileExists(atPath: output.string))
    let copied = try await run("migrate", "--output", output.string, "--copy-if-current")
    #expect(copied.status == 0, "\(copied.standardError)")
    let verified = try await BuiltTool.run(["verify", store.string, output.string])
    #expect(verified.status == 0, "\(verified.standardOutput)")
  }

  // MARK: Answers

  @Test func `check tells versions, and with --exit-status what is needed`() async throws {
    try await makePlainStep()
    let possible = try await run("check")
    #expect(possible.status == 0)
    #expect(possible.standardOutput.contains("from M to M 2: needs a migration"))
    #expect(try await run("check", "--exit-status").status == 1)
    try FileManager.default.removeItem(atPath: store.string)
    try await generate("M 2")
    #expect(try await run("check", "--exit-status").status == 0)
  }

  @Test func `check and plan refuse what migrate refuses, on standard output`() async throws {
    try await makePlainStep()
    let file = folder.appending("map.json")
    for (text, word) in [
      (#""policy": "Nobody""#, "Nobody"),
      (#""attributes": { "a": "$source.typo" }"#, "typo"),
      (#""attributes": { "typo": "$source.a" }"#, "typo"),
    ] {
      try """
      {"format": "godwit mapping model", "version": 1, "mappings": [
        {"source": "Note", "destination": "Note", \(text)}]}
      """.write(toFile: file.string, atomically: true, encoding: .utf8)
      let checked = try await run("check", "--mapping", file.string)
      #expect(checked.status == 78, "\(text)")
      #expect(checked.standardOutput.contains(word), "\(checked.standardOutput)")
      #expect(try await run("plan", "--mapping", file.string).status == 78, "\(text)")
      #expect(try await run("migrate", "--mapping", file.string).status == 78, "\(text)")
    }
  }

  @Test func `a detour that loses values is refused until that is allowed`() async throws {
    try makeBundle(
      [
        ("M", ["code": "String"], nil), ("M 2", ["other": "String"], nil),
        ("M 3", ["code": "Binary"], nil),
      ], current: "M 3")
    try await generate("M")
    let refused = try await run("migrate")
    #expect(refused.status == 78)
    #expect(refused.standardError.contains("since a version on the route lacks it"))
    #expect(refused.standardError.contains("attribute types are incompatible"))
    #expect(try await run("check").status == 78)
    let allowed = try await run("migrate", "--allow-loss", "Note.code")
    #expect(allowed.status == 0, "\(allowed.standardError)")
  }

  @Test func `a downgrade that loses values is refused until that is allowed`() async throws {
    try makeBundle(
      [("M", ["a": "String"], nil), ("M 2", ["a": "String", "b": "String"], nil)], current: "M")
    try await generate("M 2")
    let refused = try await run("migrate")
    #expect(refused.status == 78, "\(refused.standardError)")
    #expect(refused.standardError.contains("since the older version lacks it"))
    #expect(try await run("migrate", "--allow-loss").status == 0)
  }

  @Test func `identifiers give the order of versions, and nothing else is made up`() async throws {
    try makeBundle(
      [
        ("Zulu", ["a": "String"], "1"), ("Alpha", ["a": "String", "b": "String"], "2"),
        ("Mike", ["a": "String", "b": "String", "c": "String"], "3"),
      ], current: "Mike")
    try await generate("Zulu")
    let plan = try await run("plan", "--progressive")
    #expect(plan.standardOutput.contains("Zulu to Alpha"), "\(plan.standardOutput)")
    #expect(plan.standardOutput.contains("Alpha to Mike"))
    let none = try await run("plan", "--no-infer")
    #expect(none.status == 78)
    #expect(none.standardOutput.contains("from Zulu to Mike"), "\(none.standardOutput)")
    #expect(none.standardOutput.contains("134140"))
  }

  @Test func `names that tell no order have to be put in one`() async throws {
    try makeBundle(
      [
        ("Zulu", ["a": "String"], nil), ("Alpha", ["a": "String", "b": "String"], nil),
        ("Mike", ["a": "String", "b": "String", "c": "String"], nil),
      ], current: "Mike")
    try await generate("Zulu")
    #expect(try await run("plan", "--progressive").status == 64)
    let ordered = try await run("plan", "--progressive", "--order", "Zulu,Alpha,Mike")
    #expect(ordered.standardOutput.contains("Zulu to Alpha"), "\(ordered.standardOutput)")
    #expect(try await run("plan", "--progressive", "--order", "Zulu,Nobody").status == 64)
  }
}
