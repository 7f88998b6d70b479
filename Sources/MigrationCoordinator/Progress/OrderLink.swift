import MigrationStatus
package import Planning
import SystemCalls

/// The coordinator, as the worker of one attempt at a work order knows it.
package final class OrderLink: WorkerLink {
  private let document: WorkOrderDocument
  private let board: OrderBoard
  private let desk: ControlDesk
  private let claim: @Sendable () throws -> Int64

  init(
    _ document: WorkOrderDocument, board: OrderBoard, desk: ControlDesk,
    claim: @escaping @Sendable () throws -> Int64
  ) {
    (self.document, self.board, self.desk, self.claim) = (document, board, desk, claim)
  }

  private func change(_ body: (inout OrderRecord) -> Void) {
    board.change(document.order.number, body)
  }

  /// Records that a worker has started; `process` is the one that this machine sees of it.
  package func begin(process: Int32) {
    let now = WallClock.now()
    change { part in
      part.attempt = UInt32(document.attempt) - 1
      part.start(
        process: process, processStart: Processes.startTime(of: process) ?? 0, at: now)
      part.table = document.order.pieces.first?.destinationTable ?? ""
      part.memoryLimit = UInt64(clamping: document.memory)
    }
  }

  /// Records the progress of the worker.
  package func report(_ progress: WorkProgress) {
    let now = WallClock.now()
    change { part in
      if progress.rows != part.rowsDone { part.progressAt = now }
      part.heartbeatAt = now
      (part.rowsDone, part.bytesDone) = (progress.rows, progress.bytes)
      part.bytesHighest = max(part.bytesHighest, progress.bytes)
      (part.lastKey, part.table) = (progress.lastKey, progress.table)
      part.isPaused = progress.isPaused
      part.peakMemory = max(part.peakMemory, progress.peakMemory)
    }
  }

  /// Records why the attempt failed, and the signal that ended the worker, 0 for none.
  package func fail(_ text: String, signal: Int32 = 0) {
    change { part in
      (part.state, part.isPaused) = (.failed, false)
      if !text.isEmpty { part.error = text }
      part.exitSignal = signal
      part.heartbeatAt = WallClock.now()
    }
  }

  /// Records that the shard is complete.
  func end() {
    change { part in
      part.finish()
      (part.isPaused, part.heartbeatAt) = (false, WallClock.now())
    }
  }

  /// How fast workers may go now.
  package var pace: WorkPace { desk.pace }

  /// Reserves an extent of the result.
  ///
  /// - Throws: the failure to reserve one.
  package func claimExtent() throws -> Int64 { try claim() }
}
