import Logging
import MigrationEngine
import MigrationStatus
import Planning
import RowPrograms
import Synchronization
import SystemCalls
import SystemPackage

/// An estimate that threads share, and what is written down of it.
private final class Estimate: Sendable {
  private struct State {
    var estimate = ProgressEstimate()
    var rowCosts: (costs: PhaseCosts, speed: Double)?
    var steps = 0
    /// What all of it should take, as far as it was known first.
    var roughSeconds: Double?
  }

  let recording: ProgressRecording?
  private let state = Mutex(State())

  init(recording: ProgressRecording?) { self.recording = recording }

  /// Takes an input, if there is one; what is told after it.
  @discardableResult
  func take(
    _ input: ProgressEstimate.Input?
  ) -> (fraction: Double, secondsRemaining: Double?) {
    state.withLock { state in
      if let input {
        recording?.note(input)
        state.estimate.take(input)
      }
      return (state.estimate.fraction, state.estimate.secondsRemaining)
    }
  }

  /// What rows cost in the engine at work, and how fast this machine is; nil where they are not
  /// followed.
  var rowCosts: (costs: PhaseCosts, speed: Double)? {
    get { state.withLock(\.rowCosts) }
    set { state.withLock { $0.rowCosts = newValue } }
  }

  /// What one stage should take, as far as it was known before there was a survey; nil where nobody
  /// knew.
  var roughSeconds: Double? {
    get { state.withLock(\.roughSeconds) }
    set { state.withLock { $0.roughSeconds = newValue } }
  }

  /// In how many steps the phase at work is done, if each is as long as the longest one; 0 where
  /// nobody knows.
  var steps: Int {
    get { state.withLock(\.steps) }
    set { state.withLock { $0.steps = newValue } }
  }
}

/// Reads the status file for the caller, and for the last time when all is written.
private final class ProgressTeller: Sendable {
  private let progress: @Sendable (StatusSnapshot) -> Void
  private let isOver = Mutex(false)

  init(_ progress: @escaping @Sendable (StatusSnapshot) -> Void) { self.progress = progress }

  func tell(_ file: StatusFile) {
    isOver.withLock { if !$0, let snapshot = try? file.snapshot() { progress(snapshot) } }
  }

  func end(_ file: StatusFile) {
    tell(file)
    isOver.withLock { $0 = true }
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
  private let estimate: Estimate
  private let phase = Mutex(Phase.surveying)
  private let looked = Atomic<UInt64>(0)
  private let teller: ProgressTeller
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
    let teller = ProgressTeller(progress)
    (self.desk, self.recorder, self.teller) = (desk, recorder, teller)
    let estimate = Estimate(recording: isOuter ? .asked(logger: logger) : nil)
    self.estimate = estimate
    do {
      let file = try StatusFile.create(paths.status)
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
        let seen = try? file.advance()
        if let standing = seen?.workersStand { desk.note(workersStand: standing) }
        let reached = estimate.take(
          seen.map { .observed(.init($0, steps: estimate.steps, desk: desk)) })
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
          teller.tell(file)
          try? await Task.sleep(for: .milliseconds(100))
        }
      }
    } catch {
      logger.warning("no status file", metadata: ["error": "\(error)"])
      (status, flusher, poller) = (nil, nil, nil)
    }
  }

  /// Publishes nothing, and records all the same.
  init(desk: ControlDesk, recorder: RunRecorder) {
    (self.desk, self.recorder, teller) = (desk, recorder, ProgressTeller { _ in })
    estimate = Estimate(recording: nil)
    (status, flusher, poller) = (nil, nil, nil)
  }

  /// The reporter for a second attempt at a stage: phases only go forward, so after `migrating` it
  /// publishes nothing.
  func again() -> ProgressReporter {
    phase.withLock { $0 } > .migrating ? ProgressReporter(desk: desk, recorder: recorder) : self
  }

  /// - Parameter atOnce: of how many units nothing is told before all of them are done.
  func enter(_ phase: Phase, units: Int64 = 0, atOnce: Int64 = 0) {
    recorder.enter(phase)
    publish(phase, units: units, atOnce: atOnce)
  }

  private func publish(_ phase: Phase, units: Int64 = 0, atOnce: Int64 = 0) {
    self.phase.withLock { $0 = phase }
    estimate.steps = atOnce > 0 ? Int(clamping: units / atOnce) : 0
    flusher?.enter(phase, units: UInt64(clamping: units))
  }

  /// Takes what there is to do in a stage, before its first row.
  func expect(_ work: StageWork, of engine: any MigrationEngine.Type) {
    let costs = engine.costs.phases(of: work)
    // Nothing else goes on meanwhile, where it was not measured beside the survey.
    let speed = MachineSpeed.ratio(for: costs, least: 1)
    recorder.expect(costs)
    estimate.rowCosts = (engine.costs, speed)
    estimate.recording?.note(work, of: engine.name, speed: speed)
    estimate.take(.expected(limited(costs.mapValues { $0 / speed }, bytes: work.bytes)))
  }

  /// Takes what a stage should take, as far as it is known before there is a survey; those of
  /// `surveying` are among the costs.
  func expect(roughly costs: [Phase: Double], bytes: Int64, speed: Double) {
    let limited = limited(costs.mapValues { $0 / speed }, bytes: bytes)
    estimate.take(.expected(limited))
    estimate.roughSeconds = limited.values.reduce(0, +)
  }

  /// The same, unless more is known by now.
  func expect(atFirst costs: [Phase: Double], bytes: Int64, speed: Double) {
    if estimate.roughSeconds == nil, estimate.rowCosts == nil {
      expect(roughly: costs, bytes: bytes, speed: speed)
    }
  }

  /// Costs in seconds of this machine, whose workers may read so many bytes at a rate alone.
  private func limited(_ costs: [Phase: Double], bytes: Int64) -> [Phase: Double] {
    guard desk.rate > 0, let migrating = costs[.migrating] else { return costs }
    let least = Double(bytes) / Double(desk.rate)
    return costs.merging([.migrating: max(migrating, least)]) { $1 }
  }

  /// Takes what the phases after `migrating` should take, once workers have counted their rows.
  func expect(counted costs: [Phase: Double]) {
    let speed = estimate.rowCosts?.speed ?? 1
    estimate.take(.counted(costs.mapValues { $0 / speed }))
  }

  /// Publishes how many filters were tried on objects that are surveyed, and takes at the first of
  /// them what the phases are expected to cost.
  func look(at done: Int64, of all: Int64, bytes: Int64, costs: () -> [Phase: Double]) {
    let before = looked.exchange(UInt64(done), ordering: .relaxed)
    if before == 0 {
      estimate.take(.expected(limited(costs(), bytes: bytes)))
      estimate.steps = Int(clamping: all)
      flusher?.change { $0.unitsTotal = UInt64(all) }
    }
    flusher?.advance(units: UInt64(done) &- before)
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
    if let (costs, speed) = estimate.rowCosts {
      estimate.take(
        .planned(
          WorkForecast.orders(
            of: plan, finished: done, costs: costs, speed: speed,
            isSequential: !plan.program.tables.isEmpty)))
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
    let costs = [Phase.migrating: Double(count) * (estimate.roughSeconds ?? 1)]
    recorder.expect(costs)
    estimate.take(.expected(costs))
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

  func end() {
    poller?.cancel()
    flusher?.stop()
    if let status { teller.end(status) }
    estimate.recording?.end()
  }
}

extension ProgressEstimate.Observation {
  /// How far a run is now, and what holds it.
  fileprivate init(_ seen: RunAdvance, steps: Int, desk: ControlDesk) {
    self.init(
      at: MonotonicClock.now(), phase: seen.phase, inner: seen.inner, steps: steps,
      parts: seen.parts, isHeld: desk.isHeld, isReady: desk.isReady, workers: desk.workers,
      rate: desk.rate)
  }
}
