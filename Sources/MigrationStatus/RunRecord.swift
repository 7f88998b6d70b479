/// The progress of the whole run, stored in table `run` under the key `run` by the coordinator.
package struct RunRecord: Hashable, Sendable {
  /// The first field of every record, by which a reader rejects layouts that it does not know.
  package static let version: UInt32 = 3
  /// Bytes of an encoded record.
  package static let size = 512
  /// Bytes of the field for `error` or `holdReason`, which cuts longer texts.
  package static let textSize = 256

  /// Why a run is held, with the numbers that the file stores.
  package enum Hold: UInt16, CaseIterable, Sendable {
    /// It is not.
    case none = 0
    /// It was requested.
    case asked
    /// A file is there that holds it, see docs/how-to/control.md.
    case pauseFile
    /// It is ready, and a file holds back the swap.
    case swap
  }

  /// Identifies the run; the record next to the store has the same.
  package var run: Identifier
  /// The start of the machine at which the run began, `.none` where unknown.
  package var boot: Identifier
  /// The process identifier of the coordinator.
  package var coordinator: Int32
  /// When the coordinator started, field 22 of `/proc/PID/stat`: identifiers are used again.
  package var coordinatorStart: UInt64
  /// The present phase, which `enter` and `fail` change.
  package private(set) var phase: Phase
  /// The phase in which the run failed, nil unless `phase` is `failed`.
  package private(set) var failedPhase: Phase?
  /// The exit status of a run that failed or was interrupted, 0 if unknown.
  package private(set) var exitStatus: Int32 = 0
  /// How many workers may run at once.
  package var workersWanted: UInt32 = 0
  /// The number of work orders in the plan, 0 before it is made.
  package var workOrders: UInt32 = 0
  /// Status updates that the coordinator could not write; the migration continues without them.
  package var droppedUpdates: UInt32 = 0

  // Times are nanoseconds since 1970.
  /// When the run started.
  package var startedAt: Int64
  /// When the present phase started, or the run ended.
  package private(set) var phaseStartedAt: Int64
  /// When the coordinator last wrote the record, whether or not anything had progressed.
  package var heartbeatAt: Int64
  /// When a unit of work was last completed.
  package var progressAt: Int64

  /// Source rows of all work orders, fixed before the phase `migrating`: progress against a moving
  /// total could fall.
  package var rowsTotal: UInt64 = 0
  /// Rows that the coordinator itself counts, 0 where the parts count them; readers take the larger
  /// number.
  package var rowsDone: UInt64 = 0
  /// Source bytes of all work orders, fixed before the phase `migrating`.
  ///
  /// A migration of several stages counts 10,000 for each stage instead.
  package var bytesTotal: UInt64 = 0
  /// Bytes that the coordinator itself counts, 0 where the parts count them; readers take the
  /// larger number.
  package var bytesDone: UInt64 = 0
  /// Bytes of work orders that an earlier, interrupted run had completed.
  package var bytesFound: UInt64 = 0
  /// Units of work of the present phase, such as tables, indexes or pages; 0 if it has none.
  package var unitsTotal: UInt64 = 0
  /// Units of the present phase that are done.
  package var unitsDone: UInt64 = 0
  /// The peak private memory of the coordinator, in bytes.
  package var peakMemory: UInt64 = 0
  /// The memory that all processes together may use, in bytes; 0 if unknown.
  package var memoryLimit: UInt64 = 0
  /// The bytes of disk that the run was expected to write before it began to; 0 if unknown.
  package var diskNeed: UInt64 = 0
  /// The number of the stage at work, from 1; 0 where there is one stage.
  package var stage: UInt32 = 0
  /// How many stages there are, 0 where there is one.
  package var stages: UInt32 = 0
  /// Why the run failed, empty if it has not.
  package private(set) var error = ""

  /// Why the run is held; workers wait wherever it is not `none`.
  package var hold = Hold.none
  /// Who holds the run, or which file.
  package var holdReason = ""
  /// Whether the coordinator itself is paused because the run is held.
  package var isStanding = false
  /// The completed share of the run, 0...1, as the coordinator computes it; nil before it does.
  package var fraction: Double?
  /// The estimated seconds remaining, nil while unknown.
  package var secondsRemaining: Double?
  /// Source bytes per second that each worker may read, 0 for no limit.
  package var workerRate: UInt64 = 0
  /// Source bytes per second that all workers together may read, 0 for no limit.
  package var rate: UInt64 = 0
  /// The number of the last request that the run obeys, see `ControlRecord.number`.
  package var controlNumber: UInt64 = 0
  /// When the run began to obey it, in nanoseconds since 1970; 0 before the first.
  package var controlAt: Int64 = 0

  /// Creates the record of a run that starts now, in the phase `surveying`.
  package init(
    run: Identifier, boot: Identifier, coordinator: Int32, coordinatorStart: UInt64, at now: Int64
  ) {
    self.run = run
    self.boot = boot
    self.coordinator = coordinator
    self.coordinatorStart = coordinatorStart
    phase = .surveying
    startedAt = now
    phaseStartedAt = now
    heartbeatAt = now
    progressAt = now
  }

  /// Enters a later phase, whose units count from 0; does nothing once the run has ended.
  package mutating func enter(_ next: Phase, units: UInt64 = 0, at now: Int64) {
    guard phase.isWorking else { return }
    precondition(next > phase && next != .failed, "phases only go forward")
    phase = next
    phaseStartedAt = now
    (unitsDone, unitsTotal) = (0, units)
    (heartbeatAt, progressAt) = (now, now)
  }

  /// Ends the run in its present phase, with an error and an exit status; does nothing once it has
  /// ended.
  package mutating func fail(_ error: String, exitStatus: Int32 = 0, at now: Int64) {
    guard phase.isWorking else { return }
    failedPhase = phase
    phase = .failed
    phaseStartedAt = now
    self.error = error
    self.exitStatus = exitStatus
    heartbeatAt = now
    (hold, holdReason, isStanding, secondsRemaining) = (.none, "", false, nil)
  }
}

// MARK: - Bytes

extension RunRecord {
  private enum Offset {
    static let version = 0
    static let phase = 4
    static let run = 8
    static let boot = 24
    static let coordinator = 40
    static let workersWanted = 44
    static let coordinatorStart = 48
    static let startedAt = 56
    static let phaseStartedAt = 64
    static let heartbeatAt = 72
    static let progressAt = 80
    static let rowsTotal = 88
    static let rowsDone = 96
    static let bytesTotal = 104
    static let bytesDone = 112
    static let bytesFound = 120
    static let unitsTotal = 128
    static let unitsDone = 136
    static let peakMemory = 144
    static let workOrders = 152
    static let failedPhase = 156
    static let droppedUpdates = 160
    static let exitStatus = 164
    static let memoryLimit = 168
    static let diskNeed = 176
    static let stage = 184
    static let stages = 188  // zeros follow, 192..<200
    static let text = 200  // ...456
    static let checksum = 456
    static let hold = 460
    static let isStanding = 462
    static let fraction = 464
    static let secondsRemaining = 472
    static let workerRate = 480
    static let rate = 488
    static let controlNumber = 496
    static let controlAt = 504
  }

  /// The record in the layout of docs/reference/status-file.md, "Run".
  package func encoded() -> [UInt8] {
    var writer = RecordWriter(size: Self.size)
    writer.put(Self.version, at: Offset.version)
    writer.put(phase.rawValue, at: Offset.phase)
    writer.put(run.bytes, at: Offset.run)
    writer.put(boot.bytes, at: Offset.boot)
    writer.put(coordinator, at: Offset.coordinator)
    writer.put(workersWanted, at: Offset.workersWanted)
    writer.put(coordinatorStart, at: Offset.coordinatorStart)
    writer.put(startedAt, at: Offset.startedAt)
    writer.put(phaseStartedAt, at: Offset.phaseStartedAt)
    writer.put(heartbeatAt, at: Offset.heartbeatAt)
    writer.put(progressAt, at: Offset.progressAt)
    writer.put(rowsTotal, at: Offset.rowsTotal)
    writer.put(rowsDone, at: Offset.rowsDone)
    writer.put(bytesTotal, at: Offset.bytesTotal)
    writer.put(bytesDone, at: Offset.bytesDone)
    writer.put(bytesFound, at: Offset.bytesFound)
    writer.put(unitsTotal, at: Offset.unitsTotal)
    writer.put(unitsDone, at: Offset.unitsDone)
    writer.put(peakMemory, at: Offset.peakMemory)
    writer.put(workOrders, at: Offset.workOrders)
    writer.put(failedPhase?.rawValue ?? 0, at: Offset.failedPhase)
    writer.put(droppedUpdates, at: Offset.droppedUpdates)
    writer.put(exitStatus, at: Offset.exitStatus)
    writer.put(memoryLimit, at: Offset.memoryLimit)
    writer.put(diskNeed, at: Offset.diskNeed)
    writer.put(stage, at: Offset.stage)
    writer.put(stages, at: Offset.stages)
    writer.put(text: phase == .failed ? error : holdReason, at: Offset.text, size: Self.textSize)
    writer.put(hold.rawValue, at: Offset.hold)
    writer.put(UInt16(isStanding ? 1 : 0), at: Offset.isStanding)
    writer.put((fraction ?? -1).bitPattern, at: Offset.fraction)
    writer.put((secondsRemaining ?? -1).bitPattern, at: Offset.secondsRemaining)
    writer.put(workerRate, at: Offset.workerRate)
    writer.put(rate, at: Offset.rate)
    writer.put(controlNumber, at: Offset.controlNumber)
    writer.put(controlAt, at: Offset.controlAt)
    return writer.sealed(at: Offset.checksum)
  }

  /// Reads a record in the layout of docs/reference/status-file.md, "Run".
  ///
  /// - Throws: `RecordError`, for another version, another size or an inconsistent phase.
  package init(decoding bytes: [UInt8]) throws(RecordError) {
    let reader = try RecordReader(
      bytes: bytes, version: Self.version, size: Self.size, checksumAt: Offset.checksum)
    let failed: UInt32 = reader.integer(at: Offset.failedPhase)
    guard let phase = Phase(rawValue: reader.integer(at: Offset.phase)),
      let hold = Hold(rawValue: reader.integer(at: Offset.hold)),
      let run = Identifier(bytes[Offset.run..<(Offset.run + Identifier.size)]),
      let boot = Identifier(bytes[Offset.boot..<(Offset.boot + Identifier.size)]),
      // A failure, and nothing else, names the phase where it happened.
      phase == .failed ? Phase(rawValue: failed)?.isWorking == true : failed == 0
    else { throw .damaged }
    self.phase = phase
    self.run = run
    self.boot = boot
    failedPhase = Phase(rawValue: failed)
    coordinator = reader.integer(at: Offset.coordinator)
    workersWanted = reader.integer(at: Offset.workersWanted)
    coordinatorStart = reader.integer(at: Offset.coordinatorStart)
    startedAt = reader.integer(at: Offset.startedAt)
    phaseStartedAt = reader.integer(at: Offset.phaseStartedAt)
    heartbeatAt = reader.integer(at: Offset.heartbeatAt)
    progressAt = reader.integer(at: Offset.progressAt)
    rowsTotal = reader.integer(at: Offset.rowsTotal)
    rowsDone = reader.integer(at: Offset.rowsDone)
    bytesTotal = reader.integer(at: Offset.bytesTotal)
    bytesDone = reader.integer(at: Offset.bytesDone)
    bytesFound = reader.integer(at: Offset.bytesFound)
    unitsTotal = reader.integer(at: Offset.unitsTotal)
    unitsDone = reader.integer(at: Offset.unitsDone)
    peakMemory = reader.integer(at: Offset.peakMemory)
    workOrders = reader.integer(at: Offset.workOrders)
    droppedUpdates = reader.integer(at: Offset.droppedUpdates)
    exitStatus = reader.integer(at: Offset.exitStatus)
    memoryLimit = reader.integer(at: Offset.memoryLimit)
    diskNeed = reader.integer(at: Offset.diskNeed)
    stage = reader.integer(at: Offset.stage)
    stages = reader.integer(at: Offset.stages)
    let text = reader.text(at: Offset.text, size: Self.textSize)
    (error, holdReason) = phase == .failed ? (text, "") : ("", text)
    self.hold = hold
    isStanding = reader.integer(at: Offset.isStanding, as: UInt16.self) != 0
    fraction = reader.number(at: Offset.fraction, in: 0...1)
    secondsRemaining = reader.number(at: Offset.secondsRemaining, in: 0...1e10)
    workerRate = reader.integer(at: Offset.workerRate)
    rate = reader.integer(at: Offset.rate)
    controlNumber = reader.integer(at: Offset.controlNumber)
    controlAt = reader.integer(at: Offset.controlAt)
  }
}
