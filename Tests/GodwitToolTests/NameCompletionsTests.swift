import ArgumentParser
import Foundation
import Godwit
import SystemPackage
import Testing

@testable import GodwitTool

@Suite struct NameCompletionsTests {
  @Test func `versions and entities are those of the files on the command line`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "godwit \(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    let model = folder.appending(path: "Notes.xcdatamodeld")
    let version = model.appending(path: "One.xcdatamodel")
    try FileManager.default.createDirectory(at: version, withIntermediateDirectories: true)
    let text =
      "<model type=\"com.apple.IDECoreDataModeler.DataModel\"><entity name=\"Note\">"
      + "<attribute name=\"title\" attributeType=\"String\" optional=\"YES\"/></entity></model>"
    try text.write(to: version.appending(path: "contents"), atomically: true, encoding: .utf8)
    let quoted = "'\(model.path)'"
    #expect(NameCompletions.versions(in: ["godwit", "inspect", quoted, "--version"]) == ["One"])
    let store = folder.appending(path: "Store.sqlite")
    try SampleStore(of: model, objects: 3).write(to: store)
    for path in [store, model] {
      let word = path.path.replacing(" ", with: "\\ ")
      #expect(NameCompletions.entities(in: ["godwit", "inspect", word]) == ["Note"])
    }
    #expect(NameCompletions.versions(in: ["godwit", "inspect", "none"]).isEmpty)
  }

  @Test func `bash completes the commands after help`() {
    let script = RootCommand.completionScript(for: .bash)
    let found = NameCompletions.bashScript(script, commands: ["migrate", "plan"])
    #expect(found != script && found.contains("compgen -W 'migrate plan' -- \"${cur}\""))
  }
}
