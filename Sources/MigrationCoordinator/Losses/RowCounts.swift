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
  private var recounted: [String: [EntityNumber: Int64]] = [:]

  init(_ survey: StoreSurvey) { self.survey = survey }

  /// The rows of a table by entity.
  func counts(table: String) -> [EntityNumber: Int64] {
    recounted[table] ?? survey.rowCounts[table] ?? [:]
  }

  /// All rows of a table, including those of unknown entities.
  func total(table: String) -> Int64 { counts(table: table).values.reduce(0, +) }

  /// Objects of an entity, without those of its subentities.
  ///
  /// - Parameter estimates: whether an estimate suffices if they were not counted.
  func count(of entity: String, estimates: Bool = false) -> Int64 {
    guard let found = survey.model.entity(name: entity), let table = survey.schema.table(of: found),
      let number = survey.schema.numbers[entity]
    else { return 0 }
    if estimates { return survey.rowCounts.estimate(table.name)?[number] ?? 0 }
    return counts(table: table.name)[number] ?? 0
  }

  /// Counts a table again, in the table and not in an index.
  mutating func recount(_ table: String) throws {
    recounted[table] = try survey.reader.rowCounts(of: table, by: .rows)
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
