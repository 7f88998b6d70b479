import Synchronization
import SystemCalls

/// Tells the status file how far a worker is, from a thread of its own.
///
/// A writer that another process holds up stops this thread, never the migration.
package final class PartFlusher: Sendable {
  private final class State: Sendable {
    let record: Mutex<PartRecord>
    let rows = Atomic<UInt64>(0)
    let bytes = Atomic<UInt64>(0)
    let lastKey = Atomic<Int64>(0)
    let updates = Atomic<UInt64>(0)
    let memory = PeakMemory()

    init(_ record: PartRecord) {
      self.record = Mutex(record)
      rows.store(record.rowsDone, ordering: .relaxed)
      bytes.store(record.bytesDone, ordering: .relaxed)
      lastKey.store(record.lastKey, ordering: .relaxed)
    }

    func current(dropped: UInt32) -> PartRecord {
      // To ask for the memory costs more than all the rest of an update.
      let isEighth = updates.wrappingAdd(1, ordering: .relaxed).newValue.isMultiple(of: 8)
      let (now, peak) = (WallClock.now(), isEighth ? memory.sample() : memory.peak)
      return record.withLock { record in
        let rows = rows.load(ordering: .relaxed)
        if rows != record.rowsDone { record.progressAt = now }
        record.rowsDone = rows
        record.bytesDone = bytes.load(ordering: .relaxed)
        record.bytesHighest = max(record.bytesHighest, record.bytesDone)
        record.lastKey = lastKey.load(ordering: .relaxed)
        record.heartbeatAt = now
        record.peakMemory = max(record.peakMemory, peak)
        record.droppedUpdates = dropped
        return record
      }
    }
  }

  private let state: State
  private let thread: FlushThread

  /// Begins to tell of a part that `PartRecord.start` has begun, at most ten times a second.
  package init(
    file: StatusFile, record: PartRecord, every interval: Duration = .milliseconds(200)
  ) {
    let state = State(record)
    self.state = state
    thread = FlushThread(every: interval) {
      file.write(part: state.current(dropped: file.droppedUpdates))
    }
    thread.wake()
  }

  deinit {
    thread.end()
  }

  /// Counts work done; cheap enough for each batch of rows.
  package func advance(rows: UInt64, bytes: UInt64, lastKey: Int64) {
    state.rows.wrappingAdd(rows, ordering: .relaxed)
    state.bytes.wrappingAdd(bytes, ordering: .relaxed)
    state.lastKey.store(lastKey, ordering: .relaxed)
  }

  /// Changes what is not counted, such as the state or the table; the next update tells it.
  package func change(_ body: (inout PartRecord) -> Void) {
    state.record.withLock { body(&$0) }
  }

  /// Tells the last state and ends the thread; false when it is still held up.
  @discardableResult
  package func stop(within timeout: Duration = .seconds(5)) -> Bool {
    state.memory.sample()
    return thread.stop(within: timeout)
  }
}

/// Tells the status file how far the coordinator is, from a thread of its own.
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

  package init(
    file: StatusFile, record: RunRecord, every interval: Duration = .milliseconds(200)
  ) {
    let state = State(record)
    self.state = state
    thread = FlushThread(every: interval) {
      file.write(run: state.current(dropped: file.droppedUpdates))
    }
    thread.wake()
  }

  /// The most memory that this process occupied so far, in bytes.
  package var peakMemory: UInt64 { state.memory.sample() }

  deinit {
    thread.end()
  }

  package var record: RunRecord { state.record.withLock { $0 } }

  /// Goes on to a later phase, and tells it at once.
  package func enter(_ phase: Phase, units: UInt64 = 0) {
    let now = WallClock.now()
    change { $0.enter(phase, units: units, at: now) }
  }

  /// Ends the run with a sentence and an exit status, and tells it at once.
  package func fail(_ error: String, exitStatus: Int32) {
    let now = WallClock.now()
    change { $0.fail(error, exitStatus: exitStatus, at: now) }
  }

  /// Counts units of the phase as done.
  package func advance(units: UInt64 = 1) {
    let now = WallClock.now()
    state.record.withLock { record in
      record.unitsDone = min(record.unitsTotal, sum(numbers: [record.unitsDone, units]))
      record.progressAt = now
    }
  }

  /// Changes anything else, such as totals, and tells it at once.
  package func change(_ body: (inout RunRecord) -> Void) {
    state.record.withLock { body(&$0) }
    thread.wake()
  }

  /// Tells the last state and ends the thread; false when it is still held up.
  @discardableResult
  package func stop(within timeout: Duration = .seconds(5)) -> Bool {
    thread.stop(within: timeout)
  }
}
