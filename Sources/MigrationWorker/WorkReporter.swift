import MigrationStatus
import Planning
import Synchronization
import SystemCalls

/// Reports a worker's progress to the coordinator, from a thread of its own.
///
/// A coordinator that does not read blocks this thread, never the migration.
final class WorkReporter: Sendable {
  private final class State: Sendable {
    let progress: Mutex<WorkProgress>
    let rows = Atomic<UInt64>(0)
    let bytes = Atomic<UInt64>(0)
    let lastKey = Atomic<Int64>(0)
    let updates = Atomic<UInt64>(0)
    let memory = PeakMemory()

    init(_ progress: WorkProgress) {
      self.progress = Mutex(progress)
    }

    func current() -> WorkProgress {
      // Sampling the memory costs more than all the rest of an update.
      let isEighth = updates.wrappingAdd(1, ordering: .relaxed).newValue.isMultiple(of: 8)
      let peak = isEighth ? memory.sample() : memory.peak
      return progress.withLock { progress in
        progress.rows = rows.load(ordering: .relaxed)
        progress.bytes = bytes.load(ordering: .relaxed)
        progress.lastKey = lastKey.load(ordering: .relaxed)
        progress.peakMemory = max(progress.peakMemory, peak)
        return progress
      }
    }
  }

  private let state: State
  private let thread: FlushThread

  /// Starts to report from this progress on, at most ten times a second.
  ///
  /// - Parameter beat: is called on the thread before each report.
  init(
    _ progress: WorkProgress, to link: any WorkerLink, beat: @escaping @Sendable () -> Void
  ) {
    let state = State(progress)
    self.state = state
    thread = FlushThread(every: .milliseconds(100)) {
      beat()
      link.report(state.current())
    }
    thread.wake()
  }

  deinit { thread.end() }

  /// Adds migrated rows and bytes; cheap enough for each batch of rows.
  func advance(rows: UInt64, bytes: UInt64, lastKey: Int64) {
    state.rows.wrappingAdd(rows, ordering: .relaxed)
    state.bytes.wrappingAdd(bytes, ordering: .relaxed)
    state.lastKey.store(lastKey, ordering: .relaxed)
  }

  /// Changes what `advance` does not; the next report has it.
  func change(_ body: (inout WorkProgress) -> Void) { state.progress.withLock { body(&$0) } }

  /// Reports at once.
  func publish() { thread.wake() }

  /// Reports for the last time and ends the thread.
  func stop() {
    state.memory.sample()
    thread.stop(within: .seconds(5))
  }
}
