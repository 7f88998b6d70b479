package import ModelFiles
package import ObjectModel
package import StoreFormat
package import SystemPackage

/// Finds the model of a store by the version hashes in its metadata.
package struct OwnModel {
  private let hashes: [String: VersionHash]
  /// Versions that were looked at and cannot be read; they matter only where no other one fits.
  package private(set) var unreadable: [ModelFileError] = []

  package init(_ hashes: [String: VersionHash]) { self.hashes = hashes }

  /// The model with the hashes in one of the places, or in the store itself; nil if in none.
  package static func find(
    _ hashes: [String: VersionHash], in places: [FilePath], reader: StoreReader
  ) throws -> ManagedObjectModel? {
    var search = OwnModel(hashes)
    return try search.find(in: places, reader: reader)
  }

  /// The model with the hashes in one of the places, or in the store itself; nil if in none.
  package mutating func find(
    in places: [FilePath], reader: StoreReader
  ) throws -> ManagedObjectModel? {
    for place in places {
      if let found = find(among: try ModelBundle.around(place)) { return found }
    }
    return try reader.cachedModel().flatMap {
      Self.match($0, hashes: hashes) ?? Self.matchAsFarAsKnown($0, hashes: hashes)
    }
  }

  mutating func find(among versions: [ModelVersion]) -> ManagedObjectModel? {
    for version in versions {
      do {
        if let found = Self.match(try version.model(), hashes: hashes) { return found }
      } catch {
        unreadable.append(error)
      }
    }
    return nil
  }

  /// The model or the configuration of it that has the hashes; one with unknown hashes has not.
  private static func match(
    _ model: ManagedObjectModel, hashes: [String: VersionHash]
  ) -> ManagedObjectModel? {
    guard Set(hashes.keys).isSubset(of: model.entities.map(\.name)) else { return nil }
    if (try? model.versionHashes()) == hashes { return model }
    for name in model.configurations.keys.sorted() {
      if (try? model.versionHashes(configuration: name)) == hashes {
        return try? model.restricted(toConfiguration: name)
      }
    }
    return nil
  }

  /// What a store carries is its own model, so that hashes which are not known cannot contradict.
  private static func matchAsFarAsKnown(
    _ model: ManagedObjectModel, hashes: [String: VersionHash]
  ) -> ManagedObjectModel? {
    guard Set(hashes.keys) == Set(model.entities.map(\.name)) else { return nil }
    let known = model.knownVersionHashes()
    return known.allSatisfy { hashes[$0.key] == $0.value } ? model : nil
  }
}

extension ModelBundle {
  /// The versions at a place: those of a bundle, or of the one in which a version lies.
  ///
  /// The version that was named comes first; a bundle around it that cannot be opened is none.
  static func around(_ place: FilePath) throws(ModelFileError) -> [ModelVersion] {
    let own = try ModelBundle(place)
    let bundle = enclosing(own.path)
    guard bundle != own.path.lexicallyNormalized(), let whole = try? ModelBundle(bundle) else {
      return own.versions
    }
    let named = own.versions
    return named
      + whole.versions.filter { version in
        !named.contains { $0.path.lastComponent == version.path.lastComponent }
      }
  }
}
