import Foundation
import ObjectMigration
import GRDB
import Mapping
import Planning
import RowPrograms
import Schema
import StoreFormat
import SystemCalls
import SystemPackage

/// Makes a shard by set-oriented SQL: the fallback and the oracle of faster engines.
struct SQLShardWriter: ShardWriter, ~Copyable {
  private let document: WorkOrderDocument
  private let connection: StoreConnection
  private let batchRows: Int
  private let caller: RowCaller?

  /// Makes an empty shard and attaches the source, which nobody changes.
  init(
    _ document: WorkOrderDocument, policies: Worker.Policies = [:], batchRows: Int = 50_000
  ) throws {
    let connection = try Self.open(document)
    caller = try document.caller(connection, policies)
    self.document = document
    self.batchRows = batchRows
    self.connection = connection
  }

  private static func open(_ document: WorkOrderDocument) throws -> StoreConnection {
    let path = FilePath(document.shard)
    try Files.remove(path)
    let source = try StoreHeader(of: FilePath(document.source))
    let connection = try StoreConnection.scratch(
      path, cacheBytes: document.memory / 4, textEncoding: source.textEncoding)
    try attachSource(document, to: connection)
    return connection
  }

  /// Makes the source readable as `src`, and its external files with it.
  static func attachSource(
    _ document: WorkOrderDocument, to connection: StoreConnection
  ) throws {
    let source = StoreConnection.uri(FilePath(document.source)) + "?immutable=1"
    let support = FilePath(document.support)
    try connection.run { db in
      db.add(function: externalFunction(support: support))
      if document.logsSQL { StatementLog.attach(to: db) }
      try db.execute(sql: "ATTACH ? AS src", arguments: [source])
    }
  }

  /// The bytes of the file that an external value names, as `godwit_external(value)`.
  private static func externalFunction(support: FilePath) -> DatabaseFunction {
    DatabaseFunction("godwit_external", argumentCount: 1, pure: true) { arguments in
      guard let value = [UInt8].fromDatabase(arguments[0]), value.count > 1,
        let name = String(validating: value.dropFirst().prefix { $0 != 0 }, as: UTF8.self),
        let component = FilePath.Component(name)
      else { throw WorkerError(.externalNameDamaged) }
      let path = support.appending("_EXTERNAL_DATA").appending(component)
      return Data(try Files.readFile(path, limit: 1 << 30))
    }
  }

  /// The source properties that policies and expressions read so far.
  var propertiesRead: PropertiesRead? { caller?.propertiesRead }

  mutating func write(
    _ piece: Piece, progress: (_ rows: Int64, _ lastKey: Int64) throws -> Void
  ) throws -> ShardManifest.PieceResult {
    let table = "p\(piece.number)"
    let query = try query(of: piece)
    let source = PieceSource(document, piece)
    // What a policy computes may differ from one time to the next.
    let isComputed = document.tables.contains {
      $0.destinationTable == piece.destinationTable && $0.hasCalls
    }
    return try connection.perform(caller) { db in
      try db.execute(sql: try Self.createStatement(document, piece, table: table))
      if document.logsSQL { try StatementLog.explain(query, in: db) }
      var last: PieceSource.Position?
      while true {
        let batch = "\(source.query(after: last, forInsertion: true)) LIMIT \(batchRows)"
        try db.execute(sql: "INSERT INTO \(table)\(source.insertedColumns) \(batch)")
        let written = Int64(db.changesCount)
        if written == 0 { break }
        last = try source.position(in: table, db)
        try progress(written, last?.first ?? 0)
        if written < batchRows { break }
      }
      let wrote = try RowDigest(of: "SELECT * FROM \(table)", in: db)
      let read = isComputed ? wrote : try RowDigest(of: query, in: db)
      guard read == wrote else {
        throw WorkerError(
          .digestsDiffer(rowsRead: read.rows, rowsWritten: wrote.rows),
          table: piece.destinationTable)
      }
      var result = ShardManifest.PieceResult(
        piece: piece.number, table: table, rowsRead: read.rows, rowsWritten: wrote.rows,
        digest: wrote.sum)
      result.count = try source.count(in: table, db)
      return result
    }
  }

  private func query(of piece: Piece) throws -> String {
    PieceSource(document, piece).query(after: nil)
  }

  /// The final table's own statement under the piece's name: rows then move without decoding.
  private static func createStatement(
    _ document: WorkOrderDocument, _ piece: Piece, table: String
  ) throws -> String {
    let prefix = "CREATE TABLE \(SQL.identifier(piece.destinationTable)) "
    guard let statement = document.createStatements[piece.destinationTable],
      statement.hasPrefix(prefix)
    else { throw WorkerError(.orderIncomplete, table: piece.destinationTable) }
    return "CREATE TABLE \(table) \(statement.dropFirst(prefix.count))"
  }

  consuming func finish() throws -> Int64 {
    caller?.close()
    try connection.run { db in try db.execute(sql: "DETACH src") }
    try connection.queue.close()
    let path = FilePath(document.shard)
    try Files.syncFile(path)
    return try Files.fileStatus(path).size
  }
}

/// The source rows of a piece, from any of its rows on.
struct PieceSource {
  /// The last row written: its key, or the two keys of a join table's row.
  struct Position {
    var first: Int64
    var second: Int64?
  }

  private enum Program {
    case table(TableProgram)
    case join(JoinProgram)
  }

  private let program: Program
  private let keys: KeyRange

  init(_ document: WorkOrderDocument, _ piece: Piece) {
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
  var insertedColumns: String {
    guard case .join(let join) = program, join.keepsRowNumbers else { return "" }
    return " (rowid, \(join.columns.map(SQL.identifier).joined(separator: ", ")))"
  }

  func query(after position: Position?, forInsertion: Bool = false) -> String {
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
  func count(in table: String, _ db: Database) throws -> RowCount? {
    guard case .table(let program) = program else { return nil }
    let seen = try Int64.fetchOne(db, sql: program.count(in: keys, schema: "src")) ?? 0
    let made = try Row.fetchAll(
      db, sql: "SELECT Z_ENT, count(*) FROM \(table) GROUP BY Z_ENT ORDER BY Z_ENT")
    return RowCount(seen: seen, made: made.map { EntityRows(number: $0[0], rows: $0[1]) })
  }

  /// Where the rows written so far end.
  func position(in table: String, _ db: Database) throws -> Position? {
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
  /// What computes the values that the order's programs call for, known to the connection.
  func caller(_ connection: StoreConnection, _ policies: Worker.Policies) throws -> RowCaller? {
    guard let calls else { return nil }
    let catalog = try StoreReader(immutable: FilePath(source)).catalog()
    let source = try StoreSchema(calls.source).resolved(in: catalog).schema
    let destination = try StoreSchema(calls.destination)
    let support = FilePath(support)
    return try connection.perform { db in
      let caller = try RowCaller(
        calls.mapping, source: source, destination: destination, db: db, support: support,
        now: calls.now, policies: policies)
      caller.install(in: db)
      return caller
    }
  }
}

extension StoreConnection {
  /// Runs a block; what a caller failed at comes out as its own error, not as one of SQLite.
  func perform<Result>(
    _ caller: RowCaller?, _ body: (Database) throws -> Result
  ) throws -> Result {
    do {
      return try perform(body)
    } catch {
      throw caller?.failure ?? error
    }
  }
}
