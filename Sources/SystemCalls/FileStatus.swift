import CSystemShims
package import SystemPackage

/// The status of a file, `struct stat`.
package struct FileStatus: Hashable, Sendable {
  /// The size in bytes.
  package var size: Int64
  /// The modification time in nanoseconds since 1970, clamped to 64 bits.
  package var modified: Int64
  /// When anything of the file changed last, its names as well; counted as `modified` is.
  package var changed: Int64
  /// The number of the file on its device.
  package var inode: UInt64
  /// Identifies the file system; renames are possible within one.
  package var device: UInt64
  /// The permission bits, without the file type.
  package var mode: UInt32
  /// The user identifier of the owner.
  package var owner: UInt32
  /// The group identifier.
  package var group: UInt32
  /// The file type.
  package var kind: Kind
  /// How many names the file has.
  package var links: UInt32

  /// The file types; `other` has pipes, sockets and devices.
  package enum Kind: Sendable {
    /// A link only if it was not followed.
    case file, directory, symbolicLink, other
  }

  /// Whether writing to it writes to a disk as a whole.
  package var isBlockDevice: Bool

  /// Of a folder, whether only the owners of its files and its own may rename and remove them.
  package var isSticky: Bool { mode & 0o1000 != 0 }

  /// Whether the file is a folder.
  package var isDirectory: Bool { kind == .directory }

  /// The identity of a file among all files of the machine.
  package struct Identity: Hashable, Sendable {
    package let device, inode: UInt64
  }

  /// The identity of the file, independent of its path.
  package var identity: Identity { Identity(device: device, inode: inode) }

  /// Whether both describe the same file, regardless of the path.
  package func isSameFile(as other: FileStatus) -> Bool { identity == other.identity }

  init(_ status: csystem_status) {
    size = status.size
    modified = Self.time(status.modified_seconds, nanoseconds: status.modified_nanoseconds)
    changed = Self.time(status.changed_seconds, nanoseconds: status.changed_nanoseconds)
    inode = status.inode
    device = status.device
    mode = status.mode & 0o7777
    owner = status.owner
    group = status.group
    links = status.links
    isBlockDevice = status.mode & 0o170000 == 0o060000
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

extension FileStatus {
  private static func time(_ seconds: Int64, nanoseconds: Int64) -> Int64 {
    let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (total, carried) = whole.addingReportingOverflow(nanoseconds)
    return overflow || carried ? (seconds < 0 ? .min : .max) : total
  }
}

extension Files {
  /// Whether the file exists and this user may read and write it.
  package static func isReadableAndWritable(_ path: FilePath) -> Bool {
    path.withPlatformString { csystem_is_readable_and_writable($0) } == 1
  }

  /// Whether this user may neither rename nor remove a file, even one that it may write: its folder
  /// has the sticky bit, and other users own both.
  package static func isReservedForOwner(_ path: FilePath) throws(SystemCallError) -> Bool {
    let (user, folder) = (Processes.user, try fileStatus(parent(of: path)))
    guard folder.isSticky, user != 0, folder.owner != user else { return false }
    return try fileStatus(path, followLinks: false).owner != user
  }

  /// The status of the file at a path, by default of the one to which a symbolic link leads.
  package static func fileStatus(
    _ path: FilePath, followLinks: Bool = true
  ) throws(SystemCallError) -> FileStatus {
    var status = csystem_status()
    let code = path.withPlatformString { csystem_path_status($0, followLinks ? 1 : 0, &status) }
    try check(code, operation: .status, path: path)
    return FileStatus(status)
  }

  /// The status of the file at a path, nil if there is none, or none can be of so long a name.
  package static func fileStatusIfPresent(
    _ path: FilePath, followLinks: Bool = true
  ) throws(SystemCallError) -> FileStatus? {
    do throws(SystemCallError) {
      return try fileStatus(path, followLinks: followLinks)
    } catch {
      let absent: [Errno] = [.noSuchFileOrDirectory, .notDirectory, .fileNameTooLong]
      if absent.contains(error.errno) { return nil }
      throw error
    }
  }

  /// The absolute path of a file, without symbolic links.
  ///
  /// - Throws: `SystemCallError`, with `.noSuchFileOrDirectory` if there is none.
  package static func resolved(_ path: FilePath) throws(SystemCallError) -> FilePath {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    try check(
      path.withPlatformString { csystem_resolve($0, &buffer) }, operation: .status, path: path)
    return FilePath(platformString: buffer)
  }

  /// The absolute path of a file that may not exist yet: its folder without symbolic links, and its
  /// name unchanged.
  package static func resolvedFolder(of path: FilePath) throws(SystemCallError) -> FilePath {
    let folder = try resolved(parent(of: path))
    return path.lastComponent.map { folder.appending($0) } ?? folder
  }

  /// The path of an open file, nil where the system does not provide it.
  package static func path(of descriptor: FileDescriptor) -> FilePath? {
    #if os(Linux)
      return try? resolved(FilePath("/proc/self/fd/\(descriptor.rawValue)"))
    #else
      return nil
    #endif
  }

  /// The status of an open file.
  package static func fileStatus(
    of descriptor: FileDescriptor
  ) throws(SystemCallError) -> FileStatus {
    var status = csystem_status()
    try check(
      csystem_descriptor_status(descriptor.rawValue, &status), operation: .status, path: nil)
    return FileStatus(status)
  }

  /// The bytes that an unprivileged process may still write to the file system of `path`.
  package static func freeSpace(at path: FilePath) throws(SystemCallError) -> UInt64 {
    var bytes: UInt64 = 0
    try check(
      path.withPlatformString { csystem_free_space($0, &bytes) }, operation: .freeSpace, path: path)
    return bytes
  }

  /// Whether the file system belongs to another machine or to a program (FUSE), so that locks,
  /// shared memory and renames are unreliable.
  package static func isOnNetworkFileSystem(_ path: FilePath) throws(SystemCallError) -> Bool {
    try check(
      path.withPlatformString { csystem_is_network_file_system($0) }, operation: .fileSystemKind,
      path: path) == 1
  }
}
