import Foundation
import Planning
import Schema
import StoreNames
import SystemCalls
import SystemPackage

/// The folder in which one migration works.
struct Workspace {
  var paths: MigrationPaths
  /// Whether the old store is kept as a copy, which needs space.
  var keepsByCopy = false
  /// Whether what is done is kept for a later run, should this one be cut off.
  var keepsWork = true
  /// Identifies the run whose work is kept (`RunInputs`); nil before it has begun.
  var run: String?
  private let hold: Hold
  let folderExisted: Bool

  private var folder: WorkFolder { WorkFolder(path: paths.work) }

  /// What keeps others out of the folder.
  private enum Hold {
    /// The lock of a work folder, which the migration of one destination has.
    case lock(FileLock)
    /// The folder has a unique name, and is removed with the object.
    case own(TemporaryFolder)
  }

  /// Whether the folder is removed with the run in any case: no other run searches for it.
  var isTemporary: Bool { if case .own = hold { true } else { false } }

  /// The migration cannot use a temporary workspace, such as for its size or links to the store.
  ///
  /// Temporary files share their room with other programs, and may be in memory.
  struct NeedsFolder: Error {}

  /// The most bytes that a migration writes to a temporary workspace.
  static let mostTemporaryBytes: Int64 = 64 << 20

  /// A folder among the system's temporary files, from which a result goes to its destination
  /// whole; nil where the destination's folder does not allow that.
  static func temporary(for destination: FilePath) -> Workspace? {
    guard Files.makesUnnamedFiles(in: Files.parent(of: destination)),
      let folder = try? TemporaryFolder()
    else { return nil }
    return Workspace(
      paths: MigrationPaths(destination: destination, work: folder.path), keepsWork: false,
      hold: .own(folder), folderExisted: false)
  }

  /// A folder in memory, from which a result replaces a small store; nil if the store or the
  /// request needs more.
  static func inMemory(for request: MigrationRequest) throws -> Workspace? {
    guard let memory = request.shared?.memory, request.keepsOld, request.work == nil,
      request.engine == nil, !request.restarts,
      let status = try Files.fileStatusIfPresent(request.store, followLinks: false),
      status.kind == .file, status.size <= mostBytesInMemory,
      try Files.fileStatusIfPresent(request.paths.work, followLinks: false) == nil,
      let folder = try? memory.makeFolder()
    else { return nil }
    return Workspace(
      paths: MigrationPaths(destination: request.store, work: folder.path), keepsWork: false,
      hold: .own(folder), folderExisted: false)
  }

  /// Several such stores are migrated at a time, each with its result.
  private static let mostBytesInMemory: Int64 = 1 << 20

  /// Creates the work folder of a destination, or takes over one that an interrupted migration
  /// left, and locks it.
  ///
  /// - Throws: `PlaceError.alreadyRunning`, `folderNotWritable` or `workFolderForeign`.
  static func open(_ paths: MigrationPaths, store: FilePath) throws -> Workspace {
    let folder = WorkFolder(path: paths.work)
    let (wasMade, madeParent) = try make(paths.work)
    if !wasMade { try folder.requireOwn() }
    let lock: FileLock
    do {
      guard let found = try FileLock.acquire(paths.lock) else {
        throw PlaceError.alreadyRunning(store: store, lock: paths.lock)
      }
      lock = found
    } catch let error as SystemCallError {
      throw PlaceError.folderNotWritable(paths.work, cause: error)
    }
    // The previous holder of the lock may have marked the folder meanwhile.
    try folder.requireOwn()
    let mark = try folder.takeOver(for: paths, store: store, madeParent: madeParent)
    do {
      // A folder of another user, to whom the one around it belongs, stays as that user made it.
      if try Files.fileStatusIfPresent(store) != nil,
        try Files.fileStatus(paths.work).owner == Processes.user
      {
        try Files.setAccess(toFolder: paths.work, like: store)
      }
    } catch {
      throw PlaceError.folderNotWritable(paths.work, cause: error)
    }
    var placed = paths
    let target = Files.parent(of: paths.destination)
    if try Files.fileStatus(paths.work).device != Files.fileStatus(target).device {
      placed.result = paths.resultBesideDestination(mark.id.uuidString)
    }
    return Workspace(paths: placed, hold: .lock(lock), folderExisted: !wasMade)
  }

  /// Creates the folder, and its parent if that is missing.
  private static func make(_ folder: FilePath) throws -> (wasMade: Bool, madeParent: Bool) {
    let parent = Files.parent(of: folder)
    do {
      var madeParent = false
      if try Files.fileStatusIfPresent(parent) == nil {
        madeParent = try Files.createDirectory(parent)
      }
      if try Files.fileStatusIfPresent(folder, followLinks: false) != nil { return (false, false) }
      let wasMade = try Files.createDirectory(folder, mode: .ownerReadWriteExecute)
      return (wasMade, madeParent)
    } catch {
      throw PlaceError.folderNotWritable(parent, cause: error)
    }
  }

  /// The suffixes of files that are named after a result.
  static let resultSuffixes =
    StoreFile.suffixes + WorkFile.ResultSuffix.allCases.map(\.rawValue)

  /// Whether nothing of a migration is in the folder: at most what a rollback and the like leave.
  var holdsNoWork: Bool {
    get throws {
      try Files.listDirectory(paths.work).allSatisfy { name in
        WorkFile(name).map { [.mark, .lock, .result, .swapJournal].contains($0) } ?? false
      }
    }
  }

  /// Whether the old store has to be copied to be kept: its file system gives a file one name.
  func findsNoLinks() throws -> Bool {
    let probe = WorkFile.ResultSuffix.probe.path(of: paths.result)
    try Files.writeFileAtomically([0], to: probe, syncs: false)
    let canLink = try StoreSwapper.canLink(
      probe, probing: WorkFile.ResultSuffix.link.path(of: paths.result))
    try Files.removeRegularFile(probe)
    return !canLink
  }

  /// Removes everything that an earlier migration left, except the lock and the mark.
  func clear(keeping: Set<FilePath> = []) throws { try folder.clear(keeping: keeping) }

  /// Removes the folder with everything that Godwit created in it, and a result next to the
  /// destination.
  ///
  /// - Returns: entries that remain because Godwit did not create them.
  @discardableResult
  func remove() throws -> [FilePath] {
    if isTemporary { return [] }
    for suffix in Self.resultSuffixes {
      try Files.removeRegularFile(FilePath("\(paths.result)\(suffix)"))
    }
    let left = try folder.remove()
    if case .lock(let lock) = hold, left.isEmpty { lock.removeFolderAtEnd() }
    return left
  }
}
