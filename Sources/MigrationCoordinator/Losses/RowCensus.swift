import GRDB
import ObjectModel
import Schema
import StoreFormat
import Survey

/// How many rows the tables of a store have, by entity.
///
/// The survey counts by whatever index serves; where that does not agree with what workers read,
/// the rows themselves are counted.
struct RowCensus {
  let survey: StoreSurvey
  private(set) var counts: [String: [EntityNumber: Int64]]

  init(_ survey: StoreSurvey) {
    self.survey = survey
    counts = survey.rowCounts
  }

  /// Rows of a table, of whatever entity.
  func total(_ table: String) -> Int64 { counts[table]?.values.reduce(0, +) ?? 0 }

  /// Objects of an entity, without those of its subentities.
  func count(of entity: String) -> Int64 {
    guard let found = survey.model.entity(name: entity), let table = survey.schema.table(of: found),
      let number = survey.schema.numbers[entity]
    else { return 0 }
    return counts[table.name]?[number] ?? 0
  }

  /// Counts a table again, row by row.
  mutating func recount(_ table: String) throws {
    counts[table] = try survey.reader.connection.run { db in
      let rows = try Row.fetchAll(
        db,
        sql: """
          SELECT Z_ENT, count(*) FROM \(SQL.identifier(name: table)) NOT INDEXED GROUP BY Z_ENT
          """)
      return Dictionary(
        rows.map { row in
          (
            EntityNumber(rawValue: Int64.fromDatabaseValue(row[0]) ?? 0),
            Int64.fromDatabaseValue(row[1]) ?? 0
          )
        }, uniquingKeysWith: +)
    }
  }

  /// The rows of a table that was counted again that are of no entity.
  func strays(in table: EntityTable) throws -> Loss? {
    try StrayRows(survey: survey, scansAll: true).loss(table: table)
  }
}
