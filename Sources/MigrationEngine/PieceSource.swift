import Foundation
package import GRDB
package import ObjectMigration
package import Planning
import RowPrograms
import Schema
package import StoreFormat
import SystemCalls
import SystemPackage

/// The source rows of a piece, from any of its rows on.
package struct PieceSource {
  /// The last row written: its key, or the two keys of a join table's row.
  package struct Position {
    package var first: Int64
    package var second: Int64?
  }

  private enum Program {
    case table(TableProgram)
    case join(JoinProgram)
  }

  private let program: Program
  private let keys: KeyRange

  package init(document: WorkOrderDocument, piece: Piece) {
    keys = piece.keys
    if let table = document.tables.first(where: { $0.destinationTable == piece.destinationTable }) {
      program = .table(table)
    } else if let join = document.joins.first(where: {
      $0.destinationTable == piece.destinationTable
    }) {
      program = .join(join)
    } else {
      preconditionFailure("a work order holds the programs of its pieces")
    }
  }

  /// The columns that rows are inserted into, where it is not just all.
  package var insertedColumns: String {
    guard case .join(let join) = program, join.keepsRowNumbers else { return "" }
    return " (rowid, \(join.columns.map(SQL.identifier).joined(separator: ", ")))"
  }

  package func query(after position: Position?, forInsertion: Bool = false) -> String {
    switch program {
    case .table(let table):
      guard let position else { return table.query(in: keys, schema: "src") }
      guard position.first < keys.last else { return table.query(in: nil, schema: "src") }
      return table.query(
        in: KeyRange(first: position.first + 1, last: keys.last), schema: "src")
    case .join(let join):
      return join.query(
        in: keys, after: position.map { ($0.first, $0.second ?? .min) }, schema: "src",
        numbered: forInsertion && join.keepsRowNumbers)
    }
  }

  /// What a table of objects had in the range, whatever an index says, and what became of it.
  package func count(in table: String, db: Database) throws -> RowCount? {
    guard case .table(let program) = program else { return nil }
    let seen = try Int64.fetchOne(db, sql: program.count(in: keys, schema: "src")) ?? 0
    let made = try Row.fetchAll(
      db, sql: "SELECT Z_ENT, count(*) FROM \(table) GROUP BY Z_ENT ORDER BY Z_ENT")
    return RowCount(seen: seen, made: made.map { EntityRows(number: $0[0], rows: $0[1]) })
  }

  /// Where the rows written so far end.
  package func position(in table: String, db: Database) throws -> Position? {
    switch program {
    case .table:
      return try Int64.fetchOne(db, sql: "SELECT max(Z_PK) FROM \(table)").map {
        Position(first: $0, second: nil)
      }
    case .join(let join) where join.keepsRowNumbers:
      return try Int64.fetchOne(db, sql: "SELECT max(rowid) FROM \(table)").map {
        Position(first: $0, second: nil)
      }
    case .join(let join):
      let columns = join.columns.prefix(2).map(SQL.identifier).joined(separator: ", ")
      let row = try Row.fetchOne(
        db, sql: "SELECT \(columns) FROM \(table) ORDER BY rowid DESC LIMIT 1")
      return row.map { Position(first: $0[0], second: $0[1]) }
    }
  }
}

extension WorkOrderDocument {
  /// Makes the source readable as `src`, and its external files with it.
  package func attachSource(to connection: StoreConnection) throws {
    let source = StoreConnection.uri(path: FilePath(source)) + "?immutable=1"
    let support = FilePath(support)
    try connection.run { db in
      db.add(function: Self.externalFunction(support: support))
      if logsSQL { StatementLog.attach(to: db) }
      try db.execute(sql: "ATTACH ? AS src", arguments: [source])
    }
  }

  /// The bytes of the file that an external value names, as `godwit_external(value)`.
  private static func externalFunction(support: FilePath) -> DatabaseFunction {
    DatabaseFunction("godwit_external", argumentCount: 1, pure: true) { arguments in
      guard let value = [UInt8].fromDatabase(arguments[0]), value.count > 1,
        let name = String(validating: value.dropFirst().prefix { $0 != 0 }, as: UTF8.self),
        let component = FilePath.Component(name)
      else { throw ShardError(.externalNameDamaged) }
      let path = support.appending("_EXTERNAL_DATA").appending(component)
      return Data(try Files.readFile(path, limit: 1 << 30))
    }
  }

  /// What computes the values that the order's programs call for, known to the connection.
  package func caller(_ connection: StoreConnection, policies: PolicyFactories) throws
    -> RowCaller?
  {
    guard let calls else { return nil }
    let catalog = try StoreReader(immutable: FilePath(source)).catalog()
    let source = try StoreSchema(calls.source).resolved(in: catalog).schema
    let destination = try StoreSchema(calls.destination)
    let support = FilePath(support)
    return try connection.perform { db in
      let caller = try RowCaller(
        mappingModel: calls.mapping, source: source, destination: destination, db: db,
        support: support,
        now: calls.now, policies: policies)
      caller.install(in: db)
      return caller
    }
  }
}

extension StoreConnection {
  /// Runs a block; what a caller failed at comes out as its own error, not as one of SQLite.
  package func perform<Result>(
    _ caller: RowCaller?, body: (Database) throws -> Result
  ) throws -> Result {
    do {
      return try perform(body)
    } catch {
      throw caller?.failure ?? error
    }
  }
}
