import Foundation

/// Runs writes on a thread of its own, and waits for none of them for ever: a writer waits until no
/// other process writes, and a process stopped inside its transaction never ends it.
final class TimedWriter: @unchecked Sendable {
  // @unchecked: `condition` guards all that changes.
  private let condition = NSCondition()
  private var job: (@Sendable () -> Void)?
  private var isRunning = false
  private var isEnding = false
  private var hasThread = false
  private var stuck = false

  /// Whether a write did not end in time and still has not.
  var isStuck: Bool {
    condition.lock()
    defer { condition.unlock() }
    return stuck
  }

  /// Runs a write; false when it, or one before it, does not end in time, and may end later.
  func perform(within timeout: Duration, _ body: @escaping @Sendable () -> Void) -> Bool {
    let deadline = Date(timeIntervalSinceNow: timeout / .seconds(1))
    condition.lock()
    defer { condition.unlock() }
    if stuck { return false }
    startThread()
    while isRunning || job != nil {
      guard condition.wait(until: deadline) else { return giveUp() }
      if stuck { return false }
    }
    job = body
    condition.broadcast()
    while job != nil || isRunning {
      guard condition.wait(until: deadline) else { return giveUp() }
    }
    return true
  }

  private func giveUp() -> Bool {
    stuck = true
    return false
  }

  private func startThread() {
    if hasThread { return }
    hasThread = true
    let thread = Thread { [self] in
      Thread.current.name = "godwit-writer"
      work()
    }
    thread.stackSize = 512 << 10
    thread.start()
  }

  private func work() {
    condition.lock()
    while true {
      while job == nil && !isEnding { condition.wait() }
      guard let next = job else { break }
      (job, isRunning) = (nil, true)
      condition.unlock()
      next()
      condition.lock()
      // A write that ended late was not lost, and neither is the next one.
      (isRunning, stuck) = (false, false)
      condition.broadcast()
    }
    condition.unlock()
  }

  /// Lets the thread end without waiting for it.
  func end() {
    condition.lock()
    isEnding = true
    condition.broadcast()
    condition.unlock()
  }
}
