import EngineList
import Foundation
package import MigrationEngine
package import Planning
import StoreFormat
import SystemCalls
import SystemPackage

// (1) The source is opened immutable and never written.
// (2) A shard counts once the coordinator has its manifest.
// (3) A worker writes to its shard and to extents that the coordinator gave it, to nothing else.

/// Executes one work order.
package struct Worker {
  private let document: WorkOrderDocument
  private let link: any WorkerLink
  private let policies: PolicyFactories
  private let isInCoordinator: Bool
  private let gate = WorkerGate()

  /// Creates a worker.
  ///
  /// - Parameters:
  ///   - link: the coordinator.
  ///   - policies: creates the policies that mapping models name.
  ///   - isInCoordinator: whether this is the coordinator's own process, which executes orders that
  ///     are too small to report progress and to be slowed down.
  package init(
    document: WorkOrderDocument, link: any WorkerLink, policies: PolicyFactories = [:],
    isInCoordinator: Bool = false
  ) {
    self.document = document
    self.link = link
    self.policies = policies
    self.isInCoordinator = isInCoordinator
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

  /// Ends the work soon: `makeShard` throws `CancellationError`.
  package func cancel() { gate.close() }

  /// Makes the shard, and returns its manifest.
  ///
  /// - Throws: `CancellationError`, `ShardError`, `StoreError` and the errors of mappings and
  ///   policies.
  @discardableResult
  package func makeShard() throws -> ShardManifest {
    let started = ContinuousClock.now
    let order = document.order
    let memory = PeakMemory()
    let reporter = startReporting()
    defer { reporter?.stop() }
    do {
      guard let engine = EngineList.engine(named: document.engine) else {
        throw ShardError(.orderUnreadable("no engine is called \(document.engine.rawValue)"))
      }
      let shard = try engine.makeShard(
        ShardWork(
          document: document, policies: policies,
          progress: ReportedProgress(
            reporter: reporter, link: link, gate: gate, memory: memory, of: document,
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
      return manifest
    } catch {
      throw placed(error)
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
        device: expected.device.map { _ in status.device }, inode: status.inode,
        bytes: status.size, modified: status.modified, changed: status.changed)
    }
    if found != expected {
      throw StoreError(problem: .changedDuringMigration, store: source)
    }
  }

  private func startReporting() -> WorkReporter? {
    guard !isInCoordinator else { return nil }
    // Before the first row: a run that is held starts nothing.
    gate.follow(link.pace)
    var progress = WorkProgress()
    progress.table = document.order.pieces.first?.destinationTable ?? ""
    return WorkReporter(progress, to: link) { [gate, link] in gate.follow(link.pace) }
  }
}

/// Reports the progress of a shard, and samples the memory from time to time.
private final class ReportedProgress: ShardProgress {
  private let reporter: WorkReporter?
  private let link: any WorkerLink
  private let gate: WorkerGate
  private let memory: PeakMemory
  private let document: WorkOrderDocument
  private let isInCoordinator: Bool
  private var flushes = 0
  private var lastKey: Int64 = 0

  init(
    reporter: WorkReporter?, link: any WorkerLink, gate: WorkerGate, memory: PeakMemory,
    of document: WorkOrderDocument, inCoordinator: Bool
  ) {
    self.reporter = reporter
    self.link = link
    self.gate = gate
    self.memory = memory
    self.document = document
    isInCoordinator = inCoordinator
  }

  func begin(_ name: String) throws {
    reporter?.change { $0.table = name }
    try pass(0)
  }

  /// Waits while the run is held, or as long as it is too fast.
  private func pass(_ bytes: UInt64) throws {
    try gate.pass(bytes) { isWaiting in
      reporter?.change { $0.isPaused = isWaiting }
      reporter?.publish()
    }
  }

  func advance(rows: UInt64, bytes: UInt64, lastKey: Int64) throws {
    flushes += 1
    try report(rows: rows, bytes: bytes, lastKey: lastKey)
    // A system call costs more than many of the rows between two of these calls.
    if flushes.isMultiple(of: 16) { _ = memory.sample() }
    reachFaultPoint(isLast: false)
  }

  /// Reports rows in small parts if their bytes take longer than a moment.
  ///
  /// An engine reports many at a time, and a slow run must not look dead.
  private func report(rows: UInt64, bytes: UInt64, lastKey: Int64) throws {
    guard let reporter else { return try pass(bytes) }
    var (rowsReported, bytesReported): (UInt64, UInt64) = (0, 0)
    repeat {
      let portion = gate.portion(of: bytes - bytesReported)
      bytesReported += portion
      let isLast = bytesReported == bytes
      let share = isLast ? 1 : Double(bytesReported) / Double(bytes)
      let upTo = isLast ? rows : UInt64(Double(rows) * share)
      reporter.advance(
        rows: upTo - rowsReported, bytes: portion, lastKey: isLast ? lastKey : self.lastKey)
      rowsReported = upTo
      try pass(portion)
    } while bytesReported < bytes
    self.lastKey = lastKey
  }

  func end() { reachFaultPoint(isLast: true) }

  func claimExtent() throws -> Int64 { try link.claimExtent() }

  private func reachFaultPoint(isLast: Bool) {
    FaultPoint.afterFlush(
      flushes, isLast: isLast, order: document.order.number, attempt: document.attempt,
      inCoordinator: isInCoordinator)
  }
}
