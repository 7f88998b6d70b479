import CSystemShims
package import SystemPackage

extension Files {
  /// How a copy was made.
  package enum CopyMethod: String, Sendable {
    /// Both files share their blocks until one of them is written.
    case cloned
    /// The bytes were read and written.
    case copied
  }

  /// Creates a file with the bytes, the mode and, where permitted, the owner of another one.
  ///
  /// `progress` receives the bytes copied so far and may throw. After any error the new file is
  /// removed.
  ///
  /// - Throws: `SystemCallError`, with `.fileExists` if the new path is taken, or the error of
  ///   `progress`.
  @discardableResult
  package static func cloneOrCopy(
    from: FilePath, to: FilePath, progress: (Int64) throws -> Void = { _ in }
  ) throws -> CopyMethod {
    let source = try open(from, mode: .readOnly)
    return try source.closeAfter { try cloneOrCopy(from: source, to: to, progress: progress) }
  }

  /// The same of a file that is open, from its start.
  @discardableResult
  package static func cloneOrCopy(
    from source: FileDescriptor, to: FilePath, progress: (Int64) throws -> Void = { _ in }
  ) throws -> CopyMethod {
    let target = try calling(.open, path: to) {
      try FileDescriptor.open(
        to, .writeOnly, options: [.create, .exclusiveCreate, .closeOnExec],
        permissions: .ownerReadWrite)
    }
    do {
      return try target.closeAfter {
        let method = try copyBytes(source, target: target, path: to, progress: progress)
        // By its number: its name may be another file's by now.
        try copyAttributes(from: FilePath("/dev/fd/\(source.rawValue)"), to: to)
        return method
      }
    } catch {
      _ = try? remove(to)  // the failure that counts is the first
      throw error
    }
  }

  /// Whether a file in a folder could share the blocks of a file of 64 KiB or more, so that a copy
  /// takes neither time nor room; false where that cannot be found out.
  ///
  /// What is made in the folder to find out has no name, and goes again.
  package static func canShareBlocks(of path: FilePath, in folder: FilePath) -> Bool {
    guard let file = try? open(path, mode: .readOnly) else { return false }
    let shares = try? file.closeAfter {
      folder.withPlatformString { csystem_shares_blocks(file.rawValue, $0) }
    }
    return shares == 1
  }

  /// Gives a file or a folder the mode and, where permitted, the owner, the group and the extended
  /// attributes of another one; false when the owner was not permitted.
  @discardableResult
  package static func copyAttributes(from: FilePath, to: FilePath) throws(SystemCallError) -> Bool {
    let wanted = try fileStatus(from)
    // The owner first: a change of the owner clears bits of the mode.
    let isOwned = to.withPlatformString { csystem_set_owner($0, wanted.owner, wanted.group) } == 0
    if !isOwned {
      // A member of the group may set it without the right to change the owner.
      _ = to.withPlatformString { csystem_set_owner($0, .max, wanted.group) }
    }
    // Some attributes belong to the system, and not every file system has any.
    _ = from.withPlatformString { from in
      to.withPlatformString { csystem_copy_attributes(from, $0) }
    }
    let mode = CInterop.Mode(wanted.mode)
    try check(
      to.withPlatformString { csystem_set_mode($0, mode) }, operation: .setAttributes, path: to)
    return isOwned
  }

  /// Gives a file to its owner alone, for reading and writing.
  package static func makeOwn(_ path: FilePath) throws(SystemCallError) {
    try check(
      path.withPlatformString { csystem_set_mode($0, 0o600) }, operation: .setAttributes,
      path: path)
  }

  /// Gives a file the time of the last change of another one.
  package static func setModified(_ path: FilePath, from other: FilePath) throws(SystemCallError) {
    let code = other.withPlatformString { other in
      path.withPlatformString { csystem_copy_modified(other, $0) }
    }
    try check(code, operation: .setAttributes, path: path)
  }

  /// Gives a file the time of its last change, in nanoseconds since 1970.
  package static func setModified(
    _ path: FilePath, to nanoseconds: Int64
  ) throws(SystemCallError) {
    let code = path.withPlatformString { csystem_set_modified($0, nanoseconds) }
    try check(code, operation: .setAttributes, path: path)
  }

  /// Appends the rest of a file to another one.
  @discardableResult
  package static func copyBytes(
    _ source: FileDescriptor, target: FileDescriptor, path: FilePath,
    progress: (Int64) throws -> Void
  ) throws -> CopyMethod {
    if csystem_clone(source.rawValue, target.rawValue) == 0 {
      try progress(fileStatus(of: target).size)
      return .cloned
    }
    var copied: Int64 = 0
    while true {
      // Steps that a slow disk finishes within a second.
      let count = csystem_copy_range(source.rawValue, target.rawValue, 32 << 20)
      if -count == Int(Errno.interrupted.rawValue) { continue }
      if count <= 0 { break }
      copied += Int64(count)
      try progress(copied)
    }
    // The kernel may refuse, or stop early in files without a size; both offsets are where it
    // stopped. A true error recurs here.
    let size = try fileStatus(of: source).size
    // Memory that is touched for the first time costs more than some calls.
    let chunk = UnsafeMutableRawBufferPointer.allocate(
      byteCount: size > 1 << 20 ? 1 << 20 : 64 << 10, alignment: 4096)
    defer { chunk.deallocate() }
    while true {
      let count = try calling(.read, path: path) { try source.read(into: chunk) }
      if count == 0 { return .copied }
      let bytes = UnsafeRawBufferPointer(rebasing: chunk[..<count])
      _ = try calling(.write, path: path) { try target.writeAll(bytes) }
      copied += Int64(count)
      try progress(copied)
    }
  }
}

extension Files {
  /// Whether two files hold the same bytes; either may be of any size.
  package static func hasSameBytes(_ one: FileDescriptor, as second: FilePath) throws -> Bool {
    let other = try FileDescriptor.open(
      second, .readOnly, options: [.noFollow, .nonBlocking, .closeOnExec])
    return try other.closeAfter {
      var (left, right) = (
        [UInt8](repeating: 0, count: 1 << 16), [UInt8](repeating: 0, count: 1 << 16)
      )
      while true {
        let count = try left.withUnsafeMutableBytes { try one.read(into: $0) }
        if count == 0 {
          return try right.withUnsafeMutableBytes { try other.read(into: $0) } == 0
        }
        var read = 0
        while read < count {
          let more = try right.withUnsafeMutableBytes {
            try other.read(into: UnsafeMutableRawBufferPointer(rebasing: $0[read..<count]))
          }
          if more == 0 { return false }
          read += more
        }
        if left[..<count] != right[..<count] { return false }
      }
    }
  }
}
