import CSystemShims
import Dispatch

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

extension Processes {
  /// The signals that ask this process to stop instead of ending it: SIGINT, SIGTERM, SIGQUIT, and
  /// SIGHUP, which comes when its terminal is closed.
  ///
  /// From the call on they have no other effect. What the process was started to ignore, as nohup
  /// has it, stays ignored.
  package static func stopSignals() -> AsyncStream<Int32> {
    AsyncStream { continuation in
      let asked = [SIGHUP, SIGQUIT].filter { csystem_ignores_signal($0) != 1 }
      let sources = ([SIGINT, SIGTERM] + asked).map { number in
        signal(number, SIG_IGN)  // or the default action ends the process first
        return source(of: number, to: continuation)
      }
      continuation.onTermination = { _ in
        for source in sources { source.source.cancel() }
      }
    }
  }

  /// Leaves it to the parent to end this process: a terminal tells all processes at once.
  package static func leaveStoppingToParent() throws(SystemCallError) {
    for number in [SIGINT, SIGHUP, SIGQUIT] {
      try check(csystem_ignore_signal(number), operation: .ignoreSignal, path: nil)
    }
  }

  private struct Source: @unchecked Sendable {
    // @unchecked: Dispatch sources may be cancelled from any thread.
    var source: any DispatchSourceSignal
  }

  private static func source(
    of number: Int32, to continuation: AsyncStream<Int32>.Continuation
  ) -> Source {
    let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
    // `@Sendable` keeps the handler, which runs on a queue, from inheriting the caller's actor.
    source.setEventHandler { @Sendable in continuation.yield(number) }
    source.resume()
    return Source(source: source)
  }
}
