import Foundation

/// A thread that flushes at an interval, and when woken: at once, unless it has just flushed.
///
/// A thread and not a task: two busy tasks were measured to delay a beat of 50 ms by 2 s on a pool
/// of two threads, and a flush may block, which must not take a thread of the pool.
package final class FlushThread: @unchecked Sendable {
  // @unchecked: `condition` guards all that changes.
  private let condition = NSCondition()
  private var isWoken = false
  private var isStopping = false
  private var hasEnded = false

  /// The least seconds between two flushes: what happens within an instant is seen at its end.
  private static let leastGap = 0.02

  /// Starts the thread; `flush` runs on it alone.
  package init(every interval: Duration, flush: @escaping @Sendable () -> Void) {
    precondition(interval >= .milliseconds(100), "faster is of no use and wears on writers")
    let seconds = interval / .seconds(1)
    let thread = Thread { [self] in
      // Only a thread that runs has a name that the system knows.
      Thread.current.name = "godwit-status"
      flushUntilStopped(every: seconds, flush: flush)
    }
    thread.stackSize = 512 << 10
    thread.start()
  }

  private func flushUntilStopped(every seconds: Double, flush: () -> Void) {
    condition.lock()
    while true {
      if !isWoken && !isStopping {
        _ = condition.wait(until: Date(timeIntervalSinceNow: seconds))
      }
      isWoken = false
      let isLast = isStopping
      condition.unlock()
      flush()
      condition.lock()
      if isLast { break }
      let next = Date(timeIntervalSinceNow: Self.leastGap)
      while !isStopping, condition.wait(until: next) {}
    }
    hasEnded = true
    condition.broadcast()
    condition.unlock()
  }

  /// Flushes as soon as it may, instead of at the end of the interval.
  package func wake() {
    condition.lock()
    isWoken = true
    condition.signal()
    condition.unlock()
  }

  /// Ends the thread after one more flush, without waiting for it.
  package func end() {
    condition.lock()
    isStopping = true
    condition.broadcast()
    condition.unlock()
  }

  /// Ends the thread after one more flush; false if it has not ended within the timeout.
  @discardableResult
  package func stop(within timeout: Duration) -> Bool {
    let deadline = Date(timeIntervalSinceNow: timeout / .seconds(1))
    end()
    condition.lock()
    defer { condition.unlock() }
    while !hasEnded {
      if !condition.wait(until: deadline) { return hasEnded }
    }
    return true
  }
}
