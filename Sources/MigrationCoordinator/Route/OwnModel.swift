package import ModelFiles
package import ObjectModel
import Schema
package import StoreFormat
import SystemCalls
package import SystemPackage

/// Finds the model of a store by the version hashes in its metadata.
package struct OwnModel {
  private let hashes: [String: VersionHash]
  private let library: ModelLibrary
  /// Reads the store, whose columns distinguish models with the same hashes; nil takes the first.
  private var reader: StoreReader?
  /// The first model with the hashes whose derived attributes the store lacks.
  private var unfit: (model: ManagedObjectModel, versionName: String?)?
  /// Versions that could not be read, which matters only if no other one matches.
  package private(set) var unreadable: [ModelFileError] = []
  /// The name of the version that has the hashes, or of the versions that it was merged from; nil
  /// where none was found, or only a store has the model.
  package private(set) var versionName: String?

  /// Takes the version hashes in the store's metadata, by entity name, what has been read of
  /// models, and the store.
  package init(
    _ hashes: [String: VersionHash], library: ModelLibrary = ModelLibrary(),
    reader: StoreReader? = nil
  ) {
    self.hashes = hashes
    self.library = library
    self.reader = reader
  }

  /// The model with the hashes, searched for in the places and then in the store's model cache; nil
  /// if it is in none.
  ///
  /// - Throws: `ModelFileError`, if a place cannot be opened.
  package static func find(
    _ hashes: [String: VersionHash], in places: [FilePath], reader: StoreReader
  ) throws -> ManagedObjectModel? {
    var search = OwnModel(hashes)
    return try search.find(in: places, reader: reader)
  }

  /// The model with the hashes, searched for in the places and then in the store's model cache; nil
  /// if it is in none.
  ///
  /// It may be merged from one version of each of several bundles. Of models that differ in derived
  /// attributes alone, which hashes do not cover, it is the first whose columns the store has; if
  /// there is none, the first.
  ///
  /// - Parameter bundles: the versions of bundles that were searched before.
  /// - Throws: `ModelFileError`, if a place cannot be opened.
  package mutating func find(
    in places: [FilePath], besides bundles: [[ModelVersion]] = [], reader: StoreReader
  ) throws -> ManagedObjectModel? {
    self.reader = reader
    var bundles = bundles
    for place in places {
      let found = try ModelPlace(place)
      if let model = try find(among: found.versions) ?? find(inStores: found.stores) {
        return model
      }
      if !found.versions.isEmpty, !bundles.contains(found.versions) {
        bundles.append(found.versions)
      }
    }
    if let merged = MergedVersion.find(hashes, in: bundles, library: library) {
      if let model = try taken(merged.model, named: merged.name) { return model }
    }
    let cached = try reader.cachedModel().flatMap { model in
      Self.match(model, hashes: hashes) { try? model.versionHashes(configuration: $0) }
        ?? Self.matchAsFarAsKnown(model, hashes: hashes)
    }
    guard let unfit else { return cached }
    if let cached, try fits(cached) { return cached }
    versionName = unfit.versionName
    return unfit.model
  }

  /// Whether the store has the columns of all derived attributes.
  private func fits(_ model: ManagedObjectModel) throws(StoreError) -> Bool {
    guard let reader, model.hasDerivedAttributes, let schema = try? StoreSchema(model) else {
      return true
    }
    let (_, differences) = schema.resolved(in: try reader.catalog())
    return schema.derivedAttributes(missingBy: differences).isEmpty
  }

  /// The model of a version if the store has its derived attributes; the first other one is kept
  /// for want of a better one.
  private mutating func taken(
    _ model: ManagedObjectModel, named name: String?
  ) throws(StoreError) -> ManagedObjectModel? {
    if try fits(model) {
      versionName = name
      return model
    }
    if unfit == nil { unfit = (model, name) }
    return nil
  }

  /// All versions in the places that have the hashes, each with its model.
  package mutating func all(
    in places: [FilePath]
  ) throws -> [(version: ModelVersion, model: ManagedObjectModel)] {
    var result: [(version: ModelVersion, model: ManagedObjectModel)] = []
    for place in places {
      for one in try ifReadable({ try ModelBundle.around(place) }) ?? []
      where !result.contains(where: { $0.version == one }) {
        if let model = try find(among: [one]) { result.append((one, model)) }
      }
    }
    return result
  }

  mutating func find(among versions: [ModelVersion]) throws -> ManagedObjectModel? {
    for version in versions {
      guard let found = try match(version) else { continue }
      if let model = try taken(found, named: version.name) { return model }
    }
    return nil
  }

  private mutating func match(
    _ version: ModelVersion
  ) throws(ModelFileError) -> ManagedObjectModel? {
    do {
      return Self.match(try library.model(of: version), hashes: hashes) {
        library.hashes(of: version, configuration: $0)
      }
    } catch {
      if error.knownDisposition.contains(.workReusable) { throw error }
      unreadable.append(error)
      return nil
    }
  }

  /// The model of a store that has the hashes; stores that cannot be read prove nothing.
  private func find(inStores stores: [FilePath]) throws -> ManagedObjectModel? {
    for store in stores {
      if let found = try ifReadable({ try ModelPlace.stored(in: store) }), found.hashes == hashes,
        try fits(found.model)
      {
        return found.model
      }
    }
    return nil
  }

  /// The model, or the configuration of it, that has exactly the hashes; `own` gives those of the
  /// model or of a configuration of it.
  private static func match(
    _ model: ManagedObjectModel, hashes: [String: VersionHash],
    own: (_ configuration: String?) -> [String: VersionHash]?
  ) -> ManagedObjectModel? {
    guard Set(hashes.keys).isSubset(of: model.entities.map(\.name)) else { return nil }
    if own(nil) == hashes { return model }
    for name in model.configurations.keys.sorted() {
      if own(name) == hashes {
        return try? model.restricted(toConfiguration: name)
      }
    }
    return nil
  }

  /// The cached model of a store, if no hash that is known contradicts it.
  private static func matchAsFarAsKnown(
    _ model: ManagedObjectModel, hashes: [String: VersionHash]
  ) -> ManagedObjectModel? {
    guard Set(hashes.keys) == Set(model.entities.map(\.name)) else { return nil }
    let known = model.knownVersionHashes()
    return known.allSatisfy { hashes[$0.key] == $0.value } ? model : nil
  }
}

extension ManagedObjectModel {
  fileprivate var hasDerivedAttributes: Bool {
    entities.contains { $0.attributes.contains { $0.derivation != nil } }
  }
}

extension ModelBundle {
  /// The versions of the bundle at a place, or of the bundle that contains it.
  ///
  /// The version at the place comes first; a containing bundle that cannot be opened is ignored.
  static func around(_ place: FilePath) throws(ModelFileError) -> [ModelVersion] {
    let own = try ModelBundle(place)
    let bundle = enclosing(own.path)
    guard bundle != own.path.lexicallyNormalized() else { return own.versions }
    let whole: ModelBundle
    do {
      whole = try ModelBundle(bundle)
    } catch {
      if error.knownDisposition.contains(.workReusable) { throw error }
      return own.versions
    }
    let named = own.versions
    return named
      + whole.versions.filter { version in
        !named.contains { $0.path.lastComponent == version.path.lastComponent }
      }
  }
}
