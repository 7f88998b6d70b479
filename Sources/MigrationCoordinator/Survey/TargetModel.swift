package import ModelFiles
package import ObjectModel
import Planning
package import StoreFormat
import Survey
import SystemCalls
package import SystemPackage

/// The model to migrate to, and the versions among which the store's own may be.
package struct TargetModel: Sendable {
  /// The merged model, restricted to the configuration if one is named.
  package let model: ManagedObjectModel
  /// The version hashes for the metadata of the result, by entity name.
  package let hashes: [String: VersionHash]
  /// What its version is called; empty where it was merged from several, or comes from a store.
  package let names: [String]
  let versions: [ModelVersion]
  let paths: [FilePath]
  /// What has been read of the versions.
  package let library: ModelLibrary

  /// Reads the current version of each bundle, or the model of a store, and merges them.
  ///
  /// - Parameter library: what has been read of models before, which is not read again.
  /// - Throws: `ModelFileError`, `StoreError` or `MigrationError`.
  package init(
    paths: [FilePath], configuration: String?, library: ModelLibrary = ModelLibrary()
  ) throws {
    var models: [ManagedObjectModel] = []
    var versions: [ModelVersion] = []
    var names: [String] = []
    for path in paths {
      if Self.isStore(path) {
        models.append(try Self.model(ofStore: path))
      } else {
        let current = try ModelBundle(path).current()
        models.append(try library.model(of: current))
        names.append(current.name)
        versions += try ModelBundle.around(path)
      }
    }
    let merged = try ManagedObjectModel.merged(models)
    model = try configuration.map { try merged.restricted(toConfiguration: $0) } ?? merged
    // A restricted model also has the entities that its members refer to; metadata name the members
    // only.
    do {
      hashes = try merged.versionHashes(configuration: configuration)
    } catch {
      let place = zip(paths, models).first { $1.entity(name: error.entity) != nil }
      throw ModelFileError(.unknownHash(error), file: place?.0, entity: error.entity)
    }
    self.names = paths.count == 1 ? names : []
    self.versions = versions
    self.paths = paths
    self.library = library
  }

  /// The target of a step to a version that has been read.
  init(_ version: RouteVersion) {
    model = version.model
    hashes = version.hashes
    names = version.names
    versions = []
    paths = []
    library = ModelLibrary()
  }

  /// The current version of a bundle or the model of a store, whose hashes need not be known.
  package static func model(
    at path: FilePath, library: ModelLibrary = ModelLibrary()
  ) throws -> ManagedObjectModel {
    isStore(path)
      ? try model(ofStore: path) : try library.model(of: try ModelBundle(path).current())
  }

  private static func isStore(_ path: FilePath) -> Bool { (try? StoreHeader(of: path)) != nil }

  /// The model that a store contains, checked against the hashes in its metadata.
  private static func model(ofStore path: FilePath) throws -> ManagedObjectModel {
    // Changes may still be in the log of the store.
    let access = try SourceAccess.open(path)
    let reader = try StoreReader(immutable: access.readable)
    let hashes = try reader.metadata().versionHashes
    defer { access.release() }
    guard let model = try OwnModel.find(hashes, in: [], reader: reader) else {
      throw MigrationError.sourceModelMissing(store: path, searched: [path], unreadable: [])
    }
    return model
  }

  /// What the version with the hashes of a store is called; empty where it is no version of the
  /// target's bundles.
  func names(of hashes: [String: VersionHash]) -> [String] {
    if hashes == self.hashes { return names }
    let found = versions.first { library.hashes(of: $0, configuration: nil) == hashes }
    return found.map { [$0.name] } ?? []
  }

  /// The model with the hashes of a store: among the versions of the target's bundles, in other
  /// places, or in the store itself.
  ///
  /// - Throws: `MigrationError.sourceModelMissing`.
  package func sourceModel(
    hashes: [String: VersionHash], reader: StoreReader, others: [FilePath]
  ) throws -> ManagedObjectModel {
    if hashes == self.hashes { return model }
    var search = OwnModel(hashes, library: library)
    if let found = search.find(among: versions) { return found }
    if let found = try search.find(in: others, reader: reader) { return found }
    throw MigrationError.sourceModelMissing(
      store: reader.connection.store, searched: paths + others, unreadable: search.unreadable)
  }
}
