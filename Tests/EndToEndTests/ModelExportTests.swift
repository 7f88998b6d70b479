import Foundation
import SystemPackage
import TestSupport
import Testing

/// `godwit model export`, from stores, bundles and single versions.
@Suite(.scratchFolder) struct ModelExportTests {
  private var folder: FilePath { ScratchFolder.current }
  private var output: FilePath { folder.appending("Out.xcdatamodel") }
  private let model = FilePath(#filePath).removingLastComponent()
    .appending("Scenarios/composites-are-mapped-by-element/source.xcdatamodel")
  private let sample = FilePath(#filePath).removingLastComponent().removingLastComponent()
    .removingLastComponent().appending("docs/sample/Library.xcdatamodeld")

  private func export(_ source: FilePath, _ more: [String] = []) async throws -> BuiltTool.Outcome {
    try await BuiltTool.run(["model", "export", source.string, "--output", output.string] + more)
  }

  @Test func `a store's model is written, and the store has it`() async throws {
    let store = folder.appending("default.store")
    let made = try await BuiltTool.run([
      "generate", model.string, "--rows", "20", "--output", store.string,
    ])
    try #require(made.status == 0, "\(made.standardError)")
    let outcome = try await export(store)
    #expect(outcome.status == 0, "\(outcome.standardError)")
    #expect(outcome.standardOutput.contains("1 entity hashes as in"))
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: output.string) == ["contents"])
    let check = try await BuiltTool.run(["check", store.string, "--to", output.string])
    #expect(check.standardOutput.contains("already has this model"), "\(check.standardError)")
    let shown = try await BuiltTool.run(["inspect", store.string])
    #expect(
      shown.standardOutput.contains(
        "Drink.author consists of id String, person String, year Integer 16"),
      "\(shown.standardOutput)")
  }

  @Test(arguments: ["Library 1", "Library 2", "Library 3"])
  func `a version of a bundle is written`(version: String) async throws {
    let outcome = try await export(sample, ["--version", version])
    #expect(outcome.status == 0, "\(outcome.standardError)")
    let own = sample.appending("\(version).xcdatamodel")
    let inferred = try await BuiltTool.run([
      "map", "--from", own.string, "--to", output.string,
    ])
    #expect(inferred.status == 0)
    #expect(!inferred.standardOutput.contains("\"type\": \"transform\""))
  }

  @Test func `what cannot be said is refused, or left out by consent, and named`() async throws {
    let odd = folder.appending("Odd.xcdatamodel")
    try FileManager.default.createDirectory(
      atPath: odd.string, withIntermediateDirectories: true)
    let text = """
      <?xml version="1.0" encoding="UTF-8"?>
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
        <entity name="Thing">
          <attribute name="photo" attributeType="Binary" optional="YES" defaultValueString="x"/>
        </entity>
      </model>
      """
    try Data(text.utf8).write(to: URL(filePath: odd.appending("contents").string))
    let refused = try await export(odd)
    #expect(refused.status == 78)
    #expect(refused.standardError.contains("Thing.photo: default value"))
    #expect(refused.standardError.contains("--leave-out"))
    #expect(!FileManager.default.fileExists(atPath: output.string))
    let written = try await export(odd, ["--leave-out"])
    #expect(written.status == 0, "\(written.standardError)")
    #expect(written.standardError.contains("note: left out: Thing.photo: default value"))
  }

  @Test func `a path that is taken, or of another kind, is refused`() async throws {
    #expect(try await export(model).status == 0)
    let again = try await export(model)
    #expect(again.status == 73)
    #expect(again.standardError.contains("already exists"))
    let named = try await BuiltTool.run([
      "model", "export", model.string, "--output", folder.appending("Out.model").string,
    ])
    #expect(named.status == 64)
    #expect(named.standardError.contains("end it with .xcdatamodel"))
  }
}
