package import GRDB
package import MigrationEngine
import Planning
import RowPrograms
package import Schema
import StoreFormat
import SystemCalls
package import SystemPackage

/// The file that an assembly begins with, and what has to be done in it.
package protocol AssemblyBase: Sendable {
  /// The indexes of the result that it begins with.
  var indexes: Set<String> { get }
  /// Makes the file; nothing has its name.
  func make(_ result: FilePath) throws
  /// Removes what the new tables take the place of; what stays has the names of the result then.
  ///
  /// - Returns: Core Data's own tables that are there, and empty.
  func clear(_ db: Database, order: AssemblyOrder) throws -> Set<String>
  /// Changes rows of tables that stayed, and calls `done` with how many they were.
  func update(_ db: Database, done: (_ rows: Int64) throws -> Void) throws
  /// Lists what stayed among the new tables and indexes, once they are there.
  func arrange(_ db: Database, order: AssemblyOrder) throws
  /// The indexes that are made empty, and filled once SQLite has closed the result.
  func filled(_ order: AssemblyOrder) -> [Index]
  /// Fills these indexes, and calls `each` after each of them.
  ///
  /// - Returns: those that SQLite has to fill.
  func fill(
    _ indexes: [Index], order: AssemblyOrder, each: (Index) throws -> Void
  ) throws -> [Index]
}

/// An assembly that begins with nothing.
private struct EmptyBase: AssemblyBase {
  let indexes: Set<String> = []

  func make(_ result: FilePath) throws {
    // SQLite would make it as anybody may read it; it gets the mode of the store in the end.
    try Files.open(
      result, mode: .readWrite, options: [.create, .exclusiveCreate], permissions: .ownerReadWrite
    ).close()
  }

  func clear(_ db: Database, order: AssemblyOrder) -> Set<String> { [] }
  func update(_ db: Database, done: (_ rows: Int64) throws -> Void) {}
  func arrange(_ db: Database, order: AssemblyOrder) {}
  func filled(_ order: AssemblyOrder) -> [Index] { [] }
  func fill(
    _ indexes: [Index], order: AssemblyOrder, each: (Index) throws -> Void
  ) -> [Index] { indexes }
}

/// Assembles by SQL: bare `INSERT … SELECT *`, which moves rows without decoding them.
package struct SQLAssembler {
  private let base: any AssemblyBase

  /// Makes an assembler that begins with an empty file, unless it is given another.
  package init(_ base: (any AssemblyBase)? = nil) { self.base = base ?? EmptyBase() }

  /// Merges the shards, makes what is not in them, and syncs the result.
  ///
  /// - Throws: `AssemblyError` where rows or digests differ; `StoreError`; what `progress` throws.
  package func assemble(
    _ order: AssemblyOrder, progress: (AssemblyStep) throws -> Void
  ) throws -> AssemblyReport {
    try Files.remove(order.result)
    try base.make(order.result)
    let staying = order.plan.stayingTables
    var connection = try open(order)
    var report = AssemblyReport()
    let filled = base.filled(order)
    let weights = IndexWeights(order.schema)
    var units: (Index) -> Int64 = { _ in 0 }
    try connection.perform { db in
      if order.logsSQL { StatementLog.attach(to: db) }
      let own = try base.clear(db, order: order)
      try StoreWriter.createTables(order.schema, but: staying.union(own), in: db)
      let merged = try merge(order, db: db, progress: progress)
      report.rows = merged.values.reduce(0, +)
      try relink(order, db: db, progress: progress, report: &report)
      let indexes = order.schema.allIndexes.filter { !base.indexes.contains($0.name) }
      let rows = order.plan.staying.reduce(into: merged) { $0[$1.table] = $1.rows }
      units = { Int64(weights.weight(of: $0, rows: rows[$0.table] ?? 0)) }
      let sizes = indexes.map(units)
      try progress(.indexing(units: sizes.reduce(0, +), atOnce: sizes.max() ?? 0))
      try StoreWriter.together(in: db) {
        let others = base.indexes.union(filled.map(\.name))
        try StoreWriter.createIndexes(order.schema, but: others, in: db) {
          try progress(.stepDone(units: units($0)))
        }
        try StoreWriter.writePrimaryKeys(order.schema, maxima: order.frame.maxima, in: db)
        try StoreWriter.writeMetadata(
          order.frame.metadata, modelCache: order.frame.modelCache, in: db)
        try StoreWriter.write(order.frame.appNumbers, in: db)
      }
      for index in filled { try StoreWriter.createEmpty(index, in: db) }
      try base.arrange(db, order: order)
    }
    if !filled.isEmpty {
      try connection.close()
      let left = try base.fill(filled, order: order) { try progress(.stepDone(units: units($0))) }
      connection = try open(order)
      try connection.perform { db in
        for index in left {
          try db.execute(sql: "REINDEX \(SQL.identifier(name: index.name))")
          try progress(.stepDone(units: units(index)))
        }
      }
    }
    try connection.perform { db in
      try countStaying(order, db: db, report: &report)
      try order.writeExtras(db)
      try progress(.verifying)
      try check(order, db: db)
    }
    try connection.close()
    if order.usesWAL { try StoreConnection.setWAL(order.result) }
    if order.syncs { try Files.syncFile(order.result) }
    report.rows += order.plan.stayingRows
    report.movedTables = order.plan.untouched.map(\.table).sorted()
    return report
  }

  private func open(_ order: AssemblyOrder) throws -> StoreConnection {
    try StoreConnection.scratch(
      order.result, cacheBytes: order.memory / 4, textEncoding: order.textEncoding,
      memory: order.memory)
  }

  // MARK: Merge

  /// Takes the pieces of each table in key order, and compares the table with their digests; the
  /// rows of each table.
  private func merge(
    _ order: AssemblyOrder, db: Database, progress: (AssemblyStep) throws -> Void
  ) throws -> [String: Int64] {
    let placed = placedPieces(order: order)
    let sizes = placed.map { $0.places.reduce(0) { $0 + $1.result.rowsWritten } }
    let updated = order.plan.updated.map(\.rows)
    // Each row is written, and then read.
    try progress(
      .merging(
        rows: 2 * sizes.reduce(0, +) + updated.reduce(0, +), atOnce: (sizes + updated).max() ?? 0))
    try base.update(db) { try progress(.stepDone(units: $0)) }
    var rows: [String: Int64] = [:]
    // Rows of a join table that a mapping leaves alone keep their numbers.
    let numbered = Dictionary(
      uniqueKeysWithValues: order.plan.program.joins.filter(\.keepsRowNumbers).map {
        ($0.destinationTable, $0.columns.map(SQL.identifier).joined(separator: ", "))
      })
    var attached: FilePath?
    for (table, pieces) in placed {
      var expected: (rows: Int64, sum: UInt64) = (0, 0)
      for piece in pieces {
        if attached != piece.shard {
          if attached != nil { try db.execute(sql: "DETACH shard") }
          try db.execute(
            sql: "ATTACH ? AS shard", arguments: [StoreConnection.uri(path: piece.shard)])
          attached = piece.shard
        }
        let from = "FROM shard.\(piece.result.table)"
        let into = "INSERT INTO main.\(SQL.identifier(name: table))"
        if let columns = numbered[table] {
          try db.execute(
            sql: "\(into) (rowid, \(columns)) SELECT rowid, \(columns) \(from) ORDER BY rowid")
        } else {
          try db.execute(sql: "\(into) SELECT * \(from)")
        }
        expected.rows += piece.result.rowsWritten
        expected.sum &+= piece.result.digest
        try progress(.stepDone(units: piece.result.rowsWritten))
      }
      let merged = try RowDigest(ofTable: table, of: order.result, in: db)
      guard merged.rows == expected.rows, merged.sum == expected.sum else {
        throw AssemblyError.rowsDiffer(
          table: table, expected: expected.rows, found: merged.rows)
      }
      rows[table] = merged.rows
      try progress(.stepDone(units: merged.rows))
    }
    if attached != nil { try db.execute(sql: "DETACH shard") }
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
    let (program, staying) = (order.plan.program, order.plan.stayingTables)
    // Where no row of a stage is dropped, references that stay lead where they led.
    let references = program.references.filter { !staying.contains($0.table) }
    try progress(.relinking(steps: program.orderFills.count + references.count))
    for fill in program.orderFills {
      try db.execute(sql: fill.statement)
      try progress(.stepDone())
    }
    for reference in references {
      try count(reference, db: db, report: &report)
      try progress(.stepDone())
    }
  }

  /// Looks over the references of tables that stay where everything is read once more.
  private func countStaying(
    _ order: AssemblyOrder, db: Database, report: inout AssemblyReport
  ) throws {
    let all = order.plan.program.references
    let staying = order.plan.stayingTables
    let left = all.filter { staying.contains($0.table) }
    guard order.verifiesFully else {
      report.uncheckedReferences = left
      return
    }
    for reference in left { try count(reference, db: db, report: &report) }
    let found = report.danglingReferences
    report.danglingReferences = all.compactMap { check in
      found.first { $0.table == check.table && $0.column == check.column }
    }
  }

  private func count(
    _ reference: ReferenceCheck, db: Database, report: inout AssemblyReport
  ) throws {
    let count = try Int64.fetchOne(db, sql: reference.danglingCount) ?? 0
    guard count > 0 else { return }
    report.danglingReferences.append(
      DanglingReference(table: reference.table, column: reference.column, count: count))
  }

  private func check(_ order: AssemblyOrder, db: Database) throws {
    if order.verifiesFully {
      // What was written is in the file, and nothing is written any more.
      let lines = try IntegrityCheck(order.result, cacheBytes: order.memory / 4).lines()
      guard lines.isEmpty else { throw AssemblyError.damaged(Array(lines.prefix(5))) }
      return
    }
    let staying = Set(order.plan.untouched.map(\.table))
    let own =
      ["Z_PRIMARYKEY", "Z_METADATA", "Z_MODELCACHE"] + order.schema.keyedTables.map(\.name)
      + order.schema.joinTables.map(\.name)
    // What stays as it is was not written.
    let subjects =
      staying.isEmpty ? ["5"] : own.filter { !staying.contains($0) }.map(SQL.quoted)
    for subject in subjects {
      let answers = try String.fetchAll(db, sql: "PRAGMA quick_check(\(subject))")
      guard answers == ["ok"] else { throw AssemblyError.damaged(answers) }
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
