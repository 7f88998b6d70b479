import Logging
import MigrationEngine
import MigrationStatus
import Planning
import Synchronization
import SystemCalls
import SystemPackage

/// An estimate that threads share.
private final class Estimate: Sendable {
  private let state = Mutex(RunEstimate())
  func withLock<Result: Sendable>(_ body: (inout RunEstimate) -> Result) -> Result {
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
  private let flusher: RunFlusher?
  private let estimate = Estimate()
  private let phases = Mutex<[(phase: Phase, since: ContinuousClock.Instant)]>([])
  private let poller: Task<Void, Never>?

  /// Starts to publish.
  ///
  /// - Parameter isOuter: whether this is the status file of the migration, where requests are
  ///   made; a stage has one of its own.
  init(
    paths: MigrationPaths, run: Identifier = .random(), desk: ControlDesk, isOuter: Bool = false,
    logger: Logger, progress: @escaping @Sendable (StatusSnapshot) -> Void
  ) {
    self.desk = desk
    do {
      let file = try StatusFile.create(paths.status)
      let own = Processes.own
      let record = RunRecord(
        run: run, boot: Processes.bootID.flatMap { Identifier($0) } ?? .none,
        coordinator: own, coordinatorStart: Processes.startTime(of: own) ?? 0, at: WallClock.now())
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
            estimate.observe(
              .init(
                phase: seen.phase, inner: seen.inner, units: seen.units, isHeld: desk.isHeld),
              at: MonotonicClock.now())
          }
          return (estimate.fraction, estimate.secondsRemaining)
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
    phases.withLock { $0.append((.surveying, .now)) }
  }

  /// Publishes nothing.
  private init(desk: ControlDesk) {
    self.desk = desk
    (status, flusher, poller) = (nil, nil, nil)
  }

  /// The reporter for a second attempt at a stage: phases only go forward, so after `migrating` it
  /// publishes nothing.
  func again() -> ProgressReporter {
    let last = phases.withLock { $0.last?.phase } ?? .surveying
    return last > .migrating ? ProgressReporter(desk: desk) : self
  }

  func enter(_ phase: Phase, units: Int = 0) {
    phases.withLock { $0.append((phase, .now)) }
    flusher?.enter(phase, units: UInt64(units))
  }

  /// Takes what the phases of a stage are expected to cost, before its first row.
  func expect(_ costs: [Phase: Double]) { estimate.withLock { $0.expect(costs) } }

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
    let found = plan.workOrders.filter { done.contains($0.number) }.reduce(0) { $0 + $1.bytes }
    flusher?.change { record in
      record.rowsTotal = UInt64(plan.rows)
      record.bytesTotal = UInt64(plan.bytes)
      record.bytesFound = UInt64(found)
      record.workOrders = UInt32(plan.workOrders.count)
    }
    // Work that begins anew with another plan is in that phase already.
    if phases.withLock({ $0.last?.phase }) != .migrating { enter(.migrating) }
  }

  /// Starts a migration of several stages, which counts fractions of stages instead of bytes.
  func beginStages(_ count: Int) {
    flusher?.change { $0.bytesTotal = UInt64(count) * Self.stageShares }
    expect([.migrating: 1])
    enter(.migrating)
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

  /// Seconds in each phase so far.
  var seconds: [String: Double] {
    phases.withLock { phases in
      let ends = phases.dropFirst().map(\.since) + [.now]
      return Dictionary(
        zip(phases, ends).map { ("\($0.phase)", ($1 - $0.since) / .seconds(1)) },
        uniquingKeysWith: +)
    }
  }
}
