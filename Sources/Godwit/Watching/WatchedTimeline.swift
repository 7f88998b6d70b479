package import Foundation
import MigrationCoordinator
import MigrationStatus
package import Pages

/// The activities of a migration over time, as far as a watcher saw them.
///
/// It has no clock of its own, and keeps a bounded number of samples and work orders.
package struct WatchedTimeline: Sendable {
  /// The maximum number of kept attempts at work orders: a status file may claim any number.
  static let mostAttempts = 2_000

  /// The maximum number of distinct stages.
  static let mostStages = 100

  private struct Attempt {
    let index: Int
    let number: UInt32
    var isOpen = true
  }

  private var run: Identifier?
  private var recording = RunRecording(startedAt: 0)
  private var stage = 1
  private var phase: Phase?
  private var attempts: [UInt32: Attempt] = [:]
  private var attemptCount = 0

  /// Begins before anything was seen.
  package init() {}

  /// Takes what is known at a moment; another run of the same migration starts over.
  package mutating func observe(_ status: MigrationMonitor.Status, at moment: Date) {
    guard let snapshot = status.core.snapshot else { return }
    if snapshot.run != run {
      self = WatchedTimeline()
      run = snapshot.run
      recording = RunRecording(startedAt: snapshot.startedAt)
    }
    let now = time(status.ended?.timeIntervalSince1970 ?? moment.timeIntervalSince1970)
    let isOver = !snapshot.phase.isWorking || snapshot.phase > .migrating
    if let work = snapshot.stage, !isOver {
      begin(stage: Int(work.number))
      enter(work.phase, at: work.phaseStartedAt)
    } else {
      enter(snapshot.phase, at: snapshot.phaseStartedAt)
    }
    note(snapshot.parts, at: now)
    if let progress = status.progress, status.state.isOpen {
      recording.note(
        .init(
          at: now, phase: "\(phase ?? snapshot.phase)", fraction: snapshot.fraction,
          secondsRemaining: snapshot.secondsRemaining, isHeld: status.state == .paused,
          stage: stage, rows: UInt64(progress.atWork.rowsDone),
          bytes: UInt64(progress.atWork.bytesDone),
          workers: snapshot.workersRunning, memory: UInt64(progress.memory)))
    }
    recording.end(at: now)
  }

  /// Treats work orders as those of another stage, whose phases start over.
  private mutating func begin(stage number: Int) {
    guard number > stage, number <= Self.mostStages else { return }
    (stage, attempts) = (number, [:])
    // The first phase of a run is its own survey.
    phase = nil
  }

  private mutating func enter(_ next: Phase, at moment: Double) {
    guard phase.map({ $0 < next }) ?? true else { return }
    phase = next
    recording.enter(next, stage: stage, at: time(moment))
  }

  /// What was seen as pictures; nil where nothing was.
  package var section: Page.Section? { recording.timeSection }

  /// Seconds since the run began, of a time since 1970 that may be anything.
  private func time(_ moment: Double) -> Double {
    let seconds = moment - recording.startedAt
    return seconds.isFinite ? min(max(0, seconds), 1e9) : 0
  }

  private mutating func note(_ parts: [StatusSnapshot.Part], at now: Double) {
    // Lanes are laid out by the order of starts.
    for part in parts.sorted(by: { $0.startedAt < $1.startedAt }) where part.state != .planned {
      let start = time(part.startedAt)
      if let known = attempts[part.workOrder], known.number != part.attempt {
        if known.isOpen { recording.end(known.index, isDone: false, at: start) }
        attempts[part.workOrder] = nil
      }
      if attempts[part.workOrder] == nil {
        guard attemptCount < Self.mostAttempts else { continue }
        attemptCount += 1
        let index = recording.begin(
          .init(
            workOrder: Int(part.workOrder), stage: stage, partition: Int(part.partition),
            attempt: Int(part.attempt), rows: Int64(clamping: part.rowsTotal), from: start,
            to: start, isDone: true))
        attempts[part.workOrder] = Attempt(index: index, number: part.attempt)
      }
      guard let attempt = attempts[part.workOrder], attempt.isOpen else { continue }
      let end = part.state == .running ? now : time(part.progressAt)
      recording.end(attempt.index, isDone: part.state != .failed, at: max(start, end))
      attempts[part.workOrder]?.isOpen = part.state == .running
    }
  }
}
