import Foundation
import GRDB
import ObjectModel
import RowPrograms
import Schema
import StoreFormat
import SystemPackage

/// Compares a store with the one that it was migrated from, object by object.
///
/// What each object should be is computed from the old store and both models; the new store is
/// read as it is.
package struct StoreComparison: Sendable {
  /// One way in which the new store is not what the old one should have become.
  package enum Difference: Hashable, Sendable {
    case rowMissing(table: String, key: String)
    case rowExtra(table: String, key: String)
    case value(table: String, key: String, column: String, expected: String, actual: String)
    case order(table: String, column: String)
    case uuid(expected: String, actual: String)
    case metadataKey(String)
    case keyMaximum(entity: String, expected: Int64, actual: Int64)
    case tableUnexpected(String)
  }

  package private(set) var differences: [Difference] = []
  /// All differences, of which only the first ones are kept.
  package private(set) var count: Int64 = 0
  package private(set) var rows: Int64 = 0

  private static let kept = 100

  /// Compares two surveyed stores; throws where no mapping between their models can be inferred.
  package init(old: StoreSurvey, new: StoreSurvey) throws {
    let assessment = try Assessment(old, to: new.model)
    guard let program = assessment.program else {
      throw MigrationError.impossible(store: old.store, assessment.hindrances)
    }
    compareFacts(old, new, assessment)
    let queue = new.reader.connection
    try queue.run { db in
      try db.execute(
        sql: "ATTACH ? AS old",
        arguments: [StoreConnection.uri(old.access.readable) + "?immutable=1"])
      defer { try? db.execute(sql: "DETACH old") }
      for table in new.schema.tables {
        guard let found = program.tables.first(where: { $0.destinationTable == table.name }) else {
          try requireEmpty(table.name, db)
          continue
        }
        let skipped = program.orderFills.filter { $0.table == table.name }.map(\.orderColumn)
        let columns = ["Z_PK", "Z_ENT", "Z_OPT"] + found.columns.map(\.name)
        try compare(
          RowWalk(table: table.name, columns: columns, keys: 1, skipped: Set(skipped)),
          expected: found.query(in: .all, schema: "old"), db)
      }
      for join in new.schema.joinTables { try compare(join, program, db) }
      for fill in program.orderFills { try checkOrder(fill, db) }
    }
  }

  private mutating func note(_ difference: Difference) {
    count += 1
    if differences.count < Self.kept { differences.append(difference) }
  }

  private mutating func compareFacts(
    _ old: StoreSurvey, _ new: StoreSurvey, _ assessment: Assessment
  ) {
    if old.metadata.uuid != new.metadata.uuid {
      note(.uuid(expected: old.metadata.uuid, actual: new.metadata.uuid))
    }
    let own = ["NSStore", "_NS", "NSPersistence"]
    let keys = Set(old.metadata.plist.keys).union(new.metadata.plist.keys)
    for key in keys.sorted() where !own.contains(where: { key.hasPrefix($0) }) {
      if old.metadata.plist[key] != new.metadata.plist[key] { note(.metadataKey(key)) }
    }
    for (entity, expected) in assessment.maxima(old).sorted(by: { $0.key < $1.key }) {
      let actual = new.maxima[entity] ?? 0
      if actual != expected {
        note(.keyMaximum(entity: entity, expected: expected, actual: actual))
      }
    }
  }

  private mutating func requireEmpty(_ table: String, _ db: Database) throws {
    let sql = "SELECT EXISTS (SELECT 1 FROM main.\(SQL.identifier(table)))"
    if try Int.fetchOne(db, sql: sql) != 0 { note(.tableUnexpected(table)) }
  }

  private mutating func compare(
    _ table: JoinTable, _ program: MigrationProgram, _ db: Database
  ) throws {
    let candidates = [table.name, table.alternateName]
    guard let found = program.joins.first(where: { candidates.contains($0.destinationTable) })
    else { return try requireEmpty(table.name, db) }
    let skipped = program.orderFills.filter { candidates.contains($0.table) }.map(\.orderColumn)
    // The columns by name: the program was compiled for the canonical order of both ends.
    try compare(
      RowWalk(table: table.name, columns: found.columns, keys: 2, skipped: Set(skipped)),
      expected: found.query(in: .all, schema: "old"), db)
  }

  /// What is compared of a table, and by which of its first columns rows belong together.
  private struct RowWalk {
    var table: String
    var columns: [String]
    var keys: Int
    var skipped: Set<String>

    var query: String {
      let list = columns.map(SQL.identifier).joined(separator: ", ")
      let order = columns.prefix(keys).map(SQL.identifier).joined(separator: ", ")
      return "SELECT \(list) FROM main.\(SQL.identifier(table)) ORDER BY \(order)"
    }

    func key(_ row: Row) -> [Int64] {
      (0..<keys).map { Int64.fromDatabaseValue(row[$0]) ?? 0 }
    }
  }

  /// Walks both sides in key order.
  private mutating func compare(_ walk: RowWalk, expected: String, _ db: Database) throws {
    let wanted = try Row.fetchCursor(db, sql: expected)
    let found = try Row.fetchCursor(db, sql: walk.query)
    var left = try wanted.next()
    var right = try found.next()
    while left != nil || right != nil {
      rows += 1
      let leftKey = left.map(walk.key)
      let rightKey = right.map(walk.key)
      if let leftKey, rightKey.map({ leftKey.lexicographicallyPrecedes($0) }) ?? true {
        note(.rowMissing(table: walk.table, key: Self.text(leftKey)))
        left = try wanted.next()
      } else if let rightKey, leftKey.map({ rightKey.lexicographicallyPrecedes($0) }) ?? true {
        note(.rowExtra(table: walk.table, key: Self.text(rightKey)))
        right = try found.next()
      } else if let expected = left, let actual = right {
        compareValues(walk, expected, actual)
        left = try wanted.next()
        right = try found.next()
      }
    }
  }

  private mutating func compareValues(_ walk: RowWalk, _ expected: Row, _ actual: Row) {
    for (index, column) in walk.columns.enumerated() where !walk.skipped.contains(column) {
      let first: DatabaseValue = expected[index]
      let second: DatabaseValue = actual[index]
      if !Self.isSame(first, second) {
        note(
          .value(
            table: walk.table, key: Self.text(walk.key(actual)), column: column,
            expected: "\(first)", actual: "\(second)"))
      }
    }
  }

  /// A whole number may be kept as integer or real, as its column's affinity has it.
  private static func isSame(_ a: DatabaseValue, _ b: DatabaseValue) -> Bool {
    switch (a.storage, b.storage) {
    case (.int64(let x), .double(let y)), (.double(let y), .int64(let x)): Double(x) == y
    default: a == b
    }
  }

  /// An order that is new must give every place of an owner to one row only.
  private mutating func checkOrder(_ fill: OrderFill, _ db: Database) throws {
    let columns = "\(SQL.identifier(fill.ownerColumn)), \(SQL.identifier(fill.orderColumn))"
    let sql = """
      SELECT EXISTS (SELECT 1 FROM main.\(SQL.identifier(fill.table))
        WHERE \(SQL.identifier(fill.ownerColumn)) IS NOT NULL
        GROUP BY \(columns) HAVING count(*) > 1)
      """
    if try Int.fetchOne(db, sql: sql) != 0 {
      note(.order(table: fill.table, column: fill.orderColumn))
    }
  }

  private static func text(_ key: [Int64]) -> String {
    key.map { "\($0)" }.joined(separator: ", ")
  }
}
