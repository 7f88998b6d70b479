import Foundation
import MigrationStatus
import Planning
import SystemCalls

/// Lets a worker pass as fast as the run may go.
final class WorkerGate: @unchecked Sendable {
  // @unchecked: `condition` guards all that changes.
  private let condition = NSCondition()
  private var isHeld = false
  private var isClosed = false
  private var throttle = Throttle()

  /// Follows messages of the coordinator, from the thread that reports the progress.
  func follow(_ pace: WorkPace) {
    condition.lock()
    defer { condition.unlock() }
    isHeld = pace.isHeld
    throttle.limit(to: pace.rate, at: MonotonicClock.now())
    condition.broadcast()
  }

  /// Lets no worker pass any more.
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
