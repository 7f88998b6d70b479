import Godwit
import MigrationStatus
import Testing

@Suite("Events are told in the order in which they happened")
struct MigrationEventsTests {
  private var given = GivenStatus(workers: 2)
  private var events = MigrationEvents()
  /// The work orders, once the migration works.
  private var orders: [OrderRecord] = []
  private var time = 0.0

  init() {
    orders = given.parts
    begin(workOrders: 3)
  }

  /// Has the migration be at its beginning, with a plan to come of so many work orders.
  private mutating func begin(workOrders: UInt32) {
    given.run = RunRecord(run: .random(), boot: .none, coordinator: 7, coordinatorStart: 7, at: 1)
    given.run.workOrders = workOrders
    given.parts = []
  }

  private mutating func told(in phase: Phase) -> [String] {
    time += 0.1
    if phase >= .migrating { given.parts = orders }
    if phase > given.run.phase { given.run.enter(phase, at: Int64(time * 1e9)) }
    return events.after(given.progress, at: time).map { event in
      switch event {
      case .phase(let phase): "\(phase)"
      case .planned: "planned"
      case .workOrderBegun(let number, _, _, _): "begun \(number)"
      case .workOrderDone(let number, _): "done \(number)"
      default: "\(event)"
      }
    }
  }

  private mutating func finish() {
    for index in orders.indices { orders[index].state = .done }
  }

  @Test mutating func `a plan is told once its phase has begun, and work orders as they end`() {
    #expect(told(in: .planning) == ["planning"])
    #expect(told(in: .migrating) == ["migrating", "planned", "begun 1", "begun 2"])
    #expect(told(in: .migrating) == [])
    finish()
    #expect(told(in: .merging) == ["done 1", "done 2", "merging"])
    #expect(told(in: .done) == [])
  }

  @Test(arguments: [Phase.merging, .swapping, .done])
  mutating func `what nobody saw comes before the phase after it`(next: Phase) {
    #expect(told(in: .surveying) == ["surveying"])
    finish()
    #expect(
      told(in: next) == [
        "migrating", "planned", "begun 1", "done 1", "begun 2", "done 2",
      ] + (next == .done ? [] : ["\(next)"]))
    #expect(told(in: next) == [])
  }

  @Test mutating func `work that is done before its phase is published is told in its phase`() {
    given.parts = orders
    #expect(told(in: .planning) == ["planning"])
    finish()
    given.parts = orders
    #expect(told(in: .planning) == [])
    #expect(
      told(in: .migrating) == ["migrating", "planned", "begun 1", "done 1", "begun 2", "done 2"])
  }

  @Test mutating func `the next phase waits once for the last work order's record`() {
    _ = told(in: .planning)
    #expect(told(in: .migrating) == ["migrating", "planned", "begun 1", "begun 2"])
    #expect(told(in: .verifying) == [])
    finish()
    #expect(told(in: .verifying) == ["done 1", "done 2", "verifying"])
  }

  @Test mutating func `a record that is lost holds up no phase`() {
    _ = told(in: .planning)
    _ = told(in: .migrating)
    #expect(told(in: .merging) == [])
    #expect(told(in: .verifying) == ["verifying"])
  }

  @Test mutating func `a migration without work has no plan`() {
    orders = []
    begin(workOrders: 0)
    #expect(told(in: .surveying) == ["surveying"])
    #expect(told(in: .swapping) == ["swapping"])
  }
}
