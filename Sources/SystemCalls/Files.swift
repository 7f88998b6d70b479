import CSystemShims
package import SystemPackage

/// Calls on files and folders that neither Swift nor SystemPackage offers on every platform.
///
/// A process that has a store open through SQLite must not read, copy or synchronize that store
/// here: closing any descriptor of a file drops all of the process's fcntl locks on it
/// (sqlite.org/howtocorrupt.html, "POSIX advisory locks cancelled by a separate thread"). Status,
/// attributes and names are safe, since they open nothing.
package enum Files {}

// MARK: - Names

extension Files {
  /// Swaps two names in one step; `.invalidArgument`, `.noFunction` or `.notSupported` when the
  /// file system cannot.
  package static func exchange(
    _ first: FilePath, _ second: FilePath
  ) throws(SystemCallError) {
    let code = first.withPlatformString { first in
      second.withPlatformString { csystem_exchange(first, $0) }
    }
    try check(code, operation: .exchange, path: first)
  }

  /// Renames unless the new name is taken (`.fileExists`).
  package static func renameNoReplace(
    _ from: FilePath, to: FilePath
  ) throws(SystemCallError) {
    let code = from.withPlatformString { from in
      to.withPlatformString { csystem_rename_no_replace(from, $0) }
    }
    try check(code, operation: .rename, path: from)
  }

  /// Gives a file a second name, which nothing has yet (`.fileExists`).
  package static func link(from: FilePath, to: FilePath) throws(SystemCallError) {
    let code = from.withPlatformString { from in
      to.withPlatformString { csystem_link(from, $0) }
    }
    try check(code, operation: .link, path: to)
  }

  /// Renames and replaces what has the new name.
  package static func rename(_ from: FilePath, to: FilePath) throws(SystemCallError) {
    let code = from.withPlatformString { from in
      to.withPlatformString { csystem_rename(from, $0) }
    }
    try check(code, operation: .rename, path: from)
  }

  /// Removes a file or a link; false when there was none.
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
  /// Makes a folder; false when it is there already.
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

  /// The names in a folder, sorted.
  package static func listDirectory(
    _ path: FilePath
  ) throws(SystemCallError) -> [FilePath.Component] {
    var directory: UnsafeMutableRawPointer?
    try check(
      path.withPlatformString { csystem_open_directory($0, &directory) }, operation: .listDirectory,
      path: path)
    defer { csystem_close_directory(directory) }
    var names: [FilePath.Component] = []
    var name: UnsafePointer<CChar>?
    while try check(csystem_next_name(directory, &name), operation: .listDirectory, path: path) == 1
    {
      guard let name, let component = FilePath.Component(platformString: name),
        component.kind == .regular
      else { continue }
      names.append(component)
    }
    return names.sorted { $0.string < $1.string }
  }

  /// Removes a folder with nothing in it; false where something is in it or it is gone already.
  @discardableResult
  package static func removeDirectory(_ path: FilePath) throws(SystemCallError) -> Bool {
    let code = path.withPlatformString { csystem_remove_directory($0) }
    let kept: [Errno] = [.noSuchFileOrDirectory, .directoryNotEmpty, .fileExists]
    if kept.contains(Errno(rawValue: -code)) { return false }
    try check(code, operation: .remove, path: path)
    return true
  }

  /// Removes a regular file; false where there is none of that name, or a link or a folder.
  @discardableResult
  package static func removeRegularFile(_ path: FilePath) throws(SystemCallError) -> Bool {
    guard try fileStatusIfPresent(path, followLinks: false)?.kind == .file else { return false }
    return try remove(path)
  }
}

// MARK: - Durability

extension Files {
  /// Returns when what was written is on the disk.
  package static func syncFile(_ descriptor: FileDescriptor) throws(SystemCallError) {
    try check(csystem_sync(descriptor.rawValue), operation: .synchronize, path: nil)
  }

  package static func syncFile(_ path: FilePath) throws(SystemCallError) {
    try sync(path, options: .closeOnExec)
  }

  /// More files than that are better synced with all of their file system.
  package static let fewFiles = 16

  /// Returns when many files in a folder are on the disk, and their names; where they are more than
  /// a few, so is all of their file system.
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

  /// Has the system begin to write a part of a file to the disk; `.notSupported` where it only
  /// does so by itself.
  package static func beginWriteback(
    _ descriptor: FileDescriptor, from offset: Int64, count: Int64
  ) throws(SystemCallError) {
    try check(
      csystem_begin_writeback(descriptor.rawValue, offset, count), operation: .synchronize,
      path: nil)
  }

  /// Opens a file for writing whole blocks past the page cache; nil where the file system or the
  /// platform does not offer it.
  package static func openDirect(_ path: FilePath) throws(SystemCallError) -> FileDescriptor? {
    let code = path.withPlatformString { csystem_open_direct($0) }
    if [.invalidArgument, .notSupported].contains(Errno(rawValue: -code)) { return nil }
    return FileDescriptor(rawValue: try check(code, operation: .open, path: path))
  }

  /// Gives a file its blocks before it is written; `.notSupported` where that is not possible.
  package static func reserve(
    _ descriptor: FileDescriptor, bytes: Int64
  ) throws(SystemCallError) {
    try check(csystem_reserve(descriptor.rawValue, bytes), operation: .reserve, path: nil)
  }

  /// Returns when the names in the folder are on the disk.
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
