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
    change { record in
      record.attempt = UInt32(document.attempt) - 1
      record.start(
        process: process, processStart: Processes.startTime(of: process) ?? 0, at: now)
      record.table = document.order.pieces.first?.destinationTable ?? ""
      record.memoryLimit = UInt64(clamping: document.memory)
    }
  }

  /// Records the progress of the worker.
  package func report(_ progress: WorkProgress) {
    let now = WallClock.now()
    change { record in
      if progress.rows != record.rowsDone { record.progressAt = now }
      record.heartbeatAt = now
      (record.rowsDone, record.bytesDone) = (progress.rows, progress.bytes)
      record.bytesHighest = max(record.bytesHighest, progress.bytes)
      (record.lastKey, record.table) = (progress.lastKey, progress.table)
      record.isPaused = progress.isPaused
      record.peakMemory = max(record.peakMemory, progress.peakMemory)
    }
  }

  /// Records why the attempt failed, and the signal that ended the worker, 0 for none.
  package func fail(_ text: String, signal: Int32 = 0) {
    change { record in
      (record.state, record.isPaused) = (.failed, false)
      if !text.isEmpty { record.error = text }
      record.exitSignal = signal
      record.heartbeatAt = WallClock.now()
    }
  }

  /// Records that the shard is complete.
  func end() {
    change { record in
      record.finish()
      (record.isPaused, record.heartbeatAt) = (false, WallClock.now())
    }
  }

  /// How fast workers may go now.
  package var pace: WorkPace { desk.pace }

  /// Reserves an extent of the result.
  ///
  /// - Throws: the failure to reserve one.
  package func claimExtent() throws -> Int64 { try claim() }
}
