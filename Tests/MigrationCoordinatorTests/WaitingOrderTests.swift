import Planning
import Testing

@testable import MigrationCoordinator

@Suite struct WaitingOrderTests {
  private let memory: Int64 = 240 << 20

  private func documents(_ count: Int, memory: Int64) -> [WorkOrderDocument] {
    (1...count).map { number in
      let order = WorkOrder(number: number, partition: 1, pieces: [])
      return WorkOrderDocument(
        order: order, attempt: 1, engine: .sql, planID: "plan",
        source: "/s", support: "/p", shard: "/shard-\(number)-1.sqlite", manifest: "/m",
        tables: [], joins: [], createStatements: [:], memory: memory, logsSQL: false)
    }
  }

  @Test func `start up to the limit, each with its share`() throws {
    var waiting = WaitingOrders(documents(3, memory: memory / 3), memory: memory)
    let first = waiting.next(atMost: 2)
    let second = waiting.next(atMost: 2)
    let third = waiting.next(atMost: 2)
    #expect(first?.memory == memory / 3)
    #expect(second != nil && third == nil)
    waiting.end(try #require(first))
    let next = waiting.next(atMost: 2)
    #expect(next?.order.number == 3)
  }

  @Test func `never take more memory together than the run has, however the limit changes`() {
    for limits in [[1, 2, 4, 8, 3, 1, 5], [8, 1, 8, 2], [2, 256, 1, 3]] {
      var waiting = WaitingOrders(documents(60, memory: memory / 2), memory: memory)
      var running: [WorkOrderDocument] = []
      for step in 0..<200 {
        let limit = limits[step % limits.count]
        while let next = waiting.next(atMost: limit) { running.append(next) }
        let used =
          running.reduce(0) { $0 + $1.memory }
          + memory / Int64(WaitingOrders.room(for: limit, memory: memory) + 1)
        #expect(used <= memory || running.count <= 1 || running.count > limit, "step \(step)")
        #expect(running.reduce(0) { $0 + $1.memory } < memory)
        if step % 3 != 0, !running.isEmpty { waiting.end(running.removeFirst()) }
      }
    }
  }

  @Test func `start no more workers than have room, and each gets more`() {
    for memory in [64 << 20, 256 << 20] as [Int64] {
      var waiting = WaitingOrders(documents(300, memory: memory), memory: memory)
      var running: [WorkOrderDocument] = []
      while let next = waiting.next(atMost: 256) { running.append(next) }
      #expect(Int64(running.count + 1) == memory >> 23)
      #expect(running.allSatisfy { $0.memory == 8 << 20 })
    }
    #expect(WaitingOrders.room(for: 4, memory: 64 << 20) == 4)
    #expect(WaitingOrders.room(for: 4, memory: 1 << 20) == 1)
  }

  @Test func `never stop while there are any`() {
    var waiting = WaitingOrders(documents(20, memory: memory / 2), memory: memory)
    var done = 0
    while let next = waiting.next(atMost: 1 + done % 7) {
      waiting.end(next)
      done += 1
    }
    #expect(done == 20)
  }
}
