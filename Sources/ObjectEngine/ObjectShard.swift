import Mapping
import MigrationEngine
import ObjectMigration
import Planning
import Schema
import StoreFormat
import StoreNames
import SystemCalls
import SystemPackage

/// Makes the shard of a work order whose mappings are carried out object by object.
struct ObjectShard {
  private let document: WorkOrderDocument
  private let work: ObjectWork
  private let policies: PolicyFactories
  private let progress: any ShardProgress

  init(work: ObjectWork, of shard: ShardWork) {
    document = shard.document
    self.work = work
    policies = shard.policies
    progress = shard.progress
  }

  func write() throws -> (pieces: [ShardManifest.PieceResult], outcome: ObjectOutcome) {
    var progress = FractionProgress(
      rows: document.order.rows, bytes: document.order.bytes, progress: progress)
    let report = try ObjectMigration(try order()) { fraction, mapping in
      try progress.reach(fraction, in: mapping.name)
    }.migrate()
    progress.end()
    var outcome = ObjectOutcome(
      objectsRead: report.objectsRead, maxima: report.maxima, violations: report.violations)
    outcome.accounts = report.accounts
    return (try pieces(report: report), outcome)
  }

  private func order() throws -> ObjectMigration.Order {
    let source = FilePath(document.source)
    let catalog = try StoreReader(immutable: source).catalog()
    let shard = FilePath(document.shard)
    var order = ObjectMigration.Order(
      source: source, sourceSchema: try StoreSchema(work.source).resolved(in: catalog).schema,
      destinationSchema: try StoreSchema(work.destination, naming: work.naming),
      mappings: work.mappings, result: shard,
      links: WorkFile.links(ofShard: shard), metadata: nil, now: work.now)
    order.group = work.group
    order.support = FilePath(document.support)
    order.maxima = work.maxima
    order.validation = work.validates ? .report : .off
    order.memory = document.memory
    order.policies = policies
    order.textEncoding = try StoreHeader(ofSource: source).textEncoding
    return order
  }

  private func pieces(report: ObjectMigration.Report) throws -> [ShardManifest.PieceResult] {
    try document.order.pieces.map { piece in
      guard let table = report.tables.first(where: { $0.name == piece.destinationTable }) else {
        throw ShardError(.orderIncomplete, table: piece.destinationTable)
      }
      return ShardManifest.PieceResult(
        piece: piece.number, table: SQL.identifier(name: table.name), rowsRead: table.rows,
        rowsWritten: table.rows, digest: table.digest)
    }
  }

  /// Turns fractions of the whole into what was done since the last one.
  private struct FractionProgress {
    let rows: Int64
    let bytes: Int64
    let progress: any ShardProgress
    private var rowsDone: UInt64 = 0
    private var bytesDone: UInt64 = 0
    private var mapping = ""

    init(rows: Int64, bytes: Int64, progress: any ShardProgress) {
      self.rows = rows
      self.bytes = bytes
      self.progress = progress
    }

    mutating func reach(_ fraction: Double, in mapping: String) throws {
      if mapping != self.mapping {
        self.mapping = mapping
        try progress.begin(mapping)
      }
      let rowsNow = max(rowsDone, UInt64(Double(rows) * min(1, fraction)))
      let bytesNow = max(bytesDone, UInt64(Double(bytes) * min(1, fraction)))
      try progress.advance(rows: rowsNow - rowsDone, bytes: bytesNow - bytesDone, lastKey: 0)
      (rowsDone, bytesDone) = (rowsNow, bytesNow)
    }

    func end() { progress.end() }
  }
}
