import GRDB
import Mapping
import Planning
import RowPrograms
import Schema
import StoreFormat
import SystemCalls
import SystemPackage

/// Searches for external binary data files whose contents the migration needs.
struct MissingExternalFiles {
  let reader: StoreReader
  /// The store beside which the files lie.
  let store: FilePath

  /// One refusal for each value whose file is missing and cannot be inlined.
  func refusals(program: MigrationProgram) throws -> [Refusal] {
    var result: [Refusal] = []
    let support = MigrationPaths.support(of: store)
    for table in program.tables {
      for column in table.columns {
        guard let name = column.operations.lazy.compactMap(\.untaggedColumn).first else {
          continue
        }
        try reader.connection.perform { db in
          let files = ExternalReferences(table: table.sourceTable, column: name)
          try files.forEach(in: db) { file in
            let found = try FilePath.Component(file).flatMap {
              try ExternalDataFolder.open($0, support: support)
            }
            if let found { return try found.close() }
            result.append(
              Refusal(
                reason: .externalFileMissing(file), entity: table.destinationTable,
                property: column.name))
          }
        }
      }
    }
    return result
  }
}

extension ColumnOperation {
  /// The column whose values are read from files, nil if there is none.
  fileprivate var untaggedColumn: String? {
    switch self {
    case .removeExternalTag(let column, _): column
    case .call(_, _, let standard): standard.untaggedColumn
    case .then(let first, _): first.untaggedColumn
    default: nil
    }
  }
}
