import Foundation
import Mapping
import GRDB
import Planning
import RowPrograms
import Schema
import StoreFormat
import SystemCalls
import SystemPackage

/// Looks for the files out of which values have to come.
struct MissingExternalFiles {
  let reader: StoreReader
  /// The store beside which the files lie.
  let store: FilePath

  /// Values that have to come out of files which are not there.
  func hindrances(_ program: MigrationProgram) throws -> [Hindrance] {
    var result: [Hindrance] = []
    let folder = MigrationPaths.support(of: store).appending("_EXTERNAL_DATA")
    for table in program.tables {
      for column in table.columns {
        guard let name = column.operations.lazy.compactMap(\.untaggedColumn).first else {
          continue
        }
        for file in try externalNames(table.sourceTable, SQL.identifier(name)) {
          guard let component = FilePath.Component(file),
            try Files.fileStatusIfPresent(folder.appending(component)) != nil
          else {
            result.append(
              Hindrance(
                reason: .externalFileMissing(file), entity: table.destinationTable,
                property: column.name, code: .migration))
            continue
          }
        }
      }
    }
    return result
  }

  private func externalNames(_ table: String, _ column: String) throws -> [String] {
    try reader.connection.run { db in
      try Data.fetchAll(
        db,
        sql: """
          SELECT substr(\(column), 2, 36) FROM \(SQL.identifier(table))
          WHERE substr(\(column), 1, 1) = X'02'
          """
      ).map { String(decoding: $0, as: UTF8.self) }
    }
  }
}

extension ColumnOperation {
  /// The column whose values come out of files.
  fileprivate var untaggedColumn: String? {
    switch self {
    case .removeExternalTag(let column, _): column
    case .call(_, _, let standard): standard.untaggedColumn
    case .then(let first, _): first.untaggedColumn
    default: nil
    }
  }
}
