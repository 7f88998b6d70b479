import Synchronization
import SystemCalls

/// A pass over a table by ranges of its keys, for a large table on all processors with a reader
/// each.
///
/// Findings are taken in key order, and so is the first error, whichever reader was faster.
package struct SharedScan: Sendable {
  /// Ranges that follow one another; together they have every key.
  package let ranges: [ClosedRange<Int64>]
  /// The number of readers at a time.
  package let readers: Int
  /// The table that is read, where its passes are reported.
  var table: String?

  /// Uses consecutive ranges, and the number of readers at a time.
  package init(ranges: [ClosedRange<Int64>], readers: Int) {
    (self.ranges, self.readers) = (ranges, max(1, min(readers, ranges.count)))
  }

  /// Uses the runs of a table's outline, and the number of readers at a time.
  init(_ runs: [TableOutline.Run], readers: Int) {
    var ranges: [ClosedRange<Int64>] = []
    var first = Int64.min
    for run in runs where run.lastKey < .max {
      ranges.append(first...run.lastKey)
      first = run.lastKey + 1
    }
    self.init(ranges: ranges + [first...Int64.max], readers: readers)
  }

  /// One range of all keys.
  package static let whole = SharedScan(ranges: [.min ... .max], readers: 1)

  /// The maximum number of ranges read ahead of the one whose findings are taken next.
  private static let mostAhead = 64

  /// Reads all ranges.
  ///
  /// - Parameters:
  ///   - open: opens the readers; each is used by one thread at a time.
  ///   - look: reads a range with a reader, and returns the findings in order.
  ///   - take: called with each finding, one at a time, on any thread.
  /// - Throws: the error that comes first in the order of keys.
  package func read<Reader, Found: Sendable>(
    with open: [Reader],
    look: @escaping (Reader, ClosedRange<Int64>, _ found: (Found) throws -> Void) throws -> Void,
    take: (Found) throws -> Void
  ) throws {
    let report = table == nil ? nil : TableReading.report
    let done = Atomic(0)
    for start in stride(from: 0, to: ranges.count, by: Self.mostAhead) {
      let order = RangeOrder<Found>(ranges: start..<min(start + Self.mostAhead, ranges.count))
      func work(_ number: Int) {
        while let range = order.claim() {
          var failure: (any Error)?
          do {
            try look(open[number], ranges[range]) { try order.add($0, of: range, take: take) }
          } catch {
            failure = error
          }
          order.end(range, failure: failure, take: take)
          let count = done.add(1, ordering: .relaxed).newValue
          report?(TableReading(table: table ?? "", share: Double(count) / Double(ranges.count)))
        }
      }
      if open.count == 1 {
        work(0)
      } else {
        withoutActuallyEscaping(work) { work in
          // Safe: a reader is used under its own number, `take` under the lock of the order, and
          // all have ended when this returns.
          nonisolated(unsafe) let work = work
          ThreadPool.share(open.count, threads: open.count) { work($0) }
        }
      }
      try order.requireDone()
    }
  }
}

/// Puts what several threads find into the order of ranges.
private final class RangeOrder<Found: Sendable>: Sendable {
  private struct State {
    /// The next range that no reader has.
    var unclaimed: Int
    /// The range whose findings are taken as they come.
    var current: Int
    /// What was found in those behind it.
    var waiting: [Int: [Found]] = [:]
    /// Ranges that were read, with the error of each.
    var ended: [Int: (any Error)?] = [:]
    /// What went wrong first.
    var failure: (any Error)?
  }

  private let end: Int
  private let state: Mutex<State>
  /// Something other than the range that is current has failed already.
  private struct Ended: Error {}

  init(ranges: Range<Int>) {
    end = ranges.upperBound
    state = Mutex(State(unclaimed: ranges.lowerBound, current: ranges.lowerBound))
  }

  /// The next range to read; nil if none is left, or an earlier one failed.
  func claim() -> Int? {
    state.withLock { state in
      // Those before one that failed were claimed before it.
      guard state.unclaimed < end, state.failure == nil,
        !state.ended.values.contains(where: { $0 != nil })
      else { return nil }
      defer { state.unclaimed += 1 }
      return state.unclaimed
    }
  }

  /// Takes what was found in a range, or keeps it until those before it have ended.
  func add(_ found: Found, of range: Int, take: (Found) throws -> Void) throws {
    try state.withLock { state in
      if state.failure != nil { throw Ended() }
      if range == state.current {
        try take(found)
      } else {
        state.waiting[range, default: []].append(found)
      }
    }
  }

  /// Ends a range, and takes what was found in those that it kept waiting.
  func end(_ range: Int, failure: (any Error)?, take: (Found) throws -> Void) {
    state.withLock { state in
      state.ended[range] = .some(failure)
      while state.failure == nil, let ended = state.ended.removeValue(forKey: state.current) {
        state.failure = ended
        guard ended == nil else { break }
        state.current += 1
        do {
          for found in state.waiting.removeValue(forKey: state.current) ?? [] { try take(found) }
        } catch {
          state.failure = error
        }
      }
    }
  }

  func requireDone() throws {
    if let failure = state.withLock({ $0.failure }) { throw failure }
  }
}
