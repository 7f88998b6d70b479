import GRDB
import Planning
import Schema
import StoreFormat
import Survey
import SystemCalls
import SystemPackage

// (1) A store that is kept finds its external files under its new name.
// (2) A file is removed only where the old store names it, the new one does not, and the old one
// goes; never through a link, and nothing but a regular file in the store's own folder.

/// The external files of a store that a new one replaces.
struct OldExternalFiles {
  let store: FilePath

  private var folder: FilePath {
    MigrationPaths.support(of: store).appending("_EXTERNAL_DATA")
  }

  // MARK: The old store is kept

  /// Gives the store that is kept its own names of all external files; those that are new.
  ///
  /// Core Data never writes to such a file again, so one file may have both names: each store drops
  /// its own.
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

  /// Takes back what `keep` made, for a store that stays where it is.
  func undo(_ links: [FilePath]) {
    // What fails here leaves a second name, and the first failure is the one to tell.
    for path in links { _ = try? Files.remove(path) }
  }

  /// Core Data names them after UUIDs.
  private static func isName(_ name: FilePath.Component) -> Bool {
    let bytes = name.string.utf8
    return bytes.count == 36
      && bytes.enumerated().allSatisfy { index, byte in
        [8, 13, 18, 23].contains(index)
          ? byte == UInt8(ascii: "-") : Character(Unicode.Scalar(byte)).isHexDigit
      }
  }

  // MARK: The old store is removed

  /// The files that the old store names and the result does not.
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

  /// Whether another file beside the store would look for its external files in the same folder.
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

  /// Removes files that no store names any more.
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
