import Foundation
import Mapping
package import MigrationStatus
package import ObjectMigration
package import Planning
import StoreFormat
import StorePages
import SystemCalls
import SystemPackage

// (1) The source is opened immutable and never written.
// (2) A shard counts once its manifest has its name: the file is synced first.
// (3) Nothing that happens to the status file stops the work.

/// Carries out one work order.
package struct Worker {
  private let document: WorkOrderDocument
  private let status: StatusFile?
  private let policies: Policies

  /// Makes the policy of a class name that a mapping model holds.
  package typealias Policies = [String: @Sendable () -> any MigrationPolicy]

  /// Puts a failure into the words that the status file tells.
  private let words: @Sendable (any Error) -> String

  /// Takes the status file to tell progress to, where there is one.
  package init(
    _ document: WorkOrderDocument, status: StatusFile?, policies: Policies = [:],
    words: @escaping @Sendable (any Error) -> String = { "\($0)" }
  ) {
    self.document = document
    self.status = status
    self.policies = policies
    self.words = words
  }

  /// Reads a work order, as the coordinator hands it over.
  package static func decode(_ bytes: [UInt8]) throws(WorkerError) -> WorkOrderDocument {
    do {
      return try WorkOrderDocument(decoding: bytes)
    } catch {
      throw WorkerError(.orderUnreadable("\(error)"))
    }
  }

  /// Makes the shard, then its manifest.
  @discardableResult
  package func run() throws -> ShardManifest {
    let started = ContinuousClock.now
    let order = document.order
    let memory = PeakMemory()
    let flusher = startTelling()
    defer { flusher?.stop() }
    do {
      let (results, bytes, pages, objects, read) = try write(flusher, memory)
      var manifest = ShardManifest(
        planID: document.planID, order: order.number, attempt: document.attempt,
        shard: FilePath(document.shard).lastComponent?.string ?? "", bytes: bytes,
        pieces: results, peakMemory: Int64(memory.sample()),
        seconds: (ContinuousClock.now - started) / .seconds(1))
      manifest.pages = pages
      manifest.objects = objects
      manifest.read = read
      try Files.writeFileAtomically(
        Array(JSONEncoder().encode(manifest)), to: FilePath(document.manifest),
        syncs: document.pages?.syncs ?? true)
      flusher?.change { record in
        record.state = .done
        record.rowsDone = record.rowsTotal
        record.bytesDone = record.bytesTotal
      }
      return manifest
    } catch {
      let placed = placed(error)
      let text = words(placed)
      flusher?.change { record in
        record.state = .failed
        record.error = text
      }
      throw placed
    }
  }

  /// What SQLite finds damaged while it reads the source and writes a new file is the source,
  /// though it tells of the file that it has open.
  private func placed(_ error: any Error) -> any Error {
    let source = FilePath(document.store ?? document.source)
    switch error {
    case var error as StoreError:
      if [.damaged, .unrecognized].contains(error.problem) || error.store.string == document.source
      {
        error.store = source
      }
      return error
    case var error as PageError:
      if error.file?.string == document.source { error.file = nil }
      // What has no place yet was found in reading.
      return error.at(file: source)
    default: return error
    }
  }

  private typealias Written = (
    results: [ShardManifest.PieceResult], bytes: Int64, pages: PageShard?,
    objects: ObjectOutcome?, read: PropertiesRead?
  )

  private func write(_ flusher: PartFlusher?, _ memory: PeakMemory) throws -> Written {
    if let work = document.objects {
      let made = try ObjectShard(document, work, policies: policies).write(flusher, memory)
      let bytes = try Files.fileStatus(FilePath(document.shard)).size
      return (made.pieces, bytes, nil, made.outcome, nil)
    }
    guard let work = document.pages else {
      var writer = try SQLShardWriter(document, policies: policies)
      let results = try write(into: &writer, flusher, memory)
      let read = writer.propertiesRead
      return (results, try writer.finish(), nil, nil, read)
    }
    var writer = try PageShardWriter(document, work, policies: policies)
    let results = try write(into: &writer, flusher, memory)
    let pages = try writer.finishPages()
    let read = writer.propertiesRead
    return (results, try writer.finish(), pages, nil, read)
  }

  private func write<Writer: ShardWriter & ~Copyable>(
    into writer: inout Writer, _ flusher: PartFlusher?, _ memory: PeakMemory
  ) throws -> [ShardManifest.PieceResult] {
    let order = document.order
    var results: [ShardManifest.PieceResult] = []
    var flushes = 0
    for piece in order.pieces {
      flusher?.change { $0.table = piece.destinationTable }
      let perRow = Double(piece.bytes) / Double(max(1, piece.rows))
      results.append(
        try writer.write(piece) { rows, lastKey in
          flushes += 1
          flusher?.advance(
            rows: UInt64(rows), bytes: UInt64(perRow * Double(rows)), lastKey: lastKey)
          // Asking the kernel costs more than many of the rows between two of these calls.
          if flushes.isMultiple(of: 16) { _ = memory.sample() }
          FaultPoint.afterFlush(
            flushes, isLast: false, order: order.number, attempt: document.attempt)
        })
    }
    FaultPoint.afterFlush(
      flushes, isLast: true, order: order.number, attempt: document.attempt)
    return results
  }

  private func startTelling() -> PartFlusher? {
    guard let status else { return nil }
    let order = document.order
    var record =
      (try? status.part(UInt32(order.number)))
      ?? PartRecord(
        workOrder: UInt32(order.number), partition: UInt32(order.partition),
        rowsTotal: UInt64(order.rows), bytesTotal: UInt64(order.bytes))
    let own = Processes.own
    record.attempt = UInt32(document.attempt) - 1
    record.start(
      process: own, processStart: Processes.startTime(of: own) ?? 0, at: WallClock.now())
    record.table = order.pieces.first?.destinationTable ?? ""
    return PartFlusher(status, record, every: .milliseconds(100))
  }
}
