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
  /// The mappings whose objects have to satisfy a condition, where several may make the same of one
  /// entity.
  var takers: [Condition: [EntityMapping]] = [:]
  /// Makes the rows of the step's destination; nil where they are made otherwise.
  var made: MigrationProgram?
  /// SQL that returns whether a choice set a reference of a row, named `s`, to nil, by entity and
  /// relationship; nil if it set none to nil.
  var emptied: ((_ entity: String, _ relationship: String) -> String?)?

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
    /// A test for rows in which a default value stands for nil in one of the columns; nil where
    /// none can.
    var defaulted: String?
    /// The column with the keys that are reported.
    var key = "s.Z_PK"
    /// Whether groups are counted, and not their rows.
    var countsGroups = false
    /// Whether the rows are pairs, whose number is not known.
    var arePairs = false

    /// A test for the rows of groups of more than one row, which agree in one column.
    fileprivate var grouped: String { "\(test) AND \(by[0]) IN (SELECT \(by[0]) \(sql))" }

    /// A query for the number of groups in which more than one row agrees by other values than
    /// defaults; nil where no default stands for nil.
    var ownDuplicates: String? {
      defaulted.map { "SELECT count(*) FROM (SELECT 1 \(sql) AND min(\($0)) = 0)" }
    }

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
    case .noObjects, .noObjectsLeftNil, .noObjectsForDefault, .noObjectsOfAbstract:
      return offenders(condition) { _ in "1" }
    case .noMissingValues(let attribute, _):
      return offenders(condition) {
        self.column(attribute: attribute, place: $0).map { "\($0) IS NULL" }
      }
    case .noMissingReferences(let before): return missingReferences(condition, before: before)
    case .valuesFit(let attribute, let type):
      guard let type = AttributeType(name: type) else { return nil }
      return offenders(condition) {
        self.column(attribute: attribute, place: $0).map { type.excludes("(\($0))") }
      }
    case .unique(let properties), .defaultsDiffer(let properties, _):
      return duplicates(of: properties, condition: condition)
    case .singleOwner(let relationship): return sharedObjects(relationship, condition: condition)
    case .singleObject(let relationship): return severalObjects(relationship, condition: condition)
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
      if groups.arePairs, !groups.countsGroups {
        // An object may have several pairs.
        let pairs = "FROM \(groups.from) WHERE \(groups.grouped)"
        count = try reader.number(sql: "SELECT count(DISTINCT \(groups.key)) \(pairs)")
        keys = "SELECT DISTINCT \(groups.key) \(pairs) ORDER BY 1"
      } else {
        let counted = groups.countsGroups ? "count" : "total"
        count = try reader.number(
          sql: "SELECT \(counted)(n) FROM (SELECT count(*) AS n \(groups.sql))")
        keys = "SELECT DISTINCT min(\(groups.key)) \(groups.sql) ORDER BY 1"
      }
    }
    guard count > 0 else { return nil }
    var refusal = Refusal(
      reason: .condition(
        try refused(condition, question), count: count, keys: try self.keys(keys)),
      entity: declaringEntity(of: condition), property: condition.property)
    if case .rows = question, hasSeveralSources(condition.destinationEntity) {
      refusal.sourceEntity = condition.sourceEntity
    }
    return refusal
  }

  private func hasSeveralSources(_ entity: String) -> Bool {
    let makers = mapping.entityMappings.filter { $0.destinationEntityName == entity }
    return Set(makers.compactMap(\.sourceEntityName)).count > 1
  }

  /// The number of rows from which a constraint is left to its index; fewer are checked fast.
  private static let manyRows: Int64 = 1 << 16

  /// Whether a condition is a constraint of many rows which an index of the result keeps, so that
  /// making it fails where the condition is broken.
  func isKeptByIndex(_ condition: Condition, question: Question) -> Bool {
    guard case .unique(let properties) = condition.demand, case .groups(let groups) = question,
      groups.by.count == properties.count, view.count(ofTable: groups.table) >= Self.manyRows,
      let entity = destination.model.entity(name: condition.destinationEntity),
      let table = destination.table(of: entity), (try? hasCollations()) == false
    else { return false }
    let columns = properties.map { column(of: $0, in: table, of: entity) }
    return destination.allIndexes.contains { index in
      index.isUnique && index.condition == nil && index.table == table.name
        && Set(index.parts.map(\.column)) == Set(columns)
    }
  }

  /// Whether texts that another collation takes as equal may be in the store.
  private func hasCollations() throws -> Bool {
    let entries = try reader.tableEntries()
    return try reader.answer("collations") { _ in
      entries.values.contains { TableStatement($0.statement).hasCollations }
    }
  }

  /// Whether there may be a group of more than one row; usually there is none, and this needs no
  /// sorting.
  private func mayHaveGroups(_ groups: Groups) throws -> Bool {
    guard !groups.by.isEmpty, !groups.arePairs else { return true }
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
  func taken(_ test: String, of place: Place, condition: Condition) -> String {
    taken(test, of: place, by: makers(of: condition))
  }

  /// A test that holds of no row which none of some mappings takes.
  func taken(_ test: String, of place: Place, by makers: [EntityMapping]) -> String {
    let rows = untakenRows(by: makers, of: place).map { $0.exclusion(key: "s.Z_PK") }
    return rows.isEmpty ? test : "(\(test)) AND (\(rows.joined(separator: " OR ")))"
  }

  /// A test for rows that a mapping takes of those of its entity; nil where it takes all.
  func exclusion(_ maker: EntityMapping, of place: Place) -> String? {
    untakenRows(by: [maker], of: place).first?.exclusion(key: "s.Z_PK")
  }

  /// The rows that each of some mappings does not take; empty where one takes all.
  func untakenRows(by makers: [EntityMapping], of place: Place) -> [UntakenRows] {
    guard excludesUntaken, makers.allSatisfy(\.isFiltered) else { return [] }
    return makers.compactMap { mapping.place(named: $0.name) }.map {
      UntakenRows(table: place.rows.sourceTable, mappings: [$0])
    }
  }

  /// The mappings whose objects have to satisfy a condition.
  func makers(of condition: Condition) -> [EntityMapping] {
    takers[condition]
      ?? [mapping.maker(from: condition.sourceEntity, to: condition.destinationEntity)]
      .compactMap(\.self)
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

  func column(place: Place, role: (String) -> Schema.Column.Role) -> String? {
    for level in view.model.lineage(of: place.entity) {
      if let found = place.table.column(role: role(level.name)) { return found.name }
    }
    return nil
  }
}

extension RowCounter.Question {
  /// A test on rows of a view.
  init(_ rows: RowView.Rows, test: String) {
    self.init(from: rows.from, test: test, table: rows.sourceTable)
  }

  /// A test on rows of a table.
  init(from: String, test: String, table: String) {
    // A query within the test would be made once more for each part.
    self.init(from: from, test: test, parts: Self.hasQuery(test) ? nil : .init(table: table))
  }

  /// Whether a test has the word SELECT, of small or capital letters; searched in its bytes, since
  /// each store of a fleet needs it.
  private static func hasQuery(_ test: String) -> Bool {
    let word = Array("SELECT".utf8)
    let capitals = test.utf8.map { $0 & 0xDF }
    return capitals.indices.contains { capitals[$0...].starts(with: word) }
  }
}
