import Schema
import Synchronization
import Testing

@testable import Survey

@Suite struct TableCountsTests {
  @Test func `rows that only leaves tell are counted when somebody asks, and once`() throws {
    let three = EntityNumber(rawValue: 3)
    let asked = Asked()
    let counts = TableCounts(
      known: ["ZA": [EntityNumber(rawValue: 1): 5]],
      bare: ["ZB", "ZC", "ZD"].map {
        .init(table: $0, number: three, estimate: 100)
      }
    ) { tables in
      asked.tables.withLock { $0.append(tables.map(\.table)) }
      return tables.map { _ in 70 }
    }
    #expect(counts.estimate("ZB") == [three: 100])
    #expect(counts.estimatedTotal == 305)
    #expect(asked.tables.withLock(\.self).isEmpty)
    #expect(counts["ZB"] == [three: 70])
    #expect(counts["ZB"] == [three: 70])
    #expect(counts.estimate("ZB") == [three: 70])
    #expect(try counts.total() == 215)
    #expect(counts["ZC"] == [three: 70])
    #expect(asked.tables.withLock(\.self) == [["ZB"], ["ZC", "ZD"]])
    #expect(counts["ZE"] == nil && counts.estimate("ZE") == nil)
  }

  /// The tables of each count.
  private final class Asked: Sendable {
    let tables = Mutex<[[String]]>([])
  }
}
