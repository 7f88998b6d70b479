import Dispatch

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

extension Processes {
  /// A stream of SIGINT and SIGTERM, which from now on do not end the process.
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
    // `@Sendable` keeps the handler, which runs on a queue, from inheriting the caller's actor.
    source.setEventHandler { @Sendable in continuation.yield(number) }
    source.resume()
    return Source(source: source)
  }
}
