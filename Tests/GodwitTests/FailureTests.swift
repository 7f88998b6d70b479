import Foundation
import Godwit
import MappingFiles
import ModelFiles
import ObjectModel
import SystemPackage
import Testing

@Suite struct FailureTests {
  /// Expects the domain, the code and the text that Core Data's error would have.
  private func expect(
    _ error: any Error, code: Int, _ part: String, at location: SourceLocation = #_sourceLocation
  ) {
    let error = error as NSError
    #expect(error.domain == NSCocoaErrorDomain, sourceLocation: location)
    #expect(error.code == code, sourceLocation: location)
    #expect(error.localizedDescription.contains(part), sourceLocation: location)
  }

  @Test func `a store of another app has the code of incompatible hashes`() async throws {
    let given = try GivenStore(Model.note, Model.tag)
    let failure = try await given.failure(of: given.migration())
    #expect(failure.kind == .modelsUnrelated)
    expect(failure, code: 134100, "has no entity in common")
  }

  @Test func `a table that cannot be made has the sentence of a refused step`() {
    let attributes = (0..<2_000).map {
      "<attribute name=\"a\($0)\" optional=\"YES\" attributeType=\"Integer 64\"/>"
    }
    let failure = #expect(throws: MigrationFailure.self) {
      try GivenStore("<entity name=\"Wide\">\(attributes.joined())</entity>")
    }
    let sentence = """
      Wide: with its subentities it needs a table of 2,003 columns, and SQLite allows 2,000; move \
      attributes to another entity. [134190]
      """
    #expect(failure?.sentences == [sentence])
  }

  @Test func `a hash that is not known has a sentence, wherever it is met`() {
    let text = """
      the version hash of Note.loud is not known, because no real store shows how Core Data hashes \
      it (the derivation uppercase:(title)).
      """
    let error = UnknownVersionHash(
      entity: "Note", property: "loud", reason: .derivation("uppercase:(title)"))
    #expect(MigrationFailure(error).sentences == [text])
    let loud = Model.attribute(
      "loud", "String",
      "optional=\"YES\" derived=\"YES\" derivationExpression=\"uppercase:(title)\"")
    let failure = #expect(throws: MigrationFailure.self) {
      try GivenStore(Model.entity("Note", Model.attribute("title", "String") + loud))
    }
    #expect(failure?.sentences == [text] && failure?.exitStatus == .impossible)
  }

  @Test func `a store without its model has the code of a missing source model`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    let other = try GivenStore(Model.note + Model.tag, Model.longNote)
    // What the store carries would do; no version of the other bundle has its hashes.
    try FileManager.default.removeItem(at: given.store)
    try other.makeStore(of: "1", objects: 5, at: given.store)
    #expect(try removeModelCache(of: given.store))
    let failure = try await given.failure(of: given.migration())
    #expect(failure.kind == .sourceModelMissing && failure.file == FilePath(given.store.path))
    expect(failure, code: 134130, "with models")
  }

  @Test func `types that cannot be converted have the code of a missing mapping`() async throws {
    let binary = Model.entity("Note", Model.attribute("title", "Binary"))
    let given = try GivenStore(Model.noteWithoutPages, binary)
    let failure = try await given.failure(of: given.migration())
    let error = failure as NSError
    #expect([134140, 134190].contains(error.code))
    #expect(error.userInfo["entity"] as? String == "Note")
    #expect(error.userInfo["property"] as? String == "title")
    #expect((error.userInfo["reason"] as? String)?.contains("incompatible") == true)
    #expect(failure.failureReason?.contains("[134190]") == true)
  }

  @Test func `duplicates have the code of a violated constraint`() async throws {
    let unique = """
      <uniquenessConstraints><uniquenessConstraint><constraint value="flag"/>
      </uniquenessConstraint></uniquenessConstraints>
      """
    let flag = Model.attribute("flag", "Boolean")
    let given = try GivenStore(
      Model.entity("Note", flag), Model.entity("Note", flag + unique))
    let failure = try await given.failure(of: given.migration())
    expect(failure, code: 134111, "uniqueness constraint")
    #expect(failure.reasons.map(\.cause) == [.notUnique(properties: ["flag"])])
    #expect(failure.reasons.first?.keys.isEmpty == false)
  }

  @Test func `several reasons are errors of their own`() async throws {
    let more = ["one", "two"].map { Model.attribute($0, "String", "") }.joined()
    let given = try GivenStore(
      Model.noteWithoutPages,
      Model.entity("Note", Model.attribute("title", "String") + more))
    let failure = try await given.failure(of: given.migration())
    expect(failure, code: 1570, "for 2 reasons")
    let details = try #require((failure as NSError).userInfo["NSDetailedErrors"] as? [NSError])
    #expect(details.map(\.code) == [1570, 1570])
    #expect(details.compactMap { $0.userInfo["property"] as? String } == ["one", "two"])
  }

  @Test func `a loss among other reasons is told once, by its sentence`() async throws {
    let must = Model.attribute("must", "String", "")
    let given = try GivenStore(
      Model.entity("Note", Model.attribute("number", "Double")),
      Model.entity("Note", Model.attribute("number", "Integer 64") + must))
    let failure = try await given.failure(of: given.migration())
    #expect(failure.reasons.map(\.cause.name).contains("loss"))
    #expect(failure.reasons.count > 1)
    let told = failure.sentences.dropFirst().prefix(failure.reasons.count)
    #expect(told.elementsEqual(failure.reasons.map(\.description)))
    let page = given.folder.appending(path: "report.html")
    try MigrationReportFile(FilePath(page.path), of: given.migration()).write(failure)
    let text = try String(contentsOf: page, encoding: .utf8)
    let loss = try #require(failure.reasons.last?.description).replacing("\"", with: "&quot;")
    #expect(text.components(separatedBy: loss).count == 2)
  }

  @Test(arguments: [Errno.permissionDenied, .notPermitted, .ioError])
  func `a model that nobody may read is no missing file`(errno: Errno) {
    let isForbidden = errno != .ioError
    let unread = ModelFileError(.unreadable(errno), file: "Shop.mom")
    for error in [unread, MappingFileError(unread)] as [any Error] {
      let failure = MigrationFailure(error)
      #expect(failure.exitStatus == (isForbidden ? .cannotCreate : .cannotWrite))
      #expect(failure.description.contains("permissions") == isForbidden)
    }
  }

  @Test func `files have the codes of Foundation`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    var migration = given.migration()
    migration.store = FilePath("\(given.folder.path)/None.sqlite")
    let missing = try await given.failure(of: migration)
    #expect(missing.kind == .fileNotFound)
    expect(missing, code: 260, "does not exist")
    try Data("a text".utf8).write(to: given.output)
    let taken = try await given.failure(of: given.migration())
    #expect(taken.kind == .fileExists && taken.file == FilePath(given.output.path))
    expect(taken, code: 516, "already exists")
    #expect((taken as NSError).userInfo[NSFilePathErrorKey] as? String == given.output.path)
    let text = #expect(throws: MigrationFailure.self) { try StoreInspection(of: given.output) }
    expect(try #require(text), code: 259, "text file")
  }

  @Test func `a URL of the net is a path that nobody has`() throws {
    let address = try #require(URL(string: "https://example.org/Shop.sqlite"))
    let failure = #expect(throws: MigrationFailure.self) { try StoreInspection(of: address) }
    expect(try #require(failure), code: 260, "example.org/Shop.sqlite does not exist")
  }

  @Test func `a policy that nobody registered has the code of policies`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    let mapping = given.folder.appending(path: "Own.json")
    try Data(
      """
      {"format": "godwit mapping model", "version": 1, "mappings": [{"name": "Notes",
      "source": "Note", "destination": "Note", "policy": "Nobody", "attributes": {}}]}
      """.utf8
    ).write(to: mapping)
    var migration = given.migration()
    migration.routing.mappings = [FilePath(mapping.path)]
    migration.choices.allowedLoss = .anything
    let failure = try await given.failure(of: migration)
    #expect(failure.kind == .policyFailed)
    expect(failure, code: 134170, "Nobody")
  }

  @Test func `a mapping model that nobody can read is noted in words`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    let folder = given.folder.appending(path: "Mappings")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let file = folder.appending(path: "Odd.json")
    try Data("{\"format\": \"godwit mapping model\", \"version\": 1, \"mapings\": []}".utf8)
      .write(to: file)
    let sound = given.folder.appending(path: "Sound.json")
    try Data(
      """
      {"format": "godwit mapping model", "version": 1, "mappings": [{"name": "Notes",
      "source": "Note", "destination": "Note", "type": "copy"}]}
      """.utf8
    ).write(to: sound)
    var migration = given.migration()
    migration.routing.mappings = [FilePath(sound.path)]
    migration.routing.mappingFolders = [FilePath(folder.path)]
    let notes = try await migration.run().notes
    #expect(
      notes.contains {
        $0.hasSuffix("Odd.json: the file lacks mappings; check the file.")
          && $0.contains("was not used: it cannot be read: ")
      }, "\(notes)")
  }

  @Test func `an interruption and an unknown error are failures as well`() {
    struct Odd: Error {}
    expect(MigrationFailure(CancellationError()), code: 134120, "interrupted")
    #expect(MigrationFailure(CancellationError()).exitStatus == .interrupted)
    #expect(MigrationFailure(Odd()).kind == .fault)
    expect(MigrationFailure(Odd()), code: 134110, "please report it")
  }

  /// Makes a store that does not carry its model, by the tool of SQLite that Python brings.
  private func removeModelCache(of store: URL) throws -> Bool {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [
      "python3", "-c",
      "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('delete from Z_MODELCACHE');"
        + "c.commit()", store.path,
    ]
    try process.run()
    process.waitUntilExit()
    return process.terminationStatus == 0
  }
}
