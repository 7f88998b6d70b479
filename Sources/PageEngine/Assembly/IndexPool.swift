import Foundation
import Synchronization

/// Runs index jobs on a few threads, the largest first.
final class IndexPool: Sendable {
  private struct State {
    var waiting: ArraySlice<IndexJob>
    var outcomes: [IndexJob.Outcome] = []
    /// The bytes of jobs that have ended, and of which nobody has been told.
    var untold: [Int64] = []
    var error: (any Error)?
  }

  private let file: PageFile
  private let pool: PagePool
  private let pointers: PointerMap
  private let bytes: Int
  private let state: Mutex<State>
  private let ended = DispatchSemaphore(value: 0)

  /// The most jobs at a time.
  static var mostThreads: Int { min(ProcessInfo.processInfo.activeProcessorCount, 4) }

  /// Takes the bytes that the reading of all jobs may keep in memory.
  init(
    jobs: [IndexJob], file: PageFile, pool: PagePool, pointers: PointerMap, bytes: Int
  ) {
    self.file = file
    self.pool = pool
    self.pointers = pointers
    self.bytes = bytes
    state = Mutex(State(waiting: jobs.sorted { $0.size > $1.size }[...]))
  }

  /// Runs all jobs, and calls `each` once for every one with its bytes, on the calling thread.
  func run(_ count: Int, each: (Int64) throws -> Void) throws -> [IndexJob.Outcome] {
    let threads = max(1, min(Self.mostThreads, count))
    for _ in 0..<threads { Thread { self.work(bytes: self.bytes / threads) }.start() }
    var failure: (any Error)?
    for _ in 0..<count {
      ended.wait()
      let bytes = state.withLock { $0.untold.removeLast() }
      do { if failure == nil { try each(bytes) } } catch { failure = error }
    }
    if let failure { throw failure }
    return try state.withLock { state in
      if let error = state.error { throw error }
      return state.outcomes
    }
  }

  private func work(bytes: Int) {
    while let job = state.withLock({ $0.waiting.popFirst() }) {
      do {
        let outcome = try job.run(file, pool: pool, pointers: pointers, bytes: bytes)
        state.withLock { $0.outcomes.append(outcome) }
      } catch {
        state.withLock { $0.error = $0.error ?? error }
      }
      state.withLock { $0.untold.append(job.bytes) }
      ended.signal()
    }
  }
}
