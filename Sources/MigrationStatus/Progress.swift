/// The completed share of a run, computed from its records alone.
///
/// It never exceeds 1, and never falls while writers follow the rules of
/// docs/reference/status-file.md: totals are fixed before `migrating` begins, phases only go
/// forward, and a part keeps the most bytes of any attempt.
struct Progress {
  /// The phase of the run, or the one in which it failed.
  let phase: Phase
  private let run: RunRecord
  /// The completed share of the phase, 0...1.
  let inner: Double
  /// Source bytes migrated, at most the run's total.
  let bytesDone: UInt64

  init(_ contents: StatusContents) {
    run = contents.run
    phase = run.failedPhase ?? run.phase
    let counted = max(run.bytesDone, sum(numbers: contents.parts.map(\.bytesCounted)))
    let total = run.bytesTotal
    bytesDone = min(counted, total)
    inner =
      switch phase {
      case .migrating where total > 0: Self.share(done: counted, of: total)
      case .migrating:
        Self.share(
          done: max(run.rowsDone, sum(numbers: contents.parts.map(\.rowsCounted))),
          of: run.rowsTotal)
      default: Self.share(done: run.unitsDone, of: run.unitsTotal)
      }
  }

  /// The completed share of the run, 0...1.
  var fraction: Double {
    if phase == .done { return 1 }
    return min(1, (Double(phase.weightBefore) + inner * Double(phase.weight)) / 1000)
  }

  /// The time remaining at the rate of this phase, or of the whole run while the phase is young.
  ///
  /// nil before a hundredth of the run is done, and once it has failed.
  func secondsRemaining(at now: Int64) -> Double? {
    if run.phase == .done { return 0 }
    guard run.phase.isWorking, fraction >= 0.01 else { return nil }
    // What an earlier run had done cost this one no time.
    let found =
      phase == .migrating && run.bytesTotal > 0
      ? Self.share(done: run.bytesFound, of: run.bytesTotal) : 0
    let gained = inner - found
    let (since, done) =
      gained >= 0.01
      ? (run.phaseStartedAt, gained * Double(phase.weight) / 1000) : (run.startedAt, fraction)
    let elapsed = (Double(now) - Double(since)) / 1e9
    guard elapsed > 0, done > 0 else { return nil }
    return (1 - fraction) * elapsed / done
  }

  private static func share(done: UInt64, of total: UInt64) -> Double {
    total == 0 ? 0 : Double(min(done, total)) / Double(total)
  }
}

/// How far a run is within its phase, for the coordinator's own estimate.
package struct RunAdvance: Hashable, Sendable {
  /// The phase at work.
  package var phase: Phase
  /// The completed share of the phase, 0...1.
  package var inner: Double
  /// The units of the phase, 0 where it has none.
  package var units: Int
  /// Whether all running workers are paused, nil unless workers migrate rows for this file.
  package var workersStand: Bool?
  /// Source rows migrated.
  package var rows: UInt64
  /// Source bytes migrated.
  package var bytes: UInt64
  /// Workers at work.
  package var workers: Int
  /// The most private memory so far of the coordinator and of the workers at work, in bytes.
  package var memory: UInt64

  init(_ contents: StatusContents) {
    let progress = Progress(contents)
    (phase, inner) = (progress.phase, progress.inner)
    units = Int(clamping: contents.run.unitsTotal)
    let running = contents.parts.filter { $0.state == .running }
    rows = max(contents.run.rowsDone, sum(numbers: contents.parts.map(\.rowsCounted)))
    bytes = progress.bytesDone
    workers = running.count
    memory = sum(numbers: running.map(\.peakMemory) + [contents.run.peakMemory])
    guard phase == .migrating, !contents.parts.isEmpty else { return }
    workersStand = contents.parts.allSatisfy { $0.state != .running || $0.isPaused }
  }
}
