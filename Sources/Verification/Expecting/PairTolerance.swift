import ObjectModel
import Schema

/// Pairs of join tables that a migration by programs carries along although an object of theirs is
/// not there, and places in them that were no order before.
extension Tolerance {
  /// Whether a pair was there before, and one of its objects was not.
  func allowsPair(_ first: RawValue, _ second: RawValue, of join: JoinTable) throws -> Bool {
    for origin in origins(of: join) {
      guard let row = try origin.row(first, second, orderedBy: nil) else { continue }
      if row.isDangling { return true }
    }
    return false
  }

  /// Whether a pair had this place before, and the place was no order: it is no number, or another
  /// pair has it too.
  ///
  /// - Parameter inFirst: whether the place is that of the first end's object.
  func allowsPlace(
    _ place: RawValue, of first: RawValue, _ second: RawValue, inFirst: Bool, of join: JoinTable
  ) throws -> Bool {
    for origin in origins(of: join) {
      guard let row = try origin.row(first, second, orderedBy: inFirst) else { continue }
      if row.place == place && row.isNoOrder { return true }
    }
    return false
  }

  /// The relationship of a join table in the stores with which the steps began, the last one first.
  private func origins(of join: JoinTable) -> [PairOrigin] {
    var found: [PairOrigin] = []
    var ends = [
      End(entity: join.first.entityName, relationship: join.first.relationshipName, isFirst: true),
      End(
        entity: join.second.entityName, relationship: join.second.relationshipName, isFirst: false),
    ]
    for start in history.reversed() {
      ends = ends.flatMap { $0.before(start) }
      found += ends.compactMap { PairOrigin($0, in: start) }
    }
    return found
  }

  /// A relationship as one of its objects has it.
  fileprivate struct End: Hashable {
    var entity: String
    var relationship: String
    /// Whether its objects are those of the join table's first column.
    var isFirst: Bool

    func before(_ start: ExpectedSteps.StepStart) -> [End] {
      start.destination.model.family(of: entity).flatMap { member in
        start.origins[member.name].compactMap { origin in
          origin.properties[relationship].map {
            End(entity: origin.entity, relationship: $0, isFirst: isFirst)
          }
        }
      }
    }
  }
}

/// The join table of a relationship in the store with which a step began.
private struct PairOrigin {
  private let start: ExpectedSteps.StepStart
  private let join: JoinTable
  /// Whether the columns are the other way round.
  private let isFlipped: Bool

  struct Row {
    var isDangling: Bool
    var place: RawValue
    var isNoOrder: Bool
  }

  init?(_ end: Tolerance.End, in start: ExpectedSteps.StepStart) {
    guard let entity = start.schema.model.entity(name: end.entity) else { return nil }
    let names = start.schema.model.lineage(of: entity).map(\.name)
    func isOf(_ other: JoinTable.End) -> Bool {
      other.relationshipName == end.relationship && names.contains(other.entityName)
    }
    self.start = start
    if let found = start.schema.joinTables.first(where: { isOf($0.first) }) {
      (join, isFlipped) = (found, !end.isFirst)
    } else if let found = start.schema.joinTables.first(where: { isOf($0.second) }) {
      (join, isFlipped) = (found, end.isFirst)
    } else {
      return nil
    }
  }

  /// The row of a pair, nil where there is none.
  func row(_ first: RawValue, _ second: RawValue, orderedBy isFirst: Bool?) throws -> Row? {
    let ends = isFlipped ? (join.second, join.first) : (join.first, join.second)
    let placed = isFirst.map { $0 ? ends.0 : ends.1 }
    let owner = isFirst == true ? ends.1 : ends.0
    let column = placed?.orderColumn.map(SQL.identifier)
    let place = column.map { "s.\($0)" } ?? "NULL"
    let name = SQL.identifier(name: join.name)
    let others =
      column.map {
        "(SELECT count(*) FROM \(name) AS o WHERE o.\(SQL.identifier(name: owner.keyColumn)) = "
          + "s.\(SQL.identifier(name: owner.keyColumn)) AND o.\($0) = s.\($0)) > 1"
      } ?? "0"
    let gone = [ends.0, ends.1].map { end in
      "NOT EXISTS (SELECT 1 FROM \(table(of: end)) AS t "
        + "WHERE t.Z_PK = s.\(SQL.identifier(name: end.keyColumn)))"
    }
    let rows = try start.store.rows(
      sql: """
        SELECT \(gone.joined(separator: " OR ")), \(place), \
        typeof(\(place)) <> 'integer' OR \(others) FROM \(name) AS s \
        WHERE s.\(SQL.identifier(name: ends.0.keyColumn)) = ? \
        AND s.\(SQL.identifier(name: ends.1.keyColumn)) = ?
        """, bindings: [first, second])
    return rows.first.map {
      Row(isDangling: $0[0].integer == 1, place: $0[1], isNoOrder: $0[2].integer == 1)
    }
  }

  private func table(of end: JoinTable.End) -> String {
    let table = start.schema.model.entity(name: end.entityName).flatMap {
      start.schema.table(of: $0)
    }
    guard let table else { preconditionFailure("each entity has a table") }
    return SQL.identifier(name: table.name)
  }
}
