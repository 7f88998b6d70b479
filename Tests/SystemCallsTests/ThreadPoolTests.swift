import Foundation
import Synchronization
import Testing

@testable import SystemCalls

@Suite struct ThreadPoolTests {
  @Test(arguments: [0, 1, 2, 50], [1, 3, 40]) func `every part is done once`(
    parts: Int, threads: Int
  ) {
    let done = Mutex([Int](repeating: 0, count: parts))
    ThreadPool.share(parts, threads: threads) { part in done.withLock { $0[part] += 1 } }
    #expect(done.withLock { $0.allSatisfy { $0 == 1 } })
  }

  @Test func `parts are done beside each other, wherever the call comes from`() async {
    // Each part waits until the other one has begun, which one thread alone would wait for in vain.
    for _ in 0..<50 {
      let isDone = await Task {
        let begun = Atomic(0)
        let met = Atomic(0)
        ThreadPool.share(2, threads: 2) { _ in
          begun.add(1, ordering: .relaxed)
          let end = Date(timeIntervalSinceNow: 20)
          while begun.load(ordering: .relaxed) < 2, Date() < end {
            Thread.sleep(forTimeInterval: 0.0001)
          }
          if begun.load(ordering: .relaxed) == 2 { met.add(1, ordering: .relaxed) }
        }
        return met.load(ordering: .relaxed) == 2
      }.value
      #expect(isDone)
    }
  }

  private struct Failure: Error, Equatable { var part: Int }

  @Test func `an error ends the work, and parts begun with are waited for`() throws {
    let running = Atomic(0)
    #expect(throws: Failure(part: 20)) {
      try ThreadPool.perform(500) { part in
        running.add(1, ordering: .relaxed)
        defer { running.subtract(1, ordering: .relaxed) }
        if part == 20 { throw Failure(part: part) }
        Thread.sleep(forTimeInterval: 0.001)
      }
    }
    #expect(running.load(ordering: .relaxed) == 0)
    try ThreadPool.perform(0) { _ in throw Failure(part: 0) }
  }
}
