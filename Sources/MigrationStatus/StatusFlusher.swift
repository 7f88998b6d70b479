import Synchronization
import SystemCalls

/// Publishes a worker's progress to the status file, from a thread of its own.
///
/// A write lock that another process holds blocks this thread, never the migration.
package final class PartFlusher: Sendable {
  private final class State: Sendable {
    let record: Mutex<PartRecord>
    let rows = Atomic<UInt64>(0)
    let bytes = Atomic<UInt64>(0)
    let lastKey = Atomic<Int64>(0)
    let updates = Atomic<UInt64>(0)
    /// Nil where the process is not the worker's alone.
    let memory: PeakMemory?

    init(_ record: PartRecord, memory: PeakMemory?) {
      self.record = Mutex(record)
      self.memory = memory
      rows.store(record.rowsDone, ordering: .relaxed)
      bytes.store(record.bytesDone, ordering: .relaxed)
      lastKey.store(record.lastKey, ordering: .relaxed)
    }

    func current(dropped: UInt32) -> PartRecord {
      // Sampling the memory costs more than all the rest of an update.
      let isEighth = updates.wrappingAdd(1, ordering: .relaxed).newValue.isMultiple(of: 8)
      let (now, peak) = (WallClock.now(), isEighth ? memory?.sample() : memory?.peak)
      return record.withLock { record in
        let rows = rows.load(ordering: .relaxed)
        if rows != record.rowsDone { record.progressAt = now }
        record.rowsDone = rows
        record.bytesDone = bytes.load(ordering: .relaxed)
        record.bytesHighest = max(record.bytesHighest, record.bytesDone)
        record.lastKey = lastKey.load(ordering: .relaxed)
        record.heartbeatAt = now
        record.peakMemory = max(record.peakMemory, peak ?? 0)
        record.droppedUpdates = dropped
        return record
      }
    }
  }

  private let state: State
  private let thread: FlushThread

  /// Starts to publish a part that `PartRecord.start` has begun, at most ten times a second.
  ///
  /// - Parameters:
  ///   - measuresMemory: whether the memory of the process is the worker's.
  ///   - beat: is called on the thread before each update.
  package init(
    file: StatusFile, record: PartRecord, every interval: Duration = .milliseconds(200),
    measuresMemory: Bool = true, beat: @escaping @Sendable () -> Void = {}
  ) {
    let state = State(record, memory: measuresMemory ? PeakMemory() : nil)
    self.state = state
    thread = FlushThread(every: interval) {
      beat()
      file.write(part: state.current(dropped: file.droppedUpdates))
    }
    thread.wake()
  }

  deinit {
    thread.end()
  }

  /// Adds migrated rows and bytes; cheap enough for each batch of rows.
  package func advance(rows: UInt64, bytes: UInt64, lastKey: Int64) {
    state.rows.wrappingAdd(rows, ordering: .relaxed)
    state.bytes.wrappingAdd(bytes, ordering: .relaxed)
    state.lastKey.store(lastKey, ordering: .relaxed)
  }

  /// Changes fields that `advance` does not, such as the state or the table; the next update has
  /// them.
  package func change(_ body: (inout PartRecord) -> Void) {
    state.record.withLock { body(&$0) }
  }

  /// Publishes what has changed at once.
  package func publish() { thread.wake() }

  /// Publishes the final state and ends the thread; false if it is still blocked after the timeout.
  @discardableResult
  package func stop(within timeout: Duration = .seconds(5)) -> Bool {
    state.memory?.sample()
    return thread.stop(within: timeout)
  }
}

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

  /// The record as it will be published next.
  package var record: RunRecord { state.record.withLock { $0 } }

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
