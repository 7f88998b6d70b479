import MigrationCoordinator
import MigrationStatus
import ModelFiles
import ObjectModel
import StoreFormat
import SystemCalls
import SystemPackage

/// The version that a new store should have.
struct NewVersion {
  /// nil if it is not known.
  private(set) var model: ManagedObjectModel?
  private(set) var hashes: [String: VersionHash]
  /// What the version is called; empty where that is not known.
  private(set) var names: [String] = []
  /// Whether the model comes from the store's own cache.
  private(set) var isOwnWord = false

  /// Takes the model that the caller named.
  init(_ target: TargetModel) {
    model = target.model
    hashes = target.hashes
    names = target.names
  }

  /// Takes the model with the hashes in the store's metadata, or else the one in its cache.
  init(
    reader: StoreReader, before: [String: VersionHash], places: [FilePath],
    stated: RecordedWay.Version?
  ) throws {
    let metadata = try reader.metadata()
    hashes = metadata.versionHashes
    if hashes == before { return }
    // An unreadable cache is a difference, if the model is found elsewhere.
    let cached: ManagedObjectModel? = try ifReadable { try reader.cachedModel() } ?? nil
    let own = cached.flatMap { try? $0.versionHashes() }
    let found = try Self.find(hashes, in: places, like: cached, stated: stated)
    // A file has more of the model than a cache, but may be another version with equal hashes.
    let tells =
      found.map { Set($0.model.versionIdentifiers) } == Set(metadata.versionIdentifiers)
    if let found, found.model != cached, tells || own != hashes {
      (model, names) = (found.model, [found.version.name])
    } else if own == hashes {
      model = cached
      isOwnWord = true
      if let found { names = [found.version.name] }
    } else if let cached, let own, own != before {
      (model, hashes) = (cached, own)
    }
  }

  /// The version with the hashes; of several that hash alike the one that the store's cache is of,
  /// then the one that the record names.
  private static func find(
    _ hashes: [String: VersionHash], in places: [FilePath], like cached: ManagedObjectModel?,
    stated: RecordedWay.Version?
  ) throws -> (version: ModelVersion, model: ManagedObjectModel)? {
    var search = OwnModel(hashes)
    let all = try search.all(in: places)
    guard all.count > 1 else { return all.first }
    let alike = all.filter { one in cached.map { Self.isArchived(one.model, as: $0) } ?? false }
    let left = alike.isEmpty ? all : alike
    return left.first { stated?.names.contains($0.version.name) ?? false } ?? left.first
  }

  /// Whether an archive of the model has the same content as the cached one.
  private static func isArchived(
    _ model: ManagedObjectModel, as cached: ManagedObjectModel
  ) -> Bool {
    guard let archive = try? ModelArchive.encode(model) else { return false }
    return (try? CompiledModel.model(decoding: archive.bytes)) == cached
  }
}
