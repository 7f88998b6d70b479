/// The progress of one work order, stored in table `part` under the order's number.
///
/// The worker that executes the order writes it; while there is none, the coordinator does.
package struct OrderRecord: Hashable, Sendable {
  /// The first field of every record, by which a reader rejects layouts that it does not know.
  package static let version: UInt32 = 3
  /// Bytes of an encoded record.
  package static let size = 384
  /// Bytes of the field `table`, which cuts longer names between two characters.
  package static let tableSize = 48
  /// Bytes of the field `error`, which cuts longer texts between two characters.
  package static let errorSize = 196

  /// The states of a work order, with the numbers that the file stores.
  package enum State: UInt32, CaseIterable, Sendable {
    /// No worker has started on it.
    case planned = 1
    /// A worker is executing it, its shard is complete, or its last attempt failed.
    case running, done, failed
  }

  /// The order's number in the plan, which is also the record's key.
  package var workOrder: UInt32
  /// The number of the partition from which the order's rows come.
  package var partition: UInt32
  /// Changed by the worker, and by the coordinator once the worker has ended.
  package var state = State.planned
  /// How many workers have started on the order; 0 before the first.
  package var attempt: UInt32 = 0
  /// The process identifier of the worker, 0 before the first.
  package var process: Int32 = 0
  /// When the worker started, field 22 of `/proc/PID/stat`: identifiers are used again.
  package var processStart: UInt64 = 0
  /// The source rows that the plan gives the order, as far as the survey estimated them.
  package var rowsTotal: UInt64
  /// The source rows that the present attempt has migrated.
  package var rowsDone: UInt64 = 0
  /// The source bytes that the plan gives the order; its share in the progress of the run.
  package var bytesTotal: UInt64
  /// The source bytes that the present attempt has migrated.
  package var bytesDone: UInt64 = 0
  /// The most bytes that any attempt migrated, so that the run's progress survives a retry.
  package var bytesHighest: UInt64 = 0
  /// The primary key of the source row migrated last, 0 before the first.
  package var lastKey: Int64 = 0

  // Times are nanoseconds since 1970, 0 before the first attempt.
  /// When the present attempt started.
  package var startedAt: Int64 = 0
  /// When the record was last written, whether or not rows had been migrated since.
  package var heartbeatAt: Int64 = 0
  /// When `rowsDone` last changed.
  package var progressAt: Int64 = 0
  /// The peak private memory of the worker, in bytes.
  package var peakMemory: UInt64 = 0
  /// The memory that the worker may use, in bytes; 0 if unknown.
  package var memoryLimit: UInt64 = 0
  /// The exit status of a worker that failed; a worker that reports its failure leaves 0 and sets
  /// `error`.
  package var exitCode: Int32 = 0
  /// The signal that ended the worker, 0 if none did.
  package var exitSignal: Int32 = 0
  /// Status updates that the worker could not write; migrating rows continues without them.
  package var droppedUpdates: UInt32 = 0
  /// Whether the worker is paused because the run is held.
  package var isPaused = false
  /// The destination table whose rows are being migrated.
  package var table = ""
  /// Why the attempt failed, empty unless it has.
  package var error = ""

  /// Creates the record of a work order on which no worker has started.
  package init(workOrder: UInt32, partition: UInt32, rowsTotal: UInt64, bytesTotal: UInt64) {
    self.workOrder = workOrder
    self.partition = partition
    self.rowsTotal = rowsTotal
    self.bytesTotal = bytesTotal
  }

  /// Resets the record to the next attempt, whose worker has migrated nothing yet.
  package mutating func start(process: Int32, processStart: UInt64, at now: Int64) {
    var fresh = OrderRecord(
      workOrder: workOrder, partition: partition, rowsTotal: rowsTotal, bytesTotal: bytesTotal)
    fresh.state = .running
    fresh.attempt = attempt &+ 1
    fresh.bytesHighest = max(bytesHighest, bytesDone)
    (fresh.process, fresh.processStart) = (process, processStart)
    (fresh.startedAt, fresh.heartbeatAt, fresh.progressAt) = (now, now, now)
    self = fresh
  }

  /// The bytes that count towards the run's progress, at most `bytesTotal`.
  package var bytesCounted: UInt64 {
    state == .done ? bytesTotal : min(bytesTotal, max(bytesDone, bytesHighest))
  }

  /// The rows that count towards the run's progress, at most `rowsTotal`.
  package var rowsCounted: UInt64 {
    state == .done ? rowsTotal : min(rowsTotal, rowsDone)
  }
}

// MARK: - Bytes

extension OrderRecord {
  private enum Offset {
    static let version = 0
    static let workOrder = 4
    static let partition = 8
    static let state = 12
    static let attempt = 16
    static let process = 20
    static let processStart = 24
    static let rowsTotal = 32
    static let rowsDone = 40
    static let bytesTotal = 48
    static let bytesDone = 56
    static let bytesHighest = 64
    static let lastKey = 72
    static let startedAt = 80
    static let heartbeatAt = 88
    static let progressAt = 96
    static let peakMemory = 104
    static let exitCode = 112
    static let exitSignal = 116
    static let droppedUpdates = 120
    static let checksum = 124
    static let table = 128
    static let error = 176  // ...372
    static let memoryLimit = 372
    static let isPaused = 380
  }

  /// The record's key: big-endian, because LMDB sorts keys by their bytes.
  package static func key(workOrder: UInt32) -> [UInt8] {
    withUnsafeBytes(of: workOrder.bigEndian) { Array($0) }
  }

  /// The record in the layout of docs/reference/status-file.md, "Part".
  package func encoded() -> [UInt8] {
    var writer = RecordWriter(size: Self.size)
    writer.put(Self.version, at: Offset.version)
    writer.put(workOrder, at: Offset.workOrder)
    writer.put(partition, at: Offset.partition)
    writer.put(state.rawValue, at: Offset.state)
    writer.put(attempt, at: Offset.attempt)
    writer.put(process, at: Offset.process)
    writer.put(processStart, at: Offset.processStart)
    writer.put(rowsTotal, at: Offset.rowsTotal)
    writer.put(rowsDone, at: Offset.rowsDone)
    writer.put(bytesTotal, at: Offset.bytesTotal)
    writer.put(bytesDone, at: Offset.bytesDone)
    writer.put(bytesHighest, at: Offset.bytesHighest)
    writer.put(lastKey, at: Offset.lastKey)
    writer.put(startedAt, at: Offset.startedAt)
    writer.put(heartbeatAt, at: Offset.heartbeatAt)
    writer.put(progressAt, at: Offset.progressAt)
    writer.put(peakMemory, at: Offset.peakMemory)
    writer.put(exitCode, at: Offset.exitCode)
    writer.put(exitSignal, at: Offset.exitSignal)
    writer.put(droppedUpdates, at: Offset.droppedUpdates)
    writer.put(text: table, at: Offset.table, size: Self.tableSize)
    writer.put(text: error, at: Offset.error, size: Self.errorSize)
    writer.put(memoryLimit, at: Offset.memoryLimit)
    writer.put(UInt32(isPaused ? 1 : 0), at: Offset.isPaused)
    return writer.sealed(at: Offset.checksum)
  }

  /// Reads a record in the layout of docs/reference/status-file.md, "Part".
  ///
  /// - Throws: `RecordError`, for another version, another size or an unknown state.
  package init(decoding bytes: [UInt8]) throws(RecordError) {
    let reader = try RecordReader(
      bytes: bytes, version: Self.version, size: Self.size, checksumAt: Offset.checksum)
    guard let state = State(rawValue: reader.integer(at: Offset.state)) else { throw .damaged }
    self.state = state
    workOrder = reader.integer(at: Offset.workOrder)
    partition = reader.integer(at: Offset.partition)
    attempt = reader.integer(at: Offset.attempt)
    process = reader.integer(at: Offset.process)
    processStart = reader.integer(at: Offset.processStart)
    rowsTotal = reader.integer(at: Offset.rowsTotal)
    rowsDone = reader.integer(at: Offset.rowsDone)
    bytesTotal = reader.integer(at: Offset.bytesTotal)
    bytesDone = reader.integer(at: Offset.bytesDone)
    bytesHighest = reader.integer(at: Offset.bytesHighest)
    lastKey = reader.integer(at: Offset.lastKey)
    startedAt = reader.integer(at: Offset.startedAt)
    heartbeatAt = reader.integer(at: Offset.heartbeatAt)
    progressAt = reader.integer(at: Offset.progressAt)
    peakMemory = reader.integer(at: Offset.peakMemory)
    exitCode = reader.integer(at: Offset.exitCode)
    exitSignal = reader.integer(at: Offset.exitSignal)
    droppedUpdates = reader.integer(at: Offset.droppedUpdates)
    table = reader.text(at: Offset.table, size: Self.tableSize)
    error = reader.text(at: Offset.error, size: Self.errorSize)
    memoryLimit = reader.integer(at: Offset.memoryLimit)
    isPaused = reader.integer(at: Offset.isPaused, as: UInt32.self) != 0
  }
}
