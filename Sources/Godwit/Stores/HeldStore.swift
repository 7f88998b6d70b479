import Inspection
import MigrationCoordinator
import ObjectModel
import Planning
import Schema
import StoreFormat
import StoreNames
import Survey
import SystemCalls
import SystemPackage

/// A store that is held for reading, with its model.
struct HeldStore {
  let path: FilePath
  let access: SourceAccess
  let reader: StoreReader
  let metadata: StoreMetadata
  let model: ManagedObjectModel
  private let support: FilePath

  /// Opens a store as every command does, and finds its model.
  init(_ path: FilePath, models: [FilePath]) throws {
    self.path = path
    access = try SourceAccess.open(path)
    reader = try StoreReader(immutable: access.readable)
    metadata = try reader.metadata()
    guard let found = try OwnModel.find(metadata.versionHashes, in: models, reader: reader) else {
      throw MigrationError.sourceModelMissing(store: path, searched: models, unreadable: [])
    }
    model = found
    support = SupportFolder.path(of: try Files.resolved(path))
  }

  /// Its objects.
  func contents() throws -> StoreContents {
    try StoreContents(reader, schema: try StoreSchema(model), support: support)
  }

  /// Whether a path is that of a store, by its first bytes.
  static func isStore(_ path: FilePath) -> Bool {
    // The caller that opens a file reports the error.
    !ModelInspection.isModel(path)
  }

  /// The entity of that name.
  ///
  /// - Throws: `MigrationFailure`, which lists those that there are.
  func entity(named name: String) throws -> Entity {
    if let found = model.entity(name: name) { return found }
    let names = model.entities.map(\.name).joined(separator: ", ")
    throw MigrationFailure(.usage, "\(path) has no entity \(name): it has \(names).")
  }
}
