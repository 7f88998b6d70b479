import Foundation
import Synchronization

/// Runs the parts of some work on a few threads of its own, which may wait for a disk.
enum ThreadPool {
  /// The most threads at a time.
  static var mostThreads: Int { min(ProcessInfo.processInfo.activeProcessorCount, 4) }

  /// As many threads as so many parts keep busy.
  static func most(of parts: Int) -> Int { max(1, min(mostThreads, parts)) }

  /// Runs every part, those with lower numbers first, and waits for all.
  ///
  /// - Throws: the first error; parts that nobody has begun with are left then.
  static func run(_ parts: Int, body: @escaping @Sendable (Int) throws -> Void) throws {
    let progress = Progress(parts: parts)
    let ended = DispatchSemaphore(value: 0)
    let threads = most(of: parts)
    for _ in 0..<threads {
      Thread {
        while let part = progress.next() {
          do { try body(part) } catch { progress.end(with: error) }
        }
        ended.signal()
      }.start()
    }
    for _ in 0..<threads { ended.wait() }
    try progress.requireDone()
  }

  private final class Progress: Sendable {
    private struct State {
      var next = 0
      var error: (any Error)?
    }

    private let parts: Int
    private let state = Mutex(State())

    init(parts: Int) { self.parts = parts }

    func next() -> Int? {
      state.withLock { state in
        guard state.next < parts, state.error == nil else { return nil }
        defer { state.next += 1 }
        return state.next
      }
    }

    func end(with error: any Error) { state.withLock { $0.error = $0.error ?? error } }

    func requireDone() throws {
      if let error = state.withLock({ $0.error }) { throw error }
    }
  }
}
