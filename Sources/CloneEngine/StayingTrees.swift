import GRDB
import MigrationEngine
import PageEngine
import Planning
import RowPrograms
import SQLEngine
import Schema
import StoreFormat
import Survey

/// The tables of a source that are tables of the result where they are, with their indexes.
package struct StayingTrees: Hashable, Codable, Sendable {
  /// The name in the source, by that in the destination.
  private(set) var tables: [String: String] = [:]
  /// The same of tables and their indexes.
  private(set) var names: [String: String] = [:]
  /// The columns of tables that have them in another order than the destination.
  private(set) var orders: [String: [String]] = [:]
  /// How rows of some of these tables change.
  private(set) var updates: [RowUpdate] = []

  /// A table or an index, as the source's schema has it.
  private struct Entry {
    let type: String
    let name: String
    let table: String
    let root: UInt32
    /// Whether it belongs to the statement of its table.
    let isAutomatic: Bool
  }

  /// No table stays.
  static let none = StayingTrees()

  private init() {}

  /// Why nothing of a stage's source can stay, as the end of a sentence; nil if something may.
  static func refusal(of stage: StageInput) throws -> String? {
    guard case .rows(let program) = stage.work else { return "objects are made one by one" }
    let survey = stage.survey
    if stage.remakesIndexes { return "indexes may have to be built again" }
    if survey.header.pageSize != 4096 || survey.header.reservedBytes != 0 {
      return "the store has pages of another size than the new one"
    }
    guard try survey.reader.number(sql: "PRAGMA auto_vacuum") == 2 else {
      return "the store keeps no map of its pages"
    }
    let foreign = try survey.reader.number(
      sql: """
        SELECT count(*) FROM sqlite_schema WHERE name = 'sqlite_sequence'
        OR (type = 'table' AND coalesce(rootpage, 0) = 0)
        """)
    if foreign > 0 { return "the store has virtual or numbered tables" }
    let leaves =
      stage.untakenKeys != nil || stage.leavesRows
      || program.tables.contains { $0.isFiltered || !survey.takesAllRows($0) }
    return leaves ? "rows stay behind" : nil
  }

  /// Finds what stays where it is.
  ///
  /// - Parameter altersTables: whether tables may have their columns in another order.
  /// - Throws: `StoreError` where the schema cannot be read.
  init(_ stage: StageInput, altersTables: Bool) throws {
    let moves = try TreeMoves(
      survey: stage.survey, schema: stage.schema, program: stage.program,
      purpose: altersTables ? .staysAltered : .stays)
    let entries = try Self.entries(stage.survey.reader)
    for (table, found) in moves.tables.sorted(by: { $0.key < $1.key })
    where found.moved.patch == nil || found.update != nil {
      guard try !Self.leavesHistory(table, of: stage),
        let own = Self.names(of: table, found: found, moves: moves, entries: entries)
      else { continue }
      tables[table] = found.sourceTable
      orders[table] = found.order
      if let update = found.update { updates.append(update) }
      names.merge(own) { $1 }
    }
  }

  /// Plans the rows of the tables that do not stay, as for SQL.
  ///
  /// - Throws: `StoreError` where the source cannot be read.
  func plan(_ stage: StageInput) throws -> MigrationPlan {
    var staying: [StayingTable] = []
    var plan = try stage.rowPlan { statistics in
      for (table, source) in tables.sorted(by: { $0.key < $1.key }) {
        let known = statistics.removeValue(forKey: table)
        staying.append(
          StayingTable(
            table: table, source: source, rows: known?.rows ?? 0, bytes: known?.bytes ?? 0,
            madeIndexes: stage.schema.allIndexes.filter {
              $0.table == table && names[$0.name] == nil
            }.map(\.name),
            updatedColumns: updatedColumns(of: table, program: stage.program)))
      }
    }
    plan.staying = staying
    return plan
  }

  /// The columns that get other values in rows that stay where they are.
  private func updatedColumns(of table: String, program: MigrationProgram) -> [String] {
    (updates.first { $0.table == table }?.columns ?? [])
      + program.orderFills.filter { $0.table == table }.map(\.orderColumn)
      + program.derived.filter { $0.table == table }.map(\.column)
  }

  /// What there is to do besides leaving these tables where they are.
  func work(_ stage: StageInput) throws -> StageWork { StageWork(try plan(stage), for: stage) }

  /// Whether rows of a history table have another number than that of its entity: they stay behind,
  /// and are counted as they do.
  ///
  /// No index has the numbers. Tables of objects are recognized by theirs.
  private static func leavesHistory(_ table: String, of stage: StageInput) throws -> Bool {
    guard let program = stage.program.tables.first(where: { $0.destinationTable == table }),
      stage.survey.history?.rows[program.sourceTable] != nil
    else { return false }
    return try stage.survey.reader.number(
      sql: """
        SELECT EXISTS (SELECT 1 FROM \(SQL.identifier(name: program.sourceTable)) NOT INDEXED
        WHERE \(program.isOther(than: program.entities.map(\.source))))
        """) != 0
  }

  private static func entries(_ reader: StoreReader) throws -> [Entry] {
    try reader.connection.run { db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT type, name, tbl_name, rootpage, sql IS NULL FROM sqlite_schema
          WHERE type IN ('table', 'index')
          """
      ).compactMap { row in
        guard let type = String.fromDatabaseValue(row[0]),
          let name = String.fromDatabaseValue(row[1]),
          let table = String.fromDatabaseValue(row[2]),
          let root = Int64.fromDatabaseValue(row[3]).flatMap({ UInt32(exactly: $0) })
        else { return nil }
        return Entry(
          type: type, name: name, table: table, root: root,
          isAutomatic: Int64.fromDatabaseValue(row[4]) == 1)
      }
    }
  }

  /// The source's names of a table and its indexes by those in the destination; nil if one of them
  /// is not known, or the table has one that cannot go.
  private static func names(
    of table: String, found: TreeMoves.Table, moves: TreeMoves, entries: [Entry]
  ) -> [String: String]? {
    var names = [table: found.sourceTable]
    for index in found.moved.indexes {
      guard let root = moves.indexes[index.name]?.root,
        let entry = entries.first(where: { $0.type == "index" && $0.root == root })
      else { return nil }
      names[index.name] = entry.name
    }
    let kept = Set(names.values)
    let hasOther = entries.contains {
      $0.type == "index" && $0.table == found.sourceTable && $0.isAutomatic
        && !kept.contains($0.name)
    }
    return hasOther || kept.count != names.count ? nil : names
  }
}

extension StageWork {
  /// The part of a store that may change without a doubt that leaving the rest takes less time.
  private static let littlePart: Int64 = 8

  /// The bytes that are made or updated; an entry of an index takes some ten.
  var changingBytes: Int64 { bytes + updatedBytes + Int64(indexEntries * 10) }

  /// Whether this takes less time than to write all pages of a stage.
  ///
  /// - Parameter saving: the seconds that it saves however little there is to do.
  func isWorthwhile(
    _ stage: StageInput, costs: PhaseCosts, saving: Double = 0
  ) throws -> Bool {
    if changingBytes * Self.littlePart <= stage.survey.access.bytes { return true }
    let anew =
      PageEngine.refusal(of: stage) == nil
      ? PageEngine.costs.seconds(
        of: StageWork(try PageEngine.plan(stage: stage, under: nil).plan, for: stage))
      : SQLEngine.costs.seconds(
        of: StageWork(try SQLEngine.plan(stage: stage, under: nil).plan, for: stage))
    return costs.seconds(of: self) <= anew + saving
  }

  fileprivate init(_ plan: MigrationPlan, for stage: StageInput) {
    self.init(
      plan, schema: stage.schema, workers: stage.workers,
      isVerifiedFully: stage.verifiesFully, isSwapped: true)
  }
}
