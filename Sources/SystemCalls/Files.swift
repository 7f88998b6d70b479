import CSystemShims
package import SystemPackage

/// Calls on files and folders that neither Swift nor SystemPackage offers on every platform.
///
/// A process that has a store open through SQLite must not read, copy or synchronize that store
/// here: closing any descriptor of a file drops all fcntl locks of the process on it
/// (sqlite.org/howtocorrupt.html, "POSIX advisory locks cancelled by a separate thread"). Status,
/// attributes and names are safe, since they open nothing.
package enum Files {}

// MARK: - Names

extension Files {
  /// Renames unless the new name is taken (`.fileExists`).
  ///
  /// Where the file system knows no renames with conditions (NFS, many of FUSE), the new name is a
  /// second one before the old one goes; where it knows no second names either, somebody else could
  /// take the new name between the look and the rename.
  package static func renameNoReplace(
    _ from: FilePath, to: FilePath
  ) throws(SystemCallError) {
    let code = from.withPlatformString { from in
      to.withPlatformString { csystem_rename_no_replace(from, $0) }
    }
    let refusals: [Errno] = [.invalidArgument, .noFunction, .notSupported]
    guard refusals.contains(Errno(rawValue: -code)) else {
      try check(code, operation: .rename, path: from)
      return
    }
    do throws(SystemCallError) {
      try link(from: from, to: to)
    } catch {
      guard error.refusesLink else { throw error }
      guard try fileStatusIfPresent(to, followLinks: false) == nil else {
        throw SystemCallError(operation: .rename, path: from, errno: .fileExists)
      }
      return try rename(from, to: to)
    }
    do throws(SystemCallError) {
      try remove(from)
    } catch {
      _ = try? remove(to)  // the failure that counts is the first
      throw error
    }
  }

  /// Creates a hard link.
  ///
  /// - Throws: `SystemCallError`, with `.fileExists` if the new path is taken.
  package static func link(from: FilePath, to: FilePath) throws(SystemCallError) {
    let code = from.withPlatformString { from in
      to.withPlatformString { csystem_link(from, $0) }
    }
    try check(code, operation: .link, path: to)
  }

  /// Renames a file, and replaces the one at the new path.
  package static func rename(_ from: FilePath, to: FilePath) throws(SystemCallError) {
    let code = from.withPlatformString { from in
      to.withPlatformString { csystem_rename(from, $0) }
    }
    try check(code, operation: .rename, path: from)
  }

  /// Removes a file or a link; returns false if there was none.
  @discardableResult
  package static func remove(_ path: FilePath) throws(SystemCallError) -> Bool {
    let code = path.withPlatformString { csystem_unlink($0) }
    if code == -Errno.noSuchFileOrDirectory.rawValue { return false }
    try check(code, operation: .remove, path: path)
    return true
  }
}

// MARK: - Folders

extension Files {
  /// Creates a folder; returns false if it exists.
  @discardableResult
  package static func createDirectory(
    _ path: FilePath,
    mode: FilePermissions = [
      .ownerReadWriteExecute, .groupReadExecute,
      .otherReadExecute,
    ]
  ) throws(SystemCallError) -> Bool {
    let code = path.withPlatformString { csystem_make_directory($0, mode.rawValue) }
    if code == -Errno.fileExists.rawValue, try fileStatus(path).isDirectory { return false }
    try check(code, operation: .createDirectory, path: path)
    return true
  }

  /// Permits entering a folder only to users who can read a file.
  package static func setAccess(
    toFolder folder: FilePath, like file: FilePath
  ) throws(SystemCallError) {
    let wanted = try fileStatus(file)
    // Read permission stands for looking into the folder as well; the owner may do everything.
    var mode = 0o700 | (wanted.mode & 0o044) | (wanted.mode & 0o044) >> 2
    let isOfGroup =
      try fileStatus(folder).group == wanted.group
      || folder.withPlatformString { csystem_set_owner($0, .max, wanted.group) } == 0
    // Another group is not the one that may read.
    if !isOfGroup { mode &= ~0o070 }
    try check(
      folder.withPlatformString { csystem_set_mode($0, mode_t(mode)) }, operation: .setAttributes,
      path: folder)
  }

  /// The names in a folder, sorted, without `.` and `..`.
  package static func listDirectory(
    _ path: FilePath
  ) throws(SystemCallError) -> [FilePath.Component] {
    var directory: UnsafeMutableRawPointer?
    try check(
      path.withPlatformString { csystem_open_directory($0, &directory) }, operation: .listDirectory,
      path: path)
    defer { csystem_close_directory(directory) }
    // A component builds its text again at each request.
    var names: [(text: String, component: FilePath.Component)] = []
    var name: UnsafePointer<CChar>?
    while try check(csystem_next_name(directory, &name), operation: .listDirectory, path: path) == 1
    {
      guard let name, let component = FilePath.Component(platformString: name),
        component.kind == .regular
      else { continue }
      names.append((component.string, component))
    }
    return names.sorted { $0.text < $1.text }.map(\.component)
  }

  /// The sizes of all files of a folder together, those of links' targets included; 0 where there
  /// is no folder that may be read.
  package static func bytes(in folder: FilePath) -> Int64 {
    max(0, folder.withPlatformString { csystem_bytes_in($0) })
  }

  /// Removes an empty folder; returns false if it is not empty or does not exist.
  @discardableResult
  package static func removeDirectory(_ path: FilePath) throws(SystemCallError) -> Bool {
    let code = path.withPlatformString { csystem_remove_directory($0) }
    let kept: [Errno] = [.noSuchFileOrDirectory, .directoryNotEmpty, .fileExists]
    if kept.contains(Errno(rawValue: -code)) { return false }
    try check(code, operation: .remove, path: path)
    return true
  }

  /// Removes a regular file; returns false if the path is free, or that of a link or a folder.
  @discardableResult
  package static func removeRegularFile(_ path: FilePath) throws(SystemCallError) -> Bool {
    guard try fileStatusIfPresent(path, followLinks: false)?.kind == .file else { return false }
    return try remove(path)
  }
}

// MARK: - Durability

extension Files {
  /// Writes an open file through to the disk.
  package static func syncFile(_ descriptor: FileDescriptor) throws(SystemCallError) {
    try check(csystem_sync(descriptor.rawValue), operation: .synchronize, path: nil)
  }

  /// Writes a file through to the disk.
  package static func syncFile(_ path: FilePath) throws(SystemCallError) {
    try sync(path, options: .closeOnExec)
  }

  /// The number of files up to which syncing each is faster than syncing their file system.
  package static let fewFiles = 16

  /// Writes files and their folder through to the disk; for more than `fewFiles` the whole file
  /// system.
  package static func syncFiles(
    _ names: [FilePath.Component], in folder: FilePath
  ) throws(SystemCallError) {
    // Each sync of a file waits for the journal of the file system; one for all waits once.
    let isDone = names.count <= fewFiles ? false : try syncFileSystem(of: folder)
    if !isDone { for name in names { try syncFile(folder.appending(name)) } }
    try syncDirectory(folder)
  }

  private static func syncFileSystem(of folder: FilePath) throws(SystemCallError) -> Bool {
    let descriptor = try calling(.open, path: folder) {
      try FileDescriptor.open(folder, .readOnly, options: [.directory, .closeOnExec])
    }
    let code = csystem_sync_file_system(descriptor.rawValue)
    try calling(.synchronize, path: folder) { try descriptor.close() }
    if code == -Errno.notSupported.rawValue { return false }
    try check(code, operation: .synchronize, path: folder)
    return true
  }

  /// Starts to write a part of a file to the disk, without waiting for it.
  ///
  /// - Throws: `SystemCallError`, with `.notSupported` where this is not possible.
  package static func beginWriteback(
    _ descriptor: FileDescriptor, from offset: Int64, count: Int64
  ) throws(SystemCallError) {
    try check(
      csystem_begin_writeback(descriptor.rawValue, offset, count), operation: .synchronize,
      path: nil)
  }

  /// Opens a file for writing whole blocks past the page cache; nil where this is not possible.
  package static func openDirect(_ path: FilePath) throws(SystemCallError) -> FileDescriptor? {
    let code = path.withPlatformString { csystem_open_direct($0) }
    if [.invalidArgument, .notSupported].contains(Errno(rawValue: -code)) { return nil }
    return FileDescriptor(rawValue: try check(code, operation: .open, path: path))
  }

  /// Allocates the blocks of a file, whose size grows to `bytes`.
  ///
  /// - Throws: `SystemCallError`, with `.notSupported` where this is not possible.
  package static func reserve(
    _ descriptor: FileDescriptor, bytes: Int64
  ) throws(SystemCallError) {
    try check(csystem_reserve(descriptor.rawValue, bytes), operation: .reserve, path: nil)
  }

  /// Writes the names in a folder through to the disk.
  package static func syncDirectory(_ path: FilePath) throws(SystemCallError) {
    try sync(path, options: [.directory, .closeOnExec])
  }

  private static func sync(
    _ path: FilePath, options: FileDescriptor.OpenOptions
  ) throws(SystemCallError) {
    let descriptor = try calling(.open, path: path) {
      try FileDescriptor.open(path, .readOnly, options: options)
    }
    let code = csystem_sync(descriptor.rawValue)
    try calling(.synchronize, path: path) { try descriptor.close() }
    try check(code, operation: .synchronize, path: path)
  }
}
