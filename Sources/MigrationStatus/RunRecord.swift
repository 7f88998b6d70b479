/// What the coordinator tells of the whole run: the value of the key `run` in the table `run`.
package struct RunRecord: Hashable, Sendable {
  package static let version: UInt32 = 1
  package static let size = 512
  package static let fingerprintSize = 32
  package static let errorSize = 256

  package var run: Identifier
  package var boot: Identifier
  package var coordinator: Int32
  package var coordinatorStart: UInt64
  package private(set) var phase: Phase
  /// Where the run failed.
  package private(set) var failedPhase: Phase?
  /// The exit status with which a run ended that failed or was interrupted, 0 where it is not told.
  package private(set) var exitStatus: Int32 = 0
  package var workersWanted: UInt32 = 0
  package var workOrders: UInt32 = 0
  package var droppedUpdates: UInt32 = 0

  // Times are nanoseconds since 1970.
  package var startedAt: Int64
  package private(set) var phaseStartedAt: Int64
  /// When the coordinator last showed that it runs.
  package var heartbeatAt: Int64
  /// When it last got further.
  package var progressAt: Int64

  /// Totals are set before the phase `migrating` and stay: a fraction of a moving total falls back.
  package var rowsTotal: UInt64 = 0
  package var rowsDone: UInt64 = 0
  package var bytesTotal: UInt64 = 0
  package var bytesDone: UInt64 = 0
  /// Of `bytesDone`, those that an earlier run did and this one found.
  package var bytesFound: UInt64 = 0
  /// What the phase counts: tables, indexes, pages.
  package var unitsTotal: UInt64 = 0
  package var unitsDone: UInt64 = 0
  /// The most memory that the coordinator occupied, in bytes.
  package var peakMemory: UInt64 = 0
  /// Which source this is: 32 bytes whose meaning is the coordinator's.
  package var fingerprint: [UInt8] = [UInt8](repeating: 0, count: fingerprintSize)
  package var error = ""

  /// A run that starts now with its survey.
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

  /// Goes on to a later phase, which counts its units from 0; a run that has ended stays ended.
  package mutating func enter(_ next: Phase, units: UInt64 = 0, at now: Int64) {
    guard phase.isWorking else { return }
    precondition(next > phase && next != .failed, "phases only go forward")
    phase = next
    phaseStartedAt = now
    (unitsDone, unitsTotal) = (0, units)
    (heartbeatAt, progressAt) = (now, now)
  }

  /// Ends the run where it is, with an exit status and a sentence.
  package mutating func fail(_ error: String, exitStatus: Int32 = 0, at now: Int64) {
    guard phase.isWorking else { return }
    failedPhase = phase
    phase = .failed
    phaseStartedAt = now
    self.error = error
    self.exitStatus = exitStatus
    heartbeatAt = now
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
    static let fingerprint = 168
    static let error = 200  // ...456, then zeros
  }

  /// The bytes of docs/status-file.md, "Run".
  package func encoded() -> [UInt8] {
    precondition(fingerprint.count == Self.fingerprintSize)
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
    writer.put(fingerprint, at: Offset.fingerprint)
    writer.put(text: error, at: Offset.error, size: Self.errorSize)
    return writer.bytes
  }

  package init(decoding bytes: [UInt8]) throws(RecordError) {
    let reader = try RecordReader(bytes: bytes, version: Self.version, size: Self.size)
    let failed: UInt32 = reader.integer(at: Offset.failedPhase)
    guard let phase = Phase(rawValue: reader.integer(at: Offset.phase)),
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
    fingerprint = Array(bytes[Offset.fingerprint..<(Offset.fingerprint + Self.fingerprintSize)])
    error = reader.text(at: Offset.error, size: Self.errorSize)
  }
}
