import Schema

@testable import RowPrograms

extension MigrationProgram {
  /// Programs without columns: a planner only looks at tables and references.
  static func made(
    tables: [String], references: [(String, String)]
  ) -> MigrationProgram {
    MigrationProgram(
      tables: tables.map { name in
        TableProgram(
          sourceTable: name, destinationTable: name,
          entities: [.init(source: 1, destination: 1)], columns: [])
      }, joins: [], orderFills: [],
      references: references.map {
        ReferenceCheck(table: $0, column: "Z", destinationTable: $1)
      })
  }

  /// Has the rows of a table look up those that they refer to.
  mutating func lookUp(_ other: String, for table: Int) {
    tables[table].columns = [
      ColumnProgram(
        name: "ZA", type: .varchar,
        operations: [.then(.lookUpNumber(column: "ZB", table: other, map: []), .constant(.null))])
    ]
  }
}
