import Foundation
import MigrationStatus

/// Works out which share of a run is done, and how long the rest will take.
///
/// Work is counted in seconds that the phases were expected to take; what it took is learnt from
/// the run. Time during which the run is held is no time. There is no clock in here, so tests give
/// it the times of runs that never were.
struct ProgressEstimate {
  /// How far a run is at one moment.
  struct Observation {
    /// The moment, in nanoseconds of a clock that never goes back.
    var at: Int64
    /// The phase at work.
    var phase: Phase
    /// The completed share of the phase, 0...1.
    var inner: Double
    /// In how many steps the phase is done, each as long as the longest; 0 if unknown.
    var steps = 0
    /// Whether the run is paused on request.
    var isHeld = false
    /// Whether nothing is left but the swap, which a file holds back.
    var isReady = false
  }

  /// The completed share, 0...1, which never falls.
  private(set) var fraction = 0.0
  /// The time remaining; nil before there is a plan, in the first half second and in a pause.
  private(set) var secondsRemaining: Double?

  private var costs: [Phase: Double] = [:]
  /// The share of the run that was done when its costs became known.
  private var before = 0.0
  private var last: Observation?
  /// Seconds during which the run was not held, and those of them when the present step began.
  private var (active, stepSince) = (0.0, 0.0)
  /// The work that was done at the last look.
  private var reached: Double?
  /// Work and the seconds that it took; what is long ago counts for less.
  private var measured = (work: 0.0, seconds: 0.0)

  /// The share of a run that is done at most before its costs are known.
  private static let surveyed = 0.09
  private static let phases: [Phase] = [
    .migrating, .merging, .relinking, .indexing, .verifying, .swapping,
  ]

  /// Takes the seconds that each phase from `migrating` on should take; what comes first counts.
  mutating func expect(_ costs: [Phase: Double]) {
    guard self.costs.isEmpty else { return }
    // A phase without an estimate counts a little.
    let least = max(1e-9, costs.values.reduce(0, +)) / 200
    for phase in Self.phases { self.costs[phase] = max(least, costs[phase] ?? 0) }
    before = fraction
  }

  /// Takes what the phases after `migrating` should take, once rows are counted.
  mutating func expect(later costs: [Phase: Double]) {
    guard !self.costs.isEmpty else { return }
    for (phase, cost) in costs where phase > .migrating { self.costs[phase] = max(1e-9, cost) }
  }

  /// Learns from how far the run is.
  mutating func observe(_ seen: Observation) {
    let wasHeld = last?.isHeld ?? true
    let passed = wasHeld ? 0 : max(0, Double(seen.at - (last?.at ?? seen.at)) / 1e9)
    active += passed
    if last?.phase != seen.phase || last?.inner != seen.inner { stepSince = active }
    last = seen
    if seen.isReady {
      fraction = max(fraction, 1 - min(0.01, (costs[.swapping] ?? 0) / max(total, 1e-9)))
    }
    guard !seen.isHeld else {
      secondsRemaining = nil
      return
    }
    guard !costs.isEmpty, seen.phase >= .migrating else {
      // Its time is unknown; its progress slows down ever more.
      fraction = max(fraction, Self.surveyed * active / (active + 10))
      return
    }
    learn(work(seen), passed: passed)
    let done = work(seen) + assumedWork(seen)
    fraction = max(fraction, before + (1 - before) * min(1, done / total))
    secondsRemaining = active < 0.5 ? nil : max(0, total - done) * scale
    // Without movement the run would look dead.
    let left = secondsRemaining ?? total
    fraction += (1 - fraction) * min(0.1, 0.1 * passed / (active + left))
  }

  private var total: Double { costs.values.reduce(0, +) }

  /// Seconds that a second of expected costs takes: as expected at first, and as measured the more,
  /// the more is done.
  private var scale: Double {
    let expected = total / 10
    return (measured.seconds + expected) / (measured.work + expected)
  }

  private mutating func learn(_ work: Double, passed: Double) {
    if let reached {
      let fading = exp(-passed / max(4, 0.4 * active))
      measured.work = measured.work * fading + max(0, work - reached)
      measured.seconds = measured.seconds * fading + passed
    }
    // What an earlier run has done took no time of this one.
    reached = work
  }

  /// The work that is done, in seconds of the costs.
  private func work(_ seen: Observation) -> Double {
    let earlier = costs.reduce(0) { $0 + ($1.key < seen.phase ? $1.value : 0) }
    return earlier + (costs[seen.phase] ?? 0) * min(1, max(0, seen.inner))
  }

  /// What of the present step may be done: four fifths of what it should take are taken for done,
  /// and the rest comes ever more slowly.
  private func assumedWork(_ seen: Observation) -> Double {
    guard seen.phase != .migrating, let cost = costs[seen.phase] else { return 0 }
    let left = cost * max(0, 1 - seen.inner)
    let step = seen.steps > 0 ? min(left, cost / Double(seen.steps)) : left
    guard step > 0 else { return 0 }
    let passed = (active - stepSince) / (scale * step)
    return step * (passed < 0.8 ? passed : 1 - 0.04 / (passed - 0.6))
  }
}
