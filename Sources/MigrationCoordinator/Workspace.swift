import Foundation
import Planning
import SystemCalls
import SystemPackage

/// The work folder of one migration, locked against others.
struct Workspace {
  var paths: MigrationPaths
  private let lock: FileLock
  let wasThere: Bool

  private var folder: WorkFolder { WorkFolder(path: paths.work) }

  /// Makes the folder or takes over one that an interrupted migration left.
  static func open(_ paths: MigrationPaths, store: FilePath) throws -> Workspace {
    let folder = WorkFolder(path: paths.work)
    let (wasMade, madeParent) = try make(paths.work)
    if !wasMade { try folder.requireOwn() }
    let lock: FileLock
    do {
      guard let found = try FileLock.acquire(paths.lock) else {
        throw MigrationError.alreadyRunning(store: store, lock: paths.lock)
      }
      lock = found
    } catch let error as SystemCallError {
      throw MigrationError.folderNotWritable(paths.work, cause: error)
    }
    // Whoever had the lock before may have made the folder its own meanwhile.
    try folder.requireOwn()
    let mark = try folder.takeOver(for: paths, store: store, madeParent: madeParent)
    var placed = paths
    let target = Files.parent(of: paths.destination)
    if try Files.fileStatus(paths.work).device != Files.fileStatus(target).device {
      placed.result = paths.resultBesideDestination(mark.id.uuidString)
    }
    return Workspace(paths: placed, lock: lock, wasThere: !wasMade)
  }

  /// Makes the folder, and the one around it if that was asked for and is missing.
  private static func make(_ folder: FilePath) throws -> (wasMade: Bool, madeParent: Bool) {
    let parent = Files.parent(of: folder)
    do {
      var madeParent = false
      if try Files.fileStatusIfPresent(parent) == nil {
        madeParent = try Files.createDirectory(parent)
      }
      if try Files.fileStatusIfPresent(folder, followLinks: false) != nil { return (false, false) }
      return (try Files.createDirectory(folder), madeParent)
    } catch {
      throw MigrationError.folderNotWritable(parent, cause: error)
    }
  }

  /// Removes all that an earlier migration left, but the lock and the mark.
  func clear(keeping: Set<FilePath> = []) throws { try folder.clear(keeping: keeping) }

  /// Removes the folder with what Godwit made in it, and what is left of a result beside the
  /// destination.
  ///
  /// - Returns: what is left because Godwit did not make it.
  @discardableResult
  func remove() throws -> [FilePath] {
    for suffix in ["", "-wal", "-shm", "-journal"] {
      try Files.removeRegularFile(FilePath("\(paths.result)\(suffix)"))
    }
    return try folder.remove()
  }
}
