import Synchronization
import SystemCalls

/// Publishes the coordinator's progress to the status file, from a thread of its own.
package final class RunFlusher: Sendable {
  private final class State: Sendable {
    let record: Mutex<RunRecord>
    let memory = PeakMemory()

    init(_ record: RunRecord) {
      self.record = Mutex(record)
    }

    func current(dropped: UInt32) -> RunRecord {
      let (now, peak) = (WallClock.now(), memory.sample())
      return record.withLock { record in
        record.heartbeatAt = now
        record.peakMemory = max(record.peakMemory, peak)
        record.droppedUpdates = dropped
        return record
      }
    }
  }

  private let state: State
  private let thread: FlushThread

  /// Starts to publish the record, at most ten times a second.
  ///
  /// - Parameter beat: is called on the thread before each update, and returns what changes in the
  ///   record; it may take its time, the change may not.
  package init(
    file: StatusFile, record: RunRecord, every interval: Duration = .milliseconds(200),
    beat: @escaping @Sendable () -> (inout RunRecord) -> Void = { { _ in } }
  ) {
    let state = State(record)
    self.state = state
    thread = FlushThread(every: interval) {
      let change = beat()
      state.record.withLock { change(&$0) }
      file.write(run: state.current(dropped: file.droppedUpdates))
    }
    thread.wake()
  }

  /// The peak private memory of this process, in bytes.
  package var peakMemory: UInt64 { state.memory.sample() }

  deinit {
    thread.end()
  }

  /// Enters a later phase and publishes it at once.
  package func enter(_ phase: Phase, units: UInt64 = 0) {
    let now = WallClock.now()
    change { $0.enter(phase, units: units, at: now) }
  }

  /// Ends the run with an error and an exit status, and publishes them at once.
  package func fail(_ error: String, exitStatus: Int32) {
    let now = WallClock.now()
    change { $0.fail(error, exitStatus: exitStatus, at: now) }
  }

  /// Counts units of the phase as done; the next update has them.
  package func advance(units: UInt64 = 1) {
    let now = WallClock.now()
    state.record.withLock { record in
      record.unitsDone = min(record.unitsTotal, sum(numbers: [record.unitsDone, units]))
      record.progressAt = now
    }
  }

  /// Changes any other fields, such as totals, and publishes them at once.
  package func change(_ body: (inout RunRecord) -> Void) {
    state.record.withLock { body(&$0) }
    thread.wake()
  }

  /// Publishes the final state and ends the thread; false if it is still blocked after the timeout.
  @discardableResult
  package func stop(within timeout: Duration = .seconds(5)) -> Bool {
    thread.stop(within: timeout)
  }
}
