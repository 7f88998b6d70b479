import Foundation
import ModelFiles
import ObjectModel
import SystemPackage
import TestSupport
import Testing

/// The corpus lists the hashes that Apple's tools computed for each model file.
@Suite struct VersionHashesOfFilesTests {
  static let known: [String: [String: String]] = {
    guard Corpus.folder != nil, let bytes = try? Corpus.bytes("version-hashes.json"),
      let list = try? JSONDecoder().decode([String: [String: String]].self, from: Data(bytes))
    else { return [:] }
    return list
  }()

  static func model(_ name: String) throws -> ManagedObjectModel {
    let bytes = try Corpus.bytes(name)
    return name.hasSuffix(".mom")
      ? try CompiledModel.model(decoding: bytes) : try ModelDocument.model(decoding: bytes)
  }

  @Test(.needsCorpus, arguments: known.keys.sorted())
  func `a model file has Apple's hashes`(name: String) throws {
    let computed = try Self.model(name).versionHashes().mapValues(\.hexadecimal)
    let expected = try #require(Self.known[name])
    for (entity, hash) in expected { #expect(computed[entity] == hash, "\(name) \(entity)") }
  }

  @Test(
    .needsCorpus,
    arguments: Corpus.files(endingIn: ".xcdatamodel/contents") + Corpus.files(endingIn: ".mom"))
  func `every model file is read`(name: String) throws {
    #expect(try Self.model(name).entities.isEmpty == false)
  }
}
