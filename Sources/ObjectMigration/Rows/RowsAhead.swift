import GRDB
import Schema
import StoreFormat
import Synchronization
import SystemCalls
import SystemPackage

/// Reads the rows of one entity ahead of their use, on a thread and a connection of its own.
///
/// Only for a source, which does not change: rows read ahead are those that would be read later.
final class RowsAhead: @unchecked Sendable {
  // @unchecked: `thread` belongs only to the receiver of the rows.

  /// What is read.
  struct Order {
    let source: FilePath
    /// Gives the rows of the entity between the keys ?1 and ?2, each with its key in front.
    let sql: String
    let keys: ClosedRange<Int64>
    /// How many columns there are behind the key.
    let columns: Int
    /// The bytes that the process may occupy.
    let memory: Int64
  }

  /// A row, and the bytes of its texts and blobs.
  struct Row {
    let key: Int64
    let values: [StoredValue]
    let bytes: Int64

    init(key: Int64, values: [StoredValue]) {
      (self.key, self.values) = (key, values)
      bytes = values.reduce(0) { $0 + $1.byteCount }
    }
  }

  private let order: Order
  private let batches: ElementQueue<[Row]>
  private let failure = Mutex<(any Error)?>(nil)
  private var thread: BackgroundThread?

  /// How many batches wait at most.
  private static let mostBatches = 2

  /// Begins to read; nil where no thread can be started.
  init?(_ order: Order) {
    self.order = order
    batches = ElementQueue(
      most: Self.mostBatches, mostWeight: 2 * ObjectContext.batchBytes(memory: order.memory))
    guard let thread = BackgroundThread({ [self] in work() }) else { return nil }
    self.thread = thread
  }

  /// The next rows, in the order of their keys; nil after the last ones.
  ///
  /// - Throws: `DatabaseError` or `StoreError`, as reading threw it.
  func next() throws -> [Row]? {
    if let batch = batches.take() { return batch }
    if let failure = failure.withLock({ $0 }) { throw failure }
    return nil
  }

  /// Ends the reading, wherever it is, and closes its connection.
  func end() {
    batches.close()
    thread?.join()
    thread = nil
  }

  private func work() {
    do { try read() } catch { failure.withLock { $0 = error } }
    batches.close()
  }

  private func read() throws {
    let connection = try StoreConnection.immutable(order.source)
    try connection.run { db in
      StoreConnection.limitRows(of: db, memory: order.memory)
      try db.execute(sql: "PRAGMA cache_size = -1024")
      let statements = PreparedStatements(db)
      defer { statements.close() }
      let statement = try statements.statement(sql: order.sql)
      statement.bind(order.keys.lowerBound, at: 1)
      statement.bind(order.keys.upperBound, at: 2)
      let most = ObjectContext.batchBytes(memory: order.memory)
      var (batch, bytes): ([Row], Int64) = ([], 0)
      while try statement.step() {
        let values = statement.values(from: 1, count: order.columns)
        let row = Row(key: statement.integer(column: 0), values: values)
        batch.append(row)
        bytes += row.bytes
        guard batch.count >= ObjectContext.batchSize || bytes >= most else { continue }
        guard batches.give(batch, weight: bytes) else { return }
        (batch, bytes) = ([], 0)
      }
      if !batch.isEmpty { _ = batches.give(batch, weight: bytes) }
    }
  }
}

extension StoredValue {
  /// The bytes of a text or a blob.
  var byteCount: Int64 {
    switch self {
    case .null, .integer, .real: 0
    case .text(let text): Int64(text.utf8.count)
    case .rawText(let bytes, _), .blob(let bytes): Int64(bytes.count)
    }
  }
}
