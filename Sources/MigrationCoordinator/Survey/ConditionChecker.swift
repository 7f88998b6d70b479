import Expressions
import GRDB
import Mapping
import ObjectModel
import RowPrograms
import Schema
import StoreFormat

/// Counts the rows that break conditions of one step's mapping.
struct ConditionChecker {
  let view: RowView
  let destination: StoreSchema
  let mapping: MappingModel
  let reader: StoreReader
  /// Whether rows that the mapping of a condition does not take may not break it.
  var excludesUntaken = false

  /// What to count for a condition.
  enum Question {
    /// Rows that satisfy the test break the condition.
    case rows(RowCounter.Question)
    /// Groups of more than one row break the condition.
    case groups(Groups)
  }

  /// Rows in groups that agree in some expressions.
  struct Groups {
    /// The table of the store.
    var table: String
    /// The table, aliased as `s`.
    var from: String
    var test: String
    /// In what they agree; all rows are one group where it is empty.
    var by: [String]

    /// SQL from `FROM` on, for groups of more than one row.
    fileprivate var sql: String {
      let group = by.isEmpty ? "" : "GROUP BY \(by.joined(separator: ", ")) "
      return "FROM \(from) WHERE \(test) \(group)HAVING count(*) > 1"
    }
  }

  // MARK: Conditions

  /// The question of a condition, nil if nothing can break it.
  func question(condition: Condition) -> Question? {
    switch condition.demand {
    case .noObjects, .noObjectsForDefault, .noObjectsOfAbstract:
      return offenders(condition) { _ in "1" }
    case .noMissingValues(let attribute):
      return offenders(condition) {
        self.column(attribute: attribute, place: $0).map { "\($0) IS NULL" }
      }
    case .valuesFit(let attribute, let type):
      guard let type = AttributeType(name: type) else { return nil }
      return offenders(condition) {
        self.column(attribute: attribute, place: $0).map { type.excludes("(\($0))") }
      }
    case .unique(let properties): return duplicates(of: properties, condition: condition)
    case .singleOwner(let relationship): return sharedTargets(relationship, condition: condition)
    }
  }

  /// The refusal with its count, nil if the condition holds.
  func refusal(
    condition: Condition, question: Question, counter: RowCounter
  ) throws -> Refusal? {
    let count: Int64
    let keys: String
    switch question {
    case .rows(let rows):
      count = counter.answer(rows)
      keys = "SELECT s.Z_PK FROM \(rows.from) WHERE \(rows.test) ORDER BY 1"
    case .groups(let groups):
      guard try mayHaveGroups(groups) else { return nil }
      count = try reader.number(sql: "SELECT total(n) FROM (SELECT count(*) AS n \(groups.sql))")
      keys = "SELECT min(s.Z_PK) \(groups.sql) ORDER BY 1"
    }
    guard count > 0 else { return nil }
    return Refusal(
      reason: .condition(condition.demand, count: count, keys: try self.keys(keys)),
      entity: condition.destinationEntity, property: condition.property)
  }

  /// The rows from which on a constraint is left to its index: of fewer it is soon told.
  private static let manyRows: Int64 = 1 << 16

  /// Whether a condition is a constraint of many rows which an index of the result keeps, so that
  /// making it fails where the condition is broken.
  func isKeptByIndex(_ condition: Condition, question: Question) -> Bool {
    guard case .unique(let properties) = condition.demand, case .groups(let groups) = question,
      groups.by.count == properties.count, view.count(ofTable: groups.table) >= Self.manyRows,
      let entity = destination.model.entity(name: condition.destinationEntity),
      let table = destination.table(of: entity), (try? hasCollations()) == false
    else { return false }
    let lineage = destination.model.lineage(of: entity)
    let columns = properties.map { property in
      lineage.lazy.compactMap {
        table.column(role: .attribute(entity: $0.name, name: property))?.name
      }.first
    }
    return destination.allIndexes.contains { index in
      index.isUnique && index.condition == nil && index.table == table.name
        && Set(index.parts.map(\.column)) == Set(columns)
    }
  }

  /// Whether texts that another collation takes as equal may be in the store.
  private func hasCollations() throws -> Bool {
    let tables = """
      SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%collate%'
      """
    return try reader.number(sql: tables) != 0
  }

  /// Whether there may be a group of more than one row; as a rule there is none, and nothing has to
  /// be sorted to tell so.
  private func mayHaveGroups(_ groups: Groups) throws -> Bool {
    guard !groups.by.isEmpty else { return true }
    let rows = view.count(ofTable: groups.table)
    // Such texts have hashes of their own.
    if try hasCollations() { return true }
    return try reader.connection.run { db in
      let columns = groups.by.joined(separator: ", ")
      return try RowRepetition.isPossible(
        in: "SELECT \(columns) FROM \(groups.from) WHERE \(groups.test)", rows: rows, db: db)
    }
  }

  /// The rows of one entity.
  struct Place {
    var entity: Entity
    var rows: RowView.Rows
    var table: EntityTable
    var number: EntityNumber

    func isOf(_ test: String) -> RowCounter.Question {
      .init(rows, test: "\(rows.isOf([number])) AND (\(test))")
    }
  }

  /// The rows of an entity, nil if it has none.
  func place(name: String) -> Place? {
    guard let entity = view.model.entity(name: name),
      let (rows, table, number) = view.rows(ofEntity: name),
      view.count(rows: rows, number: number) > 0
    else { return nil }
    return Place(entity: entity, rows: rows, table: table, number: number)
  }

  private func offenders(
    _ condition: Condition, test: (Place) -> String?
  ) -> Question? {
    guard let place = place(name: condition.sourceEntity), let test = test(place) else {
      return nil
    }
    return .rows(place.isOf(taken(test, of: place, condition: condition)))
  }

  /// A test that holds of no row which the mapping of a condition leaves to others.
  private func taken(_ test: String, of place: Place, condition: Condition) -> String {
    let maker = mapping.maker(from: condition.sourceEntity, to: condition.destinationEntity)
    return exclusion(maker, of: place).map { "(\(test)) AND \($0)" } ?? test
  }

  /// A test for rows that a mapping takes of those of its entity; nil where it takes all.
  private func exclusion(_ maker: EntityMapping?, of place: Place) -> String? {
    guard excludesUntaken, let maker, maker.isFiltered, let own = mapping.place(named: maker.name)
    else { return nil }
    return UntakenRows(table: place.rows.sourceTable, mappings: [own]).exclusion(key: "s.Z_PK")
  }

  /// The column of the store itself from which an attribute's values are made; nil where there are
  /// no objects, or where they are not made of one column.
  func sourceColumn(ofAttribute attribute: String, entity: String) -> String? {
    place(name: entity).flatMap { place in
      column(place: place) { .attribute(entity: $0, name: attribute) }.flatMap {
        place.rows.sourceColumn(of: $0, in: place.number)
      }
    }
  }

  func column(attribute: String, place: Place, anyEntity: Bool = false) -> String? {
    column(place: place) { .attribute(entity: $0, name: attribute) }.map {
      place.rows.value(column: $0, of: anyEntity ? nil : place.number)
    }
  }

  private func column(place: Place, role: (String) -> Schema.Column.Role) -> String? {
    for level in view.model.lineage(of: place.entity) {
      if let found = place.table.column(role: role(level.name)) { return found.name }
    }
    return nil
  }

  private func duplicates(of properties: [String], condition: Condition) -> Question? {
    guard let place = place(name: condition.sourceEntity),
      let entityMapping = mapping.mapping(toDestination: condition.destinationEntity)
    else { return nil }
    var columns: [String] = []
    for property in properties {
      guard
        let origin = entityMapping.attributeMappings.first(where: { $0.name == property })?.origin
      else { return nil }
      // A constant is the same everywhere; nil never equals nil.
      if case .attribute(let name, let replacement) = origin,
        let column = column(attribute: name, place: place, anyEntity: true)
      {
        columns.append(
          future(
            column,
            of: view.model.leafAttribute(named: name, of: place.entity)?.type,
            property: property, replacement: replacement, condition: condition))
      } else if origin == .standard || origin == .constant(.null) {
        return nil
      }
    }
    let present =
      columns.map { "\($0) IS NOT NULL" } + [isCompared(condition.destinationEntity, of: place)]
    return .groups(
      Groups(
        table: place.rows.sourceTable, from: place.rows.from,
        test: present.joined(separator: " AND "), by: columns))
  }

  /// An SQL expression for the value that a column will have in the destination.
  private func future(
    _ column: String, of type: AttributeType?, property: String, replacement: AttributeValue,
    condition: Condition
  ) -> String {
    guard let entity = destination.model.entity(name: condition.destinationEntity),
      let new = destination.model.leafAttribute(named: property, of: entity)
    else { return column }
    let value = type == new.type ? "(\(column))" : "(\(new.type.converting("(\(column))")))"
    let other = StoredValue(value: replacement, of: new)
    return other == .null ? value : "ifnull(\(value), \(other.sql))"
  }

  /// A test for the rows that are in the index of a uniqueness constraint.
  private func isCompared(_ destinationEntity: String, of place: Place) -> String {
    guard let entity = destination.model.entity(name: destinationEntity) else { return "0" }
    let family = destination.model.family(of: destination.model.root(of: entity).name).map(\.name)
    let makers = mapping.entityMappings.filter {
      $0.sourceEntityName != nil && $0.destinationEntityName.map(family.contains) ?? false
    }
    func numbers(_ makers: [EntityMapping]) -> [EntityNumber] {
      makers.compactMap(\.sourceEntityName).compactMap { view.schema.numbers[$0] }
    }
    let tests = makers.compactMap { maker in
      exclusion(maker, of: place).map { "\(place.rows.isOf(numbers([maker]))) AND \($0)" }
    }
    let whole = makers.filter { exclusion($0, of: place) == nil }
    guard !tests.isEmpty else { return place.rows.isOf(numbers(whole)) }
    return "(\(([place.rows.isOf(numbers(whole))] + tests).joined(separator: " OR ")))"
  }

  private func sharedTargets(_ relationship: String, condition: Condition) -> Question? {
    guard let place = place(name: condition.sourceEntity),
      let name = column(place: place, role: { .toOne(entity: $0, name: relationship) })
    else { return nil }
    let column = place.rows.value(column: name, of: place.number)
    return .groups(
      Groups(
        table: place.rows.sourceTable, from: place.rows.from,
        test: taken(
          "\(place.rows.isOf([place.number])) AND (\(column)) IS NOT NULL", of: place,
          condition: condition),
        by: [column]))
  }
}

extension RowCounter.Question {
  /// A test on rows of a view.
  init(_ rows: RowView.Rows, test: String) {
    // A query within the test would be made once more for each part.
    let isQuery = test.uppercased().contains("SELECT")
    self.init(from: rows.from, test: test, parts: isQuery ? nil : .init(table: rows.sourceTable))
  }
}
