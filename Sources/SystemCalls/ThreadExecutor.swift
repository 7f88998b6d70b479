/// Runs tasks on threads of its own, as many as it is given: a task that waits for a disk holds up
/// no other, as it would on the threads of the system, one for each processor.
package final class ThreadExecutor: TaskExecutor {
  private let jobs = ElementQueue<UnownedJob>(most: .max)

  /// Starts the threads, which run until the process ends; nil where the system has none left.
  package init?(threads: Int) {
    for _ in 0..<threads {
      let thread = BackgroundThread { [self, jobs] in
        while let job = jobs.take() { job.runSynchronously(on: asUnownedTaskExecutor()) }
      }
      if thread == nil { return nil }
    }
  }

  /// Adds a job, which the next free thread runs.
  package func enqueue(_ job: consuming ExecutorJob) {
    // It is never closed, and has room for any number.
    _ = jobs.give(UnownedJob(job))
  }
}
