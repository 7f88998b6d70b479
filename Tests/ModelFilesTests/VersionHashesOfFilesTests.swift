import Foundation
import ModelFiles
import ObjectModel
import SystemPackage
import TestSupport
import Testing

/// The corpus lists the hashes that Apple's tools computed for each model file.
@Suite struct VersionHashesOfFilesTests {
  static let known: [String: [String: String]] = {
    guard Corpus.folder != nil else { return [:] }
    do {
      return try JSONDecoder().decode(
        [String: [String: String]].self, from: Data(Corpus.bytes("version-hashes.json")))
    } catch {
      preconditionFailure("the hashes of the corpus: \(error)")
    }
  }()

  @Test(.needsCorpus) func `the corpus holds files of every kind that tests ask for`() {
    #expect(Self.known.count >= 30)
    for ending in [
      ".xcdatamodel/contents", ".mom", ".cdm", ".xcmappingmodel", ".xcdatamodeld", ".sqlite",
      ".store",
    ] {
      #expect(!Corpus.files(endingIn: ending).isEmpty, "\(ending)")
    }
    #expect(Corpus.files(endingIn: ".store").contains { $0.hasPrefix("modern/") })
    #expect(Corpus.files(endingIn: ".xcmappingmodel").contains { $0.hasPrefix("mappings/") })
  }

  static func model(_ name: String) throws -> ManagedObjectModel {
    let bytes = try Corpus.bytes(name)
    return name.hasSuffix(".mom")
      ? try CompiledModel.model(decoding: bytes) : try ModelDocument.model(decoding: bytes)
  }

  @Test(.needsCorpus, arguments: known.keys.sorted())
  func `a model file has Apple's hashes`(name: String) throws {
    let computed = try Self.model(name).versionHashes().mapValues(\.hexadecimal)
    let expected = try #require(Self.known[name])
    #expect(!expected.isEmpty)
    for (entity, hash) in expected { #expect(computed[entity] == hash, "\(name) \(entity)") }
  }

  @Test(
    .needsCorpus,
    arguments: Corpus.files(endingIn: ".xcdatamodel/contents") + Corpus.files(endingIn: ".mom"))
  func `every model file is read`(name: String) throws {
    #expect(try Self.model(name).entities.isEmpty == false)
  }
}
