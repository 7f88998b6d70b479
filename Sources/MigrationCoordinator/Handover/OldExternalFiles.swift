import GRDB
import Planning
import Schema
import StoreFormat
import Survey
import SystemCalls
import SystemPackage

// (1) A store that is kept finds its external files under its new name.
// (2) A file is removed only if the old store, which is removed, refers to it and the new one does
// not; never through a link, and nothing but a regular file in the store's own folder.

/// The external binary data files of a store that a new one replaces.
struct OldExternalFiles {
  let store: FilePath

  private var folder: FilePath {
    MigrationPaths.support(of: store).appending("_EXTERNAL_DATA")
  }

  // MARK: The old store is kept

  /// Links all files under the name of the kept store, and returns the new paths.
  ///
  /// Core Data never writes to such a file again, so two stores may share it: each unlinks its own.
  func keep(for kept: FilePath) throws -> [FilePath] {
    guard try Files.fileStatusIfPresent(folder)?.isDirectory == true else { return [] }
    let names = try Files.listDirectory(folder).filter(Self.isName)
    if names.isEmpty { return [] }
    let support = MigrationPaths.support(of: kept)
    let target = support.appending("_EXTERNAL_DATA")
    if target == folder { return [] }
    try Files.createDirectory(support)
    try Files.createDirectory(target)
    var made: [FilePath] = []
    do {
      for name in names {
        let (from, to) = (folder.appending(name), target.appending(name))
        guard try Files.fileStatus(from, followLinks: false).kind == .file,
          try Files.fileStatusIfPresent(to, followLinks: false) == nil
        else { continue }
        try Self.link(from: from, to: to)
        made.append(to)
      }
      try Files.syncDirectory(target)
      try Files.syncDirectory(support)
    } catch {
      undo(made)
      throw error
    }
    return made
  }

  private static func link(from: FilePath, to: FilePath) throws {
    do {
      try Files.link(from: from, to: to)
    } catch {
      // Not every file system gives a file two names.
      guard error.errno != .fileExists else { throw error }
      try Files.cloneOrCopy(from: from, to: to)
    }
  }

  /// Removes what `keep` linked, for a swap that failed.
  func undo(_ links: [FilePath]) {
    // A failure here only leaves a second name; the caller throws the failure before it.
    for path in links { _ = try? Files.remove(path) }
  }

  /// Whether a name has the form of a UUID, as Core Data names such files.
  private static func isName(_ name: FilePath.Component) -> Bool {
    let bytes = name.string.utf8
    return bytes.count == 36
      && bytes.enumerated().allSatisfy { index, byte in
        [8, 13, 18, 23].contains(index)
          ? byte == UInt8(ascii: "-") : Character(Unicode.Scalar(byte)).isHexDigit
      }
  }

  // MARK: The old store is removed

  /// The files that the old store refers to and the result does not.
  func obsolete(_ survey: StoreSurvey, files: ExternalFiles) throws -> [FilePath.Component] {
    let columns = survey.schema.externalColumns
    guard !columns.isEmpty, try isFolder(folder), try isFolder(MigrationPaths.support(of: store)),
      try !isShared
    else { return [] }
    var named: Set<String> = []
    try survey.reader.connection.run { db in
      for (table, columns) in columns {
        for column in columns {
          try ExternalReferences(table: table, column: column.name).forEach(in: db) {
            named.insert($0)
          }
        }
      }
    }
    if !named.isEmpty { try files.forEachName { named.remove($0) } }
    return named.sorted().compactMap { FilePath.Component($0) }.filter(Self.isName)
  }

  /// Whether another store in the folder has the same support folder: they differ in extension.
  private var isShared: Bool {
    get throws {
      let own = store.lastComponent?.string ?? ""
      let logs = ["", "-wal", "-shm", "-journal"].map { own + $0 }
      return try Files.listDirectory(Files.parent(of: store)).contains { name in
        name.stem == store.lastComponent?.stem && !logs.contains(name.string)
      }
    }
  }

  private func isFolder(_ path: FilePath) throws -> Bool {
    try Files.fileStatusIfPresent(path, followLinks: false)?.isDirectory == true
  }

  /// Removes files that no store refers to any more.
  func remove(_ names: [FilePath.Component]) throws {
    for name in names {
      let path = folder.appending(name)
      guard try Files.fileStatusIfPresent(path, followLinks: false)?.kind == .file else {
        continue
      }
      try Files.remove(path)
    }
    if !names.isEmpty { try Files.syncDirectory(folder) }
  }
}
