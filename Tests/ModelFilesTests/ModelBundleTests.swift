import Foundation
import ModelFiles
import ObjectModel
import SystemPackage
import TestSupport
import Testing

@Suite(.scratchFolder) struct ModelBundleTests {
  static let document = "<model><entity name=\"E\"/></model>"

  static func write(_ text: String, to path: FilePath) throws {
    try FileManager.default.createDirectory(
      atPath: path.removingLastComponent().string, withIntermediateDirectories: true)
    try Data(text.utf8).write(to: URL(filePath: path.string))
  }

  static func sources(_ names: [String], current: String?) throws -> FilePath {
    let bundle = ScratchFolder.current.appending("M.xcdatamodeld")
    for name in names {
      try write(document, to: bundle.appending("\(name).xcdatamodel").appending("contents"))
    }
    if let current {
      try write(
        """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" \
        "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0"><dict><key>_XCCurrentVersionName</key>
        <string>\(current).xcdatamodel</string></dict></plist>
        """, to: bundle.appending(".xccurrentversion"))
    }
    return bundle
  }

  @Test func `versions come in the order of their numbers`() throws {
    let path = try Self.sources(["M 10", "M", "M 2"], current: "M 2")
    let bundle = try ModelBundle(path)
    #expect(bundle.versions.map(\.name) == ["M", "M 2", "M 10"])
    #expect(try bundle.current().name == "M 2")
    #expect(try bundle.version(named: "M 10.xcdatamodel").model().entities.map(\.name) == ["E"])
  }

  @Test func `a single version without a version file is current`() throws {
    let bundle = try ModelBundle(try Self.sources(["Only"], current: nil))
    #expect(try bundle.current().name == "Only")
  }

  @Test func `several versions without a version file have no current one`() throws {
    let bundle = try ModelBundle(try Self.sources(["A", "B"], current: nil))
    #expect { try bundle.current() } throws: {
      ($0 as? ModelFileError)?.problem == .noCurrentVersion
    }
  }

  @Test func `a current version that is missing is named`() throws {
    let bundle = try ModelBundle(try Self.sources(["A", "B"], current: "C"))
    #expect { try bundle.current() } throws: {
      ($0 as? ModelFileError)?.problem == .currentVersionMissing("C")
    }
  }

  @Test func `a version that is asked for and missing is told with those there are`() throws {
    let bundle = try ModelBundle(try Self.sources(["A", "B"], current: "A"))
    #expect { try bundle.version(named: "Z") } throws: {
      ($0 as? ModelFileError)?.problem == .versionMissing("Z", available: ["A", "B"])
    }
  }

  @Test func `an application folder with one model opens it`() throws {
    let folder = ScratchFolder.current.appending("Shop.app")
    let version = folder.appending("Frameworks/Data.framework/Shop.xcdatamodel")
    try Self.write(Self.document, to: version.appending("contents"))
    #expect(try ModelBundle(folder).current().path == version)
    try Self.write(Self.document, to: folder.appending("Other.xcdatamodel/contents"))
    #expect { try ModelBundle(folder) } throws: {
      if case .severalModels(let found)? = ($0 as? ModelFileError)?.problem {
        found.count == 2
      } else {
        false
      }
    }
  }

  @Test func `what is missing, empty, old or damaged is told apart`() throws {
    let folder = ScratchFolder.current
    func problem(_ path: FilePath) -> ModelFileError.Problem? {
      do {
        _ = try ModelBundle(path).current().model()
        return nil
      } catch {
        return error.problem
      }
    }
    #expect(problem(folder.appending("nowhere.momd")) == .notFound)
    #expect(problem(folder) == .noModel)
    try Self.write("", to: folder.appending("Old.xcdatamodel/elements"))
    #expect(problem(folder.appending("Old.xcdatamodel")) == .modelBeforeXcode4)
    let pipe = folder.appending("Pipe.mom")
    #expect(mkfifo(pipe.string, 0o600) == 0)
    #expect(problem(pipe) == .specialFile)
    try Self.write("text", to: folder.appending("Bad.mom"))
    if case .damagedArchive? = problem(folder.appending("Bad.mom")) {
    } else {
      Issue.record("a damaged file is damaged")
    }
  }

  @Test func `a version file in OpenStep text is read`() throws {
    let bundle = ScratchFolder.current.appending("M.momd")
    for name in ["A", "B"] { try Self.write("", to: bundle.appending("\(name).mom")) }
    try Self.write(
      """
      { "NSManagedObjectModel_CurrentVersionName" = "B";
        NSManagedObjectModel_VersionHashes = { A = { E = <0011>; }; }; }
      """, to: bundle.appending("VersionInfo.plist"))
    #expect(try ModelBundle(bundle).current().name == "B")
  }

  @Test(
    .needsCorpus,
    arguments: zip(
      [
        "wire/zmessaging.xcdatamodeld", "samplemodel/SampleModel.xcdatamodeld",
        "samplemodel/Fixtures/SampleModel.momd", "derived/Model.momd",
        "mappings/openemu/OEDatabase.xcdatamodeld", "compiled/fetchRequest.mom",
      ], [90, 3, 3, 2, 9, 1]))
  func `a real bundle has its versions and a current one`(name: String, count: Int) throws {
    let bundle = try ModelBundle(Corpus.path(name))
    #expect(bundle.versions.count == count)
    #expect(try bundle.current().model().entities.isEmpty == false)
  }
}

@Suite struct ModelMergingTests {
  static func model(_ names: [String], attribute: String? = nil) throws -> ManagedObjectModel {
    try ManagedObjectModel(
      entities: names.map { name in
        var entity = Entity(name)
        entity.attributes = attribute.map { [Attribute(name: $0, type: .string)] } ?? []
        return entity
      })
  }

  @Test func `an entity that two models define alike counts once`() throws {
    let merged = try ManagedObjectModel.merged([Self.model(["A", "B"]), Self.model(["B", "C"])])
    #expect(merged.entities.map(\.name) == ["A", "B", "C"])
  }

  @Test func `an entity that two models define differently is an error`() throws {
    let models = [try Self.model(["A"]), try Self.model(["A"], attribute: "x")]
    #expect { try ManagedObjectModel.merged(models) } throws: {
      let error = $0 as? ModelFileError
      return error?.problem == .conflictingEntity && error?.entity == "A"
    }
  }

  @Test func `a configuration keeps what its entities need`() throws {
    var child = Entity("Child")
    child.superentityName = "Parent"
    child.relationships = [Relationship(name: "other", to: "Other")]
    var model = try ManagedObjectModel(
      entities: [child, Entity("Parent"), Entity("Other"), Entity("Unrelated")])
    model.configurations = ["Local": ["Child"]]
    let local = try model.restricted(toConfiguration: "Local")
    #expect(local.entities.map(\.name) == ["Child", "Other", "Parent"])
    #expect(try model.versionHashes(configuration: "Local").keys.sorted() == ["Child"])
    #expect(throws: ModelFileError.self) { try model.restricted(toConfiguration: "Cloud") }
  }
}
