import CSystemShims
package import SystemPackage

/// What the system knows of a file without reading it.
package struct FileStatus: Hashable, Sendable {
  package var size: Int64
  /// Nanoseconds since 1970, clamped to what 64 bits hold.
  package var modified: Int64
  package var inode: UInt64
  package var device: UInt64
  /// The permission bits, without the type.
  package var mode: UInt32
  package var owner: UInt32
  package var group: UInt32
  package var kind: Kind

  package enum Kind: Sendable {
    case file, directory, symbolicLink, other
  }

  package var isDirectory: Bool { kind == .directory }

  /// Whether both describe the same file, under whatever name.
  package func isSameFile(as other: FileStatus) -> Bool {
    inode == other.inode && device == other.device
  }

  init(_ status: csystem_status) {
    let (nanoseconds, overflow) = status.modified_seconds.multipliedReportingOverflow(
      by: 1_000_000_000)
    let (total, carried) = nanoseconds.addingReportingOverflow(status.modified_nanoseconds)
    let clamped = status.modified_seconds < 0 ? Int64.min : .max
    size = status.size
    modified = overflow || carried ? clamped : total
    inode = status.inode
    device = status.device
    mode = status.mode & 0o7777
    owner = status.owner
    group = status.group
    // The type lies in the bits 12...15 by POSIX usage; Glibc does not import S_ISREG.
    kind =
      switch status.mode & 0o170000 {
      case 0o100000: .file
      case 0o040000: .directory
      case 0o120000: .symbolicLink
      default: .other
      }
  }
}

extension Files {
  /// Whether this user may read and write the file, which is there.
  package static func isReadableAndWritable(_ path: FilePath) -> Bool {
    path.withPlatformString { csystem_is_readable_and_writable($0) } == 1
  }

  /// The status of the file; a symbolic link is followed unless asked otherwise.
  package static func fileStatus(
    _ path: FilePath, followLinks: Bool = true
  ) throws(SystemCallError) -> FileStatus {
    var status = csystem_status()
    let code = path.withPlatformString { csystem_path_status($0, followLinks ? 1 : 0, &status) }
    try check(code, operation: .status, path: path)
    return FileStatus(status)
  }

  /// The status of the file, or nil when nothing has that name.
  package static func fileStatusIfPresent(
    _ path: FilePath, followLinks: Bool = true
  ) throws(SystemCallError) -> FileStatus? {
    do throws(SystemCallError) {
      return try fileStatus(path, followLinks: followLinks)
    } catch {
      if error.errno == .noSuchFileOrDirectory || error.errno == .notDirectory { return nil }
      throw error
    }
  }

  /// The absolute path of a file without symbolic links; `.noSuchFileOrDirectory` where there is
  /// none.
  package static func resolved(_ path: FilePath) throws(SystemCallError) -> FilePath {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    try check(
      path.withPlatformString { csystem_resolve($0, &buffer) }, operation: .status, path: path)
    return FilePath(platformString: buffer)
  }

  /// The absolute path of a file that may not be there yet: its folder without symbolic links, its
  /// name as it is.
  package static func resolvedFolder(of path: FilePath) throws(SystemCallError) -> FilePath {
    let folder = try resolved(parent(of: path))
    return path.lastComponent.map { folder.appending($0) } ?? folder
  }

  /// The path under which a file was opened, where the system tells it.
  package static func path(of descriptor: FileDescriptor) -> FilePath? {
    #if os(Linux)
      return try? resolved(FilePath("/proc/self/fd/\(descriptor.rawValue)"))
    #else
      return nil
    #endif
  }

  package static func fileStatus(
    of descriptor: FileDescriptor
  ) throws(SystemCallError) -> FileStatus {
    var status = csystem_status()
    try check(
      csystem_descriptor_status(descriptor.rawValue, &status), operation: .status, path: nil)
    return FileStatus(status)
  }

  /// Bytes that an unprivileged process may still write where `path` lies.
  package static func freeSpace(at path: FilePath) throws(SystemCallError) -> UInt64 {
    var bytes: UInt64 = 0
    try check(
      path.withPlatformString { csystem_free_space($0, &bytes) }, operation: .freeSpace, path: path)
    return bytes
  }

  /// Whether another machine or a program (FUSE) keeps the file system: locks, shared memory and
  /// renames are then not to be trusted.
  package static func isOnNetworkFileSystem(_ path: FilePath) throws(SystemCallError) -> Bool {
    try check(
      path.withPlatformString { csystem_is_network_file_system($0) }, operation: .fileSystemKind,
      path: path) == 1
  }
}
