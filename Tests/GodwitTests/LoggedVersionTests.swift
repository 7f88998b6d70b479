import Foundation
import Mapping
import SystemPackage
import Testing

@testable import Godwit

@Suite struct LoggedVersionTests {
  private let given: GivenStore
  private let lock: VersionLock

  init() throws {
    given = try GivenStore(Model.note + Model.tag, Model.noteWithoutPages + Model.tag)
    lock = try VersionLock(of: FilePath(given.model.path))
  }

  private func hash(_ entity: String, of version: String) throws -> String {
    let found = try #require(lock.locked.first { $0.name == version })
    return try #require(found.entities[entity]?.hash)
  }

  private func groups(_ digits: some StringProtocol) -> String {
    stride(from: 0, to: digits.count, by: 8).map { place in
      String(digits.dropFirst(place).prefix(8))
    }.joined(separator: " ")
  }

  private func log(
    _ version: String, entities: [String] = ["Note", "Tag"], isShort: Bool = false
  ) throws -> String {
    let lines = try entities.map { name in
      let hash = try hash(name, of: version)
      let data =
        isShort
        ? "\"{length = 32, bytes = 0x\(groups(hash.prefix(32))) ... \(groups(hash.suffix(16))) }\""
        : "<\(groups(hash))>"
      return "        \(name) = \(data);"
    }
    return "CoreData: error: Code=134130 \"…\" UserInfo={metadata={\n"
      + "    NSPersistenceFrameworkVersion = 419;\n    NSStoreModelVersionHashes =     {\n"
      + lines.joined(separator: "\n") + "\n    };\n"
  }

  @Test(arguments: ["1", "2"], [true, false])
  func `a log names the version of its store`(version: String, isShort: Bool) throws {
    // The hashes of the app's model follow.
    let text = try log(version, isShort: isShort) + log("2")
    let found = try LoggedVersion(text)
    #expect(found.entities == ["Note", "Tag"])
    #expect(found.versions(in: lock) == [version])
    let sentences = found.sentences(for: lock, model: "Shop.xcdatamodeld")
    #expect(sentences == ["The store has \(version): 2 entities of the log have its hashes."])
    let report = found.report(on: lock, at: "Shop.xcdatamodeld")
    #expect(report.versions == [version] && report.nearest == nil)
    #expect(report.model == "Shop.xcdatamodeld" && report.sentences == sentences)
  }

  @Test(arguments: ["...", "…"])
  func `hashes are compared as far as they go`(ellipsis: String) throws {
    let hash = try hash("Note", of: "1")
    let text = "Note = \"{length = 32, bytes = 0x\(hash.prefix(8)) \(ellipsis) \(hash.suffix(8))}\""
    #expect(try LoggedVersion(text).versions(in: lock) == ["1"])
    #expect(throws: MigrationFailure.self) {
      try LoggedVersion("Note = {length = 32, bytes = 0x1…}")
    }
  }

  @Test func `a log that is cut fits all versions that it does not tell apart`() throws {
    let found = try LoggedVersion(log("1", entities: ["Tag"]))
    #expect(found.versions(in: lock) == ["1", "2"])
    #expect(found.sentences(for: lock, model: "Shop")[0].contains("cut: it has 1 of 2 entities"))
  }

  @Test func `of a version that was edited the nearest one is told`() throws {
    let text = try log("1").replacing(groups(hash("Note", of: "1")).prefix(8), with: "00000000")
    let found = try LoggedVersion(text)
    #expect(found.versions(in: lock).isEmpty)
    let sentences = found.sentences(for: lock, model: "Shop.xcdatamodeld")
    #expect(sentences[0] == "No version of Shop.xcdatamodeld has the hashes of the log.")
    #expect(sentences[1].contains("other hashes of Note"))
    let report = found.report(on: lock, at: "Shop.xcdatamodeld")
    #expect(report.versions.isEmpty && report.nearest == "1")
    #expect(report.entities == ["Note", "Tag"])
    let foreign = text.replacing("Note", with: "Song").replacing("Tag", with: "Disc")
    let other = try LoggedVersion(foreign)
    #expect(other.sentences(for: lock, model: "S")[1].contains("is of this app"))
    #expect(other.report(on: lock, at: "S").nearest == nil)
  }

  @Test(arguments: ["", "Note = <12>;", "x = {length = 16, bytes = 0x00}", "\u{0}\u{FFFD}<<<{"])
  func `a text without hashes is no log`(text: String) {
    let error = #expect(throws: MigrationFailure.self) { try LoggedVersion(text) }
    #expect(error?.exitStatus == .notFound)
  }
}
