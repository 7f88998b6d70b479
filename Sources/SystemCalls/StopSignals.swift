import Dispatch

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

extension Processes {
  /// The signals that ask this process to stop, SIGINT and SIGTERM, instead of ending it.
  ///
  /// From the call on they have no other effect.
  package static func stopSignals() -> AsyncStream<Int32> {
    AsyncStream { continuation in
      let sources = [SIGINT, SIGTERM].map { number in
        signal(number, SIG_IGN)  // or the default action ends the process first
        return source(of: number, to: continuation)
      }
      continuation.onTermination = { _ in
        for source in sources { source.source.cancel() }
      }
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
    // `@Sendable` keeps the actor of whoever called out of the handler, which runs on a queue.
    source.setEventHandler { @Sendable in continuation.yield(number) }
    source.resume()
    return Source(source: source)
  }
}
