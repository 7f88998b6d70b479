import Expressions
import Foundation
import Mapping
import ModelFiles
import SystemPackage
import TestSupport
import Testing

@testable import MappingFiles

@Suite(.needsCorpus, .scratchFolder) struct MappingDocumentTests {
  private static let example = "wal-example/Migration2to3.xcmappingmodel"

  /// The document with some of its text replaced.
  private func document(
    _ name: String = example, replacing old: String, with new: String
  ) throws -> FilePath {
    let text = String(decoding: try Corpus.bytes("\(name)/xcmapping.xml"), as: UTF8.self)
    #expect(text.contains(old))
    let folder = ScratchFolder.current.appending("Changed.xcmappingmodel")
    try FileManager.default.createDirectory(
      atPath: folder.string, withIntermediateDirectories: true)
    try Data(text.replacingOccurrences(of: old, with: new).utf8)
      .write(to: URL(filePath: folder.appending("xcmapping.xml").string))
    return folder
  }

  @Test func `a filter is decoded from its escapes`() throws {
    let source = "<attribute name=\"sourcename\" type=\"string\">Post</attribute>"
    let filter =
      "<attribute name=\"sourcefilterpredicatestring\" type=\"string\">"
      + "postID \\u3c00 10000 AND content != \\u2200a\\u3dd8\\u00de\\u2200</attribute>"
    let file = try MappingFile.read(document(replacing: source, with: source + filter))
    let post = try #require(file.mapping.mapping(named: "PostToPost"))
    #expect(post.filter == "postID < 10000 AND content != \"a😀\"")
    let text = try MappingText.text(mapping: file.mapping)
    #expect(text.contains(#""filter": "postID < 10000 AND content != \"a😀\"""#))
    #expect(try MappingTextReader.mapping(decoding: Array(text.utf8)) == file.mapping)
  }

  @Test func `a document of another kind is no mapping model`() throws {
    let text = String(
      decoding: try Corpus.bytes("\(Self.example)/xcmapping.xml"), as: UTF8.self)
    let other = text.replacingOccurrences(of: "<database", with: "<databank")
      .replacingOccurrences(of: "</database", with: "</databank")
    let error = #expect(throws: MappingFileError.self) {
      try CoreDataDocument(decoding: Array(other.utf8))
    }
    guard case .notAMappingModel? = error?.problem else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test func `a mapping's own name counts, in expressions too`() throws {
    let source = "<attribute name=\"sourcename\" type=\"string\">Person</attribute>"
    let name = "<attribute name=\"name\" type=\"string\">People</attribute>"
    let file = try MappingFile.read(
      document(
        "samplemodel/MappingModels/V2toV3.xcmappingmodel", replacing: source, with: source + name))
    let car = try #require(file.mapping.mapping(named: "CarToCar"))
    #expect(file.mapping.mapping(named: "People") != nil)
    #expect(
      car.relationshipMappings.first { $0.name == "owner" }?.valueExpression
        == .destinations(ofRelationship: "owner", mapping: "People"))
  }

  @Test func `an expression that is not to be made stays empty`() throws {
    let name = "samplemodel/MappingModels/V2toV3.xcmappingmodel"
    let flag = "<attribute name=\"autogenerateexpression\" type=\"bool\">1</attribute>"
    let file = try MappingFile.read(
      document(name, replacing: flag, with: flag.replacingOccurrences(of: ">1<", with: ">0<")))
    let car = try #require(file.mapping.mapping(named: "CarToCar"))
    #expect(car.relationshipMappings.first { $0.name == "owner" }?.valueExpression == nil)
    #expect(
      car.attributeMappings.first { $0.name == "model" }?.valueExpression == .source(name: "model"))
  }

  @Test func `the named path stands in for an embedded model, and says so`() throws {
    let folder = try document(
      replacing: "name=\"sourcemodeldata\"", with: "name=\"lostdata\"")
    #expect(throws: MappingFileError.self) { try MappingFile.read(folder) }
    let bundle = try #require(
      Corpus.files(endingIn: "CoreDataMigration_Example.xcdatamodeld").first)
    try FileManager.default.copyItem(
      atPath: Corpus.path(bundle).string,
      toPath: ScratchFolder.current.appending("CoreDataMigration_Example.xcdatamodeld").string)
    let file = try MappingFile.read(folder)
    #expect(
      file.source?.origin
        == .namedPath(
          ScratchFolder.current.appending(
            "CoreDataMigration_Example.xcdatamodeld/CoreDataMigration_Example 2.xcdatamodel")))
    #expect(file.destination?.origin == .embedded)
    #expect(file.mapping == (try CorpusMappings.read(Self.example).mapping))
  }

  @Test(arguments: [
    ("idrefs=\"z", "idrefs=\"y"), ("<database>", "<data>"), ("XDDEVMAPPINGMODEL", "OTHER"),
    ("name=\"mappingnumber\" type=\"int16\">", "name=\"mappingnumber\" type=\"int16\">x"),
    ("type=\"string\">Post<", "type=\"string\">Pots<"),
  ])
  func `a damaged document is refused`(old: String, new: String) throws {
    let path = try document(replacing: old, with: new)
    #expect(throws: MappingFileError.self) { try MappingFile.read(path) }
  }

  @Test func `damaged bytes end in a mapping model or an error`() throws {
    var random = SeededRandom(seed: 7)
    let compiled = try Corpus.bytes(CorpusMappings.compiled[0])
    let document = try MappingFileBytes.embeddedModel(of: Self.example)
    for _ in 0..<1_000 {
      for (bytes, decode) in [
        (compiled, { _ = try CompiledMapping.mapping(decoding: $0) }),
        (document, { _ = try XDPMModel.model(decoding: $0) }),
      ] as [([UInt8], ([UInt8]) throws -> Void)] {
        var damaged = bytes
        for _ in 0..<Int.random(in: 1...12, using: &random) {
          damaged[Int.random(in: 0..<damaged.count, using: &random)] = UInt8.random(
            in: 0...255, using: &random)
        }
        do {
          try decode(damaged)
        } catch is MappingFileError {
        } catch is ModelFileError {
        }
      }
    }
  }
}

enum MappingFileBytes {
  /// The archive of the source model that a document embeds.
  static func embeddedModel(of name: String) throws -> [UInt8] {
    let tree = try XMLTree(parsing: try Corpus.bytes("\(name)/xcmapping.xml"))
    let element = try #require(
      tree.elements.first { $0.attributes["name"] == "sourcemodeldata" })
    let data = try #require(
      Data(base64Encoded: element.text, options: .ignoreUnknownCharacters))
    return [UInt8](data)
  }
}
