import Foundation
import Godwit
import SystemPackage
import Testing

/// Where the model of a store comes from, and what models without much in them lead to.
@Suite struct ModelPlacesTests {
  private static func write(_ entities: String, to bundle: URL, version: String) throws {
    let folder = bundle.appending(path: "\(version).xcdatamodel")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try "<model type=\"com.apple.IDECoreDataModeler.DataModel\">\(entities)</model>".write(
      to: folder.appending(path: "contents"), atomically: true, encoding: .utf8)
    try PropertyListSerialization.data(
      fromPropertyList: ["_XCCurrentVersionName": "\(version).xcdatamodel"], format: .xml,
      options: 0
    ).write(to: bundle.appending(path: ".xccurrentversion"))
  }

  private static let person = Model.entity("Person", Model.attribute("first", "String"))
  private static let newPerson = Model.entity(
    "Person", Model.attribute("first", "String") + Model.attribute("last", "String"))
  private static let animal = Model.entity("Animal", Model.attribute("kind", "String"))

  /// A store of the model merged from `People` and `Animals`, without its model cache, and the two
  /// bundles, of which the first has a later version.
  private func merged() throws -> (store: URL, bundles: [FilePath], folder: URL) {
    let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-\(UUID())")
    let (people, animals) = (
      folder.appending(path: "People.xcdatamodeld"), folder.appending(path: "Animals.xcdatamodeld")
    )
    let both = folder.appending(path: "Both.xcdatamodeld")
    try Self.write(Self.person + Self.animal, to: both, version: "Both")
    try Self.write(Self.person, to: people, version: "People")
    try Self.write(Self.newPerson, to: people, version: "People 2")
    try Self.write(Self.animal, to: animals, version: "Animals")
    let store = folder.appending(path: "Store.sqlite")
    try SampleStore(of: both, objects: 8).write(to: store)
    try FileManager.default.removeItem(at: both)
    let tool = Process()
    tool.executableURL = URL(filePath: "/usr/bin/env")
    tool.arguments = [
      "python3", "-c",
      "import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); "
        + "d.execute('drop table Z_MODELCACHE'); d.commit()",
      store.path,
    ]
    try tool.run()
    tool.waitUntilExit()
    #expect(tool.terminationStatus == 0)
    return (store, [FilePath(people.path), FilePath(animals.path)], folder)
  }

  @Test func `a store of merged models is found among the versions of the bundles`() async throws {
    let (store, bundles, folder) = try merged()
    defer { try? FileManager.default.removeItem(at: folder) }
    var migration = StoreMigration(store: FilePath(store.path), toMerged: bundles)
    migration.namesVersions = true
    migration.output = FilePath(folder.appending(path: "New.sqlite").path)
    migration.resources.executable = FilePath(GivenStore.tool.path)
    let found = try await migration.prepare()
    #expect(found.isPossible)
    #expect((found.from, found.to) == (["People + Animals"], ["People 2 + Animals"]))
    #expect(try await migration.run().rows == 8)
    #expect(
      try StoreInspection(of: FilePath(store.path), models: bundles).model.version
        == "People + Animals")
  }

  @Test func `a store is a place for models, and so is a folder of stores`() throws {
    let given = try GivenStore(Model.note, Model.longNote)
    let folder = given.folder.appending(path: "stores/deep")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try given.makeStore(of: "1", objects: 1, at: folder.appending(path: "other.sqlite"))
    for place in [folder.appending(path: "other.sqlite"), given.folder.appending(path: "stores")] {
      let found = try StoreInspection(
        of: FilePath(given.store.path), models: [FilePath(place.path)])
      #expect(found.model.found)
    }
    #expect(throws: MigrationFailure.self) {
      _ = try StoreInspection(
        of: FilePath(given.store.path), models: [FilePath(given.folder.path + "/none")])
    }
  }

  @Test func `a model without entities, and one with a missing parent, are no trap`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    for (name, entities, words) in [
      ("Empty", "", "has no entities"),
      (
        "Orphan",
        "<entity name=\"A\" parentEntity=\"Q\">\(Model.attribute("x", "String"))</entity>",
        "the superentity Q is not in the model"
      ),
    ] {
      let bundle = folder.appending(path: "\(name).xcdatamodeld")
      try Self.write(entities, to: bundle, version: name)
      let error = #expect(throws: MigrationFailure.self) {
        try SampleStore(of: bundle, objects: 5).write(
          to: folder.appending(path: "\(name).sqlite"))
      }
      #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
      #expect(error?.exitStatus.rawValue == 78)
    }
  }

  @Test func `what cannot be compared of models is named by diff and map`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    for (name, attribute) in [("One", "x"), ("Other", "y")] {
      try Self.write(
        "<entity name=\"A\" parentEntity=\"Q\">\(Model.attribute(attribute, "String"))</entity>",
        to: folder.appending(path: "\(name).xcdatamodeld"), version: name)
    }
    let (one, other) = (
      FilePath("\(folder.path)/One.xcdatamodeld"), FilePath("\(folder.path)/Other.xcdatamodeld")
    )
    let same = try ModelDiff(from: one, to: one)
    #expect(same.lines[0].hasSuffix("are equal, as far as they can be read."))
    #expect(same.lines[1] == "not compared: \(one) at A: the superentity Q is not in the model.")
    let diff = try ModelDiff(from: one, to: other)
    #expect(diff.notCompared.count == 2)
    #expect(diff.lines.suffix(2) == diff.notCompared.map { "not compared: \($0)" })
    #expect(try MappingModelFile(inferredFrom: one, to: other).unreadParts == diff.notCompared)
  }

  @Test func `class names, which a migrated store does not keep, are no differences`() throws {
    let given = try GivenStore(Model.note, Model.longNote)
    let (store, plain) = (FilePath(given.store.path), FilePath(given.version("1").path))
    let named = FilePath("\(given.folder.path)/Named.xcdatamodel")
    let text = try String(contentsOfFile: "\(plain)/contents", encoding: .utf8)
    try FileManager.default.createDirectory(
      atPath: named.string, withIntermediateDirectories: true)
    try text.replacing("<entity ", with: "<entity representedClassName=\"Own\" ")
      .write(toFile: "\(named)/contents", atomically: true, encoding: .utf8)
    #expect(text.contains("<entity "))
    #expect(try ModelDiff(from: store, to: named).isAlike)
    #expect(try ModelDiff(from: named, to: store).isAlike)
    #expect(try !ModelDiff(from: plain, to: named).isAlike)
  }

  @Test func `a mapping model that lies beside the model is named where it is used`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    let file = given.folder.appending(path: "Found.json")
    try MappingModelFile(inferredFrom: given.version("1"), to: given.version("2")).write(to: file)
    let migration = given.migration()
    let planned = try await migration.prepare().mappingNotes
    #expect(planned == ["goes from 1 to 2 by \(file.path)."])
    let check = try await StoreCheck(of: migration).run(
      StoreSearch([FilePath(given.store.path)]).entries)
    #expect(check.first?.notes(settlesDefects: false).contains(planned[0]) == true)
    let notes = try await migration.run().notes
    #expect(notes.contains("migrated from 1 to 2 by \(file.path)."))
  }

  @Test func `what a mapping model lifts is refused with what writes one`() async throws {
    let given = try GivenStore(
      Model.note,
      Model.entity(
        "Note", Model.attribute("title", "Binary") + Model.attribute("pages", "Integer 16")))
    let refusal = try await given.failure(of: given.migration())
    #expect(refusal.sentences.last?.contains("`MappingModelFile`") == true)
  }

  @Test func `a fetched property with the longest name is shown`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "godwit-\(UUID())")
    defer { try? FileManager.default.removeItem(at: folder) }
    let bundle = folder.appending(path: "Wish.xcdatamodeld")
    try Self.write(
      Model.entity(
        "Wish",
        Model.attribute("rank", "Integer 32")
          + "<fetchedProperty name=\"wishesOfEqualRank\" optional=\"YES\">"
          + "<fetchRequest entity=\"Wish\" predicateString=\"rank == 1\"/></fetchedProperty>"),
      to: bundle, version: "Wish")
    let summary = try ModelInspection(of: FilePath(bundle.path)).summary
    #expect(summary.contains("wishesOfEqualRank  fetched property"))
    #expect(summary.contains("rank" + String(repeating: " ", count: 15) + "Integer 32"))
  }
}
