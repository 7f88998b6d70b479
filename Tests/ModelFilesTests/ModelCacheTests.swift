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

  @Test(arguments: CachedModel.stores)
  func `a model cache says what the model's source says`(store: String) throws {
    let cached = try CachedModel(store)
    let model = try CompiledModel.model(decoding: try #require(cached.archive))
    let sources = try #require(CachedModel.sources[cached.hashes])
    // Versions that hash alike may differ elsewhere: one of them must agree in everything.
    let differences = sources.map { Self.differences(of: model, from: $0) }
    #expect(differences.contains([]), "\(differences.min { $0.count < $1.count } ?? [])")
  }

  /// What the two say differently, but for class names and user info, which a migration drops.
  static func differences(of cached: ManagedObjectModel, from source: ManagedObjectModel)
    -> [String]
  {
    var result: [String] = []
    if cached.versionIdentifiers != source.versionIdentifiers { result.append("identifiers") }
    for (one, other) in zip(cached.entities, source.entities) {
      let (one, other) = (one.bare, other.bare)
      if one == other { continue }
      for (name, same) in [
        ("attributes", one.attributes == other.attributes),
        ("relationships", one.relationships == other.relationships),
        ("fetched properties", one.fetchedProperties == other.fetchedProperties),
        ("indexes", one.fetchIndexes == other.fetchIndexes),
        ("compound indexes", one.compoundIndexes == other.compoundIndexes),
      ] where !same {
        result.append("\(one.name): \(name)")
      }
      for (a, b) in zip(one.attributes, other.attributes) where a != b {
        result.append("\(a) for \(b)")
      }
      for (a, b) in zip(one.relationships, other.relationships) where a != b {
        result.append("\(a) for \(b)")
      }
      if result.isEmpty { result.append("\(one) for \(other)") }
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
