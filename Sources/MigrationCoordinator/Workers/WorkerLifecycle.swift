/// Decides what becomes of a work order when its worker ends; knows no process and no clock.
struct WorkerLifecycle: Hashable, Sendable {
  /// How a worker ended.
  enum Ending: Hashable, Sendable {
    case done
    /// Another attempt would fail alike: the data or the order are at fault.
    case refused(String)
    case exited(Int32, String)
    case killed(Int32)
  }

  enum Action: Hashable, Sendable {
    case finish
    case start(attempt: Int)
    case abandon(reason: String)
  }

  static let attempts = 3

  private var attempt = 0

  /// The first attempt, or the one after an ending.
  mutating func begin() -> Int {
    attempt += 1
    return attempt
  }

  mutating func workerEnded(_ ending: Ending) -> Action {
    switch ending {
    case .done: return .finish
    case .refused(let reason): return .abandon(reason: reason)
    case .exited(let code, let reason):
      return again(reason.isEmpty ? "its worker ended with exit status \(code)" : reason)
    case .killed(let signal): return again("its worker was ended by signal \(signal)")
    }
  }

  private mutating func again(_ reason: String) -> Action {
    attempt < Self.attempts ? .start(attempt: begin()) : .abandon(reason: reason)
  }
}
