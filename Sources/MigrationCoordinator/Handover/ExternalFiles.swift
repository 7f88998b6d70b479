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

  /// The names of all files that the result's values lead to.
  private func names() throws -> [String] {
    let columns = schema.tables.flatMap { table in
      table.columns.compactMap { column -> (String, String)? in
        guard case .attribute(let entity, let name) = column.role,
          schema.model.entity(entity)?.attributes.first(where: { $0.name == name })?
            .storesBinaryDataExternally == true
        else { return nil }
        return (SQL.identifier(table.name), SQL.identifier(column.name))
      }
    }
    if columns.isEmpty { return [] }
    let connection = try StoreConnection.immutable(result)
    return try connection.run { db in
      try columns.flatMap { table, column in
        try Data.fetchAll(
          db,
          sql: """
            SELECT substr(\(column), 2, 36) FROM \(table)
            WHERE substr(\(column), 1, 1) = X'02'
            """
        ).map { String(decoding: $0, as: UTF8.self) }
      }
    }
  }

  /// Copies the files from one store's folder to another's; the names of those that are missing.
  func bring(from store: FilePath, to destination: FilePath) throws -> [String] {
    let names = try names()
    if names.isEmpty { return [] }
    let source = MigrationPaths.support(of: store).appending("_EXTERNAL_DATA")
    let target = MigrationPaths.support(of: destination).appending("_EXTERNAL_DATA")
    var missing: [String] = []
    var copies: [FilePath.Component] = []
    for name in names {
      guard let component = FilePath.Component(name), component.kind == .regular,
        let size = try Files.fileStatusIfPresent(source.appending(component))?.size
      else {
        missing.append(name)
        continue
      }
      guard source != target else { continue }
      try Files.createDirectory(Files.parent(of: target))
      try Files.createDirectory(target)
      let copy = target.appending(component)
      // What a kill has cut off is copied again.
      if try Files.fileStatusIfPresent(copy)?.size != size {
        try Files.remove(copy)
        try Files.cloneOrCopy(from: source.appending(component), to: copy)
      }
      copies.append(component)
    }
    if source != target, try Files.fileStatusIfPresent(target) != nil {
      try Files.syncFiles(copies, in: target)
    }
    return missing
  }
}
