import ModelFiles
import ObjectModel
import StoreFormat
import Survey
import SystemCalls
import SystemPackage

/// The models at a place: the versions of a bundle, or the models that stores hold.
struct ModelPlace {
  /// The versions of the bundle; empty where there are stores.
  private(set) var versions: [ModelVersion] = []
  /// The stores at the place or below it.
  private(set) var stores: [FilePath] = []

  private static let maximumDepth = 8
  private static let maximumMembers = 50_000

  /// Finds the bundle at a path, or the stores.
  ///
  /// - Throws: `ModelFileError`, if there is neither; what the system or a device refuses.
  init(_ path: FilePath) throws {
    if try Self.isStore(path) {
      stores = [path]
      return
    }
    do throws(ModelFileError) {
      versions = try ModelBundle.around(path)
    } catch {
      guard error.problem == .noModel else { throw error }
      stores = try Self.stores(below: path)
      if stores.isEmpty { throw error }
    }
  }

  /// - Throws: what the system or a device refuses.
  static func isStore(_ path: FilePath) throws -> Bool {
    try ifReadable { try StoreHeader(of: path) } != nil
  }

  /// The stores below a folder, by path; none where it holds too many files.
  private static func stores(below folder: FilePath) throws -> [FilePath] {
    var found: [FilePath] = []
    var seen = 0
    var level = [folder]
    for _ in 0..<maximumDepth where !level.isEmpty {
      var next: [FilePath] = []
      for parent in level {
        let names = try ifReadable { try Files.listDirectory(parent) } ?? []
        for name in names where !name.string.hasPrefix(".") {
          seen += 1
          guard seen <= maximumMembers else { return [] }
          let path = parent.appending(name)
          guard let status = try ifReadable({ try Files.fileStatus(path, followLinks: false) })
          else { continue }
          if status.isDirectory {
            next.append(path)
          } else if status.kind == .file, try isStore(path) {
            found.append(path)
          }
        }
      }
      level = next
    }
    return found.sorted { $0.string < $1.string }
  }

  /// The model that a store holds, and the hashes in its metadata that it agrees with.
  ///
  /// - Throws: `MigrationError.sourceModelMissing`, `StoreError` or `ModelFileError`.
  static func stored(
    in store: FilePath
  ) throws -> (model: ManagedObjectModel, hashes: [String: VersionHash]) {
    // Changes may still be in the log of the store.
    let access = try SourceAccess.open(store)
    defer { access.release() }
    let reader = try StoreReader(immutable: access.readable)
    let hashes = try reader.metadata().versionHashes
    guard let model = try OwnModel.find(hashes, in: [], reader: reader) else {
      throw MigrationError.sourceModelMissing(store: store, searched: [store], unreadable: [])
    }
    return (model, hashes)
  }
}
