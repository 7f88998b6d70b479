import ModelFiles
package import ObjectModel
package import StoreFormat
package import SystemPackage

/// Finds the model of a store by the version hashes in its metadata.
package enum OwnModel {
  /// The model with the hashes in one of the places, or in the store itself; nil if in none.
  package static func find(
    _ hashes: [String: VersionHash], in places: [FilePath], reader: StoreReader
  ) throws -> ManagedObjectModel? {
    for place in places {
      if let found = try find(hashes, among: ModelBundle(place).versions) { return found }
    }
    return try reader.cachedModel().flatMap { match($0, hashes) }
  }

  static func find(
    _ hashes: [String: VersionHash], among versions: [ModelVersion]
  ) throws -> ManagedObjectModel? {
    for version in versions {
      if let found = match(try version.model(), hashes) { return found }
    }
    return nil
  }

  /// The model or the configuration of it that has the hashes; one with unknown hashes has not.
  private static func match(
    _ model: ManagedObjectModel, _ hashes: [String: VersionHash]
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
}
