import Foundation
import MigrationStatus

// (1) The fraction never falls and never passes 1: costs are fixed once, phases go forward, and the
//     highest one counts.
// (2) Time during which the run is held is no time: nothing is learnt from it.
// (3) While rows are migrated, and once some were, the time left is made of what was measured of
//     the rows of each table; costs that are only expected are scaled by the machine's speed.
// (4) Before anything was measured, what is expected counts as it is: seconds of this machine, as
//     well as its speed is known.
// (5) A phase whose present step takes long goes on ever more slowly, so that nobody takes it for
//     dead; nothing is learnt from that either.

/// Works out which share of a run is done, and how long the rest will take, from what it observes.
///
/// It has no clock of its own, so tests give it the times of runs that never were.
struct RunEstimate {
  /// What is observed at one moment.
  struct Observation {
    /// The phase at work.
    var phase: Phase
    /// The completed share of the phase, 0...1.
    var inner: Double
    /// In how many steps the phase is done, each as long as the longest; 0 where nobody knows.
    var steps = 0
    /// Whether the run stands still on request.
    var isHeld = false
    /// Whether nothing but the swap is left, which a file holds back.
    var isReady = false
    /// What was measured of rows; nil where nothing was.
    var forecast: Forecast?
  }

  /// What was measured of the rows that workers migrated.
  struct Forecast {
    /// Seconds until the workers have done the rest.
    var secondsLeft: Double
    /// Seconds that one second of expected costs took.
    var scale: Double

    /// What is to be expected of the phases that follow: rows that take longer than expected tell
    /// of a machine that has much to do, or of themselves alone, and nobody knows which; those that
    /// take less tell of themselves rather.
    var laterScale: Double { pow(scale, scale < 1 ? 0.25 : 0.5) }
  }

  private var costs: [Phase: Double] = [:]
  private var isExpected = false
  /// Whether the costs are those that are known before there is a plan.
  private var isRough = false
  /// Seconds that one second of rough costs took.
  private var roughScale: Double?
  /// The share of the run that was done when its costs became known.
  private var before = 0.0
  private var highest = 0.0
  private var samples: [(time: Double, work: Double)] = []
  private var active = 0.0
  private var last: (time: Int64, observation: Observation)?
  private var stepSince = 0.0
  /// The share that was done when rows began to be migrated, and the time that was active then.
  private var rowsSince: (share: Double, active: Double)?
  /// What was measured of rows last, and the time that was active when the last row was migrated.
  private var measured: (forecast: Forecast, active: Double)?

  /// The completed share, 0...1.
  var fraction: Double { highest }
  /// The time remaining, nil before anything can be said.
  private(set) var secondsRemaining: Double?

  /// The most samples that are kept, of two a second.
  private static let mostSamples = 1200
  /// Seconds of work before anything is said.
  private static let leastActive = 0.5

  /// Takes the expected seconds of each phase from `migrating` on; once something is measured, only
  /// their ratios matter.
  ///
  /// Those of `surveying` come with costs that are roughly known before there is a plan, and that
  /// give way to others. What is done at the first observation after that costs no time any more.
  mutating func expect(_ costs: [Phase: Double]) {
    guard !isExpected || isRough else { return }
    if isRough { roughScale = rate(in: .surveying).map { 1 / $0 } ?? roughScale }
    isRough = costs[.surveying] != nil
    // A phase of which nobody knows anything takes a little.
    let least = max(1e-9, costs.values.reduce(0, +)) / 200
    self.costs = Dictionary(
      uniqueKeysWithValues: Self.phases.map { ($0, max(least, costs[$0] ?? 0)) })
    for phase in Self.early { self.costs[phase] = isRough ? max(least, costs[phase] ?? 0) : nil }
    (isExpected, before) = (true, highest)
    samples = []
    (rowsSince, measured) = (nil, nil)
    if active >= Self.leastActive { secondsRemaining = expectedScale * total }
  }

  /// Takes what the phases after `migrating` should take, now that workers have counted their rows.
  mutating func expect(later costs: [Phase: Double]) {
    guard isExpected, !isRough else { return }
    for (phase, cost) in costs where phase > .migrating { self.costs[phase] = max(1e-9, cost) }
  }

  /// Takes an observation at a moment of a clock that never goes back, in nanoseconds.
  mutating func observe(_ observation: Observation, at now: Int64) {
    let elapsed = last.map { max(0, Double(now - $0.time) / 1e9) } ?? 0
    let wasHeld = last?.observation.isHeld ?? false
    let hasMoved =
      last?.observation.phase != observation.phase
      || last.map { $0.observation.inner < observation.inner } ?? true
    last = (now, observation)
    if observation.isReady {
      let share = min(0.01, (costs[.swapping] ?? 0) / max(total, 1e-9))
      highest = max(highest, 1 - share)
    }
    if observation.isHeld || wasHeld {
      secondsRemaining = nil
      if observation.isHeld { return }
    } else {
      active += elapsed
    }
    if hasMoved { stepSince = active }
    guard isExpected, isRough || observation.phase >= .migrating else {
      // Nobody knows how long this takes; it goes on, ever more slowly.
      highest = max(highest, Self.surveyed * active / (active + 10))
      if isExpected, active >= Self.leastActive { secondsRemaining = expectedScale * total }
      return
    }
    if rowsSince == nil, observation.phase >= .migrating {
      let found = observation.phase == .migrating ? observation.inner : 1
      let share = (costs[.migrating] ?? 0) * found / total
      rowsSince = (before + (1 - before) * share, active)
    }
    if let left = measuredSecondsLeft(observation) {
      advance(left: left, elapsed: elapsed)
      secondsRemaining = active >= Self.leastActive ? left : nil
      return
    }
    let work = work(observation)
    sample(work)
    let rate = rate(in: observation.phase) ?? 1 / expectedScale
    let assumed = work + assumedWork(observation, rate: rate)
    highest = max(highest, before + (1 - before) * min(1, assumed / total))
    if active >= Self.leastActive { secondsRemaining = max(0, total - assumed) / rate }
  }

  /// Seconds that one second of expected costs takes, before rows tell more.
  private var expectedScale: Double { roughScale ?? 1 }

  /// The share of the run before its costs are known: `surveying`, `planning` and `reading`.
  private static let surveyed = 0.09
  private static let early: [Phase] = [.surveying, .planning]
  private static let phases: [Phase] = [
    .migrating, .merging, .relinking, .indexing, .verifying, .swapping,
  ]

  private var total: Double { costs.values.reduce(0, +) }

  /// Seconds left of the run, by what was measured of rows; nil before anything was.
  private mutating func measuredSecondsLeft(_ observation: Observation) -> Double? {
    let later = total - (costs[.migrating] ?? 0)
    if observation.phase == .migrating {
      guard let forecast = observation.forecast else { return nil }
      measured = (forecast, active)
      return forecast.secondsLeft + later * forecast.laterScale
    }
    guard let measured, later > 0 else { return nil }
    let done = work(observation) - (costs[.migrating] ?? 0)
    // Where a step is much of what is left, nobody knows how much of the present one is done.
    let step = (costs[observation.phase] ?? 0) / Double(max(1, observation.steps))
    let isLarge = observation.steps > 0 && step > later / 10
    let time = max(0, (isLarge ? stepSince : active) - measured.active)
    var scale = measured.forecast.laterScale
    // What these phases themselves took counts the more, the more of them is done.
    if done > 0 { scale += min(1, 2 * done / later) * (time / done - scale) }
    let rate = scale > 0 ? 1 / scale : nil
    return max(0, later - done - assumedWork(observation, rate: rate)) * scale
  }

  /// Brings the fraction forward: to the share of the time that has passed, or, where more is left
  /// than was thought, a tenth as fast.
  private mutating func advance(left: Double, elapsed: Double) {
    guard let (share, since) = rowsSince else { return }
    let passed = active - since
    guard passed + left > 0 else { return }
    let reached = share + (1 - share) * passed / (passed + left)
    let crept = highest + (1 - highest) * min(1, 0.1 * elapsed / (passed + left))
    highest = min(1, max(reached, crept))
  }

  /// The work that is done, in the unit of the costs.
  private func work(_ observation: Observation) -> Double {
    let done = costs.reduce(0) { $0 + ($1.key < observation.phase ? $1.value : 0) }
    return done + (costs[observation.phase] ?? 0) * min(1, max(0, observation.inner))
  }

  /// What of the present step may be done.
  private func assumedWork(_ observation: Observation, rate: Double?) -> Double {
    guard observation.phase != .migrating, let cost = costs[observation.phase], let rate else {
      return 0
    }
    let left = cost * max(0, 1 - observation.inner)
    let step = observation.steps > 0 ? min(left, cost / Double(observation.steps)) : left
    guard step > 0 else { return 0 }
    let passed = (active - stepSince) * rate / step
    // Four fifths of what it should take are taken for done; the rest comes ever more slowly.
    return step * (passed < 0.8 ? passed : 1 - 0.04 / (passed - 0.6))
  }

  private mutating func sample(_ work: Double) {
    if let previous = samples.last, active - previous.time < 0.5, samples.count > 1 { return }
    samples.append((active, work))
    if samples.count > Self.mostSamples { samples.removeFirst(Self.mostSamples / 2) }
  }

  /// Work per second: of late while rows are migrated, of all since then.
  private func rate(in phase: Phase) -> Double? {
    guard let last = samples.last, let first = samples.first else { return nil }
    let span = phase == .migrating ? max(5, active * 0.4) : .infinity
    let since = samples.first { active - $0.time <= span } ?? first
    let (time, work) = (last.time - since.time, last.work - since.work)
    if time > 0.2, work > 0 { return work / time }
    let (all, done) = (last.time - first.time, last.work - first.work)
    return all > 0.2 && done > 0 ? done / all : nil
  }
}
