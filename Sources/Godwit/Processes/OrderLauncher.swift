import Foundation
import MigrationCoordinator
import MigrationWorker
import Planning
import Synchronization
import SystemCalls

// A trap here ends the coordinator, and so does a kill: what that leaves is what a kill of a
// coordinator leaves anyway. The source is as it was, and the next run begins with what is done
// (docs/explanation/crash-safety.md, "What a kill leaves").

/// Executes an order in a thread of this process or in a worker process, as the order requires.
struct OrderLauncher: WorkerLauncher {
  private let processes: ProcessLauncher

  init(_ resources: StoreMigration.Resources) {
    processes = ProcessLauncher(executable: resources.executable, command: resources.launcher)
  }

  func execute(_ document: WorkOrderDocument, link: OrderLink) async throws -> WorkerEnding {
    if document.usesThread, let ending = await executeInThread(document, link: link) {
      return ending
    }
    return try await processes.execute(document, link: link)
  }

  /// Executes an order in a thread; nil where the system has none left.
  ///
  /// Not a task: work that waits for a disk would hold a thread that all tasks share.
  private func executeInThread(_ document: WorkOrderDocument, link: OrderLink) async
    -> WorkerEnding?
  {
    let worker = Worker(document: document, link: link, isInCoordinator: true)
    let thread = Mutex<BackgroundThread?>(nil)
    let words = Advice.words
    let ending: WorkerEnding? = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let started = BackgroundThread {
          link.begin(process: Processes.own)
          continuation.resume(
            returning: Advice.$words.withValue(words) { Self.ending(of: worker, link: link) })
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

  private static func ending(of worker: Worker, link: OrderLink) -> WorkerEnding {
    do {
      return .made(try worker.makeShard())
    } catch {
      link.fail(error is CancellationError ? "" : MigrationFailure(error).description)
      let answer = GodwitWorker.answer(to: error)
      return WorkerEnding(exitStatus: answer.status, facts: answer.message)
    }
  }
}
