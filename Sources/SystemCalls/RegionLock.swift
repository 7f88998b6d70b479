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
  ///
  /// - Parameter isUpgradable: whether a shared lock may become an exclusive one, where this user
  ///   may write the file.
  package static func acquire(
    _ path: FilePath, kind: Kind, bytes: Range<Int64>, isUpgradable: Bool = false
  ) throws(SystemCallError) -> RegionLock? {
    let isWritable =
      kind == .exclusive || (isUpgradable && Files.isReadableAndWritable(path))
    let descriptor = try Files.open(path, mode: isWritable ? .readWrite : .readOnly)
    let lock = RegionLock(path: path, descriptor: descriptor)
    return try lock.take(kind, bytes: bytes) ? lock : nil
  }

  /// Locks bytes of a file that is open for reading and writing, as `acquire(_:kind:bytes:)` does;
  /// the other locks of this opening do not conflict.
  package static func acquireExclusive(
    _ file: FileDescriptor, path: FilePath, bytes: Range<Int64>
  ) throws(SystemCallError) -> RegionLock? {
    let descriptor = try calling(.open, path: path) { try file.duplicate() }
    let lock = RegionLock(path: path, descriptor: descriptor)
    return try lock.take(.exclusive, bytes: bytes) ? lock : nil
  }

  /// Makes the lock an exclusive one of a run of bytes around its own, in one step; false when
  /// another process is in the way, and the lock is what it was.
  package func makeExclusive(bytes: Range<Int64>) throws(SystemCallError) -> Bool {
    try take(.exclusive, bytes: bytes)
  }

  /// Whether no descriptor of the file but that of the lock is open in any process, as far as the
  /// system shows; false for a lock that was taken for reading.
  ///
  /// The kernel knows it for files of the user, and with the right CAP_LEASE for others.
  package var isOnlyOpening: Bool { csystem_is_only_opening(descriptor.rawValue) == 1 }

  /// Overwrites the first bytes of the locked file, by which SQLite recognizes a database.
  package func clearStart() throws(SystemCallError) {
    try calling(.write, path: path) {
      _ = try descriptor.writeAll(toAbsoluteOffset: 0, [UInt8](repeating: 0, count: 100))
    }
  }

  /// The status of the locked file, whatever the path leads to now.
  package var status: FileStatus {
    get throws(SystemCallError) { try Files.fileStatus(of: descriptor) }
  }

  private func take(_ kind: Kind, bytes: Range<Int64>) throws(SystemCallError) -> Bool {
    let code = csystem_lock_region(
      descriptor.rawValue, kind == .exclusive ? 1 : 0, off_t(bytes.lowerBound),
      off_t(bytes.upperBound - bytes.lowerBound))
    if code >= 0 { return true }
    let errno = Errno(rawValue: -code)
    if errno == .resourceTemporarilyUnavailable || errno == .permissionDenied { return false }
    throw SystemCallError(operation: .lock, path: path, errno: errno)
  }
}
