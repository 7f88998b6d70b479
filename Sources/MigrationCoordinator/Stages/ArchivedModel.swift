import ModelFiles
import ObjectModel
import StoreFormat
import Synchronization

/// A model as it lies in `Z_MODELCACHE`.
struct ArchivedModel: Sendable {
  /// The deflated archive; nil where there can be none.
  private(set) var bytes: [UInt8]?
  /// Parts of the model that the archive lacks.
  private(set) var leftOut: [MigrationReport.CachePart] = []
  /// Why there is no archive, nil if there is one.
  private(set) var omitted: String?

  /// The last ones: several stores become those of one model, which is read once.
  ///
  /// A request for a model waits for one that is being archived, which may be the same.
  private static let recent = Mutex<[(model: ManagedObjectModel, archived: Self)]>([])
  private static let mostRecent = 2

  init(_ model: ManagedObjectModel) throws {
    self = try Self.recent.withLock { recent in
      if let known = recent.last(where: { $0.model == model }) { return known.archived }
      let archived = try Self(encoding: model)
      if recent.count == Self.mostRecent { recent.removeFirst() }
      recent.append((model, archived))
      return archived
    }
  }

  /// Archives a model that is likely to be requested, in parallel to other work.
  static func make(ahead model: ManagedObjectModel) async {
    // A request for it reports the error.
    _ = try? Self(model)
  }

  private init(encoding model: ManagedObjectModel) throws {
    do {
      let encoded = try ModelArchive.encode(model)
      bytes = try Deflate.deflate(encoded.bytes)
      leftOut = encoded.leftOut.map { .init($0) }
    } catch let error as ModelFileError {
      omitted = error.problem.words
    }
  }
}
