import Foundation
import MigrationCoordinator
import MigrationStatus
import MigrationWorker
import Planning

// A trap here ends the coordinator, and so does a kill: what that leaves is what a kill of a
// coordinator leaves anyway. The source is as it was, and the next run begins with what is done
// (docs/crash-safety.md, "What a kill leaves").

/// Executes the orders of small plans in this process, and starts worker processes for all others.
///
/// A process takes longer to start than some megabytes take to migrate. Code that is not Godwit's
/// own, that of policies, runs in processes only.
struct InsideLauncher: WorkerLauncher {
  private let processes: ProcessLauncher

  /// The most source bytes of a plan that is executed here.
  private static let mostBytes: Int64 = 16 << 20

  init(processes: ProcessLauncher) { self.processes = processes }

  func run(_ document: WorkOrderDocument, status: StatusFile?) async throws -> WorkerEnding {
    guard document.planBytes <= Self.mostBytes, document.calls == nil,
      document.engine != StoreMigration.Engine.objects.name, !FaultPoint.befallsWorkers
    else { return try await processes.run(document, status: status) }
    return await withCheckedContinuation { continuation in
      // Not a task: work that waits for a disk would hold a thread that all tasks share.
      DispatchQueue.global().async {
        continuation.resume(returning: Self.execute(document, status: status))
      }
    }
  }

  private static func execute(_ document: WorkOrderDocument, status: StatusFile?) -> WorkerEnding {
    do {
      try Worker(document: document, status: status, isInCoordinator: true) {
        MigrationFailure($0).description
      }.run()
      return .done
    } catch {
      let answer = GodwitWorker.answer(to: error)
      return .exited(answer.status, message: answer.message)
    }
  }
}
