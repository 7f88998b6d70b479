import Foundation
import MigrationCoordinator
import MigrationStatus
import MigrationWorker
import Planning
import SystemCalls

// A trap here ends the coordinator, and so does a kill: what that leaves is what a kill of a
// coordinator leaves anyway. The source is as it was, and the next run begins with what is done
// (docs/crash-safety.md, "What a kill leaves").

/// Executes the orders of small plans in this process, and starts worker processes for all others.
///
/// A process takes longer to start than some megabytes take to migrate. Code that is not Godwit's
/// own, that of policies, runs in processes only.
struct InsideLauncher: WorkerLauncher {
  private let processes: ProcessLauncher

  init(processes: ProcessLauncher) { self.processes = processes }

  func run(_ document: WorkOrderDocument, status: StatusFile?) async throws -> WorkerEnding {
    guard document.planBytes <= PartitionPlanner.mostBytesInside, document.calls == nil,
      document.engine != StoreMigration.Engine.objects.name, !FaultPoint.befallsWorkers
    else { return try await processes.run(document, status: status) }
    return await withCheckedContinuation { continuation in
      // Not a task: work that waits for a disk would hold a thread that all tasks share.
      DispatchQueue.global().async {
        continuation.resume(returning: Self.execute(document, status: status))
      }
    }
  }

  /// Executes an order, whose progress is published when it has ended.
  private static func execute(_ document: WorkOrderDocument, status: StatusFile?) -> WorkerEnding {
    let began = WallClock.now()
    let ending: WorkerEnding
    do {
      try Worker(document: document, status: nil, isInCoordinator: true).run()
      ending = .done
    } catch {
      let answer = GodwitWorker.answer(to: error)
      ending = .exited(answer.status, message: answer.message)
    }
    status?.write(part: part(of: document, began: began, isDone: ending == .done))
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
