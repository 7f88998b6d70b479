import SystemCalls

/// Decides what happens to a work order when its worker ends, without processes or clocks.
package struct WorkerLifecycle: Hashable, Sendable {
  /// How a worker ended.
  enum Ending: Hashable, Sendable {
    case done
    /// The worker reported why.
    case failed(WorkerFailure)
    case exited(Int32, String)
    case killed(Int32)
    /// The launcher ended with this exit status, and nothing is known of the worker.
    case lost(Int32, host: String?)

    /// The ending in words, for the log.
    var text: String {
      switch self {
      case .done: "done"
      case .failed(let failure): failure.sentences.joined(separator: " ")
      case .exited(let code, let message): "exit status \(code) \(message)"
      case .killed(let signal): "signal \(signal)"
      case .lost(let status, let host?): "lost on \(host), launcher status \(status)"
      case .lost(let status, nil): "never started, launcher status \(status)"
      }
    }
  }

  enum Action: Hashable, Sendable {
    case finish
    case start(attempt: Int)
    case abandon(Reason)
  }

  /// Why no further attempt is made.
  package enum Reason: Hashable, Sendable {
    /// The worker reported a failure that would recur, or the last attempt's.
    case failed(WorkerFailure)
    /// The worker ended with this exit status and output, and reported no failure.
    case exited(Int32, String)
    /// The worker was killed in the last attempt.
    case killed(signal: Int32)
    /// The launcher of the last attempt ended with this exit status, and nothing is known of the
    /// worker; the machine where it had started, nil if it had not.
    case lost(Int32, host: String?)
  }

  static let attempts = 3

  private var attempt = 0

  /// The number of the first attempt, or of the next one.
  mutating func begin() -> Int {
    attempt += 1
    return attempt
  }

  mutating func workerEnded(_ ending: Ending) -> Action {
    switch ending {
    case .done: return .finish
    // Another attempt would fail alike: the data, the disk or the order are at fault.
    case .failed(let failure) where !failure.disposition.contains(.retryable):
      return .abandon(.failed(failure))
    case .failed(let failure): return again(.failed(failure))
    case .exited(let code, let message): return again(.exited(code, message))
    case .killed(let signal): return again(.killed(signal: signal))
    case .lost(let status, let host): return again(.lost(status, host: host))
    }
  }

  private mutating func again(_ reason: Reason) -> Action {
    attempt < Self.attempts ? .start(attempt: begin()) : .abandon(reason)
  }
}
