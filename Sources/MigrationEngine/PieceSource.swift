import Foundation
package import GRDB
package import ObjectMigration
package import Planning
import RowPrograms
import Schema
package import StoreFormat
import SystemCalls
import SystemPackage

/// The source rows of a piece, as a query that can start after any of its rows.
package struct PieceSource {
  /// The row written last.
  package enum Position {
    /// A row with that primary key or row number.
    case row(Int64)
    /// A pair, whose keys are in a table of the connection's own: they may be no integers.
    case pair(first: Int64)

    /// The key by which the row is shown; of a pair the first one, 0 for what is no number.
    package var key: Int64 {
      switch self {
      case .row(let key), .pair(let key): key
      }
    }
  }

  /// The table with the two keys of a pair, which have no affinity.
  private static let lastPair = "temp.godwit_last_pair"

  private let program: PieceProgram
  private let keys: KeyRange

  /// Takes the program of the piece from its work order.
  ///
  /// - Throws: `ShardError.orderIncomplete`, if the order has none.
  package init(document: WorkOrderDocument, piece: Piece) throws {
    keys = piece.keys
    program = try document.program(of: piece)
  }

  /// The list of columns to insert into, with its parentheses; empty for all columns.
  package var insertedColumns: String {
    guard case .join(let join) = program, join.keepsRowNumbers else { return "" }
    return " (rowid, \(join.columns.map(SQL.identifier).joined(separator: ", ")))"
  }

  /// The query for the rows after a position, nil for all rows, in key order.
  ///
  /// - Parameter forInsertion: selects the row number too, if the table keeps it.
  package func query(after position: Position?, forInsertion: Bool = false) -> String {
    switch program {
    case .table(let table):
      guard let position else { return table.query(in: keys, schema: "src") }
      guard position.key < keys.last else { return table.query(in: nil, schema: "src") }
      return table.query(
        in: KeyRange(first: position.key + 1, last: keys.last), schema: "src")
    case .join(let join):
      let last = position.map { position in
        switch position {
        case .row(let number): "\(number)"
        case .pair: "SELECT first, second FROM \(Self.lastPair)"
        }
      }
      return join.query(
        in: keys, after: last, schema: "src", numbered: forInsertion && join.keepsRowNumbers)
    }
  }

  /// The rows of the piece in the source, counted in the table itself, and those written, by entity
  /// number; nil for a join table.
  package func count(in table: String, db: Database) throws -> RowCount? {
    guard case .table(let program) = program else { return nil }
    let seen = try Int64.fetchOne(db, sql: program.count(in: keys, schema: "src")) ?? 0
    let column = program.entityColumn
    let made = try Row.fetchAll(
      db, sql: "SELECT \(column), count(*) FROM \(table) GROUP BY 1 ORDER BY 1")
    let wide = try program.wideMaskCount(in: keys, schema: "src").map {
      try Row.fetchAll(db, sql: $0).map { EntityRows(number: $0[0], rows: $0[1]) }
    }
    return RowCount(
      seen: seen, made: made.map { EntityRows(number: $0[0], rows: $0[1]) }, wideMasks: wide)
  }

  /// The position of the last row written, nil if there is none.
  package func position(in table: String, db: Database) throws -> Position? {
    switch program {
    case .table:
      return try Int64.fetchOne(db, sql: "SELECT max(Z_PK) FROM \(table)").map {
        .row($0)
      }
    case .join(let join) where join.keepsRowNumbers:
      return try Int64.fetchOne(db, sql: "SELECT max(rowid) FROM \(table)").map {
        .row($0)
      }
    case .join(let join):
      let columns = join.columns.prefix(2).map(SQL.identifier).joined(separator: ", ")
      try db.execute(sql: "CREATE TEMP TABLE IF NOT EXISTS godwit_last_pair (first, second)")
      try db.execute(sql: "DELETE FROM \(Self.lastPair)")
      try db.execute(
        sql: """
          INSERT INTO \(Self.lastPair) SELECT \(columns) FROM \(table)
          ORDER BY rowid DESC LIMIT 1
          """)
      return try Int64.fetchOne(db, sql: "SELECT first FROM \(Self.lastPair)").map {
        .pair(first: $0)
      }
    }
  }
}

extension WorkOrderDocument {
  /// The keys of rows that filters leave behind; nil where mappings take all.
  package func untakenKeyReader() throws -> RowKeyReader? {
    try untakenKeys.map { RowKeyReader(try RowKeys(file: FilePath($0))) }
  }

  /// Attaches the source as `src`, and registers the functions that programs call.
  package func attachSource(
    to connection: StoreConnection, without untaken: RowKeyReader?
  ) throws {
    let source = try StoreConnection.uri(reading: FilePath(source))
    let support = FilePath(support)
    try connection.run { db in
      db.add(function: Self.externalFunction(support: support))
      db.add(function: Self.taggedFunction)
      MaskFunctions.add(to: db)
      untaken?.install(in: db)
      if logsSQL { StatementLog.attach(to: db) }
      try db.execute(sql: "ATTACH ? AS src", arguments: [source])
    }
  }

  /// The SQL function `godwit_external(value)`: the contents of the file to which an external value
  /// refers.
  private static func externalFunction(support: FilePath) -> DatabaseFunction {
    DatabaseFunction("godwit_external", argumentCount: 1, pure: true) { arguments in
      guard let value = [UInt8].fromDatabase(arguments[0]), value.count > 1,
        let name = String(validating: value.dropFirst().prefix { $0 != 0 }, as: UTF8.self),
        let component = FilePath.Component(name)
      else { throw ShardError(.externalNameDamaged) }
      return Data(try ExternalDataFolder.read(component, support: support, limit: 1 << 30))
    }
  }

  /// The SQL function `godwit_tagged(value)`: a value behind the tag of one in the store.
  private static var taggedFunction: DatabaseFunction {
    DatabaseFunction("godwit_tagged", argumentCount: 1, pure: true) { arguments in
      Data.fromDatabaseValue(arguments[0]).map { Data([ExternalTag.inline]) + $0 }
    }
  }

  /// Computes the values that the order's programs call for; nil if they call for none.
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
  /// Runs a block, and throws the own error of what SQLite called in place of the SQLite error that
  /// it caused.
  package func perform<Result>(
    _ caller: RowCaller?, without untaken: RowKeyReader?, body: (Database) throws -> Result
  ) throws -> Result {
    do {
      return try perform(body)
    } catch {
      throw caller?.failure ?? untaken?.failure ?? error
    }
  }
}

/// The SQL functions that programs of history call.
package enum MaskFunctions {
  /// Registers them with a connection.
  package static func add(to db: Database) {
    db.add(function: change)
    db.add(function: meet)
  }

  /// The SQL function with which programs make the masks of changes.
  private static var change: DatabaseFunction {
    DatabaseFunction(MaskChange.function, argumentCount: 2, pure: true) { arguments in
      guard case .blob(let mask) = arguments[0].storage else { return arguments[0] }
      guard let text = String.fromDatabaseValue(arguments[1]), let change = MaskChange(text: text)
      else { throw ShardError(.orderIncomplete, table: HistoryTables.changes) }
      return Data(mask.withUnsafeBytes { change.applied(to: $0) })
    }
  }

  /// The SQL function that counts masks that name more properties than are known.
  private static var meet: DatabaseFunction {
    DatabaseFunction(MaskChange.meetFunction, argumentCount: 2, pure: true) { arguments in
      guard case .blob(let mask) = arguments[0].storage,
        case .blob(let other) = arguments[1].storage
      else { return false }
      return mask.withUnsafeBytes { MaskChange.meet($0, [UInt8](other)) }
    }
  }
}
