import GRDB
import ObjectModel
import RowPrograms
import Schema
import StoreFormat
import Survey

/// Searches for objects that share an object in a relationship which gets a to-one inverse.
///
/// The inverse leads to the object with the lowest key. The references of the others are kept, and
/// nothing leads back to them.
struct SharedReferences {
  let survey: StoreSurvey
  let destination: StoreSchema

  /// A column of the store whose references a new to-one inverse leads back to.
  private struct Column: Hashable {
    var table: String
    var name: String
    /// The entities whose rows have the reference, by their numbers.
    var entities: [Int64]
    /// The rows of them that no mapping takes.
    var others: UntakenRows?
    /// The table of the objects that the references lead to.
    var target: String
  }

  /// One defect per relationship that has such references; none without a program.
  func defects(of program: MigrationProgram?) throws -> [Defect] {
    var columns: [Column] = []
    for made in program?.tables ?? [] where !made.isOfChanges {
      for column in shared(by: made) where !columns.contains(column) { columns.append(column) }
    }
    return try columns.compactMap(defect)
  }

  private func shared(by program: TableProgram) -> [Column] {
    guard let table = destination.tables.first(where: { $0.name == program.destinationTable })
    else { return [] }
    return program.columns.filter { isOneToOne($0.name, of: table) }.flatMap { column in
      column.operations.flatMap(\.choices).compactMap { operation in
        guard case .ownerKey(let table, let column, let entities, let others) = operation else {
          return nil
        }
        return Column(
          table: table, name: column, entities: entities, others: others,
          target: program.sourceTable)
      }
    }
  }

  /// Whether a column has the references of a to-one relationship with a to-one inverse.
  private func isOneToOne(_ column: String, of table: EntityTable) -> Bool {
    guard let role = table.columns.first(where: { $0.name == column })?.role,
      case .toOne(let entity, let name) = role,
      let owner = destination.model.entity(name: entity),
      let relationship = owner.relationships.first(where: { $0.name == name })
    else { return false }
    return destination.model.inverse(of: relationship)?.isToMany == false
  }

  private func defect(_ column: Column) throws -> Defect? {
    guard let table = survey.schema.tables.first(where: { $0.name == column.table }),
      let role = table.columns.first(where: { $0.name == column.name })?.role,
      case .toOne(let entity, let property) = role
    else { return nil }
    let numbers = column.entities.map { "\($0)" }.joined(separator: ", ")
    let reference = "s.\(SQL.identifier(name: column.name))"
    let taken = column.others.map { " AND \($0.exclusion(key: "s.Z_PK"))" } ?? ""
    let rows = """
      FROM \(SQL.identifier(name: column.table)) AS s \
      WHERE \(reference) IS NOT NULL AND s.Z_ENT IN (\(numbers))\(taken) \
      AND EXISTS (SELECT 1 FROM \(SQL.identifier(name: column.target)) AS t \
      WHERE t.Z_PK = \(reference))
      """
    return try survey.reader.connection.run { db in
      let count =
        try Int64.fetchOne(
          db,
          sql: """
            SELECT ifnull(sum(n - 1), 0) FROM \
            (SELECT count(*) AS n \(rows) GROUP BY \(reference) HAVING count(*) > 1)
            """) ?? 0
      guard count > 0 else { return nil }
      let keys = try Int64.fetchAll(
        db,
        sql: """
          SELECT key FROM (SELECT s.Z_PK AS key, row_number() OVER \
          (PARTITION BY \(reference) ORDER BY s.Z_PK) AS place \(rows)) \
          WHERE place > 1 ORDER BY key LIMIT \(Loss.keyLimit)
          """)
      return Defect(
        kind: .oneSided, entity: entity, property: property, count: count, keys: keys, fate: .kept)
    }
  }
}
