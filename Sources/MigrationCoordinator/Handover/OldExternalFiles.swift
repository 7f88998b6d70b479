import GRDB
import Planning
import Schema
import StoreFormat
import StoreNames
import Survey
import SystemCalls
import SystemPackage

// (1) A store that is kept finds its external files under its new name before it has that name.
// (2) A file is removed only where the old store names it, the new one does not, and the old one
// goes; never through a link, and nothing but a regular file in the store's own folder.

/// The external binary data files of a store that a new one replaces.
struct OldExternalFiles {
  let store: FilePath

  private var folder: FilePath { Self.folder(of: store) }

  // MARK: The old store is kept

  /// What the store's external files are called.
  func names() throws -> [FilePath.Component] {
    guard try isFolder(folder), try isFolder(SupportFolder.path(of: store)) else { return [] }
    return try Files.listDirectory(folder).filter { name in
      guard Self.isName(name) else { return false }
      return try Files.fileStatus(folder.appending(name), followLinks: false).kind == .file
    }
  }

  /// The external files that a kept store of that name lacks; nil where another file has one of
  /// their names.
  func missing(for kept: FilePath) throws -> [FilePath.Component]? {
    let target = Self.folder(of: kept)
    if target == folder { return [] }
    var missing: [FilePath.Component] = []
    for name in try names() {
      let (own, other) = (folder.appending(name), target.appending(name))
      guard let found = try Files.fileStatusIfPresent(other, followLinks: false) else {
        missing.append(name)
        continue
      }
      guard try found.kind == .file && Self.isSame(own, as: other) else { return nil }
    }
    return missing
  }

  /// Gives the store that is kept names of its own of external files.
  ///
  /// Core Data never writes to such a file again, so one file may have both names: each store drops
  /// its own.
  func keep(_ names: [FilePath.Component], for kept: FilePath) throws {
    guard !names.isEmpty else { return }
    let (support, target) = (SupportFolder.path(of: kept), Self.folder(of: kept))
    // Files that other users cannot read stay so.
    let own = SupportFolder.path(of: store)
    if try Files.createDirectory(support) { try Files.copyAttributes(from: own, to: support) }
    if try Files.createDirectory(target) { try Files.copyAttributes(from: folder, to: target) }
    for name in names { try Self.link(from: folder.appending(name), to: target.appending(name)) }
    for folder in [target, support, Files.parent(of: support)] { try Files.syncDirectory(folder) }
  }

  private static func link(from: FilePath, to: FilePath) throws {
    do {
      try Files.link(from: from, to: to)
    } catch {
      // Not every file system gives a file two names.
      guard error.refusesLink else { throw error }
      let part = SupportFolder.unfinished(to)
      try Files.removeRegularFile(part)
      try Files.cloneOrCopy(from: from, to: part)
      try Files.syncFile(part)
      try Files.renameNoReplace(part, to: to)
    }
  }

  /// Takes back what `keep` made, for a store that stays where it is.
  func undo(names: [String], of kept: FilePath, madeSupport: Bool) throws {
    let target = Self.folder(of: kept)
    if target == folder { return }
    for name in names.compactMap({ FilePath.Component($0) }).filter(Self.isName) {
      let (own, other) = (folder.appending(name), target.appending(name))
      try Files.removeRegularFile(SupportFolder.unfinished(other))
      guard try Files.fileStatusIfPresent(other, followLinks: false)?.kind == .file,
        try Files.fileStatusIfPresent(own, followLinks: false)?.kind == .file,
        try Self.isSame(own, as: other)
      else { continue }
      try Files.remove(other)
    }
    if madeSupport { try Self.removeEmptyFolders(of: kept) }
  }

  /// Removes the folders of a store's external files where nothing is in them any more.
  static func removeEmptyFolders(of store: FilePath) throws {
    let folder = folder(of: store)
    try Files.removeDirectory(folder)
    // A run before this one may have been cut off between the two.
    if try Files.fileStatusIfPresent(folder, followLinks: false) == nil {
      try Files.removeDirectory(SupportFolder.path(of: store))
    }
  }

  /// Whether two names lead to one file, or to two with the same bytes.
  static func isSame(_ first: FilePath, as second: FilePath) throws -> Bool {
    let (one, other) = (try Files.fileStatus(first), try Files.fileStatus(second))
    if one.isSameFile(as: other) { return true }
    guard one.size == other.size else { return false }
    let file = try Files.open(first, mode: .readOnly, options: .noFollow)
    return try file.closeAfter { try Files.hasSameBytes(file, as: second) }
  }

  static func folder(of store: FilePath) -> FilePath {
    ExternalDataFolder.files(support: SupportFolder.path(of: store))
  }

  /// Core Data names them after UUIDs.
  static func isName(_ name: FilePath.Component) -> Bool {
    let bytes = name.string.utf8
    return bytes.count == 36
      && bytes.enumerated().allSatisfy { index, byte in
        [8, 13, 18, 23].contains(index)
          ? byte == UInt8(ascii: "-") : Character(Unicode.Scalar(byte)).isHexDigit
      }
  }

  // MARK: The old store is removed

  /// The files that the old store names and the result does not.
  ///
  /// - Parameter named: the files that it names, if the survey is of a copy that names fewer.
  func obsolete(
    survey: StoreSurvey, named: Set<String>?, files: ExternalFiles
  ) throws -> [String] {
    guard !survey.schema.externalColumns.isEmpty, try isFolder(folder),
      try isFolder(SupportFolder.path(of: store)), try !isShared
    else { return [] }
    var left = try named ?? Self.named(in: survey)
    if !left.isEmpty { try files.forEachName { left.remove($0) } }
    return left.sorted().filter { FilePath.Component($0).map(Self.isName) ?? false }
  }

  /// The external files that a surveyed store names.
  static func named(in survey: StoreSurvey) throws -> Set<String> {
    var named: Set<String> = []
    try survey.reader.connection.run { db in
      for (table, columns) in survey.schema.externalColumns {
        for column in columns {
          try ExternalReferences(table: table, column: column.name).forEach(in: db) {
            named.insert($0)
          }
        }
      }
    }
    return named
  }

  /// The external files that a store of whatever model names.
  func named() throws -> Set<String> {
    var named: Set<String> = []
    let access = try SourceAccess.open(store)
    try StoreConnection.immutable(access.readable).perform { db in
      let columns = try Row.fetchAll(
        db,
        sql: """
          SELECT t.name, c.name FROM sqlite_schema AS t JOIN pragma_table_info(t.name) AS c
          WHERE t.type = 'table' AND upper(c.type) = 'BLOB'
          """)
      for column in columns {
        try ExternalReferences(table: column[0], column: column[1]).forEach(in: db) {
          named.insert($0)
        }
      }
    }
    return named
  }

  /// Whether another file next to the store would have its external files in the same folder.
  var isShared: Bool { get throws { try isShared(but: []) } }

  /// Whether another file than those with these names would.
  func isShared(but names: [String]) throws -> Bool {
    let own = names + [store.lastComponent?.string ?? ""]
    let logs = own.flatMap { name in StoreFile.suffixes.map { name + $0 } }
    let parent = Files.parent(of: store)
    return try Files.listDirectory(parent).contains { name in
      guard name.stem == store.lastComponent?.stem, !logs.contains(name.string) else {
        return false
      }
      return try Files.fileStatusIfPresent(parent.appending(name), followLinks: false)?.isDirectory
        == false
    }
  }

  /// The external files of this store that the restored store does not have.
  func unnamed(by entry: KeptStores.Entry) throws -> [String] {
    guard try !isShared else { return [] }
    return try names().map(\.string).filter { !entry.externalFiles.contains($0) }
  }

  private func isFolder(_ path: FilePath) throws -> Bool {
    try Files.fileStatusIfPresent(path, followLinks: false)?.isDirectory == true
  }

  /// Removes files that no store names any more.
  func remove(_ names: [String]) throws {
    let own = names.compactMap { FilePath.Component($0) }.filter(Self.isName)
    guard !own.isEmpty, try isFolder(SupportFolder.path(of: store)), try isFolder(folder)
    else { return }
    for name in own { try Files.removeRegularFile(folder.appending(name)) }
    try Files.syncDirectory(folder)
  }
}
