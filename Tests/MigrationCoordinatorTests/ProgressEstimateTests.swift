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
    var estimate = ProgressEstimate()
    estimate.observe(.init(at: 0, phase: .surveying, inner: 0))
    estimate.expect(expected)
    let total = phases.reduce(0) { $0 + $1.seconds }
    var result: [(Double, Double?, Double)] = []
    var (time, worked) = (0.0, 0.0)
    while worked < total {
      let isHeld = hold.map { time >= $0.from && time < $0.from + $0.seconds } ?? false
      estimate.observe(observation(of: worked, isHeld: isHeld, at: Int64(time * 1e9)))
      result.append((estimate.fraction, estimate.secondsRemaining, total - worked))
      time += 0.1
      if !isHeld { worked += 0.1 }
    }
    return result
  }

  private func observation(
    of worked: Double, isHeld: Bool, at moment: Int64
  ) -> ProgressEstimate.Observation {
    var before = 0.0
    for (phase, seconds, units) in phases {
      if worked < before + seconds || phase == phases.last?.phase {
        var inner = (worked - before) / seconds
        if phase == .migrating { inner = found + (1 - found) * inner }
        // Units are done all at once.
        if units > 0 { inner = (inner * Double(units)).rounded(.down) / Double(units) }
        return .init(
          at: moment, phase: phase, inner: min(1, inner), steps: units, isHeld: isHeld)
      }
      before += seconds
    }
    return .init(at: moment, phase: .swapping, inner: 1)
  }
}

@Suite struct ProgressEstimateTests {
  private let plain = MadeUpRun(phases: [
    (.migrating, 40, 0), (.merging, 10, 4), (.relinking, 5, 3), (.indexing, 30, 5),
    (.verifying, 10, 0),
  ])
  private let costs: [Phase: Double] = [
    .migrating: 8, .merging: 2, .relinking: 1, .indexing: 6, .verifying: 2,
  ]

  @Test func `tells the time left on a machine five times slower, the better the later`() {
    let told = plain.told(costs)
    for tenth in 2..<10 {
      let (_, left, truth) = told[told.count * tenth / 10]
      let error = abs((left ?? 0) - truth) / truth
      #expect(error <= (tenth < 5 ? 0.6 : 0.4), "at \(tenth) tenths: \(left ?? -1) of \(truth)")
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
    #expect(abs((left ?? 0) - truth) / truth <= 0.5)
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
    var estimate = ProgressEstimate()
    estimate.expect(costs)
    estimate.observe(.init(at: 0, phase: .migrating, inner: 1))
    estimate.observe(.init(at: 100_000_000, phase: .verifying, inner: 0))
    #expect(estimate.fraction < 0.95)
    estimate.observe(.init(at: 200_000_000, phase: .verifying, inner: 0, isHeld: true))
    #expect(estimate.fraction < 0.95)
    estimate.observe(
      .init(at: 300_000_000, phase: .verifying, inner: 0, isHeld: true, isReady: true))
    #expect(estimate.fraction >= 0.99 && estimate.fraction < 1)
    #expect(estimate.secondsRemaining == nil)
  }

  @Test func `costs are fixed once, but for those of rows that were counted`() throws {
    var estimate = ProgressEstimate()
    estimate.expect(costs)
    estimate.expect([.migrating: 1000])
    for tick in 0...80 {
      estimate.observe(
        .init(at: Int64(tick) * 100_000_000, phase: .migrating, inner: Double(tick) / 80))
    }
    #expect(abs(try #require(estimate.secondsRemaining) - 11) < 0.5)
    estimate.expect(later: [.merging: 4, .relinking: 2, .indexing: 12, .verifying: 4])
    estimate.observe(.init(at: 8_100_000_000, phase: .merging, inner: 0))
    #expect(abs(try #require(estimate.secondsRemaining) - 22) < 1)
  }

  @Test func `a phase that takes a hundred times as long as expected never stands still`() {
    for phase in [Phase.surveying, .planning, .merging, .verifying] {
      var estimate = ProgressEstimate()
      if phase >= .migrating { estimate.expect(costs) }
      var before = -1.0
      for second in 0..<200 {
        estimate.observe(.init(at: Int64(second) * 2_000_000_000, phase: phase, inner: 0))
        #expect(estimate.fraction > before || second == 0, "\(phase) at \(2 * second) s")
        before = estimate.fraction
      }
      #expect(before < 1)
    }
  }

  @Test func `says nothing before there is anything to say`() {
    let told = plain.told(costs)
    #expect(told[0].left == nil)
    var estimate = ProgressEstimate()
    for second in 0..<100 {
      estimate.observe(.init(at: Int64(second) * 1_000_000_000, phase: .surveying, inner: 0.5))
    }
    #expect(estimate.secondsRemaining == nil)
    #expect(estimate.fraction < 0.1)
  }
}
