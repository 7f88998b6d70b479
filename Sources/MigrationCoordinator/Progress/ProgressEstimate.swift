import MigrationStatus
import Planning

/// What is told of a run's progress, from what is known of its costs and seen of its work.
///
/// It has no clock of its own and opens no file: the same inputs tell the same at any time
/// (`ProgressRecording`).
struct ProgressEstimate {
  /// What the estimate is made from, in the order in which it becomes known.
  enum Input: Hashable, Sendable {
    /// What the phases of a stage are expected to cost.
    case expected([Phase: Double])
    /// What the phases after `migrating` are expected to cost, once rows are counted.
    case counted([Phase: Double])
    /// The work orders of a plan.
    case planned([WorkForecast.Order])
    /// How far the run is.
    case observed(Observation)
  }

  /// How far a run is at one moment.
  struct Observation: Hashable, Sendable {
    /// The moment, in nanoseconds of a clock that never goes back.
    var at: Int64
    /// The phase at work.
    var phase: Phase
    /// The completed share of the phase, 0...1.
    var inner: Double
    /// In how many steps the phase is done, each as long as the longest; 0 where nobody knows.
    var steps = 0
    /// The work orders.
    var parts: [RunAdvance.Part] = []
    /// Whether the run stands still on request.
    var isHeld = false
    /// Whether nothing but the swap is left, and a file holds it back.
    var isReady = false
    /// How many workers may run at once.
    var workers = 1
    /// Bytes that workers may read in a second, all together; 0 for no limit.
    var rate: UInt64 = 0
  }

  private var run = RunEstimate()
  private var rows: WorkForecast?

  /// The completed share of the run, 0...1.
  var fraction: Double { run.fraction }
  /// The time remaining, nil before anything can be said.
  var secondsRemaining: Double? { run.secondsRemaining }

  /// Learns from an input.
  mutating func take(_ input: Input) {
    switch input {
    case .expected(let costs): run.expect(costs)
    case .counted(let costs): run.expect(later: costs)
    case .planned(let orders): rows = WorkForecast(orders)
    case .observed(let seen): observe(seen)
    }
  }

  private mutating func observe(_ seen: Observation) {
    rows?.observe(
      seen.parts, at: seen.at, isHeld: seen.isHeld, workers: seen.workers, rate: seen.rate)
    let forecast = rows.flatMap { rows in
      rows.secondsLeft(workers: seen.workers).flatMap { left in
        rows.scale.map { RunEstimate.Forecast(secondsLeft: left, scale: $0) }
      }
    }
    run.observe(
      .init(
        phase: seen.phase, inner: seen.inner, steps: seen.steps, isHeld: seen.isHeld,
        isReady: seen.isReady, forecast: forecast), at: seen.at)
  }
}
