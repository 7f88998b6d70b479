package import Planning
import Synchronization

/// A coordinator that remembers what a worker reports, and sets a pace.
package final class GivenLink: WorkerLink {
  package let pace: WorkPace
  private let told = Mutex<[WorkProgress]>([])
  private let claimed = Mutex<Int64>(0)

  /// Takes the pace of the worker.
  package init(pace: WorkPace = WorkPace()) { self.pace = pace }

  /// All reports, the latest last.
  package var reports: [WorkProgress] { told.withLock(\.self) }

  /// Remembers a report.
  package func report(_ progress: WorkProgress) { told.withLock { $0.append(progress) } }

  /// Returns 0, then 1 and so on.
  package func claimExtent() -> Int64 {
    claimed.withLock { claimed in
      defer { claimed += 1 }
      return claimed
    }
  }
}
