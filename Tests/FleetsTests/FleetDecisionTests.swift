import Testing

@testable import Fleets

@Suite struct FleetDecisionTests {
  private func result(
    _ outcome: StoreResult.Outcome, seconds: Double = 0, reason: String? = nil
  ) -> StoreResult {
    var result = StoreResult(number: 0, store: "S", outcome: outcome, bytes: 10)
    result.seconds = seconds
    result.reason = reason
    return result
  }

  @Test func `a tally forgets what a later result replaces`() {
    var tally = FleetTally()
    tally.add(result(.failed, reason: "inUse"))
    tally.remove(result(.failed, reason: "inUse"))
    tally.add(result(.migrated, seconds: 2))
    #expect(tally.failures.isEmpty)
    #expect(tally.stores == 1)
    #expect(tally.done == 1)
    #expect(tally.bytes == 10)
  }

  @Test func `outcomes are counted by the versions of the stores`() {
    var tally = FleetTally()
    var old = result(.migrated)
    old.version = "Shop 1"
    var other = result(.rolledBack)
    other.version = "Shop 1"
    for result in [old, old, result(.failed, reason: "inUse")] { tally.add(result) }
    #expect(tally.versionCounts.map(\.version) == [nil, "Shop 1"])
    #expect(tally.versionCounts.map(\.counts) == [[.failed: 1], [.migrated: 2]])
    tally.remove(result(.failed, reason: "inUse"))
    tally.remove(old)
    tally.add(other)
    #expect(tally.versionCounts.map(\.version) == ["Shop 1"])
    #expect(tally.versionCounts.map(\.counts) == [[.migrated: 1, .rolledBack: 1]])
  }

  @Test func `losses are summed by kind, cause and name over all stores`() {
    func loss(_ property: String?, _ count: Int64) -> FleetLoss {
      FleetLoss(
        kind: "attribute", cause: "removed", entity: "Book", property: property, count: count)
    }
    let store = FleetLoss.summed([loss("isbn", 2), loss("pages", 3), loss("isbn", 5)])
    #expect(store == [loss("isbn", 7), loss("pages", 3)])
    // Two reasons are two losses.
    var other = loss("isbn", 4)
    other.reason = "its file is missing"
    #expect(FleetLoss.summed([loss("isbn", 2), other]).map(\.count) == [2, 4])
    var (tally, first, second) = (FleetTally(), result(.migrated), result(.migrated))
    (first.lost, second.lost) = (store, [loss("isbn", 1)])
    for result in [first, second] { tally.add(result) }
    #expect(tally.losses.map(\.loss) == [loss("isbn", 8), loss("pages", 3)])
    #expect(tally.losses.map(\.stores) == [2, 1])
    tally.remove(first)
    #expect(tally.losses.map(\.loss) == [loss("isbn", 1)])
  }

  @Test func `the five slowest stores are kept, the slowest first`() {
    var tally = FleetTally()
    for seconds in [3.0, 9, 1, 7, 5, 8, 2] { tally.add(result(.migrated, seconds: seconds)) }
    #expect(tally.slowest.map(\.seconds) == [9, 8, 7, 5, 3])
  }

  @Test func `a store is slow once others of its size took a tenth`() {
    var times = UsualTimes()
    #expect(!times.isSlow(bytes: 1000, seconds: 1e6))
    for _ in 0..<5 { times.add(bytes: 1000, seconds: 1) }
    #expect(times.isSlow(bytes: 1023, seconds: 11))
    #expect(!times.isSlow(bytes: 1000, seconds: 9))
    #expect(!times.isSlow(bytes: 1 << 20, seconds: 1e6))
  }

  @Test func `a canary has stores of every version and of every size`() {
    let versions = [Array(0..<1000), [2000, 2001], [3000]]
    #expect(CanarySample.numbers(3, from: versions) == [0, 2000, 3000])
    let many = CanarySample.numbers(13, from: versions)
    #expect(many.count == 13)
    #expect(many.isSuperset(of: [0, 999, 2000, 2001, 3000]))
    #expect(CanarySample.numbers(5000, from: versions).count == 1003)
    #expect(CanarySample.numbers(5, from: []).isEmpty)
    #expect(CanarySample.numbers(0, from: versions).isEmpty)
  }

  @Test func `a result found again does not take the place of the first`() {
    var first = result(.migrated)
    first.time = 1
    var second = result(.current)
    second.time = 2
    #expect(!second.replaces(first))
    #expect(first.replaces(second))
    var back = result(.rolledBack)
    back.time = 3
    #expect(back.replaces(first))
    #expect(!first.replaces(back))
  }
}
