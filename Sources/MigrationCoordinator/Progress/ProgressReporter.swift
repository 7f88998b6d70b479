import Logging
import MigrationEngine
import MigrationStatus
import Planning
import RowPrograms
import Synchronization
import SystemCalls
import SystemPackage

/// An estimate that threads share.
private final class Estimate: Sendable {
  struct State {
    var run = RunEstimate()
    var rowCosts: PhaseCosts?
    var rows: WorkForecast?

    /// Learns from how far the run is.
    mutating func observe(_ seen: RunAdvance, isHeld: Bool, workers: Int, rate: UInt64) {
      let now = MonotonicClock.now()
      rows?.observe(seen.parts, at: now, isHeld: isHeld, rate: rate)
      let forecast = rows.flatMap { rows in
        rows.secondsLeft(workers: workers).flatMap { left in
          rows.scale.map { RunEstimate.Forecast(secondsLeft: left, scale: $0) }
        }
      }
      run.observe(
        .init(
          phase: seen.phase, inner: seen.inner, units: seen.units, isHeld: isHeld,
          forecast: forecast), at: now)
    }
  }

  private let state = Mutex(State())
  func withLock<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
    state.withLock { body(&$0) }
  }
}

/// Publishes the progress of the coordinator to the status file and to the caller.
///
/// Without a status file nothing is published and nothing else changes.
final class ProgressReporter: Sendable {
  let status: StatusFile?
  /// What holds the migration.
  let desk: ControlDesk
  /// Records what goes on, for the report.
  let recorder: RunRecorder
  private let flusher: RunFlusher?
  private let estimate = Estimate()
  private let phase = Mutex(Phase.surveying)
  private let poller: Task<Void, Never>?

  /// Starts to publish.
  ///
  /// - Parameter isOuter: whether this is the status file of the migration, where requests are
  ///   made; a stage has one of its own.
  init(
    paths: MigrationPaths, run: Identifier = .random(), desk: ControlDesk, recorder: RunRecorder,
    isOuter: Bool = false, memory: Int64 = 0, logger: Logger,
    progress: @escaping @Sendable (StatusSnapshot) -> Void
  ) {
    (self.desk, self.recorder) = (desk, recorder)
    do {
      let file = try StatusFile.create(paths.status)
      let own = Processes.own
      var record = RunRecord(
        run: run, boot: Processes.bootID.flatMap { Identifier($0) } ?? .none,
        coordinator: own, coordinatorStart: Processes.startTime(of: own) ?? 0, at: WallClock.now())
      record.memoryLimit = UInt64(clamping: memory)
      status = file
      if isOuter { file.write(control: desk.record(of: run)) }
      let estimate = estimate
      flusher = RunFlusher(file: file, record: record, every: .milliseconds(100)) {
        if isOuter { desk.look(at: (try? file.control()) ?? nil, of: run) }
        if isOuter, file.isLost { desk.loseRequests() }
        let seen = try? file.advance()
        if let standing = seen?.workersStand { desk.note(workersStand: standing) }
        let reached = estimate.withLock { estimate in
          if let seen {
            estimate.observe(seen, isHeld: desk.isHeld, workers: desk.workers, rate: desk.rate)
          }
          return (estimate.run.fraction, estimate.run.secondsRemaining)
        }
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
      poller = Task.detached {
        var isTold = false
        while !Task.isCancelled {
          if file.isLost, !isTold {
            isTold = true
            logger.warning(
              "the status file can be written no more; the migration goes on untold",
              metadata: ["file": "\(file.path)"])
          }
          if let snapshot = try? file.snapshot() { progress(snapshot) }
          try? await Task.sleep(for: .milliseconds(100))
        }
      }
    } catch {
      logger.warning("no status file", metadata: ["error": "\(error)"])
      (status, flusher, poller) = (nil, nil, nil)
    }
  }

  /// Publishes nothing, and records all the same.
  private init(desk: ControlDesk, recorder: RunRecorder) {
    (self.desk, self.recorder) = (desk, recorder)
    (status, flusher, poller) = (nil, nil, nil)
  }

  /// The reporter for a second attempt at a stage: phases only go forward, so after `migrating` it
  /// publishes nothing.
  func again() -> ProgressReporter {
    phase.withLock { $0 } > .migrating ? ProgressReporter(desk: desk, recorder: recorder) : self
  }

  func enter(_ phase: Phase, units: Int = 0) {
    recorder.enter(phase)
    publish(phase, units: units)
  }

  private func publish(_ phase: Phase, units: Int = 0) {
    self.phase.withLock { $0 = phase }
    flusher?.enter(phase, units: UInt64(units))
  }

  /// Takes what the phases of a stage are expected to cost, before its first row.
  ///
  /// - Parameter rows: the costs of the engine at work; nil where its rows are not followed.
  func expect(_ costs: [Phase: Double], rows: PhaseCosts?) {
    recorder.expect(costs)
    estimate.withLock { estimate in
      estimate.run.expect(costs)
      estimate.rowCosts = rows
    }
  }

  /// Publishes the disk that will be written at the peak.
  func expect(_ need: DiskNeed) {
    flusher?.change { $0.diskNeed = UInt64(clamping: need.bytes) }
  }

  /// Publishes all work orders of a plan, and enters `migrating`.
  func begin(_ plan: MigrationPlan, finished: [Int]) {
    let done = Set(finished)
    status?.write(
      parts: plan.workOrders.map { order in
        var part = PartRecord(
          workOrder: UInt32(order.number), partition: UInt32(order.partition),
          rowsTotal: UInt64(order.rows), bytesTotal: UInt64(order.bytes))
        if done.contains(order.number) {
          part.state = .done
          (part.rowsDone, part.bytesDone) = (part.rowsTotal, part.bytesTotal)
        }
        return part
      })
    estimate.withLock { estimate in
      estimate.rows = estimate.rowCosts.map {
        WorkForecast(
          plan, finished: done, row: $0.row, byte: $0.byte, work: $0.work,
          isSequential: !plan.program.tables.isEmpty)
      }
    }
    let found = plan.workOrders.filter { done.contains($0.number) }.reduce(0) { $0 + $1.bytes }
    flusher?.change { record in
      record.rowsTotal = UInt64(plan.rows)
      record.bytesTotal = UInt64(plan.bytes)
      record.bytesFound = UInt64(found)
      record.workOrders = UInt32(plan.workOrders.count)
    }
    // Work that begins anew with another plan is in that phase already.
    if phase.withLock({ $0 }) != .migrating { enter(.migrating) }
  }

  /// Starts a migration of several stages, which counts fractions of stages instead of bytes.
  func beginStages(_ count: Int) {
    flusher?.change { record in
      record.bytesTotal = UInt64(count) * Self.stageShares
      (record.stage, record.stages) = (1, UInt32(count))
    }
    expect([.migrating: 1], rows: nil)
    // What goes on is recorded by stages.
    recorder.divide()
    publish(.migrating)
  }

  /// Publishes that a stage begins, from 1, which tells more in a status file of its own.
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
    case .merging(let tables): enter(.merging, units: tables)
    case .relinking(let steps): enter(.relinking, units: steps)
    case .indexing(let indexes): enter(.indexing, units: indexes)
    case .verifying: enter(Phase.verifying)
    case .stepDone: flusher?.advance()
    }
  }

  /// The peak private memory of the coordinator, in bytes.
  var peakMemory: Int64 { Int64(clamping: flusher?.peakMemory ?? 0) }

  func fail(_ failure: OutcomeWords.Failure) {
    flusher?.fail(failure.sentences.first ?? "", exitStatus: failure.exitStatus)
  }

  func end() {
    poller?.cancel()
    flusher?.stop()
  }
}
