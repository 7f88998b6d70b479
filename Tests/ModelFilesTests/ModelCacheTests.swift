import ModelFiles
import ObjectModel
import TestSupport
import Testing

@Suite(.needsCorpus, .scratchFolder) struct ModelCacheTests {
  @Test(arguments: CachedModel.stores)
  func `a model cache hashes as its store's metadata says`(store: String) throws {
    let cached = try CachedModel(store)
    let model = try CompiledModel.model(decoding: try #require(cached.archive))
    let hashes = try model.versionHashes()
    #expect(hashes.mapValues(\.hexadecimal) == cached.hashes)
    if let digest = cached.digest { #expect(hashes.digest == digest) }
    if let checksum = cached.checksum { #expect(hashes.checksum == checksum) }
  }

  /// SwiftData stores with composites, and Photos libraries with entity modifiers beside
  /// constraints, relationships that are their own inverse, and encryption in the cloud.
  @Test(arguments: Corpus.files(endingIn: ".store").filter { $0.hasPrefix("modern/") })
  func `a SwiftData model cache hashes as its store's metadata says`(store: String) throws {
    let cached = try CachedModel(store)
    let model = try CompiledModel.model(decoding: try #require(cached.archive))
    #expect(try model.versionHashes().mapValues(\.hexadecimal) == cached.hashes)
  }

  @Test(arguments: CachedModel.withSources)
  func `a model cache says what the model's source says`(store: String) throws {
    let cached = try CachedModel(store)
    let model = try CompiledModel.model(decoding: try #require(cached.archive))
    let sources = try #require(CachedModel.sources[cached.hashes])
    // Versions that hash alike may differ elsewhere: one of them must agree in everything.
    let differences = sources.map { Self.differences(of: model, from: $0) }
    let fewest = differences.min { $0.count < $1.count } ?? ["no source"]
    let known = Self.editedLater.first { store.hasSuffix($0.store) }?.property
    #expect(fewest.allSatisfy { $0 == known }, "\(fewest)")
  }

  /// Sources that their projects edited after the store was written, where no hash tells.
  static let editedLater = [
    (store: "SampleModel_V1.sqlite", property: "color"),
    (store: "store2-53-0.sqlite", property: "isSilenced"),
    (store: "store2-87-0.sqlite", property: "a transformer's name"),
  ]

  /// What the two say differently, but for class names and user info, which a migration drops.
  static func differences(of cached: ManagedObjectModel, from source: ManagedObjectModel)
    -> [String]
  {
    var result: [String] = []
    if cached.versionIdentifiers != source.versionIdentifiers { result.append("identifiers") }
    for (one, other) in zip(cached.entities, source.entities) {
      var (one, other) = (one.bare, other.bare)
      let pairs = zip(one.attributes, other.attributes)
      for (a, b) in pairs where a != b {
        result.append(
          a.valueTransformerName == b.valueTransformerName ? a.name : "a transformer's name")
      }
      if one.attributes.count == other.attributes.count {
        (one.attributes, other.attributes) = ([], [])
      }
      if one != other { result.append("\(one) for \(other)") }
    }
    return result
  }
}

extension Entity {
  fileprivate var bare: Entity {
    var entity = self
    entity.className = nil
    entity.userInfo = [:]
    return entity
  }
}
