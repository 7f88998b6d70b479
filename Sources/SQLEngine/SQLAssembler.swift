import GRDB
package import MigrationEngine
import Planning
import RowPrograms
import Schema
import StoreFormat
import SystemCalls
import SystemPackage

/// Assembles by SQL: bare `INSERT … SELECT *`, which moves rows without decoding them.
package struct SQLAssembler {
  /// Makes an assembler, which keeps nothing.
  package init() {}

  /// Merges the shards, makes what is not in them, and syncs the result.
  ///
  /// - Throws: `AssemblyError` where rows or digests differ; `StoreError`; what `progress` throws.
  package func assemble(
    _ order: AssemblyOrder, progress: (AssemblyStep) throws -> Void
  ) throws -> AssemblyReport {
    try Files.remove(order.result)
    // SQLite would make it as anybody may read it; it gets the mode of the store in the end.
    try Files.open(
      order.result, mode: .readWrite, options: [.create, .exclusiveCreate],
      permissions: .ownerReadWrite
    ).close()
    let connection = try StoreConnection.scratch(
      order.result, cacheBytes: order.memory / 4, textEncoding: order.textEncoding,
      memory: order.memory)
    var report = AssemblyReport()
    try connection.perform { db in
      if order.logsSQL { StatementLog.attach(to: db) }
      try StoreWriter.createTables(order.schema, in: db)
      report.rows = try merge(order, db: db, progress: progress)
      try relink(order, db: db, progress: progress, report: &report)
      try progress(.indexing(indexes: order.schema.allIndexes.count))
      try StoreWriter.createIndexes(order.schema, in: db) { _ in try progress(.stepDone) }
      try StoreWriter.writePrimaryKeys(order.schema, maxima: order.maxima, in: db)
      try StoreWriter.writeMetadata(order.metadata, modelCache: order.modelCache, in: db)
      try order.furnish(db)
      try progress(.verifying)
      try check(order, db: db)
    }
    do { try connection.queue.close() } catch { throw connection.failure(error: error) }
    if order.usesWAL { try StoreConnection.setWAL(order.result) }
    try Files.syncFile(order.result)
    return report
  }

  // MARK: Merge

  /// Takes the pieces of each table in key order, and compares the table with their digests.
  private func merge(
    _ order: AssemblyOrder, db: Database, progress: (AssemblyStep) throws -> Void
  ) throws -> Int64 {
    let placed = placedPieces(order: order)
    try progress(.merging(tables: placed.count))
    var rows: Int64 = 0
    // Rows of a join table that a mapping leaves alone keep their numbers.
    let numbered = Dictionary(
      uniqueKeysWithValues: order.plan.program.joins.filter(\.keepsRowNumbers).map {
        ($0.destinationTable, $0.columns.map(SQL.identifier).joined(separator: ", "))
      })
    for (table, pieces) in placed {
      var expected: (rows: Int64, sum: UInt64) = (0, 0)
      for piece in pieces {
        try db.execute(
          sql: "ATTACH ? AS shard", arguments: [StoreConnection.uri(path: piece.shard)])
        let from = "FROM shard.\(piece.result.table)"
        let into = "INSERT INTO main.\(SQL.identifier(name: table))"
        if let columns = numbered[table] {
          try db.execute(
            sql: "\(into) (rowid, \(columns)) SELECT rowid, \(columns) \(from) ORDER BY rowid")
        } else {
          try db.execute(sql: "\(into) SELECT * \(from)")
        }
        try db.execute(sql: "DETACH shard")
        expected.rows += piece.result.rowsWritten
        expected.sum &+= piece.result.digest
      }
      let merged = try RowDigest(of: "SELECT * FROM main.\(SQL.identifier(name: table))", in: db)
      guard merged.rows == expected.rows, merged.sum == expected.sum else {
        throw AssemblyError.rowsDiffer(
          table: table, expected: expected.rows, found: merged.rows)
      }
      rows += merged.rows
      try progress(.stepDone)
    }
    return rows
  }

  private typealias PlacedPiece = (shard: FilePath, result: ShardManifest.PieceResult)

  private func placedPieces(order: AssemblyOrder) -> [(name: String, places: [PlacedPiece])] {
    var placed: [Int: PlacedPiece] = [:]
    for manifest in order.manifests {
      let shard = order.folder.appending(manifest.shard)
      for result in manifest.pieces { placed[result.piece] = (shard, result) }
    }
    return order.tables(placed: placed)
  }

  // MARK: Relink

  private func relink(
    _ order: AssemblyOrder, db: Database, progress: (AssemblyStep) throws -> Void,
    report: inout AssemblyReport
  ) throws {
    let program = order.plan.program
    try progress(.relinking(steps: program.orderFills.count + program.references.count))
    for fill in program.orderFills {
      try db.execute(sql: fill.statement)
      try progress(.stepDone)
    }
    for reference in program.references {
      let count = try Int64.fetchOne(db, sql: reference.danglingCount) ?? 0
      if count > 0 {
        report.danglingReferences.append(
          DanglingReference(table: reference.table, column: reference.column, count: count))
      }
      try progress(.stepDone)
    }
  }

  private func check(_ order: AssemblyOrder, db: Database) throws {
    let pragma = order.verifiesFully ? "integrity_check" : "quick_check"
    let answers = try String.fetchAll(db, sql: "PRAGMA \(pragma)(5)")
    guard answers == ["ok"] else {
      throw AssemblyError.damaged(answers)
    }
  }
}

extension OrderFill {
  fileprivate var statement: String {
    """
    UPDATE \(SQL.identifier(name: table)) SET \(SQL.identifier(name: orderColumn)) = n.place FROM (
      SELECT rowid AS row, \(place()) AS place
      FROM \(SQL.identifier(name: table)) WHERE \(SQL.identifier(name: ownerColumn)) IS NOT NULL
    ) AS n WHERE n.row = \(SQL.identifier(name: table)).rowid
    """
  }
}
