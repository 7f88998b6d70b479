import Foundation
import MigrationCoordinator
import MigrationWorker
import Planning

/// Executes small work orders in this process, and starts worker processes for all others.
///
/// A process takes longer to start than a megabyte takes to migrate. Only what is thrown away
/// afterwards is made so, or what would start hundreds of them: a worker of its own is what a run
/// survives.
struct InsideLauncher: WorkerLauncher {
  private let processes: ProcessLauncher

  /// The most source bytes of an order that is executed here.
  private static let mostBytes: Int64 = 1 << 20

  init(processes: ProcessLauncher) { self.processes = processes }

  func run(_ document: WorkOrderDocument) async throws -> WorkerEnding {
    guard document.engine == StoreMigration.Engine.sql.name, document.order.bytes <= Self.mostBytes,
      document.calls == nil
    else { return try await processes.run(document) }
    return await withCheckedContinuation { continuation in
      // Not a task: work that waits for a disk would hold a thread that all tasks share.
      DispatchQueue.global().async { continuation.resume(returning: Self.execute(document)) }
    }
  }

  private static func execute(_ document: WorkOrderDocument) -> WorkerEnding {
    do {
      // The coordinator has the status file open, and one process must not open it twice.
      try Worker(document: document, status: nil).run()
      return .done
    } catch {
      let answer = GodwitWorker.answer(to: error)
      return .exited(answer.status, message: answer.message)
    }
  }
}
