import Foundation
import Godwit
import SystemPackage
import Testing

@Suite struct StoreFileTests {
  @Test func `a sample store is the same for the same seed and another for another`() throws {
    let given = try GivenStore(Model.note)
    let (same, other) = (
      given.folder.appending(path: "Same.sqlite"), given.folder.appending(path: "Other.sqlite")
    )
    try given.makeStore(of: "1", objects: 60, at: same)
    try given.makeStore(of: "1", objects: 60, at: other, seed: 2)
    #expect(try Data(contentsOf: same) == Data(contentsOf: given.store))
    #expect(try Data(contentsOf: other) != Data(contentsOf: given.store))
    var sample = SampleStore(of: given.model, objects: 3)
    sample.journalMode = .wal
    let report = try sample.write(to: given.output)
    #expect(report.version == "1" && report.objects == ["Note": 3] && report.notes == [])
    #expect(try StoreInspection(of: given.output).journalMode == "wal")
    let failure = #expect(throws: MigrationFailure.self) { try sample.write(to: given.output) }
    #expect(failure?.kind == .fileExists || failure?.kind == .noPermission)
  }

  @Test func `an inspection tells what a store and a model hold`() throws {
    let given = try GivenStore(Model.note + Model.tag, Model.longNote)
    let store = try StoreInspection(of: given.store, models: [given.model])
    #expect(store.entities.map(\.name) == ["Note", "Tag"] && store.model.found)
    #expect(store.model.identifiers == ["1"] && !store.hasHistory && store.extraTables == [])
    #expect(store.summary.contains("1  Note  30 rows"))
    let model = try ModelInspection(of: given.model)
    #expect(model.versions.map(\.name).sorted() == ["1", "2"])
    let current = try #require(model.versions.first { $0.isCurrent })
    #expect(current.name == "2" && current.entities.map(\.name) == ["Note"])
    let old = try #require(model.versions.first { !$0.isCurrent })
    let hashes = old.entities.map { ($0.name, $0.versionHash) }
    #expect(hashes.allSatisfy { store.model.hashes[$0.0] == $0.1 })
    #expect(ModelInspection.isModel("Any.mom") && !ModelInspection.isModel("Any.sqlite"))
  }

  @Test func `a verification finds a result right and another store wrong`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    try await given.migration().run()
    let right = try await StoreVerification(of: given.output, madeFrom: given.store).run()
    #expect(right.isAlike && right.differences == [] && right.rows == 60)
    #expect(right.route.map(\.to) == [["2"]] || right.route.count == 1)
    // The contrary: the same objects with other values.
    let other = given.folder.appending(path: "Other.sqlite")
    try given.makeStore(of: "2", objects: 60, at: other, seed: 9)
    var verification = StoreVerification(of: other, madeFrom: given.store)
    verification.limit = 3
    verification.routing.infersOnly = true
    let wrong = try await verification.run()
    #expect(!wrong.isAlike && wrong.differences.count == 3)
    #expect(wrong.counts["value", default: 0] > 3)
    #expect(wrong.failure.kind == .storesDiffer && wrong.failure.exitStatus == .damaged)
    #expect(wrong.lines.contains { $0.contains("more") })
  }

  @Test func `a verification of what is not there has the code of a missing file`() async throws {
    let given = try GivenStore(Model.note)
    let error = await #expect(throws: MigrationFailure.self) {
      try await StoreVerification(of: given.output, madeFrom: given.store).run()
    }
    #expect((try #require(error) as NSError).code == 260)
  }

  @Test func `a mapping model is inferred, written, read and migrated by`() async throws {
    let given = try GivenStore(Model.note + Model.tag, Model.longNote + Model.tag)
    let inferred = try MappingModelFile(
      inferredFrom: given.version("1"), to: given.version("2"))
    #expect(inferred.path == nil && inferred.refusals.isEmpty)
    let file = given.folder.appending(path: "Own.json")
    try inferred.write(to: file)
    let read = try MappingModelFile(contentsOf: file)
    #expect(try read.text() == inferred.text())
    #expect(read.entityMappings.compactMap(\.destinationEntityName) == ["Note", "Tag"])
    #expect(!read.embedsModel(.source) && read.modelPath(.source) == nil)
    let (from, to) = (given.version("1").path, given.version("2").path)
    try read.requireFit(FilePath(from), as: .source)
    let parts = try read.split(from: FilePath(from), to: FilePath(to))
    #expect(parts.files.count == 2)
    let report = try MappingModelFile.check(parts.files, from: FilePath(from), to: FilePath(to))
    #expect(report.leftOut == [])
    var migration = given.migration()
    migration.routing.mappings = [FilePath(file.path)]
    #expect(try await migration.run().steps.map(\.mappings) == [[FilePath(file.path)]])
  }

  @Test func `an inferred mapping to an entity that became abstract is open and refused`() throws {
    func animals(_ more: String) -> String {
      "<entity name=\"Animal\"\(more)>\(Model.attribute("name", "String"))</entity>"
        + "<entity name=\"Cat\" parentEntity=\"Animal\"/>"
    }
    let given = try GivenStore(animals(""), animals(" isAbstract=\"YES\""))
    let inferred = try MappingModelFile(inferredFrom: given.version("1"), to: given.version("2"))
    #expect(
      inferred.openValues == [
        "IEM_Transform_Animal: the destination entity Animal is abstract, and objects need a "
          + "concrete one: name a concrete entity, or remove the mapping."
      ])
    let refused = #expect(throws: MigrationFailure.self) {
      try MappingModelFile.check(
        [inferred], from: FilePath(given.version("1").path), to: FilePath(given.version("2").path))
    }
    #expect(refused?.sentences.dropFirst().map { $0 } == inferred.openValues)
  }

  @Test func `a mapping model takes no other file's place and fits no other model`() throws {
    let given = try GivenStore(Model.note, Model.longNote)
    let inferred = try MappingModelFile(
      inferredFrom: given.version("1"), to: given.version("2"))
    let before = try Data(contentsOf: given.store)
    let taken = #expect(throws: MigrationFailure.self) { try inferred.write(to: given.store) }
    #expect(taken?.kind == .fileExists)
    #expect(try Data(contentsOf: given.store) == before)
    let unfit = #expect(throws: MigrationFailure.self) {
      try inferred.requireFit(FilePath(given.version("2").path), as: .source)
    }
    #expect(unfit?.kind == .mappingModelUnusable)
    let related = #expect(throws: MigrationFailure.self) {
      try inferred.split(
        from: FilePath(given.version("1").path), to: FilePath(given.version("2").path))
    }
    #expect(related?.sentences.first?.contains("cannot be split") == true)
  }

  @Test func `a report file takes no other file's place`() async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    let migration = given.migration()
    let taken = #expect(throws: MigrationFailure.self) {
      try MigrationReportFile(given.store, of: migration)
    }
    #expect(taken?.exitStatus == .usage)
    let path = given.folder.appending(path: "report.json")
    let file = try MigrationReportFile(path, of: migration)
    try file.write(try await migration.run())
    let written = try JSONSerialization.jsonObject(with: Data(contentsOf: path))
    #expect((written as? [String: Any])?["outcome"] as? String == "migrated")
  }

  @Test(arguments: ["same", "link", "hard link", "linked folder"])
  func `a report is no other file of its migration, by whatever path`(way: String) throws {
    let given = try GivenStore(Model.note, Model.longNote)
    var migration = given.migration()
    let (hold, files) = (given.folder.appending(path: "hold"), FileManager.default)
    try Data().write(to: hold)
    migration.pauseFile = FilePath(hold.path)
    for (number, file) in [given.store, hold, given.output].enumerated() {
      var path = given.folder.appending(path: "report-\(number)")
      switch way {
      case "link" where file != given.output:
        try files.createSymbolicLink(at: path, withDestinationURL: file)
      case "hard link" where file != given.output: try files.linkItem(at: file, to: path)
      case "linked folder":
        try files.createSymbolicLink(at: path, withDestinationURL: given.folder)
        path.append(path: file.lastPathComponent)
      default: path = file
      }
      let refused = #expect(throws: MigrationFailure.self) {
        try MigrationReportFile(path, of: migration)
      }
      #expect(refused?.exitStatus == .usage)
      #expect(refused?.description.contains("is both the") == true)
      #expect(throws: MigrationFailure.self) {
        try MigrationReceiptFiles([FilePath(path.path)], of: migration)
      }
    }
  }

  @Test(arguments: ["report.json", "report.html"], [true, false])
  func `a repeated command keeps the report of the run that made the result`(
    name: String, isInPlace: Bool
  ) async throws {
    let given = try GivenStore(Model.note, Model.longNote)
    var migration = given.migration()
    if isInPlace { migration.output = nil }
    migration.handover.keepsRecord = true
    let path = given.folder.appending(path: name)
    func run() async throws -> String? {
      let file = try MigrationReportFile(path, of: migration)
      return try file.write(try await migration.run())
    }
    #expect(try await run() == nil)
    let account = try Data(contentsOf: path)
    #expect(try await run()?.hasSuffix("and stays.") == true)
    #expect(try Data(contentsOf: path) == account)
    // A report of another run, or from before the result was changed, is none of this result.
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: path.path)
    #expect(try await run() == nil)
    #expect(try Data(contentsOf: path) != account)
    let other = given.folder.appending(path: "other.\(path.pathExtension)")
    #expect(try MigrationReportFile(other, of: migration).write(try await migration.run()) == nil)
  }
}
