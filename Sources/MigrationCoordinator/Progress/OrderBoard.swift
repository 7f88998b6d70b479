import MigrationStatus
package import Planning
import Synchronization
import SystemCalls

/// The records of all work orders of a stage, as the status file gets them.
///
/// Workers change them by their links; one thread writes what has changed. Times are those of this
/// machine's clock, since workers may run on others.
final class OrderBoard: Sendable {
  private struct State {
    var parts: [Int: OrderRecord] = [:]
    var changed: Set<Int> = []
  }

  private let state = Mutex(State())

  /// Starts with all work orders of a plan; some may be done.
  func begin(_ plan: MigrationPlan, finished: Set<Int>) {
    state.withLock { state in
      state = State()
      for order in plan.workOrders {
        var part = OrderRecord(
          workOrder: UInt32(order.number), partition: UInt32(order.partition),
          rowsTotal: UInt64(order.rows), bytesTotal: UInt64(order.bytes))
        if finished.contains(order.number) { part.finish() }
        state.parts[order.number] = part
        state.changed.insert(order.number)
      }
    }
  }

  /// Changes the record of a work order, unless the plan has none of the number.
  func change(_ order: Int, _ body: (inout OrderRecord) -> Void) {
    state.withLock { state in
      guard var part = state.parts[order] else { return }
      body(&part)
      state.parts[order] = part
      state.changed.insert(order)
    }
  }

  /// Passes the records that have changed since the last call to a writer.
  func flush(to file: StatusFile) {
    let changed = state.withLock { state in
      defer { state.changed = [] }
      return state.changed.sorted().compactMap { state.parts[$0] }
    }
    if !changed.isEmpty { file.write(parts: changed) }
  }
}

extension OrderRecord {
  /// Sets the record to a complete work order.
  fileprivate mutating func finish() {
    state = .done
    (rowsDone, bytesDone) = (rowsTotal, bytesTotal)
  }
}

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
