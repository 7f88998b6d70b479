import Testing

@testable import MigrationStatus

@Suite struct ThrottleTests {
  private let second: Int64 = 1_000_000_000

  @Test func `keeps the rate, however the bytes come`() {
    for batch: UInt64 in [1, 1_000, 50_000, 3_000_000] {
      var throttle = Throttle()
      var now: Int64 = 5 * second
      throttle.limit(to: 1_000_000, at: now)
      var bytes: UInt64 = 0
      while bytes < 9_000_000 {
        throttle.pass(batch)
        bytes += batch
        now += throttle.delay(at: now)
      }
      let seconds = Double(now - 5 * second) / 1e9
      #expect(seconds >= Double(bytes) / 1_000_000 - 0.01)
      #expect(seconds <= Double(bytes) / 1_000_000 + 0.01)
    }
  }

  @Test func `gives no more credit than a quarter of a second for time that was not used`() {
    var throttle = Throttle()
    throttle.limit(to: 1_000_000, at: 0)
    #expect(throttle.delay(at: 100 * second) == 0)
    throttle.pass(1_000_000)
    let delay = throttle.delay(at: 100 * second)
    #expect(delay >= 700_000_000 && delay <= second)
  }

  @Test func `lets everything pass without a limit, and counts a new one from when it was set`() {
    var throttle = Throttle()
    throttle.pass(1 << 40)
    #expect(throttle.delay(at: 0) == 0)
    throttle.limit(to: 10, at: 7)
    #expect(throttle.delay(at: 7) == 0)
    throttle.pass(20)
    #expect(throttle.delay(at: 7) == 2 * second)
    throttle.limit(to: 0, at: 8)
    #expect(throttle.delay(at: 8) == 0)
  }

  @Test func `lets an eighth of a second pass at once, and something always`() {
    var throttle = Throttle()
    #expect(throttle.portion(of: 1 << 40) == 1 << 40)
    throttle.limit(to: 800, at: 0)
    #expect(throttle.portion(of: 1000) == 100)
    #expect(throttle.portion(of: 99) == 99)
    throttle.limit(to: 3, at: 0)
    #expect(throttle.portion(of: 1000) == 1)
    #expect(throttle.portion(of: 0) == 0)
  }

  @Test func `takes the largest numbers`() {
    var throttle = Throttle()
    throttle.limit(to: 1, at: .max - 5)
    throttle.pass(.max)
    #expect(throttle.delay(at: .max - 1) > 0)
    throttle.limit(to: .max, at: 3)
    throttle.pass(.max)
    #expect(throttle.delay(at: 3) >= 0)
  }
}
