import GRDB
import Mapping
import ObjectModel
import RowPrograms
import Schema
import StoreFormat
import Survey

/// Searches for references whose entity number, in the column beside the key, is that of no entity
/// that the relationship leads to: a program finds no number of the new store for it.
struct StrayReferences {
  let survey: StoreSurvey
  /// The program whose tables renumber them; nil where objects are made one by one.
  let program: MigrationProgram?

  /// One loss for each relationship that has such references.
  func losses() throws -> [Loss] { try survey.schema.tables.flatMap { try losses(in: $0) } }

  /// Those of one table of the source.
  func losses(in table: EntityTable) throws -> [Loss] {
    try table.columns.compactMap { column in
      guard case .toOneEntity(let entity, let name) = column.role, isRead(column.name, of: table)
      else { return nil }
      return try loss(column: column.name, of: table, entity: entity, relationship: name)
    }
  }

  /// Whether the rows of a table have columns whose numbers are looked at.
  static func mayConcern(_ table: TableProgram) -> Bool {
    table.columns.contains { $0.operations.contains { $0.renumberedColumn != nil } }
  }

  private func isRead(_ column: String, of table: EntityTable) -> Bool {
    guard let program else { return true }
    return program.tables.contains { made in
      made.sourceTable == table.name
        && made.columns.contains { $0.operations.contains { $0.renumberedColumn == column } }
    }
  }

  private func loss(
    column: String, of table: EntityTable, entity: String, relationship: String
  ) throws -> Loss? {
    guard let owner = survey.model.entity(name: entity),
      let target = owner.relationships.first(where: { $0.name == relationship })?
        .destinationEntityName
    else { return nil }
    let owners = survey.numbers(ofFamily: entity)
    let known = survey.numbers(ofFamily: target)
    let number = SQL.identifier(name: column)
    let rows = "\(SQL.identifier(name: table.name)) NOT INDEXED"
    let test = "\(number) IS NOT NULL AND \(number) NOT IN (\(known)) AND Z_ENT IN (\(owners))"
    let count = try survey.reader.number(sql: "SELECT count(*) FROM \(rows) WHERE \(test)")
    guard count > 0 else { return nil }
    let keys = try survey.reader.connection.run { db in
      try Int64.fetchAll(
        db,
        sql: "SELECT Z_PK FROM \(rows) WHERE \(test) ORDER BY Z_PK LIMIT \(Loss.keyLimit)")
    }
    return Loss(
      kind: .relationship, cause: .unknownReference, entity: entity, property: relationship,
      count: count, keys: keys)
  }
}

extension ColumnOperation {
  /// The column with the entity number of a reference that is renumbered, or that decides whether
  /// the reference is kept.
  fileprivate var renumberedColumn: String? {
    switch self {
    case .renumber(let column, _): column
    case .reference(_, let filter?) where filter.table == nil: filter.column
    case .then(let first, _): first.renumberedColumn
    case .unless(_, _, let operation): operation.renumberedColumn
    case .either(let first, let second): first.renumberedColumn ?? second.renumberedColumn
    case .call(_, _, let standard): standard.renumberedColumn
    default: nil
    }
  }
}
