import Logging
import MigrationEngine
import MigrationStatus
import Planning
import Schema
import Synchronization
import SystemCalls
import SystemPackage

/// An estimate that threads share.
private final class SharedEstimate: Sendable {
  private let state = Mutex((estimate: ProgressEstimate(), steps: 0))

  func change(_ body: (inout ProgressEstimate) -> Void) {
    state.withLock { body(&$0.estimate) }
  }

  /// Takes in how many steps the phase at work is done, each as long as the longest.
  func set(steps: Int) { state.withLock { $0.steps = steps } }

  /// Takes the progress of a run, if known, and returns the status to publish.
  func take(
    _ seen: RunAdvance?, desk: ControlDesk
  ) -> (fraction: Double, secondsRemaining: Double?) {
    state.withLock { state in
      if let seen {
        state.estimate.observe(
          .init(
            at: MonotonicClock.now(), phase: seen.phase, inner: seen.inner, steps: state.steps,
            isHeld: desk.isHeld, isReady: desk.isReady))
      }
      return (state.estimate.fraction, state.estimate.secondsRemaining)
    }
  }
}

/// Warns once of a status file that takes no updates any more.
private final class StatusFileWarning: Sendable {
  private let file: StatusFile
  private let logger: Logger
  private let hasWarned = Atomic(false)

  init(file: StatusFile, logger: Logger) { (self.file, self.logger) = (file, logger) }

  func warn() {
    guard file.isLost, !hasWarned.exchange(true, ordering: .relaxed) else { return }
    logger.warning(
      "the status file can no longer be written; the migration continues without it",
      metadata: ["file": "\(file.path)"])
  }
}

/// Publishes the progress of the coordinator to the status file and to the caller.
///
/// Without a status file nothing is published and nothing else changes.
final class ProgressReporter: Sendable {
  private let status: StatusFile?
  /// The work orders of the stage at work.
  let board = OrderBoard()
  /// What holds the migration.
  let desk: ControlDesk
  /// Records activities, for the report.
  let recorder: RunRecorder
  private let flusher: RunFlusher?
  private let estimate: SharedEstimate
  private let phase = Mutex(Phase.surveying)
  private let looked = Atomic<UInt64>(0)
  private let progress: @Sendable (StatusSnapshot) -> Void
  private let poller: Task<Void, Never>?
  private let loss: StatusFileWarning?

  /// Starts to publish.
  ///
  /// - Parameter isOuter: whether this is the status file of the migration, where requests are
  ///   made; a stage has one of its own.
  init(
    paths: MigrationPaths, run: Identifier = .random(), desk: ControlDesk, recorder: RunRecorder,
    isOuter: Bool = false, memory: Int64 = 0, logger: Logger,
    progress: @escaping @Sendable (StatusSnapshot) -> Void
  ) {
    let estimate = SharedEstimate()
    (self.desk, self.recorder, self.progress, self.estimate) = (desk, recorder, progress, estimate)
    let board = board
    do {
      let place = StatusPlace(of: paths.work)
      try place.prepare()
      let file = try StatusFile.create(place.file)
      let own = Processes.own
      var record = RunRecord(
        run: run, boot: Processes.bootID.flatMap { Identifier($0) } ?? .none,
        coordinator: own, coordinatorStart: Processes.startTime(of: own) ?? 0, at: WallClock.now())
      record.memoryLimit = UInt64(clamping: memory)
      status = file
      if isOuter { file.write(control: desk.record(of: run)) }
      flusher = RunFlusher(file: file, record: record, every: .milliseconds(100)) {
        if isOuter { desk.look(at: (try? file.control()) ?? nil, of: run) }
        if isOuter, file.isLost { desk.loseRequests() }
        board.flush(to: file)
        let seen = try? file.advance()
        if let standing = seen?.workersStand { desk.note(workersStand: standing) }
        let reached = estimate.take(seen, desk: desk)
        if let seen { recorder.note(seen, ofStage: !isOuter) }
        if isOuter {
          recorder.note(
            fraction: reached.0, secondsRemaining: reached.1, isHeld: desk.isHeld)
        }
        return { record in
          desk.apply(to: &record)
          (record.fraction, record.secondsRemaining) = reached
        }
      }
      let loss = StatusFileWarning(file: file, logger: logger)
      self.loss = loss
      poller = Task.detached {
        while !Task.isCancelled {
          loss.warn()
          if let snapshot = try? file.snapshot() { progress(snapshot) }
          try? await Task.sleep(for: .milliseconds(100))
        }
      }
    } catch {
      var facts: Logger.Metadata = ["folder": "\(paths.work)"]
      facts["cause"] = ((error as? StatusError)?.errno ?? (error as? SystemCallError)?.errno).map {
        "\($0)"
      }
      logger.warning(
        "no status file could be created; the migration continues without it", metadata: facts)
      (status, flusher, poller, loss) = (nil, nil, nil, nil)
    }
  }

  /// Publishes nothing, and records all the same.
  init(desk: ControlDesk, recorder: RunRecorder) {
    (self.desk, self.recorder) = (desk, recorder)
    (progress, estimate) = ({ _ in }, SharedEstimate())
    (status, flusher, poller, loss) = (nil, nil, nil, nil)
  }

  /// The reporter for a second attempt at a stage: phases only go forward, so after `migrating` it
  /// publishes nothing.
  func again() -> ProgressReporter {
    phase.withLock { $0 } > .migrating ? ProgressReporter(desk: desk, recorder: recorder) : self
  }

  /// - Parameter atOnce: the number of units that are reported together at the end.
  func enter(_ phase: Phase, units: Int64 = 0, atOnce: Int64 = 0) {
    recorder.enter(phase)
    publish(phase, units: units, atOnce: atOnce)
  }

  private func publish(_ phase: Phase, units: Int64 = 0, atOnce: Int64 = 0) {
    self.phase.withLock { $0 = phase }
    estimate.set(steps: atOnce > 0 ? Int(clamping: units / atOnce) : 0)
    flusher?.enter(phase, units: UInt64(clamping: units))
  }

  /// Takes what there is to do in a stage, before its first row.
  func expect(_ work: StageWork, of engine: any MigrationEngine.Type) {
    var costs = engine.costs.phases(of: work)
    recorder.expect(costs)
    if desk.rate > 0, let migrating = costs[.migrating] {
      costs[.migrating] = max(migrating, Double(work.bytes) / Double(desk.rate))
    }
    estimate.change { $0.expect(costs) }
  }

  /// Takes what there is to do after the last row, once workers have counted their rows.
  func expect(counted work: StageWork, of engine: any MigrationEngine.Type) {
    estimate.change { $0.expect(later: engine.costs.phases(of: work)) }
  }

  /// Publishes how many filters were tried on objects that are surveyed.
  func look(at done: Int64, of all: Int64) {
    let before = looked.exchange(UInt64(done), ordering: .relaxed)
    if before == 0 { flusher?.change { $0.unitsTotal = UInt64(all) } }
    flusher?.advance(units: UInt64(done) &- before)
  }

  /// Publishes the disk that will be written at the peak.
  func expect(_ need: DiskNeed) {
    flusher?.change { $0.diskNeed = UInt64(clamping: need.bytes) }
  }

  /// Publishes all work orders of a plan, and enters `migrating`.
  func begin(_ plan: MigrationPlan, finished: [Int]) {
    let done = Set(finished)
    board.begin(plan, finished: done)
    let found = plan.workOrders.filter { done.contains($0.number) }.reduce(0) { $0 + $1.bytes }
    flusher?.change { record in
      record.rowsTotal = UInt64(plan.rows)
      record.bytesTotal = UInt64(plan.bytes)
      record.bytesFound = UInt64(found)
      record.workOrders = UInt32(plan.workOrders.count)
    }
    // Work that starts over with another plan is in that phase already.
    if phase.withLock({ $0 }) != .migrating { enter(.migrating) }
  }

  /// Starts a migration of several stages, which counts fractions of stages instead of bytes.
  func beginStages(_ count: Int) {
    flusher?.change { record in
      record.bytesTotal = UInt64(count) * Self.stageShares
      (record.stage, record.stages) = (1, UInt32(count))
    }
    let costs = [Phase.migrating: Double(count)]
    recorder.expect(costs)
    estimate.change { $0.expect(costs) }
    // Activities are recorded by stages.
    recorder.divide()
    publish(.migrating)
  }

  /// Publishes that a stage begins, from 1; it has a status file of its own.
  func begin(stage number: Int) {
    flusher?.change { $0.stage = UInt32(number) }
    recorder.begin(stage: number)
  }

  /// Publishes the completed fraction of a stage; stages count from 0.
  func reach(_ fraction: Double, ofStage number: Int) {
    let part = UInt64(Double(Self.stageShares) * min(1, max(0, fraction)))
    flusher?.change { $0.bytesDone = max($0.bytesDone, UInt64(number) * Self.stageShares + part) }
  }

  private static let stageShares: UInt64 = 10_000

  /// Publishes a step of the assembly.
  func enter(_ step: AssemblyStep) {
    switch step {
    case .merging(let rows, let atOnce): enter(.merging, units: rows, atOnce: atOnce)
    case .relinking(let steps): enter(.relinking, units: Int64(steps), atOnce: 1)
    case .indexing(let units, let atOnce): enter(.indexing, units: units, atOnce: atOnce)
    case .verifying: enter(Phase.verifying)
    case .stepDone(let units): flusher?.advance(units: UInt64(clamping: units))
    }
  }

  /// The peak private memory of the coordinator, in bytes.
  var peakMemory: Int64 { Int64(clamping: flusher?.peakMemory ?? PeakMemory().sample()) }

  func fail(_ failure: OutcomeWords.Failure) {
    flusher?.fail(failure.sentences.first ?? "", exitStatus: failure.exitStatus)
  }

  /// Publishes while `body` runs; then the last state is published, and no file is open any more.
  func whilePublishing<Result>(_ body: () async throws -> Result) async throws -> Result {
    do {
      let result = try await body()
      await end()
      return result
    } catch {
      await end()
      throw error
    }
  }

  private func end() async {
    poller?.cancel()
    await poller?.value
    flusher?.stop()
    loss?.warn()
    if let snapshot = try? status?.snapshot() { progress(snapshot) }
  }
}

extension PhaseCosts {
  /// What the phases from `migrating` on should take, in seconds.
  fileprivate func phases(of work: StageWork) -> [Phase: Double] {
    [
      .migrating: migrating(work), .merging: merging(work), .relinking: relinking(work),
      .indexing: indexing(work), .verifying: verifying(work), .swapping: swapping(work),
    ]
  }
}

extension StageWork {
  /// Takes the plan of a request's stage.
  init(_ plan: MigrationPlan, schema: StoreSchema, for request: MigrationRequest) {
    self.init(
      plan, schema: schema, workers: request.workersWithRoom,
      isVerifiedFully: request.verifiesFully, isSwapped: !request.isIntermediate)
  }
}
