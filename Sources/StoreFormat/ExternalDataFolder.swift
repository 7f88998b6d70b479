import StoreNames
package import SystemCalls
package import SystemPackage

/// The folder of a store's external binary data, one file for each value.
package enum ExternalDataFolder {
  /// The length of a file's name, which is a UUID (docs/reference/store-format.md, "External binary
  /// data").
  package static let nameLength = 36

  /// The folder with the files, in a store's support folder.
  package static func files(support: FilePath) -> FilePath { support.appending(SupportFolder.data) }

  /// Removes the files and folders of a support folder that Godwit created, the folders only if
  /// nothing else is in them.
  ///
  /// Links are neither removed nor followed.
  package static func remove(support: FilePath) throws(SystemCallError) {
    let data = files(support: support)
    guard try Files.fileStatusIfPresent(support, followLinks: false)?.kind == .directory else {
      return
    }
    if try Files.fileStatusIfPresent(data, followLinks: false)?.kind == .directory {
      for name in try Files.listDirectory(data) where name.string.utf8.count == nameLength {
        try Files.removeRegularFile(data.appending(name))
      }
      try Files.removeDirectory(data)
    }
    try Files.removeDirectory(support)
  }

  /// The `Checksum` of the names and bytes of all files in a support folder.
  ///
  /// - Throws: `SystemCallError` where something there is no regular file, or cannot be read.
  package static func checksum(support: FilePath) throws -> UInt64 {
    let data = files(support: support)
    guard try Files.fileStatusIfPresent(data, followLinks: false) != nil else { return 0 }
    var sum: UInt64 = 1
    for name in try Files.listDirectory(data) {
      let path = data.appending(name)
      // Opening a pipe would wait for a writer.
      guard try Files.fileStatus(path, followLinks: false).kind == .file else {
        throw SystemCallError(wrongKindOf: path)
      }
      let bytes = try Checksum.of(file: path)
      sum = Array("\(name) \(bytes)\n".utf8).withUnsafeBytes { Checksum.of($0, seed: sum) }
    }
    return sum
  }

  /// The folder itself, to search for many files in it; nil if it cannot be opened or is not a
  /// folder.
  package static func opened(support: FilePath) -> ForeignFolder? {
    guard let folder = support.lastComponent else { return nil }
    return ForeignFolder(
      Files.parent(of: support), path: FilePath(root: nil, [folder, SupportFolder.data]))
  }

  /// Opens the file that an external value names, next to the store of the support folder; nil if
  /// there is none.
  ///
  /// Stores and the files next to them are not trusted: no link is followed, and only regular files
  /// are opened.
  ///
  /// - Throws: `StoreError` where there is a link or no regular file.
  package static func open(
    _ name: FilePath.Component, support: FilePath
  ) throws -> FileDescriptor? {
    guard let folder = support.lastComponent else { return nil }
    let path = FilePath(root: nil, [folder, SupportFolder.data, name])
    do throws(SystemCallError) {
      return try Files.openBeneath(Files.parent(of: support), path: path)
    } catch {
      switch error.errno {
      case .noSuchFileOrDirectory, .notDirectory: return nil
      case .tooManySymbolicLinkLevels, .improperLink, .invalidArgument:
        let file = files(support: support).appending(name)
        throw StoreError(problem: .externalFileForeign, store: file, cause: error)
      default: throw error
      }
    }
  }

  /// The bytes of the file that an external value names; `.fileTooLarge` when there are more than
  /// `limit`.
  package static func read(
    _ name: FilePath.Component, support: FilePath, limit: Int
  ) throws -> [UInt8] {
    guard let file = try open(name, support: support) else {
      throw SystemCallError(
        operation: .open, path: files(support: support).appending(name),
        errno: .noSuchFileOrDirectory)
    }
    return try file.closeAfter { try Files.readToEnd(file, limit: limit) }
  }
}
