import Foundation
import Pages
import Testing

@testable import Godwit
@testable import MigrationStatus

@Suite struct WatchedTimelineTests {
  private func seen(_ statuses: [GivenStatus]) -> String {
    var timeline = WatchedTimeline()
    for (number, given) in zip(1..., statuses) {
      timeline.observe(given.status, at: Date(timeIntervalSince1970: Double(number)))
    }
    return LivePage.Part("time", timeline.section).html
  }

  @Test func `phases and workers are bars, rows and memory curves`() {
    var later = GivenStatus()
    later.run.run = .none
    var first = later
    first.parts[1].state = .planned
    later.parts[0].rowsDone += 1_000
    let html = seen([first, later])
    #expect(html.contains(">phases</text>"))
    #expect(html.contains(">worker 1: 1 work order</text>"))
    #expect(html.contains(">worker 2: 1 work order</text>"))
    #expect(html.contains("memory of all processes"))
  }

  @Test func `an attempt that failed is told, and the next one besides`() {
    var first = GivenStatus(workers: 1)
    first.run.run = .none
    var second = first
    second.parts[0].attempt += 1
    let html = seen([first, second])
    #expect(html.contains("work order 1, partition 1, failed"))
    #expect(html.contains("work order 1, partition 1, attempt 2:"))
  }

  @Test func `stages have phases and work orders of their own`() {
    var timeline = WatchedTimeline()
    var time = 0.0
    let run = Identifier.random()
    func observe(_ number: UInt32, _ stage: GivenStatus?) {
      var given = GivenStatus.staged(at: number)
      given.run.run = run
      time += 1
      timeline.observe(given.told(amid: stage), at: Date(timeIntervalSince1970: time))
    }
    observe(1, nil)
    observe(1, GivenStatus(workers: 1))
    var merging = GivenStatus(workers: 1)
    merging.run.enter(.merging, at: 3_000_000_000)
    merging.parts[0].state = .done
    observe(1, merging)
    observe(2, nil)
    observe(2, GivenStatus(workers: 1))
    // A stage that is over does not come back, and nobody has so many.
    observe(1, GivenStatus(workers: 1))
    for number in 1_000..<3_000 { observe(UInt32(number), GivenStatus(workers: 1)) }
    let html = LivePage.Part("time", timeline.section).html
    for bar in [
      "stage 1, surveying", "stage 1, migrating", "stage 1, merging", "stage 2, surveying",
      "stage 2, migrating", "stage 1, work order 1, partition 1",
      "stage 2, work order 1, partition 1",
    ] {
      #expect(html.ranges(of: "\(bar): ").count == 1, "\(bar)")
    }
    #expect(!html.contains("stage 3"))
  }

  @Test func `another run begins anew`() {
    var first = GivenStatus(workers: 2)
    first.run.run = .none
    #expect(!seen([first, GivenStatus(workers: 0)]).contains(">worker 1"))
    #expect(seen([]).isEmpty)
  }

  @Test func `however many work orders a file claims, some are kept`() {
    let html = seen([GivenStatus(workers: 5_000)])
    #expect(html.ranges(of: "<rect class=\"tone").count <= WatchedTimeline.mostAttempts + 32)
  }
}
