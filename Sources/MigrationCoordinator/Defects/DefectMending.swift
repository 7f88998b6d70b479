import GRDB
import Mapping
import ObjectModel
import Schema
import StoreFormat
import Survey
import SystemPackage

/// Mends a copy of a store as the request says, before anything is made of it: every engine then
/// reads the same rows.
struct DefectMending {
  let survey: StoreSurvey
  let choices: DefectChoices
  /// The first step, where its rows are made by a program.
  let step: RowStep?

  /// A mending that has something to do, in the order in which it is done.
  struct Deed {
    var defect: Defect
    var statement: String
    /// The table whose rows it deletes.
    var removesFrom: String?
  }

  /// What is to be done; nothing for most stores.
  func deeds() throws -> [Deed] {
    try references() + values() + duplicates()
  }

  /// Mends a copy of the surveyed store; what was mended, with all keys.
  func mend(_ copy: FilePath, by deeds: [Deed]) throws -> [Defect] {
    let search = DefectSearch(survey: survey)
    let connection = try StoreConnection.writable(copy)
    var result: [Defect] = []
    try connection.perform { db in
      // A store that keeps a log keeps none in its copy, which nobody else reads.
      _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = DELETE")
      _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = OFF")
      try db.execute(sql: "CREATE TEMP TABLE removed (tbl, key, PRIMARY KEY (tbl, key))")
      // No transaction may be open where an error leaves the connection.
      try db.inTransaction {
        for deed in deeds {
          try perform(deed, in: db)
          result.append(deed.defect)
        }
        result += try releaseRemoved(search, db: db)
        return .commit
      }
    }
    do { try connection.queue.close() } catch { throw connection.failure(error: error) }
    return result
  }

  private func perform(_ deed: Deed, in db: Database) throws {
    if let table = deed.removesFrom {
      for key in deed.defect.keys {
        try db.execute(
          sql: "INSERT OR IGNORE INTO temp.removed VALUES (?, ?)", arguments: [table, key])
      }
    }
    try db.execute(sql: deed.statement)
  }

  // MARK: References

  private func references() throws -> [Deed] {
    guard choices.dangling == .nullify else { return [] }
    let search = DefectSearch(survey: survey)
    return try (search.references + search.unknownReferences).compactMap { test in
      try deed(test, search: search)
    }
  }

  private func deed(_ test: DefectSearch.Test, search: DefectSearch) throws -> Deed? {
    let keys = try search.keys(of: test)
    guard !keys.isEmpty, let statement = Self.statement(test) else { return nil }
    let fate: Defect.Fate = test.mending == .delete ? .removed : .nullified
    return Deed(
      defect: Defect(
        kind: test.kind, entity: test.entity, property: test.property, count: Int64(keys.count),
        keys: keys, fate: fate), statement: statement)
  }

  /// What mends all rows that satisfy a test.
  private static func statement(_ test: DefectSearch.Test) -> String? {
    let rows = "\(test.rows.from) WHERE \(test.rows.test)"
    switch test.mending {
    case .none: return nil
    case .delete: return "DELETE FROM \(rows)"
    case .nullify(let columns):
      let list = columns.map { "\(SQL.identifier(name: $0)) = NULL" }.joined(separator: ", ")
      return "UPDATE \(test.rows.from) SET \(list) WHERE \(test.rows.test)"
    }
  }

  /// References to objects that were removed become nil, as where Core Data deletes an object.
  private func releaseRemoved(_ search: DefectSearch, db: Database) throws -> [Defect] {
    guard try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM temp.removed)") == true else {
      return []
    }
    var result: [Defect] = []
    for reference in search.allReferences {
      let table = SQL.literal(text: reference.target)
      let test = reference.test(
        .removedTarget,
        where: "\(reference.name) IN (SELECT key FROM temp.removed WHERE tbl = \(table))")
      let keys = try DefectSearch.keys(of: test, in: db)
      guard !keys.isEmpty, let statement = Self.statement(test) else { continue }
      try db.execute(sql: statement)
      result.append(
        Defect(
          kind: .removedTarget, entity: test.entity, property: test.property,
          count: Int64(keys.count), keys: keys,
          fate: reference.isPair ? .removed : .nullified))
    }
    return result
  }

  // MARK: Values and duplicates

  private var checker: ConditionChecker? {
    step.map {
      ConditionChecker(
        view: RowView(
          model: survey.model, schema: survey.schema, program: nil, counts: survey.rowCounts),
        destination: $0.destination, mapping: $0.mapping, reader: survey.reader)
    }
  }

  private func values() throws -> [Deed] {
    guard choices.values == .null, let step, let checker else { return [] }
    var tests: [DefectSearch.Test] = []
    for condition in step.conditions {
      guard case .valuesFit(let attribute, _) = condition.demand,
        case .rows(let rows)? = checker.question(condition: condition)
      else { continue }
      tests.append(test(rows, entity: condition.sourceEntity, attribute: attribute))
    }
    for possible in step.possibleLosses {
      guard case .conversion(let attribute, _) = possible.kind,
        case .rows(let rows)? = checker.question(possible: possible)
      else { continue }
      tests.append(test(rows, entity: possible.entity, attribute: attribute))
    }
    let search = DefectSearch(survey: survey)
    return try tests.compactMap { try deed($0, search: search) }
  }

  private func test(
    _ rows: RowCounter.Question, entity: String, attribute: String
  ) -> DefectSearch.Test {
    let column = checker?.columnName(ofAttribute: attribute, entity: entity)
    return DefectSearch.Test(
      kind: .value, entity: entity, property: attribute, rows: rows,
      mending: column.map { .nullify([$0]) } ?? .none)
  }

  /// How many of the objects that a query names are of each entity.
  private func entities(table: String, keys: String) throws -> [String: Int64] {
    let sql =
      "SELECT Z_ENT, count(*) FROM \(SQL.identifier(name: table)) WHERE Z_PK IN (\(keys)) "
      + "GROUP BY Z_ENT"
    let rows = try survey.reader.connection.run { try Row.fetchAll($0, sql: sql) }
    return Dictionary(
      rows.compactMap { row in
        guard let number = Int64.fromDatabaseValue(row[0]),
          let name = survey.schema.numbers[EntityNumber(rawValue: number)]
        else { return nil }
        return (name, Int64.fromDatabaseValue(row[1]) ?? 0)
      }, uniquingKeysWith: +)
  }

  private func duplicates() throws -> [Deed] {
    guard choices.duplicates != .fail, let step, let checker else { return [] }
    // Subentities have the constraint as well, and their objects are among those compared.
    var seen: Set<[Int64]> = []
    return try (step.conditions + step.keptConstraints).compactMap { condition in
      guard case .unique(let properties) = condition.demand,
        case .groups(let groups)? = checker.question(condition: condition), !groups.by.isEmpty,
        let entity = survey.model.entity(name: condition.sourceEntity),
        let table = survey.schema.table(of: entity)?.name
      else { return nil }
      let direction = choices.duplicates == .keepFirst ? "" : " DESC"
      let others =
        "SELECT key FROM (SELECT s.Z_PK AS key, row_number() OVER (PARTITION BY "
        + "\(groups.by.joined(separator: ", ")) ORDER BY s.Z_PK\(direction)) AS n "
        + "FROM \(groups.from) WHERE \(groups.test)) WHERE n > 1 ORDER BY key"
      let keys = try survey.reader.connection.run { try Int64.fetchAll($0, sql: others) }
      guard !keys.isEmpty, seen.insert(keys).inserted else { return nil }
      var defect = Defect(
        kind: .duplicate, entity: condition.sourceEntity,
        property: properties.joined(separator: ","), count: Int64(keys.count), keys: keys,
        fate: .removed)
      defect.removed = try entities(table: table, keys: others)
      return Deed(
        defect: defect,
        statement: "DELETE FROM \(SQL.identifier(name: table)) WHERE Z_PK IN (\(others))",
        removesFrom: table)
    }
  }
}
