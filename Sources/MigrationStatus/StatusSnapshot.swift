import SystemCalls

/// How far a migration is, as shown and as written as JSON; times are seconds since 1970.
package struct StatusSnapshot: Codable, Hashable, Sendable {
  package struct Part: Codable, Hashable, Sendable {
    package enum State: String, Codable, Sendable {
      case planned, running, done, failed
    }

    package var workOrder: UInt32
    package var partition: UInt32
    package var state: State
    package var attempt: UInt32
    package var process: Int32
    package var rowsTotal: UInt64
    package var rowsDone: UInt64
    package var bytesTotal: UInt64
    package var bytesDone: UInt64
    package var lastKey: Int64
    package var startedAt: Double
    package var heartbeatAt: Double
    package var progressAt: Double
    package var peakMemoryBytes: UInt64
    package var exitCode: Int32
    package var exitSignal: Int32
    package var table: String
    package var error: String?
    /// Whether it claims to run, yet has been silent and its process is gone.
    package var isStale: Bool
  }

  package var run: Identifier
  package var phase: Phase
  package var failedPhase: Phase?
  /// 0...1; see docs/status-file.md, "Fraction".
  package var fraction: Double
  /// nil until a hundredth is done.
  package var secondsRemaining: Double?
  /// Whether the run has not ended, yet its coordinator has been silent and is gone.
  package var isStale: Bool
  package var coordinator: Int32
  package var startedAt: Double
  package var phaseStartedAt: Double
  package var heartbeatAt: Double
  package var progressAt: Double
  package var rowsTotal: UInt64
  package var rowsDone: UInt64
  package var bytesTotal: UInt64
  package var bytesDone: UInt64
  package var unitsTotal: UInt64
  package var unitsDone: UInt64
  package var workOrders: UInt32
  package var workersWanted: UInt32
  package var workersRunning: Int
  package var peakMemoryBytes: UInt64
  package var droppedUpdates: UInt64
  package var error: String?
  package var parts: [Part]
}

/// What a snapshot asks of the world.
struct Surroundings: Sendable {
  var time: Int64
  var boot: Identifier?
  var presence: @Sendable (_ process: Int32, _ start: UInt64) -> Processes.Presence

  static func now() -> Surroundings {
    Surroundings(
      time: WallClock.now(), boot: Processes.bootID.flatMap { Identifier($0) },
      presence: Processes.presence(_:startTime:))
  }

  /// Whether the machine has started anew since; numbers of processes start anew with it.
  func isAfterRestart(since written: Identifier) -> Bool {
    guard let boot, written != .none else { return false }
    return boot != written
  }

  /// Silent for 3 s, and gone.
  ///
  /// A clock that was set counts as silence, so both must hold.
  func isLost(
    _ process: Int32, start: UInt64, heartbeatAt: Int64, boot written: Identifier
  ) -> Bool {
    if isAfterRestart(since: written) { return true }
    let (age, overflow) = time.subtractingReportingOverflow(heartbeatAt)
    return (overflow || age.magnitude > 3_000_000_000) && presence(process, start) == .gone
  }
}

extension StatusSnapshot {
  init(contents: StatusContents, surroundings: Surroundings) {
    let run = contents.run
    let progress = Progress(contents)
    let parts = contents.parts.map { Part(part: $0, run: run, surroundings: surroundings) }
    self.run = run.run
    phase = run.phase
    failedPhase = run.failedPhase
    fraction = progress.fraction
    isStale =
      run.phase.isWorking
      && surroundings.isLost(
        run.coordinator, start: run.coordinatorStart, heartbeatAt: run.heartbeatAt, boot: run.boot)
    // Nothing is left of a run that goes on no more.
    secondsRemaining = isStale ? nil : progress.secondsRemaining(at: surroundings.time)
    coordinator = run.coordinator
    startedAt = seconds(run.startedAt)
    phaseStartedAt = seconds(run.phaseStartedAt)
    heartbeatAt = seconds(run.heartbeatAt)
    progressAt = seconds(contents.parts.map(\.progressAt).reduce(run.progressAt, max))
    rowsTotal = run.rowsTotal
    rowsDone = min(rowsTotal, max(run.rowsDone, sum(numbers: contents.parts.map(\.rowsCounted))))
    bytesTotal = run.bytesTotal
    bytesDone = progress.bytesDone
    unitsTotal = run.unitsTotal
    unitsDone = min(run.unitsDone, run.unitsTotal)
    workOrders = run.workOrders
    workersWanted = run.workersWanted
    workersRunning = parts.count { $0.state == .running && !$0.isStale }
    peakMemoryBytes = run.peakMemory
    droppedUpdates = sum(
      numbers: contents.parts.map { UInt64($0.droppedUpdates) } + [UInt64(run.droppedUpdates)])
    error = run.error.isEmpty ? nil : run.error
    self.parts = parts
  }
}

extension StatusSnapshot.Part {
  fileprivate init(part: PartRecord, run: RunRecord, surroundings: Surroundings) {
    workOrder = part.workOrder
    partition = part.partition
    state =
      switch part.state {
      case .planned: .planned
      case .running: .running
      case .done: .done
      case .failed: .failed
      }
    attempt = part.attempt
    process = part.process
    rowsTotal = part.rowsTotal
    rowsDone = part.rowsCounted
    bytesTotal = part.bytesTotal
    bytesDone = part.bytesCounted
    lastKey = part.lastKey
    startedAt = seconds(part.startedAt)
    heartbeatAt = seconds(part.heartbeatAt)
    progressAt = seconds(part.progressAt)
    peakMemoryBytes = part.peakMemory
    exitCode = part.exitCode
    exitSignal = part.exitSignal
    table = part.table
    error = part.error.isEmpty ? nil : part.error
    isStale =
      part.state == .running
      && surroundings.isLost(
        part.process, start: part.processStart, heartbeatAt: part.heartbeatAt, boot: run.boot)
  }
}

private func seconds(_ nanoseconds: Int64) -> Double { Double(nanoseconds) / 1e9 }

/// Records are read, not trusted: a sum of theirs may not fit.
func sum(numbers: [UInt64]) -> UInt64 {
  numbers.reduce(0) { total, next in
    let (sum, overflow) = total.addingReportingOverflow(next)
    return overflow ? .max : sum
  }
}
