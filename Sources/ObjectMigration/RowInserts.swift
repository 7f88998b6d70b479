import Foundation
import Schema
import SystemCalls

/// Inserts rows on a thread of its own, while the next ones are made.
///
/// A connection serves one thread at a time. Whatever else wants it waits first until all rows are
/// in, which `PreparedStatement` and `PreparedStatements` see to (`settle`). Only in a transaction:
/// GRDB hears of a commit on its own thread alone.
final class RowInserts: @unchecked Sendable {
  // @unchecked: `condition` guards what both threads use. `isOut`, `thread` and `hasFailed` belong
  // to the thread that migrates. A row's statement is used by one thread until `settle` returns.

  /// A row and the statement that inserts it.
  struct Row {
    let statement: PreparedStatement
    let key: Int64
    let values: [StoredValue]
  }

  private let condition = NSCondition()
  private var waiting: [Row]?
  private var isInserting = false
  private var isEnding = false
  private var failure: (any Error)?
  /// Whether rows were given that may not be in yet.
  private(set) var isOut = false
  private var thread: BackgroundThread?
  private var hasThread = false

  /// The fewest rows that are worth another thread.
  static let fewest = 50

  /// Inserts rows, some time before `settle` returns; waits for the rows before the last ones.
  ///
  /// - Throws: what inserting earlier rows threw.
  func insert(_ rows: [Row]) throws {
    if !hasThread {
      hasThread = true
      thread = BackgroundThread { [self] in work() }
    }
    guard thread != nil else { return try Self.insert(rows) }
    condition.lock()
    while waiting != nil { condition.wait() }
    waiting = rows
    isOut = true
    condition.broadcast()
    condition.unlock()
    try check()
  }

  /// Waits until all rows are in.
  @inline(__always) func settle() {
    if isOut { wait() }
  }

  @inline(never) private func wait() {
    condition.lock()
    while waiting != nil || isInserting { condition.wait() }
    condition.unlock()
    isOut = false
  }

  /// Throws what stopped an insertion, however often it is asked.
  func check() throws {
    condition.lock()
    defer { condition.unlock() }
    if let failure { throw failure }
  }

  /// Waits until all rows are in, and ends the thread.
  func end() {
    settle()
    condition.withLock {
      isEnding = true
      condition.broadcast()
    }
    thread?.join()
    thread = nil
  }

  private func work() {
    condition.lock()
    while true {
      while waiting == nil, !isEnding { condition.wait() }
      guard let rows = waiting else { break }
      let hasFailed = failure != nil
      (waiting, isInserting) = (nil, true)
      condition.broadcast()
      condition.unlock()
      var thrown: (any Error)?
      // Nothing is written any more after an error: what failed is not lost behind what did not.
      if !hasFailed { do { try Self.insert(rows) } catch { thrown = error } }
      condition.lock()
      failure = failure ?? thrown
      isInserting = false
      condition.broadcast()
    }
    condition.unlock()
  }

  private static func insert(_ rows: [Row]) throws {
    for row in rows { try row.statement.insert(row.key, row.values) }
  }
}
