import Foundation
import MigrationStatus
import SystemCalls

// (1) A worker stands still only while the run's record says so and its coordinator is there to
//     take it back: a record that is old holds nobody, unless a signal has stopped the coordinator.
// (2) A file that cannot be read holds nobody.

/// Lets a worker pass as fast as the run may go.
final class WorkerGate: @unchecked Sendable {
  // @unchecked: `condition` guards all that changes.
  private let condition = NSCondition()
  private var isHeld = false
  private var isClosed = false
  private var throttle = Throttle()

  /// Records of this age, in nanoseconds, hold nobody: the coordinator cannot write any more.
  private static let trustedAge: Int64 = 5_000_000_000

  /// Looks at what the coordinator says, from the thread that publishes the progress.
  func look(at file: StatusFile) {
    let run = try? file.run()
    condition.lock()
    defer { condition.unlock() }
    isHeld = run.map { Self.holds($0, at: WallClock.now()) } ?? false
    throttle.limit(to: run?.workerRate ?? 0, at: MonotonicClock.now())
    condition.broadcast()
  }

  private static func holds(_ run: RunRecord, at now: Int64) -> Bool {
    guard run.phase.isWorking else { return false }
    if Processes.presence(run.coordinator, startTime: run.coordinatorStart) == .stopped {
      return true
    }
    return run.hold != .none && (now - run.heartbeatAt).magnitude < trustedAge.magnitude
  }

  /// Lets nobody pass any more.
  func close() {
    condition.lock()
    isClosed = true
    condition.broadcast()
    condition.unlock()
  }

  /// How many of so many bytes the run may read in a moment.
  func portion(of bytes: UInt64) -> UInt64 {
    condition.withLock { throttle.portion(of: bytes) }
  }

  /// Counts bytes that were read, and waits as long as the run is held or too fast.
  ///
  /// - Parameter waiting: is called with true before a wait because the run is held, and with false
  ///   after it.
  /// - Throws: `CancellationError` once the gate is closed.
  func pass(_ bytes: UInt64, waiting: (Bool) -> Void) throws(CancellationError) {
    condition.lock()
    defer { condition.unlock() }
    throttle.pass(bytes)
    var isWaiting = false
    while true {
      if isClosed { throw CancellationError() }
      if isHeld != isWaiting {
        isWaiting = isHeld
        condition.unlock()
        waiting(isWaiting)
        condition.lock()
        continue
      }
      if isHeld {
        condition.wait()
        continue
      }
      let delay = throttle.delay(at: MonotonicClock.now())
      guard delay > 0 else { return }
      // A new limit counts at once.
      _ = condition.wait(until: Date(timeIntervalSinceNow: min(0.2, Double(delay) / 1e9)))
    }
  }
}
