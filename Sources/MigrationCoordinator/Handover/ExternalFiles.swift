import Foundation
import GRDB
import MigrationEngine
import ObjectModel
import Planning
import Schema
import StoreFormat
import StoreNames
import SystemCalls
import SystemPackage

/// Copies the files of external binary data that the result refers to.
struct ExternalFiles {
  let schema: StoreSchema
  let result: FilePath
  /// The file names that workers listed while they wrote the result.
  let names: ExternalNames

  /// What came of copying.
  struct Brought {
    /// The names that no file has.
    var missing: [String] = []
    /// The files that were made.
    fileprivate var files: [FilePath] = []
    /// The folders that were made, the outermost first.
    fileprivate var folders: [FilePath] = []

    /// Removes what was made.
    func remove() {
      // A failure here leaves unused copies; the first failure is the one to report.
      for file in files { _ = try? Files.removeRegularFile(file) }
      for folder in folders.reversed() { _ = try? Files.removeDirectory(folder) }
    }
  }

  /// Copies the files from one store's folder to another's.
  func bring(
    from store: FilePath, to destination: FilePath, into brought: inout Brought
  ) throws {
    let support = SupportFolder.path(of: store)
    let source = ExternalDataFolder.files(support: support)
    let target = ExternalDataFolder.files(support: SupportFolder.path(of: destination))
    var copies: [FilePath.Component] = []
    try forEachName { name in
      guard let component = FilePath.Component(name), component.kind == .regular,
        let file = try ExternalDataFolder.open(component, support: support)
      else {
        brought.missing.append(name)
        return
      }
      defer { try? file.close() }  // was only read
      guard source != target else { return }
      try Self.copy(file, named: component, from: source, to: target, into: &brought)
      // A few are synced one by one, more of them all at once.
      if copies.count <= Files.fewFiles { copies.append(component) }
    }
    if source != target, try Files.fileStatusIfPresent(target) != nil {
      try Files.syncFiles(copies, in: target)
      for folder in brought.folders { try Files.syncDirectory(Files.parent(of: folder)) }
    }
  }

  /// Calls `body` with each file name that the result refers to, some of them more than once.
  func forEachName(_ body: (String) throws -> Void) throws {
    var unlisted: [ExternalReferences] = []
    for (table, columns) in schema.externalColumns.sorted(by: { $0.key < $1.key }) {
      if try !names.forEach(of: table, body: body) {
        unlisted += columns.map { ExternalReferences(table: table, column: $0.name) }
      }
    }
    if unlisted.isEmpty { return }
    try StoreConnection.immutable(result).perform { db in
      for references in unlisted { try references.forEach(in: db, body: body) }
    }
  }

  private static func copy(
    _ file: FileDescriptor, named name: FilePath.Component, from source: FilePath,
    to target: FilePath, into brought: inout Brought
  ) throws {
    for (folder, model) in [(Files.parent(of: target), Files.parent(of: source)), (target, source)]
    where try Files.createDirectory(folder) {
      brought.folders.append(folder)
      // Files that other users cannot read stay so.
      try Files.copyAttributes(from: model, to: folder)
    }
    for folder in [Files.parent(of: target), target] {
      // A link would lead the copies to somewhere else.
      guard try Files.fileStatus(folder, followLinks: false).isDirectory else {
        throw PlaceError.outputExists(folder)
      }
    }
    let copy = target.appending(name)
    // A file gets its name once it is complete, so one that differs was not copied from here.
    if let found = try Files.fileStatusIfPresent(copy, followLinks: false) {
      guard found.kind == .file, found.size == (try Files.fileStatus(of: file).size),
        try Files.hasSameBytes(file, as: copy)
      else { throw PlaceError.outputExists(copy) }
      return
    }
    let part = SupportFolder.unfinished(copy)
    // A kill may have left a part of a copy.
    try Files.removeRegularFile(part)
    do {
      try Files.cloneOrCopy(from: file, to: part)
      try Files.renameNoReplace(part, to: copy)
    } catch {
      _ = try? Files.removeRegularFile(part)  // the failure that counts is the first
      throw error
    }
    brought.files.append(copy)
  }
}

/// The references to external binary data in one column: the byte 2, then the file's name.
struct ExternalReferences {
  let table: String
  let column: String

  /// Calls `body` with each file name.
  func forEach(in db: Database, body: (String) throws -> Void) throws {
    let name = SQL.identifier(name: column)
    // The length keeps SQLite from reading the values that are in the store, which may be long.
    let found = try Data.fetchCursor(
      db,
      sql: """
        SELECT substr(\(name), 2, 36) FROM \(SQL.identifier(name: table))
        WHERE length(\(name)) < 64 AND substr(\(name), 1, 1) = X'02'
        """)
    while let file = try found.next() { try body(String(decoding: file, as: UTF8.self)) }
  }
}
