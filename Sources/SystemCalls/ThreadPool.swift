import CSystemShims
import Foundation
import Synchronization

/// Runs the parts of some work on a few threads at a time, which may wait for a disk.
///
/// `DispatchQueue.concurrentPerform` takes its threads from a pool that has one for each processor,
/// and runs part after part where others hold them.
package enum ThreadPool {
  /// How many processors the process may use, as it was at the first request: another request takes
  /// longer than migrating a hundred rows.
  package static let processors = ProcessInfo.processInfo.activeProcessorCount

  /// The most threads at a time.
  package static var mostThreads: Int { min(processors, 4) }

  /// As many threads as so many parts keep busy.
  package static func most(of parts: Int) -> Int { max(1, min(mostThreads, parts)) }

  /// Runs every part, those with lower numbers first, and waits for all.
  ///
  /// - Parameter threads: the maximum at a time, including the present one; by default
  ///   `mostThreads`, and 16 at most. Fewer do it where no more can be started.
  package static func share(
    _ parts: Int, threads: Int? = nil, body: @Sendable (Int) -> Void
  ) {
    withoutActuallyEscaping(body) { body in
      let work = Work(parts: parts, body: body)
      withExtendedLifetime(work) {
        csystem_on_threads(
          Int32(clamping: min(threads ?? mostThreads, parts)), ThreadPool.work,
          Unmanaged.passUnretained(work).toOpaque())
      }
    }
  }

  /// Runs every part, those with lower numbers first, and waits for all.
  ///
  /// - Throws: the first error; parts that no thread has started are left then.
  package static func perform(_ parts: Int, body: @Sendable (Int) throws -> Void) throws {
    let failure = Mutex<(any Error)?>(nil)
    share(parts) { part in
      guard failure.withLock({ $0 == nil }) else { return }
      do { try body(part) } catch { failure.withLock { $0 = $0 ?? error } }
    }
    if let error = failure.withLock({ $0 }) { throw error }
  }

  private static let work: @convention(c) (UnsafeMutableRawPointer?) -> Void = { work in
    guard let work else { return }
    Unmanaged<Work>.fromOpaque(work).takeUnretainedValue().takeParts()
  }

  private final class Work: Sendable {
    private let parts: Int
    private let body: @Sendable (Int) -> Void
    private let next = Atomic(0)

    init(parts: Int, body: @escaping @Sendable (Int) -> Void) {
      (self.parts, self.body) = (parts, body)
    }

    func takeParts() {
      while true {
        let part = next.add(1, ordering: .relaxed).oldValue
        if part >= parts { return }
        body(part)
      }
    }
  }
}
