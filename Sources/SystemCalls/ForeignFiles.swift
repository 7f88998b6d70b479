import CSystemShims
package import SystemPackage

// Calls for files that other files name, and for names that anybody may have put something at.

extension Files {
  /// Opens a regular file by a path below a folder, for reading.
  ///
  /// No link is followed below the folder, and no `..` leads out of it:
  /// `.tooManySymbolicLinkLevels` where there is a link, `.improperLink` where the path leads out,
  /// `isOfWrongKind` where it is no regular file.
  package static func openBeneath(
    _ folder: FilePath, path: FilePath
  ) throws(SystemCallError) -> FileDescriptor {
    let whole = folder.pushing(path)
    let base = try calling(.open, path: folder) {
      try FileDescriptor.open(folder, .readOnly, options: [.directory, .closeOnExec])
    }
    defer { try? base.close() }  // was only looked through
    let code = path.withPlatformString { csystem_open_beneath(base.rawValue, $0) }
    let file = FileDescriptor(rawValue: try check(code, operation: .open, path: whole))
    do throws(SystemCallError) {
      guard try fileStatus(of: file).kind == .file else {
        throw SystemCallError(wrongKindOf: whole)
      }
      return file
    } catch {
      try? file.close()  // the failure that counts is the first
      throw error
    }
  }
}

/// An open folder whose files are opened by names that anybody may have given.
///
/// It does what `Files.openBeneath` does, in fewer calls for many files, without a reason for
/// failures.
package final class ForeignFolder: Sendable {
  /// What came of reading a file.
  package enum Outcome {
    case read(Int)
    case tooLong, failed
  }

  private let descriptor: FileDescriptor

  /// Opens a folder by a path below another one; nil where there is none, or a link on the way.
  package init?(_ folder: FilePath, path: FilePath) {
    guard let base = try? Files.open(folder, mode: .readOnly, options: .directory) else {
      return nil
    }
    defer { try? base.close() }  // was only looked through
    let code = path.withPlatformString { csystem_open_beneath(base.rawValue, $0) }
    guard code >= 0 else { return nil }
    descriptor = FileDescriptor(rawValue: code)
    guard (try? Files.fileStatus(of: descriptor).isDirectory) == true else { return nil }
  }

  deinit {
    try? descriptor.close()  // was only read
  }

  /// The bytes of the regular file that has this name; nil where there is none that may be read.
  ///
  /// It is opened only where its mode leaves open whether it may be.
  package func size(of name: FilePath.Component) -> Int64? {
    guard let status = status(of: name), status.kind == .file else { return nil }
    let isOwn = status.owner == Processes.user && status.mode & 0o400 != 0
    if isOwn || status.mode & 0o444 == 0o444 { return status.size }
    let code = name.withPlatformString { csystem_open_beneath(descriptor.rawValue, $0) }
    guard code >= 0 else { return nil }
    let file = FileDescriptor(rawValue: code)
    defer { try? file.close() }  // was only looked at
    guard let opened = try? Files.fileStatus(of: file), opened.kind == .file else { return nil }
    return opened.size
  }

  /// The status of what has this name, links of themselves.
  private func status(of name: FilePath.Component) -> FileStatus? {
    var status = csystem_status()
    let code = name.withPlatformString {
      csystem_entry_status(descriptor.rawValue, $0, &status)
    }
    return code < 0 ? nil : FileStatus(status)
  }

  /// Reads a regular file by a name that ends with a NUL; it has to be shorter than the room.
  package func read(
    _ name: UnsafePointer<CChar>, into room: UnsafeMutableRawBufferPointer
  ) -> Outcome {
    let count = csystem_read_beneath(descriptor.rawValue, name, room.baseAddress, room.count)
    if count >= 0 { return .read(Int(count)) }
    return count == -Int64(Errno.fileTooLarge.rawValue) ? .tooLong : .failed
  }
}

/// A pipe, a terminal or another device that is open for writing, with a limit on waiting.
package final class StreamFile: Sendable {
  private let path: FilePath
  private let descriptor: FileDescriptor

  /// Opens it: `.noSuchAddressOrDevice` where a pipe has no reader, `isOfWrongKind` for a file or
  /// a disk.
  package init(_ path: FilePath) throws(SystemCallError) {
    self.path = path
    let found = try Files.fileStatus(path)
    guard found.kind == .other, !found.isBlockDevice else {
      throw SystemCallError(wrongKindOf: path)
    }
    descriptor = try Files.open(path, mode: .writeOnly, options: .nonBlocking)
  }

  deinit {
    try? descriptor.close()  // cannot be tried again
  }

  /// Writes bytes; `.timedOut` if no reader takes any for ten seconds.
  package func write(_ bytes: [UInt8]) throws(SystemCallError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      do {
        rest = rest.dropFirst(try rest.withUnsafeBytes { try descriptor.write($0) })
      } catch let error as Errno where error == .resourceTemporarilyUnavailable {
        let isReady = try check(
          csystem_wait_writable(descriptor.rawValue, 10_000), operation: .write, path: path)
        if isReady == 0 { throw SystemCallError(operation: .write, path: path, errno: .timedOut) }
      } catch {
        throw SystemCallError(
          operation: .write, path: path, errno: error as? Errno ?? .ioError)
      }
    }
  }
}
