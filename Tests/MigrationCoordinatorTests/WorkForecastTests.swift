import MigrationEngine
import MigrationStatus
import Planning
import RowPrograms
import Testing

@testable import MigrationCoordinator

/// Workers that take so many seconds for a row of each table, one work order after the other.
private struct MadeUpWork {
  let plan: MigrationPlan
  let seconds: [String: Double]
  var finished: Set<Int> = []

  /// What a forecast says each tenth of a second, and what is true then.
  func told(by forecast: inout WorkForecast) -> [(left: Double?, truth: Double)] {
    var result: [(Double?, Double)] = []
    let orders = plan.workOrders.filter { !finished.contains($0.number) }
    let total = orders.reduce(0) { $0 + duration(of: $1) }
    var time = 0.0
    while time < total {
      forecast.observe(parts(at: time, of: orders), at: Int64(time * 1e9), isHeld: false)
      result.append((forecast.secondsLeft(workers: 1), total - time))
      time += 0.1
    }
    return result
  }

  private func duration(of order: WorkOrder) -> Double {
    order.pieces.reduce(0) { $0 + Double($1.rows) * (seconds[$1.destinationTable] ?? 0) }
  }

  private func parts(at time: Double, of orders: [WorkOrder]) -> [RunAdvance.Part] {
    var before = 0.0
    return orders.map { order in
      let own = time - before
      before += duration(of: order)
      var left = max(0, own)
      var rows = 0.0
      for piece in order.pieces {
        let cost = seconds[piece.destinationTable] ?? 0
        let done = min(Double(piece.rows), left / cost)
        rows += done
        left -= done * cost
      }
      return .init(
        workOrder: UInt32(order.number), rowsDone: UInt64(rows),
        isRunning: own >= 0 && time < before, isDone: time >= before)
    }
  }
}

extension WorkForecast {
  /// The forecast of a plan, and what a row, a byte and a unit of counted work should cost.
  fileprivate init(
    _ plan: MigrationPlan, finished: Set<Int>, row: Double, byte: Double, work: Double = 0,
    isSequential: Bool
  ) {
    let costs = PhaseCosts(
      row: row, byte: byte, work: work, mergedRow: 0, mergedByte: 0, relinkedRow: 0,
      indexEntry: 0, verifiedByte: 0, swappedByte: 0)
    self.init(
      WorkForecast.orders(of: plan, finished: finished, costs: costs, isSequential: isSequential))
  }
}

@Suite("The forecast of what workers have left")
struct WorkForecastTests {
  private static func plan(_ orders: [[(table: String, rows: Int64)]]) -> MigrationPlan {
    var number = 0
    return MigrationPlan(
      partitions: [],
      workOrders: zip(1..., orders).map { order, pieces in
        WorkOrder(
          number: order, partition: 1,
          pieces: pieces.map { table, rows in
            number += 1
            return Piece(
              number: number, destinationTable: table, keys: .all, rows: rows, bytes: rows * 100)
          })
      }, program: .none(deriving: []))
  }

  private static func forecast(_ work: MadeUpWork) -> WorkForecast {
    WorkForecast(work.plan, finished: work.finished, row: 1e-6, byte: 1e-9, isSequential: true)
  }

  @Test func `under a limit the bytes that are left tell the time, whatever rows cost`() {
    // Rows of the first table are ten times as long as those of the second, and cost the same.
    let orders = [
      WorkOrder(
        number: 1, partition: 1,
        pieces: [
          Piece(number: 1, destinationTable: "A", keys: .all, rows: 10_000, bytes: 100_000_000),
          Piece(number: 2, destinationTable: "B", keys: .all, rows: 10_000, bytes: 10_000_000),
        ])
    ]
    let plan = MigrationPlan(
      partitions: [], workOrders: orders, program: .none(deriving: []))
    var forecast = WorkForecast(plan, finished: [], row: 1e-6, byte: 1e-9, isSequential: true)
    // Ten million bytes a second: ten seconds for the first table, one for the second.
    for tick in 0...110 {
      let time = Double(tick) / 10
      let rows = time <= 10 ? time * 1_000 : 10_000 + (time - 10) * 10_000
      forecast.observe(
        [
          .init(
            workOrder: 1, rowsDone: UInt64(rows), isRunning: rows < 20_000, isDone: rows >= 20_000)
        ], at: Int64(time * 1e9), isHeld: false, rate: 10_000_000)
      guard time > 1.5, time < 10.9 else { continue }
      let left = forecast.secondsLeft(workers: 1)
      #expect(abs((left ?? 0) - (11 - time)) < 0.2)
      // What follows is not limited.
      #expect((forecast.scale ?? 9) <= 2)
    }
    // A limit that nobody comes near tells nothing.
    var free = WorkForecast(plan, finished: [], row: 1e-6, byte: 1e-9, isSequential: true)
    for tick in 0...50 {
      free.observe(
        [.init(workOrder: 1, rowsDone: UInt64(tick * 100), isRunning: true, isDone: false)],
        at: Int64(tick) * 100_000_000, isHeld: false, rate: 10_000_000_000)
    }
    #expect((free.secondsLeft(workers: 1) ?? 0) > 5)
  }

  @Test(arguments: [1e-6, 1e-5, 1e-3])
  func `rows of one kind are foretold on a machine of any speed`(speed: Double) {
    let rows = Int64(20 / speed)
    let work = MadeUpWork(
      plan: Self.plan([[("A", rows / 2)], [("A", rows / 4), ("A", rows / 4)]]),
      seconds: ["A": speed])
    var forecast = Self.forecast(work)
    let told = work.told(by: &forecast)
    for (left, truth) in told.dropFirst(5) {
      #expect(abs((left ?? -1) - truth) <= 0.1 * truth + 0.2, "\(left ?? -1) of \(truth)")
    }
  }

  @Test func `rows that cost twenty times as much as expected are known once some were met`() {
    // In every work order first the dear rows, then the cheap ones.
    let work = MadeUpWork(
      plan: Self.plan((0..<6).map { _ in [("Dear", 2000), ("Cheap", 200_000)] }),
      seconds: ["Dear": 2e-3, "Cheap": 1e-6])
    var forecast = Self.forecast(work)
    let told = work.told(by: &forecast)
    for tenth in 3..<10 {
      let (left, truth) = told[told.count * tenth / 10]
      #expect(abs((left ?? -1) - truth) <= 0.3 * truth, "\(left ?? -1) of \(truth)")
    }
  }

  @Test func `rows that the planner counted as dear foretell none of what cheap rows take`() {
    // All dear rows come first, as a planner orders them.
    func work(isCounted: Bool) -> MadeUpWork {
      var plan = Self.plan([[("Dear", 4000)], [("Dear", 4000)], [("Cheap", 4_000_000)]])
      if isCounted {
        for (index, work) in ([20, 20, 10] as [Int64]).enumerated() {
          plan.workOrders[index].work = work
        }
      }
      return MadeUpWork(plan: plan, seconds: ["Dear": 2e-3, "Cheap": 1e-6])
    }
    func error(_ work: MadeUpWork) -> Double {
      var forecast = WorkForecast(
        work.plan, finished: [], row: 1e-6, byte: 1e-9, work: 1, isSequential: true)
      let told = work.told(by: &forecast)
      let (left, truth) = told[told.count / 4]
      return abs((left ?? -1) - truth) / truth
    }
    #expect(error(work(isCounted: true)) < 0.1)
    #expect(error(work(isCounted: false)) > 1)
  }

  @Test func `short work orders share the time between two looks`() {
    // Ten work orders of a tenth of a second each are done within each second, by two workers.
    let plan = Self.plan((0..<200).map { _ in [("A", 1000)] })
    var forecast = WorkForecast(plan, finished: [], row: 1e-6, byte: 0, isSequential: true)
    for second in 0...10 {
      let parts = (1...200).map { number in
        RunAdvance.Part(
          workOrder: UInt32(number), rowsDone: number <= second * 10 ? 1000 : 0,
          isRunning: false, isDone: number <= second * 10)
      }
      forecast.observe(parts, at: Int64(second) * 1_000_000_000, isHeld: false, workers: 2)
    }
    let left = forecast.secondsLeft(workers: 2)
    #expect(abs((left ?? 0) - 10) < 1, "\(left ?? -1)")
  }

  @Test
  func `a table that was not met is taken to be like the others, whatever most of the work is`() {
    // Nine tenths of the time went into rows that cost ten times as much as expected.
    let work = MadeUpWork(
      plan: Self.plan([[("Dear", 90_000)], [("A", 100_000)], [("B", 100_000)], [("C", 800_000)]]),
      seconds: ["Dear": 1e-4, "A": 1e-5, "B": 1e-5, "C": 1e-5])
    var forecast = WorkForecast(
      work.plan, finished: [], row: 1e-5, byte: 0, isSequential: true)
    let told = work.told(by: &forecast)
    let (left, truth) = told[told.count * 11 / 19]
    #expect(abs((left ?? -1) - truth) <= 1.3 * truth, "\(left ?? -1) of \(truth)")
  }

  @Test func `what an earlier run did costs nothing`() {
    var work = MadeUpWork(
      plan: Self.plan((0..<4).map { _ in [("A", 1_000_000)] }), seconds: ["A": 1e-5])
    work.finished = [1, 3]
    var forecast = Self.forecast(work)
    let told = work.told(by: &forecast)
    let (left, truth) = told[told.count / 2]
    #expect(abs((left ?? -1) - truth) <= 0.1 * truth)
  }

  @Test func `a second attempt, a pause and hostile numbers leave it finite`() {
    let work = MadeUpWork(plan: Self.plan([[("A", 1000)], [("B", 0)]]), seconds: ["A": 1e-2])
    var forecast = Self.forecast(work)
    func part(_ order: UInt32, _ rows: UInt64, running: Bool = true) -> RunAdvance.Part {
      .init(workOrder: order, rowsDone: rows, isRunning: running, isDone: false)
    }
    for (index, rows) in [0, 400, 0, 300, UInt64.max, 5].enumerated() {
      forecast.observe(
        [part(1, rows), part(2, 0), part(99, 1)], at: Int64(index) * 1_000_000_000, isHeld: false)
    }
    forecast.observe([part(1, 6)], at: .min, isHeld: true)
    forecast.observe([part(1, 7)], at: .max, isHeld: false)
    let left = forecast.secondsLeft(workers: 0)
    #expect((left ?? .nan).isFinite && (left ?? -1) >= 0)
  }
}
