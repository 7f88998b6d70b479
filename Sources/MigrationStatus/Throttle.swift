/// Keeps a stream of bytes within a rate, without a clock of its own.
package struct Throttle: Hashable, Sendable {
  /// Bytes per second, 0 for no limit.
  package private(set) var rate: UInt64 = 0
  /// When counting began, in nanoseconds, and the bytes since.
  private var since: Int64 = 0
  private var bytes: Double = 0

  /// What was not used of the rate may be used later, for at most so long, in nanoseconds.
  static let credit: Int64 = 250_000_000

  /// Creates a throttle without a limit.
  package init() {}

  /// Sets the limit, which counts from now on.
  package mutating func limit(to rate: UInt64, at now: Int64) {
    guard rate != self.rate else { return }
    (self.rate, since, bytes) = (rate, now, 0)
  }

  /// Counts bytes that have passed.
  package mutating func pass(_ count: UInt64) { bytes += Double(count) }

  /// How many of so many bytes pass within a moment: an eighth of a second.
  package func portion(of count: UInt64) -> UInt64 {
    rate == 0 ? count : min(count, max(1, rate / 8))
  }

  /// How long to wait until the rate is kept, in nanoseconds, 0 to continue.
  package mutating func delay(at now: Int64) -> Int64 {
    guard rate > 0 else { return 0 }
    let due = since.addingReportingOverflow(Int64(clamping: bytes / Double(rate) * 1e9))
    let delay = due.overflow ? Int64.max : due.partialValue - now
    if delay < -Self.credit { (since, bytes) = (now - Self.credit, 0) }
    return max(0, delay)
  }
}

extension Int64 {
  /// The nearest number to a finite one.
  fileprivate init(clamping value: Double) {
    self = value >= 9e18 ? .max : Int64(value)
  }
}
