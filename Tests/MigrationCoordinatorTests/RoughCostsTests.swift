import MigrationStatus
import Planning
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

@Suite("What a migration should take before its store is surveyed", .scratchFolder)
struct RoughCostsTests {
  @Test func `rows and indexes are estimated from the upper pages of b-trees`() throws {
    let few = try GivenMigration(rows: 4_000)
    let costs = try RoughCosts(engine: .pages, workers: 2).phases(ofStoreAt: few.store)
    #expect(costs.values.allSatisfy { $0 >= 0 && $0 < 1 })
    #expect((costs[.surveying] ?? 0) > 0 && (costs[.migrating] ?? 0) > 0)
    let one = try RoughCosts(engine: .pages, workers: 1).phases(ofStoreAt: few.store)
    let ratio = (one[.migrating] ?? 0) / (costs[.migrating] ?? 1)
    #expect(abs(ratio - 2) < 0.1, "two workers take half the time of one")
    // A row made by SQL takes longer, and an object longest.
    let ways = try [EngineName.pages, .sql, .objects].map { engine in
      try RoughCosts(engine: engine, workers: 1).phases(ofStoreAt: few.store)
        .values.reduce(0, +)
    }
    #expect(ways == ways.sorted() && Set(ways).count == 3)
    let calling = try RoughCosts(engine: nil, callsPolicies: true, workers: 1)
      .phases(ofStoreAt: few.store)
    #expect(
      try calling == RoughCosts(engine: .objects, workers: 1).phases(ofStoreAt: few.store))
  }

  @Test func `a store that is none is left to the survey`() throws {
    let path = ScratchFolder.current.appending("none.sqlite")
    #expect(throws: (any Error).self) {
      try RoughCosts(engine: nil, workers: 1).phases(ofStoreAt: path)
    }
  }

  @Test(arguments: [0.5, 10])
  func `the speed of a machine is within bounds, and the same when it is asked again`(
    seconds: Double
  ) {
    let ratio = MachineSpeed.ratio(for: seconds)
    #expect((1.0 / 8...8).contains(ratio))
    #expect(MachineSpeed.ratio(for: seconds) == ratio)
    #expect(MachineSpeed.ratio(for: [.migrating: seconds - 0.1, .merging: 0.1]) == ratio)
  }

  @Test func `for what is over at once nothing is measured`() {
    #expect(MachineSpeed.ratio(for: [.migrating: 0.1, .merging: 0.1]) == 1)
  }
}
