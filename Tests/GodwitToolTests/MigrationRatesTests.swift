import Godwit
import MigrationStatus
import Testing

@Suite struct MigrationRatesTests {
  private let start = ContinuousClock.now

  @Test func `a rate is that of the last seconds`() throws {
    var (given, rates) = (GivenStatus(workers: 1), MigrationRates())
    rates.observe(given.progress, at: start)
    #expect(rates.overall == nil && rates.ofWorkOrder(1) == nil)
    // 100 rows a second for ten seconds, and then 1,000.
    for tenth in 1...200 {
      given.parts[0].rowsDone += tenth <= 100 ? 10 : 100
      given.parts[0].bytesDone += 1_000
      rates.observe(given.progress, at: start + .milliseconds(100 * tenth))
      if tenth == 100 {
        let before = try #require(rates.ofWorkOrder(1))
        #expect(abs(before.rows - 100) < 1)
      }
    }
    let rate = try #require(rates.ofWorkOrder(1))
    #expect(abs(rate.rows - 1_000) < 1 && abs(rate.bytes - 10_000) < 10)
    #expect(rates.overall == rate && rates.ofWorkOrder(2) == nil)
  }

  @Test func `what stands still has a rate of zero`() {
    let given = GivenStatus()
    var rates = MigrationRates(over: .seconds(1))
    for second in 0..<4 { rates.observe(given.progress, at: start + .seconds(second)) }
    #expect(rates.overall?.rows == 0 && rates.overall?.bytes == 0)
  }

  @Test func `another attempt, and counts that fall, begin anew`() {
    var (given, rates) = (GivenStatus(), MigrationRates())
    rates.observe(given.progress, at: start)
    given.parts[0].start(process: 9, processStart: 9, at: 5)
    given.parts[1].rowsDone = 1
    rates.observe(given.progress, at: start + .seconds(1))
    #expect(rates.overall == nil && rates.ofWorkOrder(1) == nil && rates.ofWorkOrder(2) == nil)
    given.parts[0].rowsDone = 500
    rates.observe(given.progress, at: start + .seconds(2))
    #expect(rates.ofWorkOrder(1)?.rows == 500 && rates.ofWorkOrder(2)?.rows == 0)
  }

  @Test func `a clock that stands gives no rate, and stages have none`() {
    var (given, rates) = (GivenStatus(), MigrationRates())
    for _ in 0..<3 {
      given.parts[0].rowsDone += 1
      rates.observe(given.progress, at: start)
    }
    #expect(rates.overall == nil)
    given.run.workOrders = 0
    rates.observe(given.progress, at: start + .seconds(1))
    rates.observe(given.progress, at: start + .seconds(2))
    #expect(rates.overall == nil)
  }
}
