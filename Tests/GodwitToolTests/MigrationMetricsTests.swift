import Foundation
import SystemPackage
import Testing

@testable import Godwit
@testable import MigrationStatus

@Suite struct MigrationMetricsTests {
  private func lines(_ given: GivenStatus, of path: FilePath = "/S.sqlite") -> [String] {
    MigrationMetrics(given.status, of: path).text.split(separator: "\n").map(String.init)
  }

  @Test func `each gauge has its help, its type and its samples together`() {
    let found = lines(GivenStatus())
    #expect(found.first?.hasPrefix(MigrationMetrics.head) == true)
    #expect(found.contains("godwit_migration_state{store=\"/S.sqlite\",state=\"running\"} 1"))
    #expect(found.contains("godwit_migration_state{store=\"/S.sqlite\",state=\"dead\"} 0"))
    #expect(found.contains("godwit_migration_fraction{store=\"/S.sqlite\"} 0.52"))
    #expect(found.contains("godwit_migration_rows_total{store=\"/S.sqlite\"} 1000000"))
    #expect(found.contains("godwit_migration_exit_status{store=\"/S.sqlite\"} 0"))
    #expect(
      found.contains(
        "godwit_migration_work_order_rows_done{store=\"/S.sqlite\",work_order=\"2\","
          + "table=\"ZTABLE2\"} 45000"))
    var metric = ""
    var told: Set<String> = []
    for line in found {
      let words = line.split(separator: " ", omittingEmptySubsequences: false)
      if words[1] == "HELP" {
        metric = String(words[2])
        #expect(told.insert(metric).inserted, "\(metric) is told twice")
      } else if words[1] == "TYPE" {
        #expect(words[2...] == [metric[...], "gauge"])
      } else {
        #expect(line.hasPrefix("\(metric){"))
      }
    }
  }

  @Test func `names with quotes, line ends and codes stay within their quotes`() {
    var given = GivenStatus(workers: 1)
    given.parts[0].table = "Z\"\\\n\u{1B}[2J}1"
    let text = lines(given, of: "/a\"b\\c\nd\u{1B}\u{202E}").joined(separator: "\n")
    #expect(text.contains("{store=\"/a\\\"b\\\\c\\nd\\\\u{1B}\\\\u{202E}\","))
    #expect(text.contains("table=\"Z\\\"\\\\\\n\\\\u{1B}[2J}1\"} 45000"))
    #expect(text.unicodeScalars.allSatisfy { $0 == "\n" || $0.value >= 32 && $0 != "\u{202E}" })
  }

  @Test func `there are no more samples for more work orders`() {
    let found = lines(GivenStatus(workers: 1_000))
    #expect(found.count { $0.hasPrefix("godwit_migration_work_order_attempt{") } == 64)
    #expect(
      found.contains("godwit_migration_work_orders{store=\"/S.sqlite\",state=\"running\"} 1000"))
  }

  @Test func `an end is told by its state, its status and its time`() throws {
    var given = GivenStatus(workers: 0)
    var record = OutcomeRecord(
      run: given.run.run, source: "/data/Shop.sqlite", destination: "/data/New.sqlite",
      work: "/data/New.sqlite.godwit")
    record.end(exitStatus: 74, sentences: ["No room."])
    given.record = record
    given.free = nil
    let found = lines(given)
    #expect(
      found.contains("godwit_migration_state{store=\"/data/Shop.sqlite\",state=\"failed\"} 1"))
    #expect(found.contains("godwit_migration_exit_status{store=\"/data/Shop.sqlite\"} 74"))
    #expect(found.contains { $0.hasPrefix("godwit_migration_end_time_seconds{") })
    #expect(!found.contains { $0.contains("seconds_remaining") || $0.contains("free_bytes") })
  }

  @Test func `of several stages the one at work is told`() {
    let status = GivenStatus.staged(at: 2).told(amid: GivenStatus(workers: 2))
    let text = MigrationMetrics(status, of: "/data/Shop.sqlite").text
    for line in [
      "stage{store=\"/data/Shop.sqlite\"} 2", "stages{store=\"/data/Shop.sqlite\"} 3",
      "workers{store=\"/data/Shop.sqlite\"} 2", "rows_total{store=\"/data/Shop.sqlite\"} 1000000",
    ] {
      #expect(text.contains("\ngodwit_migration_\(line)\n"), "\(line) in \(text)")
    }
    let early = MigrationMetrics(GivenStatus.staged(at: 2).status, of: "/data/Shop.sqlite").text
    #expect(early.contains("migration_stage{") && !early.contains("rows_total"))
  }

  @Test func `gauges of several migrations have one help each, and all their samples together`() {
    var (first, second) = (GivenStatus(), GivenStatus(workers: 1))
    for (index, output) in ["/data/A.sqlite", "/data/B.sqlite"].enumerated() {
      let record = OutcomeRecord(
        run: index == 0 ? first.run.run : second.run.run, source: "/data/Shop.sqlite",
        destination: FilePath(output), work: "/data/x.godwit")
      if index == 0 { first.record = record } else { second.record = record }
    }
    let all = [(first.status, "/a" as FilePath), (second.status, "/b"), (second.status, "/c")]
    let found = MigrationMetrics(all).text.split(separator: "\n").map(String.init)
    #expect(found.first?.hasPrefix(MigrationMetrics.head) == true)
    var metric = ""
    var told: Set<String> = []
    for line in found {
      if line.hasPrefix("# HELP ") {
        metric = String(line.split(separator: " ")[2])
        #expect(told.insert(metric).inserted, "\(metric) is told twice")
      } else if !line.hasPrefix("# TYPE ") {
        #expect(line.hasPrefix("\(metric){"))
      }
    }
    #expect(found.count { $0.hasPrefix("godwit_migration_fraction{") } == 2)
    #expect(Set(found).count == found.count)
    #expect(
      found.contains(
        "godwit_migration_workers{store=\"/data/Shop.sqlite\",destination=\"/data/B.sqlite\"} 1"))
    #expect(MigrationMetrics([]).text.isEmpty)
  }

  @Test func `what changes while nothing happens is no news`() {
    var given = GivenStatus()
    let before = given.status
    (given.run.heartbeatAt, given.parts[0].heartbeatAt, given.free) = (9, 9, 1)
    #expect(!given.status.isNews(after: before))
    given.parts[0].rowsDone += 1
    #expect(given.status.isNews(after: before))
  }
}
