import Foundation
import Planning
import SystemPackage
import TestSupport
import Testing

/// Stores that a migration kept, and that something has changed since.
@Suite(.scratchFolder) struct KeptStoreTests {
  private let sample = FilePath(#filePath).removingLastComponent().removingLastComponent()
    .removingLastComponent().appending("docs/sample/Library.xcdatamodeld")
  private var folder: FilePath { ScratchFolder.current }
  private var store: FilePath { folder.appending("S.sqlite") }

  /// Migrates a store in its place; the kept one.
  private func migrate() async throws -> FilePath {
    for words in [
      [
        "generate", sample.string, "--version", "Library 1", "--rows", "60", "--output",
        store.string,
      ], ["migrate", store.string, "--to", sample.string],
    ] {
      let outcome = try await BuiltTool.run(words)
      try #require(outcome.status == 0, "\(outcome.standardError)")
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.string)
    return folder.appending(try #require(names.first { $0.contains(".before-") }))
  }

  @Test(arguments: ["rollback", "finish"])
  func `a change that keeps size and time is noticed`(command: String) async throws {
    let kept = try await migrate()
    let url = URL(filePath: kept.string)
    let time = try #require(
      FileManager.default.attributesOfItem(atPath: kept.string)[.modificationDate] as? Date)
    let before = try Data(contentsOf: url)
    var changed = before
    changed[changed.count - 1] ^= 1
    let file = try FileHandle(forWritingTo: url)
    try file.write(contentsOf: changed)
    try file.close()
    try FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: kept.string)
    let new = try Data(contentsOf: URL(filePath: store.string))
    let outcome = try await BuiltTool.run([command, store.string])
    #expect(outcome.status == 73, "\(outcome.standardError)")
    #expect(outcome.standardError.contains("has changed since it was kept"))
    #expect(try Data(contentsOf: URL(filePath: store.string)) == new)
    #expect(try Data(contentsOf: url) == changed)
  }

  @Test func `a kept store that was moved away stays in the list`() async throws {
    let kept = try await migrate()
    let before = try Data(contentsOf: URL(filePath: kept.string))
    let elsewhere = folder.appending("elsewhere")
    try FileManager.default.moveItem(atPath: kept.string, toPath: elsewhere.string)
    let finished = try await BuiltTool.run(["finish", store.string])
    #expect(finished.status == 0 && finished.standardOutput.isEmpty)
    #expect(finished.standardError.contains("note: \(kept) is missing and was not removed"))
    let json = try await BuiltTool.run(["finish", store.string, "--json"])
    #expect(json.standardOutput.contains("\"missing\""))
    let listed = try await BuiltTool.run(["list", store.string])
    #expect(listed.standardOutput.contains("missing: moved, renamed or removed"))
    let absent = try await BuiltTool.run(["rollback", store.string])
    #expect(absent.status == 66 && absent.standardError.contains("\(elsewhere) has its contents"))
    try FileManager.default.moveItem(atPath: elsewhere.string, toPath: kept.string)
    let back = try await BuiltTool.run(["rollback", store.string])
    #expect(back.status == 0, "\(back.standardError)")
    #expect(try Data(contentsOf: URL(filePath: store.string)) == before)
  }

  @Test func `a kept store is not migrated in place, but to an output`() async throws {
    let kept = try await migrate()
    let before = try Data(contentsOf: URL(filePath: kept.string))
    let outcome = try await BuiltTool.run(["migrate", kept.string, "--to", sample.string])
    #expect(outcome.status == 64)
    #expect(outcome.standardError.contains("is an old store that Godwit keeps of \(store)"))
    #expect(try Data(contentsOf: URL(filePath: kept.string)) == before)
    let output = folder.appending("New.sqlite").string
    let copied = try await BuiltTool.run(
      ["migrate", kept.string, "--to", sample.string, "--output", output])
    #expect(copied.status == 0, "\(copied.standardError)")
  }

  /// Gives all files of the store and its folders of external files another name.
  private func renameAll(but left: String? = nil) throws -> FilePath {
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.string)
    where name != left {
      let start = name.hasPrefix(".S") ? ".T" : name.hasPrefix("S.sqlite") ? "T" : nil
      guard let start else { continue }
      try FileManager.default.moveItem(
        atPath: "\(folder)/\(name)", toPath: "\(folder)/\(start)\(name.dropFirst(start.count))")
    }
    return folder.appending("T.sqlite")
  }

  @Test(arguments: ["list", "rollback", "finish", "migrate"])
  func `a store that was renamed with all its files keeps its way back`(
    command: String
  ) async throws {
    let kept = try await migrate()
    let before = try Data(contentsOf: URL(filePath: kept.string))
    let renamed = try renameAll()
    let options = command == "migrate" ? ["--to", sample.string] : []
    let outcome = try await BuiltTool.run([command, renamed.string] + options)
    #expect(outcome.status == 0, "\(outcome.standardError)")
    if command == "finish" { return }
    if command != "rollback" {
      let back = try await BuiltTool.run(["rollback", renamed.string])
      #expect(back.status == 0, "\(back.standardError)")
    }
    #expect(try Data(contentsOf: URL(filePath: renamed.string)) == before)
  }

  @Test(arguments: ["list", "rollback", "finish", "migrate"])
  func `a kept store that was not renamed with its store is named`(command: String) async throws {
    let kept = try await migrate()
    let renamed = try renameAll(but: kept.lastComponent?.string)
    let options = command == "migrate" ? ["--to", sample.string, "--verify", "full"] : []
    let outcome = try await BuiltTool.run([command, renamed.string] + options)
    let name = kept.lastComponent?.string.dropFirst() ?? ""
    if command == "migrate", outcome.status == 0 { return }
    #expect(outcome.status == 66)
    #expect(outcome.standardError.contains("lists the old stores of S.sqlite"))
    #expect(outcome.standardError.contains("\(folder)/T\(name) is missing"))
  }

  @Test(
    .disabled(if: ToolTests.isRelease, "a release build has no fault points"),
    arguments: [FaultPoint.coordinatorJournaled, .coordinatorKept, .coordinatorSwapped])
  func `a rollback that was killed is ended by the same command`(point: FaultPoint) async throws {
    let kept = try await migrate()
    let before = try Data(contentsOf: URL(filePath: kept.string))
    let killed = try await BuiltTool.run(
      ["rollback", store.string], environment: BuiltTool.environment(dyingAt: point))
    #expect(killed.status != 0)
    #expect(FileManager.default.fileExists(atPath: "\(store).godwit"))
    let again = try await BuiltTool.run(["rollback", store.string])
    #expect(again.status == 0, "\(again.standardError)")
    #expect(again.standardOutput.contains("is again the store that was kept as \(kept)"))
    #expect(again.standardError.contains("an earlier run") == (point == .coordinatorSwapped))
    #expect(try Data(contentsOf: URL(filePath: store.string)) == before)
    #expect(!FileManager.default.fileExists(atPath: "\(store).godwit"))
    let third = try await BuiltTool.run(["rollback", store.string])
    #expect(third.status == 66)
  }
}
