import Foundation
import Testing

@testable import MigrationStatus

private let second: Int64 = 1_000_000_000

@Suite struct SnapshotTests {
  private func run() -> RunRecord {
    var run = RunRecord(run: .random(), boot: .none, coordinator: 1, coordinatorStart: 1, at: 0)
    run.bytesTotal = 1000
    run.rowsTotal = 100
    return run
  }

  private func snapshot(
    _ run: RunRecord, _ parts: [OrderRecord] = [], at time: Int64 = 0, alive: Bool = true
  ) -> StatusSnapshot {
    StatusSnapshot(
      contents: StatusContents(run: run, parts: parts), surroundings: .fixed(at: time, alive: alive)
    )
  }

  @Test func `the weights of the phases make a whole`() {
    #expect(Phase.allCases.reduce(0) { $0 + $1.weight } == 1000)
    #expect(Phase.migrating.weightBefore == 90)
  }

  @Test func `the fraction never falls and ends at 1`() {
    var run = run()
    var parts = (0..<4 as Range<UInt32>).map {
      OrderRecord(workOrder: $0, partition: $0, rowsTotal: 25, bytesTotal: 250)
    }
    var before = 0.0
    func step() {
      let fraction = snapshot(run, parts).fraction
      #expect(fraction >= before && fraction <= 1)
      before = fraction
    }
    for phase in Phase.allCases where phase.isWorking {
      if phase > .surveying { run.enter(phase, units: 10, at: 0) }
      step()
      for _ in 0..<12 {
        run.unitsDone += 1
        step()
      }
      guard phase == .migrating else { continue }
      for index in parts.indices {
        parts[index].start(process: 1, processStart: 1, at: 0)
        parts[index].bytesDone = 200
        step()
        parts[index].state = .failed
        step()
        parts[index].start(process: 2, processStart: 2, at: 0)
        #expect(parts[index].bytesDone == 0 && parts[index].attempt == 2)
        step()
        parts[index].bytesDone = 400
        step()
        parts[index].state = .done
        step()
      }
      #expect(abs(before - 0.79) < 1e-9)
    }
    run.enter(.done, at: 0)
    step()
    #expect(before == 1)
  }

  @Test func `a failed run stays where it failed`() {
    var run = run()
    run.enter(.indexing, units: 4, at: 0)
    run.unitsDone = 2
    let before = snapshot(run).fraction
    run.fail("disk full", at: 5)
    run.fail("and again", at: 6)
    let after = snapshot(run)
    #expect(after.fraction == before)
    #expect(after.phase == .failed && after.failedPhase == .indexing)
    #expect(after.error == "disk full" && after.secondsRemaining == nil)
  }

  @Test func `the rest is told from a hundredth on, at the rate of the phase`() throws {
    var run = run()
    #expect(snapshot(run, at: 100 * second).secondsRemaining == nil)
    run.enter(.migrating, at: 1000 * second)
    var part = OrderRecord(workOrder: 0, partition: 0, rowsTotal: 100, bytesTotal: 1000)
    part.start(process: 1, processStart: 1, at: 1000 * second)
    part.bytesDone = 500
    // Half of 0.7 in 10 s, and 0.56 remain.
    let remaining = try #require(snapshot(run, [part], at: 1010 * second).secondsRemaining)
    #expect(abs(remaining - 16) < 0.01)
    // Had an earlier run done a quarter, this one would be half as fast.
    run.bytesFound = 250
    let resumed = try #require(snapshot(run, [part], at: 1010 * second).secondsRemaining)
    #expect(abs(resumed - 32) < 0.01)
    run.enter(.done, at: 1011 * second)
    #expect(snapshot(run, at: 1012 * second).secondsRemaining == 0)
  }

  @Test func `silent and gone is stale, one alone is not`() {
    var run = run()
    let part = {
      var part = OrderRecord(workOrder: 7, partition: 3, rowsTotal: 1, bytesTotal: 1)
      part.start(process: 9, processStart: 9, at: 0)
      return part
    }()
    #expect(!snapshot(run, [part], at: 2 * second, alive: false).isStale)
    #expect(!snapshot(run, [part], at: 4 * second, alive: true).isStale)
    let stale = snapshot(run, [part], at: 4 * second, alive: false)
    #expect(stale.isStale && stale.parts[0].isStale && stale.workersRunning == 0)
    #expect(stale.parts[0].partition == 3)
    run.boot = .random()
    let other = Surroundings.fixed(at: 0, alive: true, boot: .random())
    #expect(
      StatusSnapshot(contents: StatusContents(run: run, parts: []), surroundings: other).isStale)
    run.enter(.done, at: 0)
    #expect(!snapshot(run, at: 4 * second, alive: false).isStale)
    run.heartbeatAt = .min
    _ = snapshot(run, at: .max)
  }

  @Test func `a snapshot survives JSON`() throws {
    var run = run()
    run.enter(.migrating, at: second)
    let part = OrderRecord(workOrder: 7, partition: 3, rowsTotal: 1, bytesTotal: 1)
    let snapshot = snapshot(run, [part], at: 2 * second)
    let data = try JSONEncoder().encode(snapshot)
    #expect(String(decoding: data, as: UTF8.self).contains(#""phase":"migrating""#))
    #expect(try JSONDecoder().decode(StatusSnapshot.self, from: data) == snapshot)
  }
}
