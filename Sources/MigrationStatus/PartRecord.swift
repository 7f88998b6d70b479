/// What is told of one work order: the value of its number, big-endian, in the table `part`.
///
/// The worker that runs it writes it; the coordinator does while none runs it.
package struct PartRecord: Hashable, Sendable {
  package static let version: UInt32 = 1
  package static let size = 384
  package static let tableSize = 48
  package static let errorSize = 208

  package enum State: UInt32, CaseIterable, Sendable {
    case planned = 1
    case running, done, failed
  }

  package var workOrder: UInt32
  package var partition: UInt32
  package var state = State.planned
  /// Counts from 1 when a worker starts.
  package var attempt: UInt32 = 0
  package var process: Int32 = 0
  package var processStart: UInt64 = 0
  package var rowsTotal: UInt64
  package var rowsDone: UInt64 = 0
  package var bytesTotal: UInt64
  package var bytesDone: UInt64 = 0
  /// The most bytes that any attempt had done: progress of the run does not fall back with a
  /// worker.
  package var bytesHighest: UInt64 = 0
  /// The primary key of the last row done.
  package var lastKey: Int64 = 0

  // Times are nanoseconds since 1970, or 0.
  package var startedAt: Int64 = 0
  package var heartbeatAt: Int64 = 0
  package var progressAt: Int64 = 0
  /// The most memory that the worker occupied, in bytes.
  package var peakMemory: UInt64 = 0
  package var exitCode: Int32 = 0
  /// The signal that ended the worker, or 0.
  package var exitSignal: Int32 = 0
  package var droppedUpdates: UInt32 = 0
  /// The table whose rows are being migrated.
  package var table = ""
  package var error = ""

  /// A work order that no worker has begun.
  package init(workOrder: UInt32, partition: UInt32, rowsTotal: UInt64, bytesTotal: UInt64) {
    self.workOrder = workOrder
    self.partition = partition
    self.rowsTotal = rowsTotal
    self.bytesTotal = bytesTotal
  }

  /// The next attempt, by a worker that has done nothing yet.
  package mutating func start(process: Int32, processStart: UInt64, at now: Int64) {
    var fresh = PartRecord(
      workOrder: workOrder, partition: partition, rowsTotal: rowsTotal, bytesTotal: bytesTotal)
    fresh.state = .running
    fresh.attempt = attempt &+ 1
    fresh.bytesHighest = max(bytesHighest, bytesDone)
    (fresh.process, fresh.processStart) = (process, processStart)
    (fresh.startedAt, fresh.heartbeatAt, fresh.progressAt) = (now, now, now)
    self = fresh
  }

  /// What counts for the progress of the run: never more than there is to do.
  package var bytesCounted: UInt64 {
    state == .done ? bytesTotal : min(bytesTotal, max(bytesDone, bytesHighest))
  }

  package var rowsCounted: UInt64 {
    state == .done ? rowsTotal : min(rowsTotal, rowsDone)
  }
}

// MARK: - Bytes

extension PartRecord {
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
    static let table = 128
    static let error = 176
  }

  /// The key: big-endian, so that keys are in the order of the numbers.
  package static func key(workOrder: UInt32) -> [UInt8] {
    withUnsafeBytes(of: workOrder.bigEndian) { Array($0) }
  }

  /// The bytes of docs/status-file.md, "Part".
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
    return writer.bytes
  }

  package init(decoding bytes: [UInt8]) throws(RecordError) {
    let reader = try RecordReader(bytes: bytes, version: Self.version, size: Self.size)
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
  }
}
