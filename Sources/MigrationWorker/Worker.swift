import EngineList
import Foundation
package import MigrationEngine
package import MigrationStatus
package import Planning
import StoreFormat
import SystemCalls
import SystemPackage

// (1) The source is opened immutable and never written.
// (2) A shard counts once its manifest has its name: the file is synced first.
// (3) Nothing that happens to the status file stops the work.

/// Executes one work order.
package struct Worker {
  private let document: WorkOrderDocument
  private let status: StatusFile?
  private let policies: PolicyFactories
  private let isInCoordinator: Bool

  /// Describes a failure for the status file.
  private let words: @Sendable (any Error) -> String
  private let gate = WorkerGate()

  /// Creates a worker.
  ///
  /// - Parameters:
  ///   - status: the status file for the progress, nil for none.
  ///   - policies: creates the policies that mapping models name.
  ///   - isInCoordinator: whether this is the coordinator's own process.
  ///   - words: describes a failure for the status file.
  package init(
    document: WorkOrderDocument, status: StatusFile?, policies: PolicyFactories = [:],
    isInCoordinator: Bool = false,
    words: @escaping @Sendable (any Error) -> String = { "\($0)" }
  ) {
    self.document = document
    self.status = status
    self.policies = policies
    self.isInCoordinator = isInCoordinator
    self.words = words
  }

  /// Reads a work order from the bytes that the coordinator passes on standard input.
  ///
  /// - Throws: `ShardError` with `orderUnreadable`.
  package static func decode(_ bytes: [UInt8]) throws(ShardError) -> WorkOrderDocument {
    do {
      return try WorkOrderDocument(decoding: bytes)
    } catch {
      throw ShardError(.orderUnreadable("\(error)"))
    }
  }

  /// Ends the work soon: `run` throws `CancellationError`.
  package func cancel() { gate.close() }

  /// Makes the shard, then its manifest, and returns that.
  ///
  /// - Throws: `CancellationError`, `ShardError`, `StoreError` and the errors of mappings and
  ///   policies.
  @discardableResult
  package func run() throws -> ShardManifest {
    let started = ContinuousClock.now
    let order = document.order
    let memory = PeakMemory()
    let flusher = startReporting()
    defer { flusher?.stop() }
    do {
      guard let engine = EngineList.engine(named: document.engine) else {
        throw ShardError(.orderUnreadable("no engine is called \(document.engine.rawValue)"))
      }
      let shard = try engine.makeShard(
        ShardWork(
          document: document, policies: policies,
          progress: FlushedProgress(
            flusher: flusher, gate: gate, memory: memory, of: document,
            inCoordinator: isInCoordinator)))
      try requireSameSource()
      var manifest = ShardManifest(
        planID: document.planID, order: order.number, attempt: document.attempt,
        engine: document.engine, shard: FilePath(document.shard).lastComponent?.string ?? "",
        bytes: shard.bytes, shardChecksum: try Checksum.of(file: FilePath(document.shard)),
        pieces: shard.pieces, peakMemory: Int64(memory.sample()),
        seconds: (ContinuousClock.now - started) / .seconds(1))
      manifest.outcome = shard.outcome
      manifest.digestsRows = shard.digestsRows
      manifest.read = shard.read
      if document.keepsManifest || !isInCoordinator {
        try Files.writeFileAtomically(
          VersionedFile(manifest).sealed(), to: FilePath(document.manifest),
          syncs: document.syncs)
      }
      flusher?.change { record in
        record.state = .done
        record.rowsDone = record.rowsTotal
        record.bytesDone = record.bytesTotal
      }
      return manifest
    } catch {
      let placed = placed(error)
      let text = error is CancellationError ? "" : words(placed)
      flusher?.change { record in
        record.state = .failed
        record.error = text
      }
      throw placed
    }
  }

  /// Blames the source for damage that SQLite finds while it reads the source and writes a new
  /// file, since its error names the open file.
  private func placed(_ error: any Error) -> any Error {
    let source = FilePath(document.store ?? document.source)
    switch error {
    case var error as StoreError:
      if [.damaged, .unrecognized].contains(error.problem) || error.store.string == document.source
      {
        error.store = source
      }
      if error.problem == .rowTooLong(nil) {
        let row = LongRow.first(in: FilePath(document.source), memory: document.memory)
        error = StoreError(problem: .rowTooLong(row), store: source, cause: error.cause)
      }
      return error
    default: return error
    }
  }

  /// Throws where the source is not what the coordinator opened: a shard of two states counts for
  /// nothing, and no later run may take it up.
  private func requireSameSource() throws {
    guard let expected = document.sourceIdentity else { return }
    let source = try SourceFile.main(of: FilePath(document.source))
    let found = try Files.fileStatusIfPresent(source).map { status in
      FileIdentity(
        device: status.device, inode: status.inode, bytes: status.size, modified: status.modified,
        changed: status.changed)
    }
    if found != expected {
      throw StoreError(problem: .changedDuringMigration, store: source)
    }
  }

  private func startReporting() -> PartFlusher? {
    guard let status else { return nil }
    // Before the first row: a run that is held starts nothing.
    gate.look(at: status)
    let order = document.order
    var record =
      (try? status.part(workOrder: UInt32(order.number)))
      ?? PartRecord(
        workOrder: UInt32(order.number), partition: UInt32(order.partition),
        rowsTotal: UInt64(order.rows), bytesTotal: UInt64(order.bytes))
    let own = Processes.own
    record.attempt = UInt32(document.attempt) - 1
    record.start(
      process: own, processStart: Processes.startTime(of: own) ?? 0, at: WallClock.now())
    record.table = order.pieces.first?.destinationTable ?? ""
    record.memoryLimit = UInt64(clamping: document.memory)
    // The coordinator tells its own memory.
    return PartFlusher(
      file: status, record: record, every: .milliseconds(100), measuresMemory: !isInCoordinator
    ) { [gate] in
      gate.look(at: status)
    }
  }
}

/// Publishes the progress of a shard to the status file, and samples the memory from time to time.
private final class FlushedProgress: ShardProgress {
  private let flusher: PartFlusher?
  private let gate: WorkerGate
  private let memory: PeakMemory
  private let document: WorkOrderDocument
  private let isInCoordinator: Bool
  private var flushes = 0
  private var lastKey: Int64 = 0

  init(
    flusher: PartFlusher?, gate: WorkerGate, memory: PeakMemory, of document: WorkOrderDocument,
    inCoordinator: Bool
  ) {
    self.flusher = flusher
    self.gate = gate
    self.memory = memory
    self.document = document
    isInCoordinator = inCoordinator
  }

  func begin(_ name: String) throws {
    flusher?.change { $0.table = name }
    try pass(0)
  }

  /// Waits while the run is held, or as long as it is too fast.
  private func pass(_ bytes: UInt64) throws {
    try gate.pass(bytes) { isWaiting in
      flusher?.change { $0.isPaused = isWaiting }
      flusher?.publish()
    }
  }

  func advance(rows: UInt64, bytes: UInt64, lastKey: Int64) throws {
    flushes += 1
    try tell(rows: rows, bytes: bytes, lastKey: lastKey)
    // Asking the kernel costs more than many of the rows between two of these calls.
    if flushes.isMultiple(of: 16) { _ = memory.sample() }
    reachFaultPoint(isLast: false)
  }

  /// Tells of rows bit by bit where their bytes take longer than a moment: an engine reports many
  /// at once, and nobody may take a slow run for a dead one.
  private func tell(rows: UInt64, bytes: UInt64, lastKey: Int64) throws {
    guard let flusher else { return try pass(bytes) }
    var (rowsTold, bytesTold): (UInt64, UInt64) = (0, 0)
    repeat {
      let portion = gate.portion(of: bytes - bytesTold)
      bytesTold += portion
      let isLast = bytesTold == bytes
      let share = isLast ? 1 : Double(bytesTold) / Double(bytes)
      let upTo = isLast ? rows : UInt64(Double(rows) * share)
      flusher.advance(
        rows: upTo - rowsTold, bytes: portion, lastKey: isLast ? lastKey : self.lastKey)
      rowsTold = upTo
      try pass(portion)
    } while bytesTold < bytes
    self.lastKey = lastKey
  }

  func end() { reachFaultPoint(isLast: true) }

  private func reachFaultPoint(isLast: Bool) {
    FaultPoint.afterFlush(
      flushes, isLast: isLast, order: document.order.number, attempt: document.attempt,
      inCoordinator: isInCoordinator)
  }
}
