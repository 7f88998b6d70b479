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
