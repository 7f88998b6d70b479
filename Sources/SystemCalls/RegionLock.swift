import CSystemShims
package import SystemPackage

/// A lock of a run of bytes of a file, held until the value is gone or its process ends.
///
/// It meets the locks that other programs take of the same bytes, SQLite's among them.
package final class RegionLock: Sendable {
  package enum Kind: Sendable { case shared, exclusive }

  package let path: FilePath
  private let descriptor: FileDescriptor

  private init(path: FilePath, descriptor: FileDescriptor) {
    self.path = path
    self.descriptor = descriptor
  }

  deinit {
    try? descriptor.close()  // closing releases, and cannot be tried again
  }

  /// Locks the bytes of an existing file without waiting; nil when another process is in the way.
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
