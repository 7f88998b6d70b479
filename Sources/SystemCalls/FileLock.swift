import CSystemShims
package import SystemPackage

/// The exclusive lock of a file, held until the value is gone or its process ends, however it ends.
package final class FileLock: Sendable {
  package let path: FilePath
  private let descriptor: FileDescriptor

  private init(path: FilePath, descriptor: FileDescriptor) {
    self.path = path
    self.descriptor = descriptor
  }

  deinit {
    try? descriptor.close()  // closing releases, and cannot be tried again
  }

  /// Locks a file, which is made if missing; nil when it is locked already, mostly by another
  /// process.
  ///
  /// The file stays when the lock is gone: removing it would let two hold the lock of one name.
  package static func acquire(_ path: FilePath) throws(SystemCallError) -> FileLock? {
    while true {
      let descriptor = try calling(.open, path: path) {
        try FileDescriptor.open(
          path, .readWrite, options: [.create, .noFollow, .closeOnExec],
          permissions: [.ownerReadWrite, .groupRead, .otherRead])
      }
      do throws(SystemCallError) {
        guard try lock(descriptor, path: path) else {
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

  private static func lock(
    _ descriptor: FileDescriptor, path: FilePath
  ) throws(SystemCallError) -> Bool {
    let held = -Errno.resourceTemporarilyUnavailable.rawValue
    let code = csystem_lock(descriptor.rawValue)
    if code == held { return false }
    try check(code, operation: .lock, path: path)
    // flock does not reach other machines everywhere; the lock of the description does, where the
    // file system has it. Where it does not, flock alone decides.
    return csystem_lock_description(descriptor.rawValue) != held
  }
}
