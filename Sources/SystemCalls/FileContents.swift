import CSystemShims
import Synchronization
package import SystemPackage

private let temporaryFilesMade = Atomic<UInt64>(0)

extension Files {
  /// All bytes of a file; `.fileTooLarge` when there are more than `limit`.
  ///
  /// Reads to the end whatever size the system tells: that of a file of `/proc` is 0.
  package static func readFile(
    _ path: FilePath, limit: Int
  ) throws(SystemCallError) -> [UInt8] {
    let descriptor = try calling(.open, path: path) {
      try FileDescriptor.open(path, .readOnly, options: .closeOnExec)
    }
    return try calling(.read, path: path) {
      try descriptor.closeAfter { try readToEnd(descriptor, limit: limit) }
    }
  }

  /// Opens a file, which is closed with the process's next program; a failure names the file.
  package static func open(
    _ path: FilePath, mode: FileDescriptor.AccessMode,
    options: FileDescriptor.OpenOptions = [], permissions: FilePermissions? = nil
  ) throws(SystemCallError) -> FileDescriptor {
    try calling(.open, path: path) {
      try FileDescriptor.open(
        path, mode, options: options.union(.closeOnExec), permissions: permissions)
    }
  }

  /// All bytes that follow in a descriptor; `.fileTooLarge` when there are more than `limit`.
  package static func readToEnd(_ descriptor: FileDescriptor, limit: Int) throws -> [UInt8] {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = try chunk.withUnsafeMutableBytes { try descriptor.read(into: $0) }
      if count == 0 { return bytes }
      if count > limit - bytes.count { throw Errno.fileTooLarge }
      bytes.append(contentsOf: chunk[..<count])
    }
  }

  /// Puts a whole file in place: after a crash there is the old one or the new one, never a part.
  ///
  /// - Parameter syncs: false where only a crash of the process has to leave the file whole.
  package static func writeFileAtomically(
    _ bytes: some Sequence<UInt8>, to path: FilePath,
    mode: FilePermissions = [.ownerReadWrite, .groupRead, .otherRead], syncs: Bool = true
  ) throws(SystemCallError) {
    let count = temporaryFilesMade.add(1, ordering: .relaxed).newValue
    let temporary = FilePath("\(path.string).\(Processes.own).\(count).tmp")
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
    if syncs { try syncDirectory(parent(of: path)) }
  }

  /// The folder that holds the name, `.` for a bare name.
  package static func parent(of path: FilePath) -> FilePath {
    let parent = path.removingLastComponent()
    return parent.isEmpty ? FilePath(".") : parent
  }

  /// A file without a name that holds `bytes`, read from its start.
  ///
  /// To hand a process its input: unlike a pipe, nobody must live to fill it.
  package static func anonymousFile(
    containing bytes: [UInt8]
  ) throws(SystemCallError) -> FileDescriptor {
    let code = csystem_memory_file()
    let descriptor =
      code >= 0 ? FileDescriptor(rawValue: code) : try unlinkedTemporaryFile()
    do {
      try descriptor.writeAll(bytes)
      try descriptor.seek(offset: 0, from: .start)
      return descriptor
    } catch {
      try? descriptor.close()
      throw SystemCallError(operation: .memoryFile, path: nil, errno: error as? Errno ?? .ioError)
    }
  }

  private static func unlinkedTemporaryFile() throws(SystemCallError) -> FileDescriptor {
    let count = temporaryFilesMade.add(1, ordering: .relaxed).newValue
    let path = FilePath("/tmp/godwit.\(Processes.own).\(count).tmp")
    let descriptor = try calling(.open, path: path) {
      try FileDescriptor.open(
        path, .readWrite, options: [.create, .exclusiveCreate, .noFollow, .closeOnExec],
        permissions: .ownerReadWrite)
    }
    try remove(path)
    return descriptor
  }
}
