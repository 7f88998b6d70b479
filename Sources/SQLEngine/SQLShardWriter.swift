import Foundation
import GRDB
import Mapping
import MigrationEngine
import ObjectMigration
import Planning
import RowPrograms
import Schema
import StoreFormat
import SystemCalls
import SystemPackage

/// Makes a shard by set-oriented SQL: what faster engines do not cover, and are compared with.
struct SQLShardWriter: ShardWriter, ~Copyable {
  private let document: WorkOrderDocument
  private let connection: StoreConnection
  private let batchRows: Int
  private let caller: RowCaller?
  private let untaken: RowKeyReader?

  /// Makes an empty shard and attaches the source, which does not change.
  init(
    _ document: WorkOrderDocument, policies: PolicyFactories = [:], batchRows: Int = 50_000
  ) throws {
    let untaken = try document.untakenKeyReader()
    let connection = try Self.open(document, without: untaken)
    caller = try document.caller(connection, policies: policies)
    self.untaken = untaken
    self.document = document
    self.batchRows = batchRows
    self.connection = connection
  }

  private static func open(
    _ document: WorkOrderDocument, without untaken: RowKeyReader?
  ) throws -> StoreConnection {
    let path = FilePath(document.shard)
    try Files.remove(path)
    let source = try StoreHeader(ofSource: FilePath(document.source))
    let connection = try StoreConnection.scratch(
      path, cacheBytes: document.memory / 4, textEncoding: source.textEncoding,
      memory: document.memory)
    try document.attachSource(to: connection, without: untaken)
    return connection
  }

  /// The source properties that policies and expressions read so far.
  var propertiesRead: PropertiesRead? { caller?.propertiesRead }

  mutating func write(
    _ piece: Piece, progress: (_ rows: Int64, _ lastKey: Int64) throws -> Void
  ) throws -> ShardManifest.PieceResult {
    let table = "p\(piece.number)"
    let source = try PieceSource(document: document, piece: piece)
    let query = source.query(after: nil)
    // What a policy computes may differ from one time to the next.
    let isComputed = document.tables.contains {
      $0.destinationTable == piece.destinationTable && $0.hasCalls
    }
    return try connection.perform(caller, without: untaken) { db in
      try db.execute(sql: try Self.createStatement(document, piece: piece, table: table))
      if document.logsSQL { try StatementLog.explain(query, in: db) }
      var last: PieceSource.Position?
      while true {
        let batch = "\(source.query(after: last, forInsertion: true)) LIMIT \(batchRows)"
        try db.execute(sql: "INSERT INTO \(table)\(source.insertedColumns) \(batch)")
        let written = Int64(db.changesCount)
        if written == 0 { break }
        last = try source.position(in: table, db: db)
        try progress(written, last?.key ?? 0)
        if written < batchRows { break }
      }
      let wrote = try RowDigest(
        ofTable: table, of: FilePath(document.shard), in: db, threads: 1)
      var read = isComputed ? wrote : try RowDigest(of: query, in: db)
      if read != wrote {
        // Columns of other types than Core Data's have values that the new ones make others of.
        try db.execute(
          sql: try Self.createStatement(document, piece: piece, table: "temp.godwit_read"))
        try db.execute(sql: "INSERT INTO temp.godwit_read \(query)")
        read = try RowDigest(of: "SELECT * FROM temp.godwit_read", in: db)
        try db.execute(sql: "DROP TABLE temp.godwit_read")
      }
      guard read == wrote else {
        throw ShardError(
          .digestsDiffer(rowsRead: read.rows, rowsWritten: wrote.rows),
          table: piece.destinationTable)
      }
      var result = ShardManifest.PieceResult(
        piece: piece.number, table: table, rowsRead: read.rows, rowsWritten: wrote.rows,
        digest: wrote.sum)
      result.count = try source.count(in: table, db: db)
      return result
    }
  }

  /// The final table's own statement under the piece's name: rows then move without decoding.
  private static func createStatement(
    _ document: WorkOrderDocument, piece: Piece, table: String
  ) throws -> String {
    let prefix = "CREATE TABLE \(SQL.identifier(name: piece.destinationTable)) "
    guard let statement = document.createStatements[piece.destinationTable],
      statement.hasPrefix(prefix)
    else { throw ShardError(.orderIncomplete, table: piece.destinationTable) }
    return "CREATE TABLE \(table) \(statement.dropFirst(prefix.count))"
  }

  consuming func finish() throws -> Int64 {
    caller?.close()
    try connection.run { db in try db.execute(sql: "DETACH src") }
    try connection.queue.close()
    let path = FilePath(document.shard)
    if document.syncs { try Files.syncFile(path) }
    return try Files.fileStatus(path).size
  }
}
