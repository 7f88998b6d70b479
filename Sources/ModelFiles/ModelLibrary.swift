package import ObjectModel
import Synchronization
import SystemPackage

/// Versions of models.
///
/// Each is read once, however often it is requested.
///
/// A library keeps the content of a file from its first reading, so it serves one migration, or
/// several to one target that follow each other.
package final class ModelLibrary: Sendable {
  private struct HashesKey: Hashable {
    var path: FilePath
    var configuration: String?
  }

  private let models = Mutex<[FilePath: Result<ManagedObjectModel, ModelFileError>]>([:])
  /// an inner nil means that a hash is not known.
  private let hashes = Mutex<[HashesKey: [String: VersionHash]?]>([:])

  /// Creates a library in which nothing has been read.
  package init() {}

  /// The model of a version.
  ///
  /// - Throws: `ModelFileError`, each time the same.
  package func model(of version: ModelVersion) throws(ModelFileError) -> ManagedObjectModel {
    if let known = models.withLock({ $0[version.path] }) { return try known.get() }
    // No caller waits for another's reading; concurrent callers read the same.
    let found = Result { () throws(ModelFileError) in try version.model() }
    models.withLock { $0[version.path] = found }
    return try found.get()
  }

  /// The version hashes of all entities or of those of a configuration; nil where the version
  /// cannot be read or one of them is not known.
  package func hashes(
    of version: ModelVersion, configuration: String? = nil
  ) -> [String: VersionHash]? {
    let key = HashesKey(path: version.path, configuration: configuration)
    if let known = hashes.withLock({ $0[key] }) { return known }
    let found = try? model(of: version).versionHashes(configuration: configuration)
    hashes.withLock { $0[key] = .some(found) }
    return found
  }
}
