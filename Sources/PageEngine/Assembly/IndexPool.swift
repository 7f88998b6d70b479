import Foundation
import Synchronization
import SystemCalls

/// Runs index jobs on a few threads, the largest first.
final class IndexPool: Sendable {
  private struct State {
    var waiting: ArraySlice<IndexJob>
    var outcomes: [IndexJob.Outcome] = []
    var error: (any Error)?
  }

  private let file: PageFile
  private let pool: PagePool
  private let pointers: PointerMap
  private let bytes: Int
  private let state: Mutex<State>
  private let ended = DispatchSemaphore(value: 0)
  private let read = ReadCount()

  /// The interval between reports of what the jobs have read.
  private static let interval = DispatchTimeInterval.milliseconds(100)

  /// The most jobs at a time.
  static var mostThreads: Int { ThreadPool.mostThreads }

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

  /// Runs all jobs, and calls `each` on the calling thread with the bytes that they have read since
  /// it was called last.
  func build(_ count: Int, each: (Int64) throws -> Void) throws -> [IndexJob.Outcome] {
    guard count > 0 else { return [] }
    let threads = min(Self.mostThreads, count)
    for _ in 0..<threads { Thread { self.work(bytes: self.bytes / threads) }.start() }
    var failure: (any Error)?
    var (left, told): (Int, Int64) = (count, 0)
    while left > 0 {
      if ended.wait(timeout: .now() + Self.interval) == .success { left -= 1 }
      let bytes = read.bytes
      guard failure == nil, bytes > told else { continue }
      do { try each(bytes - told) } catch { failure = error }
      told = bytes
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
        let outcome = try job.build(file, pool: pool, pointers: pointers, bytes: bytes, read: read)
        state.withLock { $0.outcomes.append(outcome) }
      } catch {
        state.withLock { $0.error = $0.error ?? error }
      }
      ended.signal()
    }
  }
}
