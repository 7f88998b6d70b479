import GRDB
import Mapping
import ObjectMigration
import ObjectModel
import RowPrograms
import Schema
import StoreFormat

/// Counts what becomes of the references of one step, of relationships that may lose some.
struct ReferenceCounts: Sendable {
  /// The references of one relationship.
  struct Counted: Sendable {
    /// The references, as the mappings see them.
    var place: ReferenceFates.Place
    /// How many there are, those that lead nowhere among them.
    var all: Int64 = 0
    /// Those that the result does not have, by cause.
    var dropped: [LossCause: Int64] = [:]
    /// Those that only the migration can show to be in the result.
    var open: Int64 = 0
    /// Those whose row stays, by the owner's entity and cause, with some keys.
    var losses: [Loss] = []
  }

  /// The relationships that may lose references, in the order of the tables.
  private(set) var counted: [Counted] = []

  /// The losses of references whose row stays.
  var losses: [Loss] { counted.flatMap(\.losses) }

  /// Counts in a store, or in what a program makes of one.
  init(_ fates: ReferenceFates, view: RowView, reader: StoreReader) throws {
    for (place, source) in Self.places(fates, view: view) {
      let query = ReferenceQuery(place: place, fates: fates, source: source, view: view)
      guard let found = try query.count(reader) else { continue }
      counted.append(found)
    }
  }

  /// The mappings whose objects have to be known by their keys.
  static func filters(_ fates: ReferenceFates, view: RowView) -> Set<UntakenRows> {
    var found: Set<UntakenRows> = []
    for (place, _) in places(fates, view: view) {
      for (entity, filters) in place.ownerFilters.merging(place.targetFilters, uniquingKeysWith: +)
      {
        guard let table = view.model.entity(name: entity).flatMap({ view.schema.table(of: $0) })
        else { continue }
        for filter in filters { found.insert(UntakenRows(table: table.name, mappings: [filter])) }
      }
    }
    return found
  }

  private static func places(
    _ fates: ReferenceFates, view: RowView
  ) -> [(place: ReferenceFates.Place, source: ReferenceSource)] {
    view.schema.references(fates) { entity in
      view.rows(ofEntity: entity).map { view.count(rows: $0.rows, number: $0.number) > 0 } ?? false
    }
  }
}

/// A query for the references of one relationship, by the entities and mappings of both objects.
private struct ReferenceQuery {
  let place: ReferenceFates.Place
  let fates: ReferenceFates
  let source: ReferenceSource
  let view: RowView

  /// One of the two objects, in SQL.
  private struct End {
    var key: String
    /// Its entity number, and the names of the entities by their numbers.
    var number: String
    var names: [Int64: String]
    var filters: [Int]
    var entityFilters: [String: [Int]]
    var table: String
  }

  /// A reference's ends as a row of the query has them.
  private struct Cell {
    var owner: ReferenceFates.End
    var target: ReferenceFates.End
    /// The values of the row that identify them.
    var values: [Int64?]
    var fate: ReferenceFates.Fate
  }

  func count(_ reader: StoreReader) throws -> ReferenceCounts.Counted? {
    guard let (from, test, owner, target) = ends() else { return nil }
    let bits = zip([owner, target], ["o", "t"]).flatMap { end, name in
      end.filters.enumerated().map { "\(taken(end, by: $1)) AS \(name)\($0)" }
    }
    let list =
      [
        "\(owner.key) AS okey", "\(target.key) AS tkey", "\(owner.number) AS o",
        "\(target.number) AS t",
      ] + bits
    let rows = "SELECT \(list.joined(separator: ", ")) FROM \(from) WHERE \(test)"
    let names =
      ["o", "t"] + owner.filters.indices.map { "o\($0)" } + target.filters.indices.map { "t\($0)" }
    var result = ReferenceCounts.Counted(place: place)
    var cells: [Cell] = []
    try reader.connection.run { db in
      let found = try Row.fetchCursor(
        db,
        sql: "SELECT \(names.joined(separator: ", ")), count(*) FROM (\(rows)) "
          + "GROUP BY \(names.joined(separator: ", "))")
      while let row = try found.next() {
        let values = names.indices.map { Int64.fromDatabaseValue(row[$0]) }
        let count = Int64.fromDatabaseValue(row[names.count]) ?? 0
        let cell = cell(values, owner: owner, target: target)
        result.all += count
        if let cause = cell.fate.cause { result.dropped[cause, default: 0] += count }
        if cell.fate == .open { result.open += count }
        cells.append(cell)
        if case .lost(let cause) = cell.fate {
          note(cause, of: cell.owner.entity ?? place.entity, count: count, in: &result)
        }
      }
    }
    try addKeys(&result, cells: cells, rows: rows, names: names, reader: reader)
    try addCollisions(&result, cells: cells, rows: rows, names: names, reader: reader)
    return result.all > 0 ? result : nil
  }

  private func note(
    _ cause: LossCause, of entity: String, count: Int64, in result: inout ReferenceCounts.Counted
  ) {
    let name = place.relationship.name
    if let index = result.losses.firstIndex(where: { $0.cause == cause && $0.entity == entity }) {
      result.losses[index].count += count
    } else {
      result.losses.append(
        Loss(kind: .relationship, cause: cause, entity: entity, property: name, count: count))
    }
  }

  // MARK: Cells

  private func cell(_ values: [Int64?], owner: End, target: End) -> Cell {
    func end(_ end: End, _ number: Int64?, _ bits: ArraySlice<Int64?>) -> ReferenceFates.End {
      guard let entity = number.flatMap({ end.names[$0] }) else {
        return .init(entity: nil, takers: [])
      }
      let taken = zip(end.filters, bits).filter { $1 == 1 }.map(\.0)
      let own = Set(end.entityFilters[entity] ?? [])
      return .init(
        entity: entity, takers: fates.takersOfAll(entity).union(own.intersection(taken)))
    }
    let middle = 2 + owner.filters.count
    let one = end(owner, values[0], values[2..<middle])
    let other = end(target, values[1], values[middle...])
    return Cell(
      owner: one, target: other, values: values,
      fate: fates.fate(place, owner: one, target: other))
  }

  /// A test for rows of some cells.
  private func test(_ cells: [Cell], names: [String]) -> String {
    cells.map { cell in
      "("
        + zip(names, cell.values).map { "\($0) IS \($1.map { "\($0)" } ?? "NULL")" }
        .joined(separator: " AND ") + ")"
    }.joined(separator: " OR ")
  }

  private func addKeys(
    _ result: inout ReferenceCounts.Counted, cells: [Cell], rows: String, names: [String],
    reader: StoreReader
  ) throws {
    let key = place.form == .owner ? "tkey" : "okey"
    for index in result.losses.indices {
      let loss = result.losses[index]
      let own = cells.filter {
        $0.fate == .lost(loss.cause) && ($0.owner.entity ?? place.entity) == loss.entity
      }
      result.losses[index].keys = try reader.connection.run { db in
        try Row.fetchAll(
          db,
          sql: "SELECT DISTINCT \(key) FROM (\(rows)) WHERE \(test(own, names: names)) "
            + "ORDER BY 1 LIMIT \(Loss.keyLimit)"
        ).compactMap { Int64.fromDatabaseValue($0[0]) }
      }
    }
  }

  /// Adds references that come to a place which another one has.
  private func addCollisions(
    _ result: inout ReferenceCounts.Counted, cells: [Cell], rows: String, names: [String],
    reader: StoreReader
  ) throws {
    guard let winner = place.winner else { return }
    let kept = cells.filter { $0.fate == .kept || $0.fate == .open }
    if kept.isEmpty { return }
    let key = winner == .owner ? "okey" : "tkey"
    let found = try reader.connection.run { db in
      try Row.fetchAll(
        db,
        sql: "SELECT min(o), count(*) - 1 FROM (\(rows)) WHERE \(test(kept, names: names)) "
          + "GROUP BY \(key) HAVING count(*) > 1")
    }
    for row in found {
      let count = Int64.fromDatabaseValue(row[1]) ?? 0
      let entity = kept.first { $0.values[0] == Int64.fromDatabaseValue(row[0]) }?.owner.entity
      note(.collision, of: entity ?? place.entity, count: count, in: &result)
      result.dropped[.collision, default: 0] += count
    }
  }

  // MARK: SQL

  private func taken(_ end: End, by filter: Int) -> String {
    UntakenRows(table: end.table, mappings: [filter]).exclusion(key: end.key)
  }

  private func ends() -> (from: String, test: String, owner: End, target: End)? {
    let target = place.relationship.destinationEntityName
    switch source {
    case .column(_, let column, let number):
      let isOwner = place.form == .owner
      guard let (rows, table, _) = view.rows(ofEntity: isOwner ? target : place.entity) else {
        return nil
      }
      let key = "(\(rows.value(column: column, of: nil)))"
      let own = isOwner ? place.targets : place.owners
      let row = end(
        key: "s.Z_PK", number: "s.Z_ENT", names: names(own), table: table.name, isOwner: !isOwner)
      let far = farEnd(
        key: key, entity: isOwner ? place.entity : target,
        number: fates.isByRows ? number.map { "(\(rows.value(column: $0, of: nil)))" } : nil,
        isOwner: isOwner)
      guard let far else { return nil }
      let numbers = own.compactMap { view.schema.numbers[$0] }
      let test = "\(rows.isOf(numbers)) AND \(key) IS NOT NULL"
      return isOwner ? (rows.from, test, far, row) : (rows.from, test, row, far)
    case .pairs(let join):
      guard let pairs = view.pairs(join) else { return nil }
      let keys = [join.first, join.second].map { "p.\(SQL.identifier(name: $0.keyColumn))" }
      guard let owner = farEnd(key: keys[0], entity: place.entity, number: nil, isOwner: true),
        let other = farEnd(key: keys[1], entity: target, number: nil, isOwner: false)
      else { return nil }
      return (
        "\(pairs) AS p", keys.map { "\($0) IS NOT NULL" }.joined(separator: " AND "), owner, other
      )
    }
  }

  /// An object whose row is looked up by its key, unless a column has its entity number.
  private func farEnd(key: String, entity: String, number: String?, isOwner: Bool) -> End? {
    guard place.needsOtherEnd else {
      return end(key: key, number: "NULL", names: [:], table: "", isOwner: isOwner)
    }
    let entities = isOwner ? place.owners : place.targets
    let known = view.model.entity(name: entity).flatMap { view.schema.table(of: $0) }
    if let number, let table = known {
      let names = Dictionary(
        entities.compactMap { name in view.schema.numbers[name].map { ($0.rawValue, name) } },
        uniquingKeysWith: { first, _ in first })
      return end(key: key, number: number, names: names, table: table.name, isOwner: isOwner)
    }
    guard let (rows, table, _) = view.rows(ofEntity: entity) else { return nil }
    let found =
      "(SELECT x.Z_ENT FROM main.\(SQL.identifier(name: rows.sourceTable)) AS x "
      + "WHERE x.Z_PK = \(key))"
    return end(key: key, number: found, names: names(entities), table: table.name, isOwner: isOwner)
  }

  private func end(
    key: String, number: String, names: [Int64: String], table: String, isOwner: Bool
  ) -> End {
    let filters = isOwner ? place.ownerFilters : place.targetFilters
    return End(
      key: key, number: number, names: names, filters: Set(filters.values.flatMap(\.self)).sorted(),
      entityFilters: filters, table: table)
  }

  /// The entities by the numbers that they have in the store.
  private func names(_ entities: [String]) -> [Int64: String] {
    Dictionary(
      entities.compactMap { name in
        view.rows(ofEntity: name).flatMap { rows, _, number in
          rows.number(number).map { ($0, name) }
        }
      }, uniquingKeysWith: { first, _ in first })
  }
}
