import GRDB
import Mapping
import ObjectModel
import RowPrograms
import Schema
import StoreFormat
import Survey

/// Searches for rows that belong to no entity of the model, or lack a key, and that no mapping
/// takes.
struct StrayRows {
  let survey: StoreSurvey
  /// Whether to scan large tables of a single entity too; workers count their rows anyway.
  let scansAll: Bool

  /// The size of a store up to which all its tables are scanned.
  private static let smallBytes: Int64 = 8 << 20

  /// The questions whose answers are the losses.
  struct Asked {
    fileprivate var tables: [(table: EntityTable, test: String, rows: RowCounter.Question)] = []
    /// Join tables whose pairs are all checked.
    fileprivate var joins: [(join: JoinTable, pairs: RowCounter.Question)] = []
  }

  /// Adds the questions to a counter, which answers them in the pass of its others.
  func ask(_ counter: inout RowCounter) -> Asked {
    var asked = Asked()
    for table in survey.schema.tables {
      guard let test = test(of: table, isSuspect: false) else { continue }
      let rows = RowCounter.Question(everyRowOf: table.name, test: test)
      asked.tables.append((table, test, rows))
      counter.ask(rows)
    }
    guard scans else { return asked }
    for join in survey.schema.joinTables {
      let pairs = RowCounter.Question(
        everyRowOf: join.name, column: "rowid",
        test: [join.first.keyColumn, join.second.keyColumn]
          .map { "\(SQL.identifier(name: $0)) IS NULL" }.joined(separator: " OR "))
      asked.joins.append((join, pairs))
      counter.ask(pairs)
    }
    return asked
  }

  /// The losses, by the answers of a counter.
  func losses(_ asked: Asked, counter: RowCounter) throws -> [Loss] {
    var result: [Loss] = []
    for (table, test, rows) in asked.tables where counter.answer(rows) > 0 {
      result.append(try loss(table, test: test, count: counter.answer(rows)))
    }
    let clean = Set(asked.joins.filter { counter.answer($0.pairs) == 0 }.map(\.join.name))
    for join in survey.schema.joinTables where !clean.contains(join.name) {
      if let loss = try loss(join: join) { result.append(loss) }
    }
    return result
  }

  func losses() throws -> [Loss] {
    var counter = RowCounter(survey.reader)
    let asked = ask(&counter)
    try counter.count()
    return try losses(asked, counter: counter)
  }

  /// Rows of history that a program leaves behind, since no entity has their number; nil where
  /// there are none, or they are not looked for.
  func historyLoss(of program: MigrationProgram) throws -> Loss? {
    guard let history = survey.history, mayScan() else { return nil }
    let entities = survey.model.entities.compactMap { survey.schema.numbers[$0.name]?.rawValue }
    let counts = try survey.reader.numbers(
      sql: program.tables.filter { history.rows[$0.sourceTable] != nil }.map { table in
        let known = table.isOfChanges ? entities : table.entities.map(\.source)
        return """
          SELECT count(*) FROM \(SQL.identifier(name: table.sourceTable)) NOT INDEXED
          WHERE \(table.isOther(than: known))
          """
      })
    let count = counts.reduce(0, +)
    if count == 0 { return nil }
    return Loss(
      kind: .row, cause: .unknownEntity, entity: Loss.historyName, property: nil, count: count)
  }

  /// Whether every row of the store may be read.
  var scans: Bool { mayScan() }

  /// Rows of a table whose entity is not one of the table's, or is abstract.
  func loss(table: EntityTable, isSuspect: Bool = false) throws -> Loss? {
    guard let test = test(of: table, isSuspect: isSuspect) else { return nil }
    let count = try survey.reader.number(sql: Self.count(table, test))
    return count > 0 ? try loss(table, test: test, count: count) : nil
  }

  /// The test that finds such rows; nil if they are not searched.
  private func test(of table: EntityTable, isSuspect: Bool) -> String? {
    let numbers = table.entityNames.filter { survey.model.entity(name: $0)?.isAbstract == false }
      .compactMap { survey.schema.numbers[$0]?.rawValue }
    if let seen = survey.seenEntities[table.name] {
      let known = Set(numbers)
      if seen.allSatisfy({ known.contains($0.rawValue) }) { return nil }
    }
    if !mayScan(isSuspect: isSuspect) {
      guard table.entityNames.count > 1 else { return nil }
      let known = Set(numbers)
      let strays = survey.rowCounts[table.name]?.filter { !known.contains($0.key.rawValue) }
      if strays?.isEmpty ?? true { return nil }
    }
    let list = numbers.map { "\($0)" }.joined(separator: ", ")
    return "(Z_ENT IS NULL OR Z_ENT NOT IN (\(list)))"
  }

  private static func count(_ table: EntityTable, _ test: String) -> String {
    "SELECT count(*) FROM \(SQL.identifier(name: table.name)) NOT INDEXED WHERE \(test)"
  }

  private func loss(_ table: EntityTable, test: String, count: Int64) throws -> Loss {
    let keys = try survey.reader.connection.run { db in
      try Int64.fetchAll(
        db,
        sql: """
          SELECT Z_PK FROM \(SQL.identifier(name: table.name)) NOT INDEXED WHERE \(test)
          ORDER BY Z_PK LIMIT \(Loss.keyLimit)
          """)
    }
    return Loss(
      kind: .row, cause: .unknownEntity, entity: table.rootName, property: nil, count: count,
      keys: keys)
  }

  private func mayScan(isSuspect: Bool = false) -> Bool {
    scansAll || isSuspect || survey.access.fingerprint.bytes <= Self.smallBytes
  }

  /// Pairs with a NULL key.
  func loss(join: JoinTable) throws -> Loss? {
    let name = SQL.identifier(name: join.name)
    let (one, other) = (
      SQL.identifier(name: join.first.keyColumn), SQL.identifier(name: join.second.keyColumn)
    )
    // One index serves each of the two, where the rows themselves are too many.
    let scan = mayScan() ? " NOT INDEXED" : ""
    let count = try survey.reader.number(
      sql: """
        SELECT (SELECT count(*) FROM \(name)\(scan) WHERE \(one) IS NULL)
          + (SELECT count(*) FROM \(name)\(scan) WHERE \(other) IS NULL AND \(one) IS NOT NULL)
        """)
    guard count > 0 else { return nil }
    let keys = try survey.reader.connection.run { db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT ifnull(\(one), \(other)) FROM \(name)\(scan)
          WHERE (\(one) IS NULL) <> (\(other) IS NULL) ORDER BY 1 LIMIT \(Loss.keyLimit)
          """
      ).compactMap { Int64.fromDatabaseValue($0[0]) }
    }
    return Loss(
      kind: .row, cause: .missingKey, entity: join.first.entityName,
      property: join.first.relationshipName, count: count, keys: keys)
  }
}
