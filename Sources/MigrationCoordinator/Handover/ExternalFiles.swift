import Foundation
import ObjectModel
import GRDB
import Planning
import Schema
import StoreFormat
import SystemCalls
import SystemPackage

/// Brings the files that a result's external values name to where the result will look for them.
struct ExternalFiles {
  let schema: StoreSchema
  let result: FilePath

  /// Copies the files from one store's folder to another's; the names of those that are missing.
  func bring(from store: FilePath, to destination: FilePath) throws -> [String] {
    let columns = columns()
    if columns.isEmpty { return [] }
    let source = MigrationPaths.support(of: store).appending("_EXTERNAL_DATA")
    let target = MigrationPaths.support(of: destination).appending("_EXTERNAL_DATA")
    var missing: [String] = []
    var copies: [FilePath.Component] = []
    let connection = try StoreConnection.immutable(result)
    try connection.run { db in
      for (table, column) in columns {
        try ExternalReferences(table: table, column: column).forEach(in: db) { name in
          guard let component = FilePath.Component(name), component.kind == .regular,
            let size = try Files.fileStatusIfPresent(source.appending(component))?.size
          else {
            missing.append(name)
            return
          }
          guard source != target else { return }
          try Self.copy(component, size, from: source, to: target)
          // A few are synced one by one, more of them all at once.
          if copies.count <= Files.fewFiles { copies.append(component) }
        }
      }
    }
    if source != target, try Files.fileStatusIfPresent(target) != nil {
      try Files.syncFiles(copies, in: target)
    }
    return missing
  }

  /// The columns of the result whose values may be in files.
  private func columns() -> [(table: String, column: String)] {
    schema.tables.flatMap { table in
      table.columns.compactMap { column -> (String, String)? in
        guard case .attribute(let entity, let name) = column.role,
          schema.model.entity(entity)?.attributes.first(where: { $0.name == name })?
            .storesBinaryDataExternally == true
        else { return nil }
        return (table.name, column.name)
      }
    }
  }

  private static func copy(
    _ name: FilePath.Component, _ size: Int64, from source: FilePath, to target: FilePath
  ) throws {
    try Files.createDirectory(Files.parent(of: target))
    try Files.createDirectory(target)
    let copy = target.appending(name)
    // What a kill has cut off is copied again.
    if try Files.fileStatusIfPresent(copy)?.size != size {
      try Files.remove(copy)
      try Files.cloneOrCopy(from: source.appending(name), to: copy)
    }
  }
}

/// The names of external files that the values of a column are.
struct ExternalReferences {
  let table: String
  let column: String

  /// Tells one name after the other.
  func forEach(in db: Database, _ body: (String) throws -> Void) throws {
    let name = SQL.identifier(column)
    // The length keeps SQLite from reading the values that are in the store, which may be long.
    let found = try Data.fetchCursor(
      db,
      sql: """
        SELECT substr(\(name), 2, 36) FROM \(SQL.identifier(table))
        WHERE length(\(name)) < 64 AND substr(\(name), 1, 1) = X'02'
        """)
    while let file = try found.next() { try body(String(decoding: file, as: UTF8.self)) }
  }
}
