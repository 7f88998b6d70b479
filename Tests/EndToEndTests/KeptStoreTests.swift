import Foundation
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
}
