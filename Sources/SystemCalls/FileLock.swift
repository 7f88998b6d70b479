import CSystemShims
import Synchronization
package import SystemPackage

/// The exclusive lock of a file, held until the object or the process ends, however it ends.
package final class FileLock: Sendable {
  /// The path of the locked file.
  package let path: FilePath
  private let descriptor: FileDescriptor
  private let removesFolder = Atomic(false)

  private init(path: FilePath, descriptor: FileDescriptor) {
    self.path = path
    self.descriptor = descriptor
  }

  deinit {
    try? descriptor.close()  // closing releases, and cannot be tried again
    if removesFolder.load(ordering: .relaxed) {
      _ = try? Files.removeDirectory(Files.parent(of: path))
    }
  }

  /// Has the folder of the file removed at the end of the lock, if it is empty then.
  ///
  /// On a network file system a removed file keeps a name as long as it is open, and its folder is
  /// not empty.
  package func removeFolderAtEnd() { removesFolder.store(true, ordering: .relaxed) }

  /// Locks a file, which is created if missing; nil if it is locked already, usually by another
  /// process.
  ///
  /// The file remains when the lock ends: if it were removed, two processes could hold the lock of
  /// one path.
  package static func acquire(_ path: FilePath) throws(SystemCallError) -> FileLock? {
    while true {
      let descriptor = try calling(.open, path: path) {
        try FileDescriptor.open(
          path, .readWrite, options: [.create, .noFollow, .closeOnExec],
          permissions: [.ownerReadWrite, .groupRead, .otherRead])
      }
      do throws(SystemCallError) {
        guard try holds(descriptor, path: path) else {
          try? descriptor.close()
          return nil
        }
        // Another process may have removed the file between opening and locking.
        let named = try Files.fileStatusIfPresent(path)
        if let named, try named.isSameFile(as: Files.fileStatus(of: descriptor)) {
          return FileLock(path: path, descriptor: descriptor)
        }
        try? descriptor.close()
      } catch {
        try? descriptor.close()
        throw error
      }
    }
  }

  /// Locks a file that is open, for as long as the descriptor is; false where another process holds
  /// it.
  package static func holds(
    _ descriptor: FileDescriptor, path: FilePath
  ) throws(SystemCallError) -> Bool {
    let held = -Errno.resourceTemporarilyUnavailable.rawValue
    let code = csystem_lock(descriptor.rawValue)
    if code == held { return false }
    try check(code, operation: .lock, path: path)
    // On some network file systems flock does not exclude other machines, while the lock of the
    // description does. Where that is not available, flock alone decides.
    return csystem_lock_description(descriptor.rawValue) != held
  }
}
