import Foundation
import SystemPackage
import Testing

@testable import Godwit

@Suite struct VersionLockTests {
  private let given: GivenStore
  private var bundle: FilePath { FilePath(given.model.path) }
  private var file: FilePath { VersionLock.file(of: bundle) }

  init() throws { given = try GivenStore(Model.note, Model.longNote) }

  private func problems() throws -> [VersionLock.Problem] {
    try VersionLock(contentsOf: file).problems(in: VersionLock(of: bundle))
  }

  private func locked() throws { try VersionLock.lock(bundle, in: file) }

  @Test func `a lock lies beside the model, and finds nothing in what it was made of`() throws {
    let locking = try VersionLock.lock(bundle, in: file)
    #expect(file.lastComponent?.string == "Notes.versions.json")
    #expect(VersionLock.file(of: bundle.appending("1.xcdatamodel")) == file)
    #expect(locking.sentence == "\(file): 2 versions locked, 2 is current.")
    #expect(locking.notes.isEmpty)
    #expect(try VersionLock(contentsOf: file) == VersionLock(of: bundle))
    #expect(try problems().isEmpty)
  }

  @Test func `where one version is named its bundle is locked`() throws {
    let one = bundle.appending("1.xcdatamodel")
    try VersionLock.lock(one, in: VersionLock.file(of: one))
    #expect(try VersionLock(contentsOf: file).names == ["1", "2"])
  }

  @Test func `an edit of a released version is told with its place`() throws {
    try locked()
    try given.write(
      Model.entity(
        "Note", Model.attribute("title", "String") + Model.attribute("length", "Integer 16")),
      as: "1")
    let found = try problems()
    #expect(found.map(\.kind) == [.edited])
    #expect(found[0].version == "1")
    #expect(found[0].edits == ["Note.pages became length"])
    #expect(found[0].sentence.contains("1 was edited after its release: Note.pages became length."))
  }

  @Test func `what no hash covers may be edited`() throws {
    try locked()
    try given.write(
      Model.note.replacing("Integer 16\"", with: "Integer 16\" defaultValueString=\"7\""), as: "1")
    #expect(try problems().isEmpty)
  }

  @Test func `a released version that is gone is told`() throws {
    try locked()
    try FileManager.default.removeItem(at: given.version("1"))
    #expect(try problems().map(\.kind) == [.deleted])
  }

  @Test func `a renamed version is told once, and breaks nothing`() async throws {
    try locked()
    try FileManager.default.moveItem(at: given.version("1"), to: given.version("One"))
    let found = try problems()
    #expect(found.map(\.kind) == [.renamed])
    #expect(found[0].version == "1" && found[0].others == ["One"])
    let report = try await VersionLock.report(on: bundle, .file(file))
    #expect(!report.isBroken && report.new.isEmpty)
    #expect(try VersionLock.lock(bundle, in: file).notes.isEmpty)
    #expect(try problems().isEmpty)
  }

  @Test func `renaming identifiers are locked, and those that go are told`() throws {
    let identifier = "\"Integer 16\" elementID=\"length\""
    let renamed = Model.note.replacing("\"Integer 16\"", with: identifier)
    try given.write(renamed, as: "1")
    try locked()
    try given.write(Model.note, as: "1")
    let found = try problems()
    #expect(found.map(\.kind) == [.renamingIdentifier])
    #expect(found[0].edits == ["Note.pages had the renaming identifier length and has none"])
    #expect(throws: MigrationFailure.self) { try locked() }
    try given.write(renamed.replacing("<entity", with: "<entity elementID=\"Memo\""), as: "1")
    #expect(try problems().isEmpty)
    // A lock without them is compared by hashes alone.
    let text = try String(contentsOfFile: file.string, encoding: .utf8)
    try text.replacing("renamingIdentifiers", with: "other").write(
      toFile: file.string, atomically: true, encoding: .utf8)
    try given.write(Model.note, as: "1")
    #expect(try problems().isEmpty)
  }

  @Test func `a current version that is not named or does not exist is told`() throws {
    try locked()
    try given.makeCurrent("7")
    #expect(try problems().map(\.kind) == [.noCurrent])
    #expect(try problems()[0].sentence.hasPrefix("7 is named as the current version"))
    try FileManager.default.removeItem(at: given.model.appending(path: ".xccurrentversion"))
    #expect(try problems().map(\.kind) == [.noCurrent])
    #expect(try problems()[0].version == "")
  }

  @Test func `a new version is no problem if it is current and another one`() throws {
    try locked()
    try given.write(Model.longNote + Model.tag, as: "3")
    try given.makeCurrent("3")
    #expect(try problems().isEmpty)
    #expect(try VersionLock.lock(bundle, in: file).sentence.hasSuffix("3 is current; new: 3."))
  }

  @Test func `new versions that no store would get to are told`() throws {
    try locked()
    try given.write(Model.longNote + Model.tag, as: "3")
    #expect(try problems().map(\.kind) == [.notCurrent])
    try given.write(Model.longNote, as: "4")
    try given.makeCurrent("4")
    let found = try problems()
    #expect(found.map(\.kind) == [.alike, .severalNew])
    #expect(found[0].version == "4" && found[0].others == ["2"])
    #expect(found[1].version == "3" && found[1].others == ["4"])
  }

  @Test func `a current version that was turned back is told, and one that moved on is not`() throws
  {
    try locked()
    try given.makeCurrent("1")
    let found = try problems()
    #expect(found.map(\.kind) == [.turnedBack])
    #expect(found[0].version == "1" && found[0].others == ["2"])
    try FileManager.default.removeItem(atPath: file.string)
    try locked()
    try given.makeCurrent("2")
    #expect(try problems().isEmpty)
  }

  @Test func `a lock changes for an edited version only where that is accepted`() throws {
    try locked()
    let before = try Data(contentsOf: URL(filePath: file.string))
    try given.write(Model.noteWithoutPages, as: "1")
    let error = #expect(throws: MigrationFailure.self) { try locked() }
    #expect(error?.exitStatus == .impossible)
    #expect(error?.description.contains("Note.pages is gone") == true)
    #expect(try Data(contentsOf: URL(filePath: file.string)) == before)
    #expect(throws: MigrationFailure.self) {
      try VersionLock.lock(bundle, in: file, accepting: ["7"])
    }
    try VersionLock.lock(bundle, in: file, accepting: ["1"])
    #expect(try problems().isEmpty)
  }

  @Test func `nothing but a lock is overwritten or read as one`() throws {
    for text in ["{}", "[1", "{\"format\": \"godwit versions\", \"version\": 2, \"versions\": []}"]
    {
      try Data(text.utf8).write(to: URL(filePath: file.string))
      #expect(throws: MigrationFailure.self) { try VersionLock(contentsOf: file) }
      let error = #expect(throws: MigrationFailure.self) { try locked() }
      #expect(error?.exitStatus == .cannotCreate)
      #expect(try String(contentsOfFile: file.string, encoding: .utf8) == text)
    }
    #expect(throws: MigrationFailure.self) {
      try VersionLock.lock(bundle, in: FilePath(given.store.path))
    }
    #expect(throws: MigrationFailure.self) { try VersionLock(contentsOf: "/none.versions.json") }
    let folder = FilePath(given.folder.path)
    #expect(throws: MigrationFailure.self) { try VersionLock.lock(bundle, in: folder) }
    let (pipe, link) = (folder.appending("pipe"), folder.appending("link"))
    #expect(mkfifo(pipe.string, 0o600) == 0)
    #expect(throws: MigrationFailure.self) { try VersionLock(contentsOf: pipe) }
    try FileManager.default.createSymbolicLink(
      atPath: link.string, withDestinationPath: "/none/of/these")
    #expect(throws: MigrationFailure.self) { try VersionLock.lock(bundle, in: link) }
    let error = #expect(throws: MigrationFailure.self) {
      try VersionLock.lock(bundle, in: folder.appending("none/lock.json"))
    }
    #expect(error?.description.hasPrefix("the folder of ") == true)
  }

  private func git(_ words: String...) throws {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments =
      ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", given.folder.path]
      + words
    process.standardOutput = FileHandle.nullDevice
    process.standardError = FileHandle.nullDevice
    try process.run()
    process.waitUntilExit()
    try #require(process.terminationStatus == 0)
  }

  @Test func `without a file a revision of Git is the lock`() async throws {
    try git("init", "-q")
    try git("add", "Notes.xcdatamodeld")
    try git("commit", "-q", "-m", "1.0")
    try git("tag", "v1.0")
    let sound = try await VersionLock.report(on: bundle, .revision("v1.0"))
    #expect(sound.problems.isEmpty && sound.released == ["1", "2"])
    try given.write(Model.noteWithoutPages, as: "1")
    let found = try await VersionLock.report(on: bundle, .revision("v1.0"))
    #expect(found.problems.map(\.kind) == [.edited])
    // One version of the bundle is compared as the bundle is.
    let one = try await VersionLock.report(
      on: bundle.appending("1.xcdatamodel"), .revision("HEAD"))
    #expect(one.released == ["1", "2"])
    let link = FilePath(given.folder.path).appending("Linked.xcdatamodeld")
    try FileManager.default.createSymbolicLink(
      atPath: link.string, withDestinationPath: bundle.string)
    #expect(try await VersionLock.report(on: link, .revision("HEAD")).released == ["1", "2"])
    for revision in ["v2.0", "--upload-pack=x", "HEAD:other"] {
      await #expect(throws: MigrationFailure.self) {
        try await VersionLock.report(on: bundle, .revision(revision))
      }
    }
    try git("rm", "-q", "-r", "--cached", "Notes.xcdatamodeld")
    try git("commit", "-q", "-m", "2.0")
    let error = await #expect(throws: MigrationFailure.self) {
      try await VersionLock.report(on: bundle, .revision("HEAD"))
    }
    #expect(error?.description.contains("is not in HEAD") == true)
    // A clone of CI has the last commit alone.
    try Data("0\n".utf8).write(to: given.folder.appending(path: ".git/shallow"))
    let shallow = await #expect(throws: MigrationFailure.self) {
      try await VersionLock.report(on: bundle, .revision("v0.9"))
    }
    #expect(shallow?.description.contains("--unshallow") == true)
  }

  @Test func `a store whose version is in no model is told with the nearest one`() async throws {
    let released = try VersionLock(of: bundle)
    try given.write(
      Model.entity(
        "Note", Model.attribute("title", "String") + Model.attribute("length", "Integer 16")),
      as: "1")
    let preparation = try await given.migration().prepare()
    let note = preparation.notes.first { $0.hasPrefix("No version of") }
    #expect(
      note?.contains("The nearest is 1, in which Note.pages became length.") == true,
      "\(preparation.notes)")
    try released.write(to: file)
    let notes = try await given.migration().prepare().notes
    #expect(notes[0].contains("It was released as 1, in which Note.pages became length."))
    try given.write(Model.note, as: "1")
    #expect(try await given.migration().prepare().notes.isEmpty)
  }
}
