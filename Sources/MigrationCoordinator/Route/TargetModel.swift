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
  /// The names and renaming identifiers of entities that the configuration leaves out.
  let leftOut: Set<String>
  /// The name of its version, of one merged from several with all names; empty where one comes
  /// from a store.
  package let names: [String]
  /// The versions of each bundle.
  let bundles: [[ModelVersion]]
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
    var bundles: [[ModelVersion]] = []
    var names: [String] = []
    for path in paths {
      if try Self.isStore(path) {
        models.append(try ModelPlace.stored(in: path).model)
      } else {
        let current = try ModelBundle(path).current()
        models.append(try library.model(of: current))
        names.append(current.name)
        bundles.append(try ModelBundle.around(path))
      }
    }
    let merged = try ManagedObjectModel.merged(models)
    model = try configuration.map { try merged.restricted(toConfiguration: $0) } ?? merged
    leftOut = configuration == nil ? [] : merged.names(leftOutOf: model)
    // A restricted model also has the entities that its members refer to; metadata name the members
    // only.
    do {
      hashes = try merged.versionHashes(configuration: configuration)
    } catch {
      let place = zip(paths, models).first { $1.entity(name: error.entity) != nil }
      throw ModelFileError(.unknownHash(error), file: place?.0, entity: error.entity)
    }
    self.names = names.count == paths.count ? [names.joined(separator: " + ")] : []
    self.bundles = bundles
    self.paths = paths
    self.library = library
  }

  /// The target of a step to a version that has been read.
  init(_ version: RouteVersion) {
    model = version.model
    hashes = version.hashes
    leftOut = version.leftOut
    names = version.names
    bundles = []
    paths = []
    library = ModelLibrary()
  }

  /// The current version of a bundle or the model of a store, whose hashes need not be known.
  package static func model(
    at path: FilePath, library: ModelLibrary = ModelLibrary()
  ) throws -> ManagedObjectModel {
    try isStore(path)
      ? try ModelPlace.stored(in: path).model
      : try library.model(of: try ModelBundle(path).current())
  }

  private static func isStore(_ path: FilePath) throws -> Bool { try ModelPlace.isStore(path) }

  /// What the version with the hashes of a store is called; empty where it is no version of the
  /// target's bundles.
  func names(of hashes: [String: VersionHash]) -> [String] {
    if hashes == self.hashes { return names }
    let found = bundles.flatMap(\.self).first {
      library.hashes(of: $0, configuration: nil) == hashes
    }
    return found.map { [$0.name] } ?? []
  }

  /// The model with the hashes of a store: among the versions of the target's bundles, in other
  /// places, or in the store itself; and whether only stores have it.
  ///
  /// - Throws: `MigrationError.sourceModelMissing`.
  package func sourceModel(
    hashes: [String: VersionHash], reader: StoreReader, others: [FilePath]
  ) throws -> (model: ManagedObjectModel, isInStoresAlone: Bool) {
    if hashes == self.hashes { return (model, false) }
    var search = OwnModel(hashes, library: library, reader: reader)
    if let found = try search.find(among: bundles.flatMap(\.self)) { return (found, false) }
    if let found = try search.find(in: others, besides: bundles, reader: reader) {
      return (found, search.versionName == nil)
    }
    throw MigrationError.sourceModelMissing(
      store: reader.connection.store, searched: paths + others, unreadable: search.unreadable)
  }
}
