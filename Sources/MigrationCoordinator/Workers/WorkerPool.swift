import Foundation
import Logging
import ObjectMigration
import Planning
import SystemCalls
import SystemPackage

/// Runs the work orders of a plan, a limited number at a time, each in up to three attempts.
struct WorkerPool {
  let launcher: any WorkerLauncher
  let desk: ControlDesk
  let recorder: RunRecorder
  /// What all processes may occupy, in bytes.
  let memory: Int64
  let board: OrderBoard
  /// Whether a later run is to find the manifests.
  let keepsManifests: Bool
  /// Reserves an extent of the result.
  let claim: @Sendable () throws -> Int64
  let logger: Logger

  /// The outcome of a completed work order.
  struct Result: Sendable {
    var manifest: ShardManifest
    var attempts: Int
    /// Whether an earlier run had done the order.
    var wasResumed = false
    /// Whether the end of an attempt's worker is unknown: it may still run.
    var hasLostWorker = false
  }

  private enum Event: Sendable {
    case done(WorkOrderDocument, Result)
    case limit(Int?)
  }

  /// Runs all orders, begun in the given sequence, and throws as soon as one has failed for good.
  func execute(
    _ documents: [WorkOrderDocument], finished: @Sendable (Result) -> Void
  ) async throws -> [Result] {
    let limits = desk.limits
    return try await withThrowingTaskGroup(of: Event.self) { group in
      defer { group.cancelAll() }
      var waiting = WaitingOrders(documents, memory: memory)
      var results: [Result] = []
      var limit = desk.workers
      group.addTask { await Self.next(of: limits) }
      while results.count < documents.count {
        while let next = waiting.next(atMost: limit) {
          group.addTask { try await execute(next) }
        }
        desk.note(workersRunning: waiting.running)
        switch try await group.next() {
        case nil, .limit(nil): break
        case .limit(let changed?):
          limit = changed
          group.addTask { await Self.next(of: limits) }
        case .done(let document, let result):
          waiting.end(document)
          results.append(result)
          finished(result)
        }
      }
      return results
    }
  }

  private static func next(of limits: AsyncStream<Int>) async -> Event {
    for await limit in limits { return .limit(limit) }
    return .limit(nil)
  }

  /// Executes a work order, in up to three attempts (`WorkerLifecycle`).
  private func execute(_ document: WorkOrderDocument) async throws -> Event {
    var lifecycle = WorkerLifecycle()
    var document = document
    document.attempt = lifecycle.begin()
    var hasLostWorker = false
    while true {
      try await desk.passPatiently()
      let link = OrderLink(document, board: board, desk: desk, claim: claim)
      let span = recorder.begin(document.order, attempt: document.attempt)
      let ending = try await launcher.execute(document, link: link)
      recorder.end(span, isDone: ending.isDone)
      let fault: WorkerFault
      switch ending {
      case .made(let manifest):
        try Task.checkCancellation()
        try await finish(document, manifest)
        link.end()
        return .done(
          document,
          Result(
            manifest: manifest, attempts: document.attempt, hasLostWorker: hasLostWorker))
      case .objectsFailed(let error): throw error
      case .failed(let found): fault = found
      }
      link.fail(fault)
      if case .lost = fault { hasLostWorker = true }
      try Task.checkCancellation()
      guard let attempt = lifecycle.attempt(after: fault) else {
        throw WorkError.workOrderFailed(
          order: document.order.number, attempts: document.attempt, fault)
      }
      logger.warning(
        "work order starts again",
        metadata: [
          "order": "\(document.order.number)", "attempt": "\(attempt)", "ending": "\(fault)",
        ])
      try Files.remove(FilePath(document.shard))
      document.attempt = attempt
      document.shard = document.shard(attempt: attempt)
    }
  }

  /// Checks a manifest and writes it, which declares the shard done.
  private func finish(_ document: WorkOrderDocument, _ manifest: ShardManifest) async throws {
    let path = FilePath(document.manifest)
    try Self.require(manifest, of: document)
    try await requireShard(manifest, of: document)
    guard keepsManifests else { return }
    try Files.writeFileAtomically(
      VersionedFile(manifest).sealed(), to: path, syncs: document.syncs)
  }

  /// Waits until this machine sees a shard that another one may have made, as a network file system
  /// may show it later.
  private func requireShard(
    _ manifest: ShardManifest, of document: WorkOrderDocument
  ) async throws {
    let path = FilePath(document.shard)
    for _ in 0..<Self.looksForShard {
      if try Files.fileStatusIfPresent(path)?.size == manifest.bytes { return }
      // A file system that has looked for the name in vain looks again after this.
      _ = try Files.listDirectory(Files.parent(of: path))
      try await Task.sleep(for: .milliseconds(100))
    }
    throw WorkError.shardUnseen(path)
  }

  /// For a minute, ten times a second.
  private static let looksForShard = 600

  static func manifest(of document: WorkOrderDocument) throws -> ShardManifest {
    let path = FilePath(document.manifest)
    let bytes = try Files.readFile(path, limit: 2 * WorkerConversation.mostBytes)
    let file = try? VersionedFile<ShardManifest>(sealed: bytes)
    guard let manifest = file?.content else { throw WorkError.manifestUnreadable(path) }
    try require(manifest, of: document)
    return manifest
  }

  private static func require(
    _ manifest: ShardManifest, of document: WorkOrderDocument
  ) throws(WorkError) {
    guard manifest.planID == document.planID, manifest.order == document.order.number,
      manifest.pieces.map(\.piece) == document.order.pieces.map(\.number)
    else { throw .manifestForeign(FilePath(document.manifest)) }
  }
}

extension WorkerPool {
  /// Runs the orders that no earlier run has completed, and returns the results of all.
  ///
  /// - Parameter isWhole: whether what belongs to a manifest besides its shard is as it was
  ///   written.
  func execute(
    resuming documents: [WorkOrderDocument], of plan: MigrationPlan, reporter: ProgressReporter,
    isWhole: (ShardManifest) throws -> Bool
  ) async throws -> [Result] {
    var found: [Result] = []
    var missing: [WorkOrderDocument] = []
    for document in documents {
      if let manifest = try Self.finishedManifest(of: document), try isWhole(manifest) {
        found.append(.init(manifest: manifest, attempts: manifest.attempt, wasResumed: true))
      } else {
        missing.append(document)
      }
    }
    reporter.begin(plan, finished: found.map(\.manifest.order))
    let made = try await execute(missing) { _ in FaultPoint.coordinatorMigrating.reached() }
    return found + made
  }

  /// The manifest of an order that an earlier run completed, nil unless its shard is intact.
  static func finishedManifest(of document: WorkOrderDocument) throws -> ShardManifest? {
    guard try Files.fileStatusIfPresent(FilePath(document.manifest)) != nil else { return nil }
    let manifest: ShardManifest
    do {
      manifest = try self.manifest(of: document)
    } catch is WorkError {
      // What is not as it was written is made again.
      return nil
    }
    let shard = FilePath(document.manifest).removingLastComponent().appending(manifest.shard)
    guard try Files.fileStatusIfPresent(shard)?.size == manifest.bytes,
      manifest.engine == document.engine, try Checksum.of(file: shard) == manifest.shardChecksum
    else { return nil }
    // A full verification needs digests, which an interrupted migration may not have made.
    return manifest.digestsRows || !document.digestsRows ? manifest : nil
  }
}

extension OrderLink {
  /// Notes the end of a worker that could not report it itself.
  fileprivate func fail(_ fault: WorkerFault) {
    switch fault {
    case .reported: break
    case .exited(_, let message): if message.isEmpty { fail("") }
    case .killed(let signal): fail("", signal: signal)
    case .lost: fail("")
    }
  }
}
