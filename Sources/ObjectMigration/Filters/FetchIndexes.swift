import GRDB
import Schema

/// The rows of one store that have a value in a column, found by indexes once that pays.
///
/// An index is made when the same column of an entity was requested several times. What the source
/// has is indexed in the file of associations. Rows of the destination change, so there it is an
/// index of the table, which SQLite keeps true and which goes before the tables are finished.
final class FetchIndexes {
  private struct Place: Hashable {
    var entity: Int64
    var index: Int
  }

  private enum Access {
    /// How often the whole table was read.
    case scans(Int, PreparedStatement)
    case index(PreparedStatement)
  }

  /// What it costs to make an index, in readings of the table.
  private static let scansBefore = 8

  private unowned let context: ObjectContext
  private var known: [Place: Access] = [:]
  /// How many indexes there are.
  private(set) var count = 0

  init(_ context: ObjectContext) { self.context = context }

  /// A statement whose rows are those of an entity with a value, in the order of their keys, with
  /// the key in front: a batch of them, from the key ?1 on, where the column holds ?2.
  func statement(of facts: EntityFacts, index: Int) throws -> PreparedStatement {
    let place = Place(entity: facts.number, index: index)
    switch known[place] {
    case .index(let statement): return statement
    case .scans(let scans, let statement):
      if scans >= Self.scansBefore, let made = try makeIndex(of: facts, index: index) {
        known[place] = .index(made)
        return made
      }
      known[place] = .scans(scans + 1, statement)
      return statement
    case nil:
      let statement = try scan(of: facts, index: index)
      known[place] = .scans(1, statement)
      return statement
    }
  }

  private func makeIndex(of facts: EntityFacts, index: Int) throws -> PreparedStatement? {
    guard let database = context.isSource ? context.scratch : context.database else { return nil }
    count += 1
    let name = "\(database).\(Self.name(count))"
    let (table, number) = (SQL.identifier(name: facts.tableName), facts.number)
    let column = SQL.identifier(name: facts.columns[index])
    let list = facts.rowList(alias: "t")
    guard context.isSource else {
      try context.db.execute(sql: "CREATE INDEX \(name) ON \(table) (Z_ENT, \(column))")
      return try context.statements.statement(
        sql: """
          SELECT \(list) FROM \(database).\(table) AS t INDEXED BY \(Self.name(count))
          WHERE t.Z_ENT = \(number) AND t.\(column) = ?2 AND t.Z_PK >= ?1
          ORDER BY t.Z_PK LIMIT \(ObjectContext.batchSize)
          """)
    }
    try context.db.execute(
      sql: """
        CREATE TABLE \(name) (value, key INTEGER, PRIMARY KEY (value, key)) WITHOUT ROWID;
        INSERT INTO \(name) SELECT \(column), Z_PK FROM \(context.database).\(table) NOT INDEXED
        WHERE Z_ENT = \(number) AND \(column) IS NOT NULL ORDER BY \(column), Z_PK
        """)
    return try context.statements.statement(
      sql: """
        SELECT \(list) FROM \(name) AS f CROSS JOIN \(context.database).\(table) AS t
        ON t.Z_PK = f.key WHERE f.value = ?2 AND f.key >= ?1
        ORDER BY f.key LIMIT \(ObjectContext.batchSize)
        """)
  }

  private func scan(of facts: EntityFacts, index: Int) throws -> PreparedStatement {
    try context.statements.statement(
      sql: """
        SELECT \(facts.rowList(alias: "t")) FROM \(context.sqlTable(name: facts.tableName)) AS t
        WHERE t.Z_PK >= ?1 AND t.Z_ENT = \(facts.number)
        AND t.\(SQL.identifier(name: facts.columns[index])) = ?2
        ORDER BY t.Z_PK LIMIT \(ObjectContext.batchSize)
        """)
  }

  /// Removes the indexes of the destination's tables; nothing is fetched by them any more.
  func drop() throws {
    known = [:]
    guard !context.isSource else { return }
    for number in 1..<(count + 1) {
      try context.db.execute(sql: "DROP INDEX \(context.database).\(Self.name(number))")
    }
    count = 0
  }

  /// No name of a schema begins so.
  private static func name(_ number: Int) -> String { "fetch_\(number)" }
}

extension EntityFacts {
  /// The key of a row and its columns, for a SELECT.
  func rowList(alias: String) -> String {
    (["Z_PK"] + columns.map(SQL.identifier)).map { "\(alias).\($0)" }.joined(separator: ", ")
  }
}
