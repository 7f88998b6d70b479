import CSystemShims
import Synchronization
package import SystemPackage

private let temporaryFilesMade = Atomic<UInt64>(0)

extension Files {
  /// All bytes of a file.
  ///
  /// Reads to its end whatever size the system reports: that of a file of `/proc` is 0.
  ///
  /// - Throws: as `open`, and `SystemCallError` with `.fileTooLarge` for more than `limit` bytes.
  package static func readFile(
    _ path: FilePath, limit: Int
  ) throws(SystemCallError) -> [UInt8] {
    let descriptor = try open(path, mode: .readOnly)
    return try calling(.read, path: path) {
      try descriptor.closeAfter { try readToEnd(descriptor, limit: limit) }
    }
  }

  /// The first bytes of a file, fewer where it ends before.
  package static func readHead(
    _ path: FilePath, count: Int
  ) throws(SystemCallError) -> [UInt8] {
    let descriptor = try open(path, mode: .readOnly)
    return try calling(.read, path: path) {
      try descriptor.closeAfter {
        var bytes = [UInt8](repeating: 0, count: count)
        let found = try bytes.withUnsafeMutableBytes { try descriptor.read(into: $0) }
        return Array(bytes.prefix(found))
      }
    }
  }

  /// Opens a file with `O_CLOEXEC`; errors name its path.
  ///
  /// Never waits for the writer of a pipe.
  ///
  /// - Throws: `SystemCallError`, with `isOfWrongKind` to read a pipe, a socket or a device.
  package static func open(
    _ path: FilePath, mode: FileDescriptor.AccessMode,
    options: FileDescriptor.OpenOptions = [], permissions: FilePermissions? = nil
  ) throws(SystemCallError) -> FileDescriptor {
    let options = options.union(.closeOnExec)
    guard mode != .writeOnly else {
      return try calling(.open, path: path) {
        try FileDescriptor.open(path, mode, options: options, permissions: permissions)
      }
    }
    let file = try calling(.open, path: path) {
      do {
        return try FileDescriptor.open(
          path, mode, options: options.union(.nonBlocking), permissions: permissions)
      } catch Errno.resourceTemporarilyUnavailable {
        // Another program, such as a file server, has a lease. No pipe fails in this way.
        return try FileDescriptor.open(path, mode, options: options, permissions: permissions)
      }
    }
    do throws(SystemCallError) {
      guard try fileStatus(of: file).kind != .other else {
        throw SystemCallError(wrongKindOf: path)
      }
      return file
    } catch {
      try? file.close()  // the failure that counts is the first
      throw error
    }
  }

  /// All bytes from the current offset to the end.
  ///
  /// - Throws: `Errno`, with `.fileTooLarge` for more than `limit` bytes.
  package static func readToEnd(_ descriptor: FileDescriptor, limit: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    while true {
      let chunk = try [UInt8](unsafeUninitializedCapacity: 65_536) { room, count in
        count = try descriptor.read(into: UnsafeMutableRawBufferPointer(room))
      }
      if chunk.isEmpty { return bytes }
      if chunk.count > limit - bytes.count { throw Errno.fileTooLarge }
      bytes += chunk
    }
  }

  /// Creates or replaces a file: after a crash there is the old or the new one, never a part.
  ///
  /// - Parameters:
  ///   - syncs: false if the file need not survive a crash of the system.
  ///   - syncsName: false if the caller syncs the folder later, or if the old file does as well.
  package static func writeFileAtomically(
    _ bytes: some Sequence<UInt8>, to path: FilePath,
    mode: FilePermissions = [.ownerReadWrite, .groupRead, .otherRead], syncs: Bool = true,
    syncsName: Bool = true
  ) throws(SystemCallError) {
    let temporary = temporary(for: path)
    // No `exclusiveCreate`: an earlier process of this number may have died and left one behind.
    let descriptor = try calling(.open, path: temporary) {
      try FileDescriptor.open(
        temporary, .writeOnly, options: [.create, .truncate, .noFollow, .closeOnExec],
        permissions: mode)
    }
    do throws(SystemCallError) {
      try calling(.write, path: path) {
        try descriptor.closeAfter {
          try descriptor.writeAll(bytes)
          if syncs { try syncFile(descriptor) }
        }
      }
      try rename(temporary, to: path)
    } catch {
      _ = try? remove(temporary)  // the failure that counts is the first
      throw error
    }
    if syncs && syncsName { try syncDirectory(parent(of: path)) }
  }

  /// The longest that is put behind a name while its file is written, in bytes: Linux has process
  /// numbers up to 4194304.
  package static let longestTemporarySuffix = ".4194304.999999.tmp".utf8.count

  /// The name of a file while it is written: `plan.json.4711.2.tmp`.
  package static func temporary(for path: FilePath) -> FilePath {
    let count = temporaryFilesMade.add(1, ordering: .relaxed).newValue % 1_000_000
    return FilePath("\(path.string).\(Processes.own).\(count).tmp")
  }

  /// The folder of a path, `.` for a bare name.
  package static func parent(of path: FilePath) -> FilePath {
    let parent = path.removingLastComponent()
    return parent.isEmpty ? FilePath(".") : parent
  }
}
