import CSystemShims
import Dispatch

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The handler of stop signals, as long as it exists.
package final class StopSignals: @unchecked Sendable {
  // @unchecked: Dispatch sources may be cancelled from any thread.
  private let sources: [any DispatchSourceSignal]

  fileprivate init(_ numbers: [Int32], _ body: @escaping @Sendable (Int32) -> Void) {
    let registered = DispatchSemaphore(value: 0)
    sources = numbers.map { number in
      signal(number, SIG_IGN)  // or the default action ends the process first
      // A queue of its own has a thread of its own: those that all tasks share are as many as
      // processors, and one of them waits here.
      let queue = DispatchQueue(label: "signal \(number)")
      let source = DispatchSource.makeSignalSource(signal: number, queue: queue)
      source.setEventHandler { @Sendable in body(number) }
      source.setRegistrationHandler { @Sendable in registered.signal() }
      source.resume()
      return source
    }
    // A signal that comes before Dispatch listens has no effect; a busy machine takes its time.
    let patience = DispatchTime.now() + 1
    for _ in numbers { _ = registered.wait(timeout: patience) }
  }

  /// Lets signals have no effect at all from now on.
  package func forget() { for source in sources { source.cancel() } }
}

extension Processes {
  /// Calls a block, on a thread of its own, when a signal requests this process to stop, instead of
  /// ending it: SIGINT, SIGTERM, SIGQUIT, and SIGHUP, which comes when its terminal is closed.
  ///
  /// From the call on they have no other effect. What the process was started to ignore, as nohup
  /// has it, stays ignored.
  package static func whenAskedToStop(_ body: @escaping @Sendable () -> Void) -> StopSignals {
    let asked = [SIGHUP, SIGQUIT].filter { csystem_ignores_signal($0) != 1 }
    return StopSignals([SIGINT, SIGTERM] + asked) { _ in body() }
  }

  /// Calls a block before a signal ends or stops this process, as it would have without, and
  /// another one when the process continues after a stop.
  ///
  /// The signals are those of `whenAskedToStop` and SIGTSTP, which is Ctrl-Z.
  package static func aroundSignals(
    leaving: @escaping @Sendable () -> Void, returning: @escaping @Sendable () -> Void
  ) -> StopSignals {
    let ends = [SIGINT, SIGTERM, SIGHUP, SIGQUIT].filter { csystem_ignores_signal($0) != 1 }
    let stops = csystem_ignores_signal(SIGTSTP) == 1 ? [] : [SIGTSTP]
    return StopSignals(ends + stops) { number in
      leaving()
      if number == SIGTSTP {
        _ = csystem_stop_here()
        returning()
      } else {
        _ = csystem_end_by_signal(number)
      }
    }
  }

  /// Leaves it to the parent to end this process: a terminal signals all processes at once.
  package static func leaveStoppingToParent() throws(SystemCallError) {
    for number in [SIGINT, SIGHUP, SIGQUIT] {
      try check(csystem_ignore_signal(number), operation: .ignoreSignal, path: nil)
    }
  }
}
