import Foundation
import MigrationCoordinator
import MigrationStatus
import MigrationWorker
import Planning
import Synchronization
import SystemCalls

// A trap here ends the coordinator, and so does a kill: what that leaves is what a kill of a
// coordinator leaves anyway. The source is as it was, and the next run begins with what is done
// (docs/crash-safety.md, "What a kill leaves").

/// Executes the orders of small plans in threads of this process, and starts worker processes for
/// all others.
///
/// Two processes take longer to start than some megabytes take to migrate. Code that is not
/// Godwit's own, that of policies, runs in processes only.
struct InsideLauncher: WorkerLauncher {
  private let processes: ProcessLauncher

  init(processes: ProcessLauncher) { self.processes = processes }

  func run(_ document: WorkOrderDocument, status: StatusFile?) async throws -> WorkerEnding {
    guard document.mayStayInside, !FaultPoint.befallsWorkers,
      let ending = await execute(document, status: status)
    else { return try await processes.run(document, status: status) }
    return ending
  }

  /// The most source bytes of an order whose progress is published when it has ended.
  private static let mostBytesUntold: Int64 = 16 << 20

  /// Executes an order in a thread; nil where the system has none left.
  ///
  /// Not a task: work that waits for a disk would hold a thread that all tasks share.
  private func execute(_ document: WorkOrderDocument, status: StatusFile?) async -> WorkerEnding? {
    let isTold = status != nil && document.order.bytes > Self.mostBytesUntold
    let worker = Worker(
      document: document, status: isTold ? status : nil, isInCoordinator: true,
      words: { MigrationFailure($0).description })
    let thread = Mutex<BackgroundThread?>(nil)
    let ending: WorkerEnding? = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let started = BackgroundThread {
          continuation.resume(
            returning: isTold
              ? Self.ending(of: worker) : Self.ending(of: worker, document, status: status))
        }
        thread.withLock { $0 = started }
        if started == nil { continuation.resume(returning: nil) }
      }
    } onCancel: {
      worker.cancel()
    }
    thread.withLock { $0 }?.join()
    return ending
  }

  private static func ending(of worker: Worker) -> WorkerEnding {
    do {
      return .made(try worker.run())
    } catch {
      let answer = GodwitWorker.answer(to: error)
      return .exited(answer.status, message: answer.message)
    }
  }

  /// Publishes the progress of an order when it has ended.
  private static func ending(
    of worker: Worker, _ document: WorkOrderDocument, status: StatusFile?
  ) -> WorkerEnding {
    let began = WallClock.now()
    let ending = ending(of: worker)
    let isDone = if case .made = ending { true } else { false }
    status?.write(part: part(of: document, began: began, isDone: isDone))
    return ending
  }

  private static func part(
    of document: WorkOrderDocument, began: Int64, isDone: Bool
  ) -> PartRecord {
    let order = document.order
    var part = PartRecord(
      workOrder: UInt32(order.number), partition: UInt32(order.partition),
      rowsTotal: UInt64(order.rows), bytesTotal: UInt64(order.bytes))
    part.attempt = UInt32(document.attempt) - 1
    part.start(process: Processes.own, processStart: 0, at: began)
    part.memoryLimit = UInt64(clamping: document.memory)
    part.heartbeatAt = WallClock.now()
    part.progressAt = part.heartbeatAt
    part.state = isDone ? .done : .failed
    if isDone { (part.rowsDone, part.bytesDone) = (part.rowsTotal, part.bytesTotal) }
    return part
  }
}
