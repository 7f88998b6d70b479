import MigrationStatus
import Testing

@testable import MigrationCoordinator

/// A run that never was: what each phase takes, second by second.
private struct MadeUpRun {
  /// Seconds of each phase from `migrating` on, and its units.
  var phases: [(phase: Phase, seconds: Double, units: Int)]
  /// Seconds during which it is held, from this moment on.
  var hold: (from: Double, seconds: Double)?
  /// The share of `migrating` that an earlier run had done.
  var found = 0.0

  /// What an estimate says at each tenth of a second, and what is true then.
  func told(_ expected: [Phase: Double]) -> [(fraction: Double, left: Double?, truth: Double)] {
    var estimate = RunEstimate()
    estimate.observe(.init(phase: .surveying, inner: 0), at: 0)
    estimate.expect(expected)
    let total = phases.reduce(0) { $0 + $1.seconds }
    var result: [(Double, Double?, Double)] = []
    var (time, worked) = (0.0, 0.0)
    while worked < total {
      let isHeld = hold.map { time >= $0.from && time < $0.from + $0.seconds } ?? false
      estimate.observe(observation(at: worked, isHeld: isHeld), at: Int64(time * 1e9))
      result.append((estimate.fraction, estimate.secondsRemaining, total - worked))
      time += 0.1
      if !isHeld { worked += 0.1 }
    }
    return result
  }

  private func observation(at worked: Double, isHeld: Bool) -> RunEstimate.Observation {
    var before = 0.0
    for (phase, seconds, units) in phases {
      if worked < before + seconds || phase == phases.last?.phase {
        var inner = (worked - before) / seconds
        if phase == .migrating { inner = found + (1 - found) * inner }
        // Units are done all at once.
        if units > 0 { inner = (inner * Double(units)).rounded(.down) / Double(units) }
        return .init(phase: phase, inner: min(1, inner), steps: units, isHeld: isHeld)
      }
      before += seconds
    }
    return .init(phase: .swapping, inner: 1)
  }
}

@Suite struct RunEstimateTests {
  private let plain = MadeUpRun(phases: [
    (.migrating, 40, 0), (.merging, 10, 4), (.relinking, 5, 3), (.indexing, 30, 5),
    (.verifying, 10, 0),
  ])
  private let costs: [Phase: Double] = [
    .migrating: 8, .merging: 2, .relinking: 1, .indexing: 6, .verifying: 2,
  ]

  @Test func `says how long a run takes within three tenths, on a machine five times slower`() {
    let told = plain.told(costs)
    for tenth in 1..<10 {
      let (_, left, truth) = told[told.count * tenth / 10]
      let error = abs((left ?? 0) - truth) / truth
      #expect(error <= 0.3, "at \(tenth) tenths it says \(left ?? -1), and it is \(truth)")
    }
  }

  @Test func `never falls, never passes 1, and never stands still for two seconds`() {
    // Costs that are wrong in every phase.
    for wrong: [Phase: Double] in [costs, [:], [.migrating: 1], [.indexing: 5, .migrating: 0.1]] {
      let told = plain.told(wrong)
      for (one, next) in zip(told, told.dropFirst()) { #expect(one.fraction <= next.fraction) }
      #expect(told.allSatisfy { (0...1).contains($0.fraction) })
      for start in stride(from: 0, to: told.count - 20, by: 20) where wrong == costs {
        #expect(told[start].fraction < told[start + 20].fraction, "from \(start)")
      }
    }
  }

  @Test func `comes back to the truth where the costs were wrong`() throws {
    let told = plain.told([.migrating: 30, .merging: 1, .indexing: 3, .verifying: 1])
    // Late in the longest phase that was thought short.
    let (_, left, truth) = told[Int(80 / 0.1)]
    let said = try #require(left)
    #expect(said > truth / 5 && said < truth * 5)
  }

  @Test func `learns nothing from the time in which a run is held, and says nothing then`() {
    var run = plain
    run.hold = (from: 20, seconds: 300)
    let told = run.told(costs)
    #expect(told[Int(25 / 0.1)].left == nil)
    let (_, left, truth) = told[Int(330 / 0.1)]
    #expect(abs((left ?? 0) - truth) / truth <= 0.3)
  }

  @Test func `takes what an earlier run has done for no time at all`() {
    var run = plain
    run.found = 0.9
    let told = run.told(costs)
    #expect(told[0].fraction > 0.3)
    // Of the rest of the rows, a tenth took as long as all were thought to take.
    let (_, left, _) = told[Int(30 / 0.1)]
    #expect(left != nil)
  }

  @Test func `is almost at its end where nothing is left but a swap that is held back`() {
    var estimate = RunEstimate()
    estimate.expect(costs)
    estimate.observe(.init(phase: .migrating, inner: 1), at: 0)
    estimate.observe(.init(phase: .verifying, inner: 0), at: 100_000_000)
    #expect(estimate.fraction < 0.95)
    estimate.observe(.init(phase: .verifying, inner: 0, isHeld: true), at: 200_000_000)
    #expect(estimate.fraction < 0.95)
    estimate.observe(
      .init(phase: .verifying, inner: 0, isHeld: true, isReady: true), at: 300_000_000)
    #expect(estimate.fraction >= 0.99 && estimate.fraction < 1)
    #expect(estimate.secondsRemaining == nil)
  }

  @Test func `tells the time of a survey that is long, and goes on from it`() throws {
    var estimate = RunEstimate()
    var rough = costs
    rough[.surveying] = 4
    estimate.observe(.init(phase: .surveying, inner: 0), at: 0)
    estimate.expect(rough)
    // A machine twice as slow: eight seconds of survey, and 38 of all that follows.
    for tick in 1...80 {
      let inner = Double(tick) / 80
      estimate.observe(
        .init(phase: .surveying, inner: inner, steps: 80), at: Int64(tick) * 100_000_000)
      guard tick >= 10 else { continue }
      let truth = 46 - Double(tick) / 10
      let said = try #require(estimate.secondsRemaining)
      #expect(abs(said - truth) <= 0.2 * truth, "\(said) of \(truth)")
    }
    let before = estimate.fraction
    #expect(before > 0.1 && before < 0.3)
    // What is known better now takes its place.
    estimate.expect([.migrating: 10, .indexing: 10])
    let said = try #require(estimate.secondsRemaining)
    #expect(abs(said - 40) < 8)
    estimate.observe(.init(phase: .migrating, inner: 0), at: 8_100_000_000)
    #expect(estimate.fraction >= before && estimate.secondsRemaining != nil)
    estimate.expect([.migrating: 1])
    #expect(abs((estimate.secondsRemaining ?? 0) - 40) < 8, "costs are fixed once")
  }

  @Test func `tells what is expected before anything is measured, and once rows are counted`() {
    var estimate = RunEstimate()
    var rough = costs
    rough[.surveying] = 3
    estimate.expect(rough)
    estimate.observe(.init(phase: .surveying, inner: 0), at: 0)
    #expect(estimate.secondsRemaining == nil)
    estimate.observe(.init(phase: .surveying, inner: 0), at: 1_000_000_000)
    #expect(abs((estimate.secondsRemaining ?? 0) - 21) < 0.5)
    estimate.expect(costs)
    estimate.observe(.init(phase: .planning, inner: 0), at: 1_100_000_000)
    #expect(abs((estimate.secondsRemaining ?? 0) - 19) < 0.1)
    let forecast = RunEstimate.Forecast(secondsLeft: 1, scale: 1)
    estimate.observe(.init(phase: .migrating, inner: 0.9, forecast: forecast), at: 9_000_000_000)
    #expect(abs((estimate.secondsRemaining ?? 0) - 12) < 0.1)
    estimate.expect(later: [.merging: 4, .relinking: 2, .indexing: 12, .verifying: 4])
    estimate.observe(.init(phase: .merging, inner: 0), at: 10_000_000_000)
    #expect(abs((estimate.secondsRemaining ?? 0) - 22) < 0.5)
  }

  @Test func `a phase that takes a hundred times as long as expected never stands still`() {
    for phase in [Phase.surveying, .planning, .merging, .verifying] {
      var estimate = RunEstimate()
      var rough = costs
      if phase < .migrating { rough[.surveying] = 1 }
      estimate.expect(rough)
      var before = -1.0
      for second in 0..<200 {
        estimate.observe(.init(phase: phase, inner: 0), at: Int64(second) * 2_000_000_000)
        #expect(estimate.fraction > before || second == 0, "\(phase) at \(2 * second) s")
        before = estimate.fraction
      }
      #expect(before < 1)
    }
  }

  @Test func `says nothing before there is anything to say`() {
    let told = plain.told(costs)
    #expect(told[0].left == nil)
    var estimate = RunEstimate()
    for second in 0..<100 {
      estimate.observe(.init(phase: .surveying, inner: 0.5), at: Int64(second) * 1_000_000_000)
    }
    #expect(estimate.secondsRemaining == nil)
    #expect(estimate.fraction < 0.1)
  }
}
