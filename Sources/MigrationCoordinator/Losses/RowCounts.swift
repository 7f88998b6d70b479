import ObjectModel
import Schema
import StoreFormat
import Survey

/// Row counts of a store's tables, by entity.
///
/// The survey counts in any suitable index; where workers read another number, the rows of the
/// table itself are counted again.
struct RowCounts {
  let survey: StoreSurvey
  private(set) var counts: [String: [EntityNumber: Int64]]

  init(_ survey: StoreSurvey) {
    self.survey = survey
    counts = survey.rowCounts
  }

  /// All rows of a table, including those of unknown entities.
  func total(table: String) -> Int64 { counts[table]?.values.reduce(0, +) ?? 0 }

  /// Objects of an entity, without those of its subentities.
  func count(of entity: String) -> Int64 {
    guard let found = survey.model.entity(name: entity), let table = survey.schema.table(of: found),
      let number = survey.schema.numbers[entity]
    else { return 0 }
    return counts[table.name]?[number] ?? 0
  }

  /// Counts a table again, in the table and not in an index.
  mutating func recount(_ table: String) throws {
    counts[table] = try survey.reader.rowCounts(of: table, by: .rows)
  }

  /// The rows of a recounted table that belong to no entity of it.
  func strays(in table: EntityTable) throws -> Loss? {
    try StrayRows(survey: survey, scansAll: true).loss(table: table)
  }

  /// The pairs of a join table that lack one of their keys, by the rows themselves.
  func strays(in join: JoinTable) throws -> Loss? {
    try StrayRows(survey: survey, scansAll: true).loss(join: join)
  }
}
