import GRDB
import Mapping
import ObjectModel
import RowPrograms
import Schema
import StoreFormat
import Survey

/// Searches for references whose entity number, in the column next to the key, is that of no entity
/// that the relationship can lead to: a program finds no number of the new store for it.
struct StrayReferences {
  let survey: StoreSurvey
  /// The program whose tables renumber them; nil where objects are made one by one.
  let program: MigrationProgram?

  /// The question of a relationship, whose answer is the loss.
  struct Asked {
    fileprivate var table: String
    fileprivate var entity: String
    fileprivate var relationship: String
    fileprivate var rows: RowCounter.Question
  }

  /// One loss for each relationship that has such references.
  func losses() throws -> [Loss] { try losses(in: survey.schema.tables) }

  /// Those of some tables of the source.
  func losses(in tables: [EntityTable]) throws -> [Loss] {
    var counter = RowCounter(survey.reader)
    let asked = ask(&counter, of: tables)
    try counter.count()
    return try losses(asked, counter: counter)
  }

  /// Adds the questions on some tables, by default all, to a counter, which answers them in the
  /// pass of its others.
  func ask(_ counter: inout RowCounter, of tables: [EntityTable]? = nil) -> [Asked] {
    let asked = (tables ?? survey.schema.tables).flatMap { table in
      table.columns.compactMap { column -> Asked? in
        guard case .toOneEntity(let entity, let name) = column.role, isRead(column.name, of: table)
        else { return nil }
        return question(column: column.name, of: table, entity: entity, relationship: name)
      }
    }
    for one in asked { counter.ask(one.rows) }
    return asked
  }

  /// The losses, by the answers of a counter.
  func losses(_ asked: [Asked], counter: RowCounter) throws -> [Loss] {
    try asked.compactMap { one in
      let count = counter.answer(one.rows)
      guard count > 0 else { return nil }
      let keys = try survey.reader.connection.run { db in
        try Int64.fetchAll(
          db,
          sql: """
            SELECT Z_PK FROM \(SQL.identifier(name: one.table)) NOT INDEXED
            WHERE \(one.rows.test) ORDER BY Z_PK LIMIT \(Loss.keyLimit)
            """)
      }
      return Loss(
        kind: .relationship, cause: .unknownReference, entity: one.entity,
        property: one.relationship, count: count, keys: keys)
    }
  }

  /// Whether the rows of a table have columns whose numbers are checked.
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

  private func question(
    column: String, of table: EntityTable, entity: String, relationship: String
  ) -> Asked? {
    guard let owner = survey.model.entity(name: entity),
      let target = owner.relationships.first(where: { $0.name == relationship })?
        .destinationEntityName
    else { return nil }
    let owners = survey.numbers(ofFamily: entity)
    let known = survey.numbers(ofFamily: target)
    let number = SQL.identifier(name: column)
    return Asked(
      table: table.name, entity: entity, relationship: relationship,
      rows: .init(
        everyRowOf: table.name,
        test: "\(number) IS NOT NULL AND \(number) NOT IN (\(known)) AND Z_ENT IN (\(owners))"))
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
