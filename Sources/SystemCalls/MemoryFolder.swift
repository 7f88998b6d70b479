import Foundation
import Synchronization
import SystemPackage

// Files there are never written to a disk, and stay when a process is killed. So each folder has a
// lock that its process holds, and the next process removes folders whose lock is free.

/// A folder for small temporary files, in memory, removed with the object.
package final class MemoryFolder: Sendable {
  private let folder: TemporaryFolder
  private let lock: FileLock
  private let made = Atomic(0)

  /// The place of such folders on Linux, a tmpfs.
  private static let place = FilePath("/dev/shm")
  private static let prefix = "godwit-memory-"

  /// Creates a folder; nil where the system has no place for it.
  package init?() {
    guard (try? Files.fileStatusIfPresent(Self.place))?.isDirectory == true else { return nil }
    Self.removeAbandoned()
    for _ in 0..<3 {
      // Between its creation and its lock another process may take it for abandoned.
      guard let name = FilePath.Component(Self.prefix + UUID().uuidString),
        let folder = try? TemporaryFolder(named: name, in: Self.place),
        let lock = try? FileLock.acquire(folder.path.appending("lock"))
      else { continue }
      (self.folder, self.lock) = (folder, lock)
      return
    }
    return nil
  }

  /// Creates a folder in this one.
  package func makeFolder() throws(SystemCallError) -> TemporaryFolder {
    let number = made.add(1, ordering: .relaxed).newValue
    guard let name = FilePath.Component("\(number)") else {
      preconditionFailure("a number is a name")
    }
    return try TemporaryFolder(named: name, in: folder.path)
  }

  /// Removes the folders of processes that were killed.
  private static func removeAbandoned() {
    for name in (try? Files.listDirectory(place)) ?? [] where name.string.hasPrefix(prefix) {
      let path = place.appending(name)
      guard let status = try? Files.fileStatusIfPresent(path, followLinks: false),
        status.isDirectory, status.owner == Processes.user,
        let lock = try? FileLock.acquire(path.appending("lock"))
      else { continue }
      withExtendedLifetime(lock) { TemporaryFolder.remove(path) }
    }
  }
}
