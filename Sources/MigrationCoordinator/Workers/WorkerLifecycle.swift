import SystemCalls

/// Decides whether a work order whose worker failed gets another attempt, without processes or
/// clocks.
struct WorkerLifecycle {
  static let attempts = 3

  private var attempt = 0

  /// The number of the first attempt, or of the next one.
  mutating func begin() -> Int {
    attempt += 1
    return attempt
  }

  /// The number of the next attempt; nil if there is none.
  mutating func attempt(after fault: WorkerFault) -> Int? {
    // Another attempt would fail alike: the data, the disk or the order are at fault.
    if case .reported(let failure) = fault, !failure.disposition.contains(.retryable) { return nil }
    return attempt < Self.attempts ? begin() : nil
  }
}
