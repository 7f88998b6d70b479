import Dispatch
import Schema
import Synchronization
import SystemCalls

/// Inserts rows on a thread of its own, while the next ones are made.
///
/// A connection serves one thread at a time. Whatever else wants it waits first until all rows are
/// in, which `PreparedStatement` and `PreparedStatements` see to (`finish`). Only in a transaction:
/// GRDB hears of a commit on its own thread alone.
final class RowInserts: @unchecked Sendable {
  // @unchecked: `out` and `thread` belong to the thread that migrates. A row's statement is used by
  // one thread until `finish` returns.

  /// A row and the statement that inserts it.
  struct Row {
    let statement: PreparedStatement
    let key: Int64
    let values: [StoredValue]
  }

  private let batches = ElementQueue<[Row]>(most: 1)
  private let done = DispatchSemaphore(value: 0)
  private let failure = Mutex<(any Error)?>(nil)
  /// How many batches were given whose end was not waited for.
  private var out = 0
  private var thread: BackgroundThread?
  private var hasThread = false

  /// The fewest rows that are worth another thread.
  static let fewest = 50

  /// Inserts rows, some time before `finish` returns; waits for the rows before the last ones.
  ///
  /// - Throws: what inserting earlier rows threw.
  func insert(_ rows: [Row]) throws {
    if !hasThread {
      hasThread = true
      thread = BackgroundThread { [self] in work() }
    }
    guard thread != nil, batches.give(rows) else { return try Self.insert(rows) }
    out += 1
    try check()
  }

  /// Waits until all rows are in.
  @inline(__always) func finish() {
    if out > 0 { wait() }
  }

  @inline(never) private func wait() {
    for _ in 0..<out { done.wait() }
    out = 0
  }

  /// Throws the error that stopped an insertion, at every call.
  func check() throws {
    if let failure = failure.withLock({ $0 }) { throw failure }
  }

  /// Waits until all rows are in, and ends the thread.
  func end() {
    finish()
    batches.close()
    thread?.join()
    thread = nil
  }

  private func work() {
    while let rows = batches.take() {
      do {
        // Nothing is written any more after an error: what failed is not lost behind what did not.
        try check()
        try Self.insert(rows)
      } catch {
        failure.withLock { $0 = error }
      }
      done.signal()
    }
  }

  private static func insert(_ rows: [Row]) throws {
    for row in rows { try row.statement.insert(row.key, row.values) }
  }
}
