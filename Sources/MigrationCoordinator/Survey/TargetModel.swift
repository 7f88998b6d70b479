import ModelFiles
import Planning
package import ObjectModel
package import StoreFormat
import SystemCalls
package import SystemPackage

/// The model that a store is to have, and the versions among which its own may be found.
package struct TargetModel: Sendable {
  package let model: ManagedObjectModel
  package let hashes: [String: VersionHash]
  let versions: [ModelVersion]
  let paths: [FilePath]

  /// Reads the current version of each bundle, or the model of a store, and merges them.
  package init(_ paths: [FilePath], configuration: String?) throws {
    var models: [ManagedObjectModel] = []
    var versions: [ModelVersion] = []
    for path in paths {
      if Self.isStore(path) {
        models.append(try Self.model(ofStore: path))
      } else {
        let bundle = try ModelBundle(path)
        models.append(try bundle.current().model())
        versions += bundle.versions
      }
    }
    let merged = try ManagedObjectModel.merged(models)
    model = try configuration.map { try merged.restricted(toConfiguration: $0) } ?? merged
    // A restricted model brings along what its entities lead to; metadata name its members alone.
    hashes = try merged.versionHashes(configuration: configuration)
    self.versions = versions
    self.paths = paths
  }

  /// A version on the way to the target.
  init(_ version: RouteVersion) {
    model = version.model
    hashes = version.hashes
    versions = []
    paths = []
  }

  private static func isStore(_ path: FilePath) -> Bool { (try? StoreHeader(of: path)) != nil }

  /// The model that a store carries, checked against what its metadata say.
  private static func model(ofStore path: FilePath) throws -> ManagedObjectModel {
    let reader = try StoreReader(immutable: path)
    let hashes = try reader.metadata().versionHashes
    guard let model = try reader.cachedModel(), try model.versionHashes() == hashes else {
      throw MigrationError.sourceModelMissing(store: path, searched: [path])
    }
    return model
  }

  /// The model whose hashes a store's metadata name: among the versions of the target's bundles,
  /// then in other places, then in the store itself.
  package func sourceModel(
    _ hashes: [String: VersionHash], reader: StoreReader, others: [FilePath]
  ) throws -> ManagedObjectModel {
    if hashes == self.hashes { return model }
    if let found = try OwnModel.find(hashes, among: versions) { return found }
    if let found = try OwnModel.find(hashes, in: others, reader: reader) { return found }
    throw MigrationError.sourceModelMissing(store: reader.path, searched: paths + others)
  }
}
