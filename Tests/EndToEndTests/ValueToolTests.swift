import Foundation
import GRDB
import SystemPackage
import TestSupport
import Testing

/// Values by `--set` and by mapping files, as a user meets them.
@Suite(.scratchFolder) struct ValueToolTests {
  private var folder: FilePath { ScratchFolder.current }
  private var bundle: FilePath { folder.appending("Todo.xcdatamodeld") }
  private var store: FilePath { folder.appending("Old.sqlite") }

  private func version(_ number: Int) -> String { bundle.appending("\(number).xcdatamodel").string }

  /// A model whose second version has a mandatory UUID without a default, and a store of the first.
  private func begin() async throws {
    let id = "<attribute name=\"id\" attributeType=\"UUID\"/>"
    for (number, more) in [(1, ""), (2, id)] {
      try FileManager.default.createDirectory(
        atPath: version(number), withIntermediateDirectories: true)
      try Data(
        """
        <?xml version="1.0"?><model type="com.apple.IDECoreDataModeler.DataModel" \
        documentVersion="1.0"><entity name="Reminder"><attribute name="title" \
        attributeType="String" optional="YES"/>\(more)</entity></model>
        """.utf8
      ).write(to: URL(filePath: version(number) + "/contents"))
    }
    let made = try await BuiltTool.run(
      ["generate", version(1), "--rows", "20", "--output", store.string])
    try #require(made.status == 0, "\(made.standardError)")
  }

  private func call(_ command: String, _ more: [String]) async throws -> BuiltTool.Outcome {
    try await BuiltTool.run(
      [command, store.string] + more + ["--to", version(2), "--models", bundle.string])
  }

  @Test func `every command takes a value for an attribute`() async throws {
    try await begin()
    let output = folder.appending("New.sqlite").string
    let refused = try await call("check", [])
    #expect(refused.status == 78)
    #expect(refused.standardOutput.contains("use --set Reminder.id=EXPRESSION"))
    let value = ["--set", "Reminder.id=uuid()"]
    let calls: [(String, [String])] = [
      ("check", []), ("plan", []), ("migrate", ["--output", output]), ("verify", [output]),
    ]
    for (command, more) in calls {
      let outcome = try await call(command, more + value)
      #expect(outcome.status == 0, "\(command): \(outcome.standardError)")
    }
    // Without the value nothing says where the identifiers come from.
    #expect(try await call("verify", [output]).status != 0)
    // The record beside the new store does.
    let recorded = folder.appending("Recorded.sqlite").string
    let migrated = try await BuiltTool.run(
      [
        "migrate", store.string, "--to", version(2), "--models", bundle.string, "--output",
        recorded,
      ] + value, keepsRecord: true)
    #expect(migrated.status == 0, "\(migrated.standardError)")
    let judged = try await BuiltTool.run(["verify", store.string, recorded])
    #expect(judged.status == 0, "\(judged.standardError)")
    for command in ["check", "plan", "migrate"] {
      let outcome = try await call(command, ["--set", "Reminder.code=1"])
      #expect(outcome.status == 64)
      #expect(
        (outcome.standardOutput + outcome.standardError).contains("--set names Reminder.code"))
    }
  }

  @Test func `a text that is longer than the memory for rows can be verified`() async throws {
    try await begin()
    let queue = try DatabaseQueue(path: store.string)
    try await queue.write {
      try $0.execute(
        sql: "UPDATE ZREMINDER SET ZTITLE = hex(zeroblob(25000000)) WHERE Z_PK = 3")
    }
    try queue.close()
    let output = folder.appending("New.sqlite").string
    let value = ["--set", "Reminder.id=uuid()"]
    let made = try await call("migrate", ["--output", output, "--memory", "1G"] + value)
    try #require(made.status == 0, "\(made.standardError)")
    let judged = try await call("verify", [output] + value)
    #expect(judged.status == 0, "\(judged.standardError)")
  }

  @Test func `a mapping file that can make no object is refused before any row`() async throws {
    try await begin()
    let file = folder.appending("Map.json").string
    let written = try await BuiltTool.run(
      ["map", "--from", version(1), "--to", version(2), "--output", file])
    #expect(written.status == 0)
    #expect(written.standardError.contains("left open"))
    #expect(written.standardError.contains("Reminder.id is mandatory and has no default"))
    for (value, sentence) in [
      ("null", "mandatory"), ("\"Bob\"", "it reads Bob without an object"),
      ("\"5\"", "the number 5 is not a value of Reminder.id, which is a UUID"),
      ("\"\\\"Bob\\\"\"", "the text \"Bob\" is not a value of Reminder.id"),
      ("\"$source.title.words\"", "it reads words, which a text does not have"),
      ("\"$source.title\"", "its expression yields a text"),
    ] {
      try Data(
        """
        {"format": "godwit mapping model", "version": 1, "mappings": [{"source": "Reminder",
        "destination": "Reminder", "attributes": {"title": "$source.title", "id": \(value)}}]}
        """.utf8
      ).write(to: URL(filePath: file))
      let map = try await BuiltTool.run(
        ["map", file, "--check", "--from", version(1), "--to", version(2)])
      #expect(map.status == 78, "map \(value)")
      #expect(map.standardError.contains(sentence), "\(map.standardError)")
      for command in ["check", "plan", "migrate"] {
        let more = command == "migrate" ? ["--output", folder.appending("No.sqlite").string] : []
        let outcome = try await call(command, more + ["--mapping", file])
        #expect(outcome.status == 78, "\(command) \(value)")
        #expect((outcome.standardOutput + outcome.standardError).contains(sentence))
      }
    }
    #expect(!FileManager.default.fileExists(atPath: folder.appending("No.sqlite").string))
  }
}
