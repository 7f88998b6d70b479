import MigrationStatus
import Planning
import Synchronization
import SystemCalls

/// Records the activities of a run, for all its stages and from any thread.
package final class RunRecorder: Sendable {
  private struct State {
    var recording: RunRecording
    var stage = 1
    var isDivided = false
    var reached: RunAdvance?
  }

  private let state: Mutex<State>
  private let start = MonotonicClock.now()
  private let observer: (any RunObserver)?

  /// Begins a recording with the survey; `observer` hears of what is recorded.
  package init(observer: (any RunObserver)? = nil) {
    self.observer = observer
    observer?.began(.surveying, stage: 1)
    var recording = RunRecording(startedAt: Double(WallClock.now()) / 1e9)
    recording.enter(.surveying, stage: 1, at: 0)
    state = Mutex(State(recording: recording))
  }

  private var time: Double { max(0, Double(MonotonicClock.now() - start) / 1e9) }

  /// The run has several stages, which report their own progress.
  func divide() { state.withLock { $0.isDivided = true } }

  /// What follows belongs to a stage, from 1, whose store is surveyed first.
  func begin(stage: Int) {
    state.withLock { ($0.stage, $0.reached) = (stage, nil) }
    if stage > 1 { enter(.surveying) }
  }

  func enter(_ phase: Phase) {
    let time = time
    let stage = state.withLock { state in
      state.recording.enter(phase, stage: state.stage, at: time)
      return state.stage
    }
    observer?.began(phase, stage: stage)
  }

  /// Records that a worker begins an attempt at an order; pass the result to `end`.
  func begin(_ order: WorkOrder, attempt: Int) -> Int {
    let time = time
    let (span, index) = state.withLock { state in
      let span = RunRecording.OrderSpan(
        workOrder: order.number, stage: state.stage, partition: order.partition,
        attempt: attempt, rows: order.rows, from: time, to: time, isDone: false)
      return (span, state.recording.begin(span))
    }
    observer?.began(span, number: index)
    return index
  }

  func end(_ index: Int, isDone: Bool) {
    let time = time
    state.withLock { $0.recording.end(index, isDone: isDone, at: time) }
    observer?.ended(number: index, isDone: isDone)
  }

  func expect(_ costs: [Phase: Double]) { state.withLock { $0.recording.expect(costs) } }

  /// Notes how far a stage is, or the whole run, which counts if it has no others.
  func note(_ reached: RunAdvance, ofStage: Bool) {
    state.withLock { state in
      if state.isDivided == ofStage { state.reached = reached }
    }
  }

  /// Notes how far the whole run is.
  func note(fraction: Double, secondsRemaining: Double?, isHeld: Bool) {
    let time = time
    state.withLock { state in
      state.recording.note(
        .init(
          at: time, phase: "\(state.reached?.phase ?? .surveying)",
          inner: state.reached?.inner ?? 0, units: state.reached?.units ?? 0, fraction: fraction,
          secondsRemaining: secondsRemaining, isHeld: isHeld,
          stage: state.stage, rows: state.reached?.rows ?? 0, bytes: state.reached?.bytes ?? 0,
          workers: state.reached?.workers ?? 0, memory: state.reached?.memory ?? 0))
    }
  }

  /// The recording up to now.
  package var recording: RunRecording {
    let time = time
    return state.withLock { state in
      var recording = state.recording
      recording.end(at: time)
      return recording
    }
  }
}
