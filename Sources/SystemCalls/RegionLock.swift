import CSystemShims
package import SystemPackage

/// A lock on a range of bytes of a file, held until the object or the process ends.
///
/// It conflicts with the locks of other programs on the same bytes, such as SQLite's.
package final class RegionLock: Sendable {
  /// Whether other locks on the bytes are possible.
  package enum Kind: Sendable { case shared, exclusive }

  /// The path of the locked file.
  package let path: FilePath
  private let descriptor: FileDescriptor

  private init(path: FilePath, descriptor: FileDescriptor) {
    self.path = path
    self.descriptor = descriptor
  }

  deinit {
    try? descriptor.close()  // closing releases, and cannot be tried again
  }

  /// Locks bytes of an existing file without waiting; nil if another lock conflicts.
  package static func acquire(
    _ path: FilePath, kind: Kind, bytes: Range<Int64>
  ) throws(SystemCallError) -> RegionLock? {
    let access: FileDescriptor.AccessMode = kind == .exclusive ? .readWrite : .readOnly
    let descriptor = try calling(.open, path: path) {
      try FileDescriptor.open(path, access, options: .closeOnExec)
    }
    let code = csystem_lock_region(
      descriptor.rawValue, kind == .exclusive ? 1 : 0, off_t(bytes.lowerBound),
      off_t(bytes.upperBound - bytes.lowerBound))
    if code >= 0 { return RegionLock(path: path, descriptor: descriptor) }
    try? descriptor.close()
    let errno = Errno(rawValue: -code)
    if errno == .resourceTemporarilyUnavailable || errno == .permissionDenied { return nil }
    throw SystemCallError(operation: .lock, path: path, errno: errno)
  }
}
