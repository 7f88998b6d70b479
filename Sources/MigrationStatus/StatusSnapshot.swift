import SystemCalls

/// The progress of a migration as `godwit status` shows it and writes it as JSON.
///
/// Properties are keys of the JSON. Times are seconds since 1970, 0 if not known.
package struct StatusSnapshot: Codable, Hashable, Sendable {
  /// The progress of one work order; `OrderRecord` documents the fields it shares.
  package struct Part: Codable, Hashable, Sendable {
    /// The state of a work order, by its name.
    package enum State: String, Codable, Sendable {
      /// As `OrderRecord.State`.
      case planned, running, done, failed
    }

    /// The order's number in the plan.
    package var workOrder: UInt32
    /// The number of the partition from which its rows come.
    package var partition: UInt32
    /// The state in the record; if `isStale`, `running` is wrong.
    package var state: State
    /// How many workers have started on it.
    package var attempt: UInt32
    /// The process identifier of its worker.
    package var process: Int32
    /// Source rows to migrate.
    package var rowsTotal: UInt64
    /// Source rows migrated, all of them once it is done.
    package var rowsDone: UInt64
    /// Source bytes to migrate.
    package var bytesTotal: UInt64
    /// The most source bytes that any attempt migrated.
    package var bytesDone: UInt64
    /// The primary key of the row migrated last.
    package var lastKey: Int64
    /// When the present attempt started.
    package var startedAt: Double
    /// When its worker last wrote the record.
    package var heartbeatAt: Double
    /// When its worker last completed rows.
    package var progressAt: Double
    /// The peak private memory of its worker.
    package var peakMemoryBytes: UInt64
    /// The memory that its worker may use, 0 if unknown.
    package var memoryLimitBytes: UInt64
    /// The exit status of a worker that failed.
    package var exitCode: Int32
    /// The signal that ended its worker, 0 if none did.
    package var exitSignal: Int32
    /// The destination table whose rows are being migrated.
    package var table: String
    /// Why the last attempt failed.
    package var error: String?
    /// Whether its worker is paused because the run is held.
    package var isPaused: Bool
    /// Whether it claims to be running, yet its worker is silent and gone.
    package var isStale: Bool
  }

  /// How far the stage at work is, of a run with several.
  package struct Stage: Codable, Hashable, Sendable {
    /// The number of the stage, from 1.
    package var number: UInt32
    /// How many stages the run has.
    package var count: UInt32
    /// The phase of the stage.
    package var phase: Phase
    /// When that phase started.
    package var phaseStartedAt: Double
    /// Source rows of the stage.
    package var rowsTotal: UInt64
    /// Source rows migrated, at most `rowsTotal`.
    package var rowsDone: UInt64
    /// Source bytes of the stage.
    package var bytesTotal: UInt64
    /// Source bytes migrated, at most `bytesTotal`.
    package var bytesDone: UInt64
    /// The number of work orders in the plan of the stage.
    package var workOrders: UInt32
  }

  /// Identifies the run.
  package var run: Identifier
  /// The present phase.
  package var phase: Phase
  /// The phase in which the run failed, nil if it has not.
  package var failedPhase: Phase?
  /// The completed share of the run, 0...1; see docs/reference/status-file.md, "Fraction".
  package var fraction: Double
  /// The estimated time remaining, nil before a hundredth is done and once the run has failed.
  package var secondsRemaining: Double?
  /// Whether the run has not ended, yet its coordinator is silent and gone.
  package var isStale: Bool
  /// The process identifier of the coordinator.
  package var coordinator: Int32
  /// When the run started.
  package var startedAt: Double
  /// When the present phase started, or the run ended.
  package var phaseStartedAt: Double
  /// When the coordinator last wrote its record.
  package var heartbeatAt: Double
  /// When the coordinator or any worker last completed something.
  package var progressAt: Double
  /// Source rows of the run.
  package var rowsTotal: UInt64
  /// Source rows migrated, at most `rowsTotal`.
  package var rowsDone: UInt64
  /// Source bytes of the run; 10,000 for each stage where there are several.
  package var bytesTotal: UInt64
  /// Source bytes migrated, at most `bytesTotal`.
  package var bytesDone: UInt64
  /// Units of the present phase, such as rows, or bytes of keys.
  package var unitsTotal: UInt64
  /// Units of the present phase that are done, at most `unitsTotal`.
  package var unitsDone: UInt64
  /// The number of work orders in the plan.
  package var workOrders: UInt32
  /// How many workers may run at once.
  package var workersWanted: UInt32
  /// How many workers run, without those that are stale.
  package var workersRunning: Int
  /// Source bytes per second that all workers together may read, 0 for no limit.
  package var rate: UInt64
  /// The number of the last request that the run obeys, 0 before the first.
  package var controlNumber: UInt64
  /// When it began to obey it.
  package var controlAt: Double
  /// The peak private memory of the coordinator.
  package var peakMemoryBytes: UInt64
  /// The memory that all processes together may use, 0 if unknown.
  package var memoryLimitBytes: UInt64
  /// The disk that the run was expected to write before it began to, 0 if unknown.
  package var diskNeedBytes: UInt64
  /// Status updates that the coordinator and all workers could not write.
  package var droppedUpdates: UInt64
  /// Why the run failed.
  package var error: String?
  /// All work orders, by number; of a run with several stages those of the stage at work.
  package var parts: [Part]
  /// The stage at work, nil where there is one stage, and before and after all of them.
  package var stage: Stage?
}

extension StatusSnapshot {
  /// Adds the content of the current stage's status file; nil if that has none yet.
  mutating func show(_ stage: StatusSnapshot?, of run: RunRecord) {
    guard let stage else {
      self.stage = Stage(
        number: run.stage, count: run.stages, phase: .surveying, phaseStartedAt: phaseStartedAt,
        rowsTotal: 0, rowsDone: 0, bytesTotal: 0, bytesDone: 0, workOrders: 0)
      return
    }
    self.stage = Stage(
      number: run.stage, count: run.stages, phase: stage.phase,
      phaseStartedAt: stage.phaseStartedAt, rowsTotal: stage.rowsTotal, rowsDone: stage.rowsDone,
      bytesTotal: stage.bytesTotal, bytesDone: stage.bytesDone, workOrders: stage.workOrders)
    parts = stage.parts
    workersRunning = stage.workersRunning
    progressAt = max(progressAt, stage.progressAt)
  }
}

extension StatusSnapshot {
  /// A worker at work that a signal or a debugger has stopped: its share waits, whatever the
  /// coordinator reports.
  var stoppedWorker: Int32? {
    parts.first { part in
      guard part.state == .running, let start = Processes.startTime(of: part.process) else {
        return false
      }
      return Processes.presence(part.process, startTime: start) == .stopped
    }?.process
  }
}

/// The clock and the processes against which records are judged; replaced in tests.
struct Surroundings: Sendable {
  /// The present time, in nanoseconds since 1970.
  var time: Int64
  /// The present start of the machine, nil if unknown.
  var boot: Identifier?
  /// What is known of a process with this identifier and start time.
  var presence: @Sendable (_ process: Int32, _ start: UInt64) -> Processes.Presence

  static func now() -> Surroundings {
    Surroundings(
      time: WallClock.now(), boot: Processes.bootID.flatMap { Identifier($0) },
      presence: Processes.presence(_:startTime:))
  }

  /// Whether the machine has been restarted since, which makes identifiers of processes
  /// meaningless.
  func isAfterRestart(since written: Identifier) -> Bool {
    guard let boot, written != .none else { return false }
    return boot != written
  }

  /// Whether a process has written no heartbeat for 3 s and is gone.
  ///
  /// Both are required, because a clock that was set looks like silence.
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
    // The coordinator knows what the phases of this run cost; missing values are computed.
    fraction = run.phase == .done ? 1 : run.fraction ?? progress.fraction
    isStale =
      run.phase.isWorking
      && surroundings.isLost(
        run.coordinator, start: run.coordinatorStart, heartbeatAt: run.heartbeatAt, boot: run.boot)
    // A stale run has no time remaining.
    let remaining =
      run.fraction == nil || run.phase == .done
      ? progress.secondsRemaining(at: surroundings.time) : run.secondsRemaining
    secondsRemaining = isStale ? nil : remaining
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
    rate = run.rate
    controlNumber = run.controlNumber
    controlAt = seconds(run.controlAt)
    peakMemoryBytes = run.peakMemory
    memoryLimitBytes = run.memoryLimit
    diskNeedBytes = run.diskNeed
    droppedUpdates = sum(
      numbers: contents.parts.map { UInt64($0.droppedUpdates) } + [UInt64(run.droppedUpdates)])
    error = run.error.isEmpty ? nil : run.error
    self.parts = parts
  }
}

extension StatusSnapshot.Part {
  fileprivate init(part: OrderRecord, run: RunRecord, surroundings: Surroundings) {
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
    memoryLimitBytes = part.memoryLimit
    exitCode = part.exitCode
    exitSignal = part.exitSignal
    table = part.table
    error = part.error.isEmpty ? nil : part.error
    isPaused = part.isPaused && part.state == .running
    isStale =
      part.state == .running
      && surroundings.isLost(
        part.process, start: part.processStart, heartbeatAt: part.heartbeatAt, boot: run.boot)
  }
}

private func seconds(_ nanoseconds: Int64) -> Double { Double(nanoseconds) / 1e9 }

/// The sum of numbers, at most `UInt64.max`: records are not trusted to add up.
func sum(numbers: [UInt64]) -> UInt64 {
  numbers.reduce(0) { total, next in
    let (sum, overflow) = total.addingReportingOverflow(next)
    return overflow ? .max : sum
  }
}
