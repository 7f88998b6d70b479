import Mapping
import MigrationStatus
import ObjectMigration
import Planning
import Schema
import StoreFormat
import SystemCalls
import SystemPackage

/// Makes the shard of a work order whose mappings are carried out object by object.
struct ObjectShard {
  private let document: WorkOrderDocument
  private let work: ObjectWork
  private let policies: Worker.Policies

  init(_ document: WorkOrderDocument, _ work: ObjectWork, policies: Worker.Policies) {
    self.document = document
    self.work = work
    self.policies = policies
  }

  func write(
    _ flusher: PartFlusher?, _ memory: PeakMemory
  ) throws -> (pieces: [ShardManifest.PieceResult], outcome: ObjectOutcome) {
    var told = Told(rows: document.order.rows, bytes: document.order.bytes)
    let report = try ObjectMigration(try order()) { fraction, mapping in
      told.tell(fraction, mapping.name, flusher)
      // Asking the kernel costs more than the rows between two of these calls.
      if told.times.isMultiple(of: 16) { _ = memory.sample() }
      FaultPoint.afterFlush(
        told.times, isLast: false, order: document.order.number, attempt: document.attempt)
    }.run()
    FaultPoint.afterFlush(
      told.times, isLast: true, order: document.order.number, attempt: document.attempt)
    var outcome = ObjectOutcome(
      objectsRead: report.objectsRead, maxima: report.maxima, violations: report.violations)
    outcome.accounts = report.accounts
    return (try pieces(report), outcome)
  }

  private func order() throws -> ObjectMigration.Order {
    let source = FilePath(document.source)
    let catalog = try StoreReader(immutable: source).catalog()
    let shard = FilePath(document.shard)
    var order = ObjectMigration.Order(
      source: source, sourceSchema: try StoreSchema(work.source).resolved(in: catalog).schema,
      destinationSchema: try StoreSchema(work.destination, naming: work.naming),
      mappings: work.mappings, result: shard,
      work: shard.removingLastComponent(), metadata: nil, now: work.now)
    order.group = work.group
    order.support = FilePath(document.support)
    order.maxima = work.maxima
    order.validation = work.validates ? .report : .off
    order.memory = document.memory
    order.policies = policies
    order.textEncoding = try StoreHeader(of: source).textEncoding
    return order
  }

  private func pieces(_ report: ObjectMigration.Report) throws -> [ShardManifest.PieceResult] {
    try document.order.pieces.map { piece in
      guard let table = report.tables.first(where: { $0.name == piece.destinationTable }) else {
        throw WorkerError(.orderIncomplete, table: piece.destinationTable)
      }
      return ShardManifest.PieceResult(
        piece: piece.number, table: SQL.identifier(table.name), rowsRead: table.rows,
        rowsWritten: table.rows, digest: table.digest)
    }
  }

  /// What has been told of the progress; fractions come, and differences go out.
  private struct Told {
    let rows: Int64
    let bytes: Int64
    private(set) var times = 0
    private var rowsTold: UInt64 = 0
    private var bytesTold: UInt64 = 0
    private var mapping = ""

    init(rows: Int64, bytes: Int64) {
      self.rows = rows
      self.bytes = bytes
    }

    mutating func tell(_ fraction: Double, _ mapping: String, _ flusher: PartFlusher?) {
      times += 1
      if mapping != self.mapping {
        self.mapping = mapping
        flusher?.change { $0.table = mapping }
      }
      let rowsDone = max(rowsTold, UInt64(Double(rows) * min(1, fraction)))
      let bytesDone = max(bytesTold, UInt64(Double(bytes) * min(1, fraction)))
      flusher?.advance(rows: rowsDone - rowsTold, bytes: bytesDone - bytesTold, lastKey: 0)
      (rowsTold, bytesTold) = (rowsDone, bytesDone)
    }
  }
}
