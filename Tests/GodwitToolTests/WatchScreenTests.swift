import Foundation
import Godwit
import MigrationStatus
import SystemPackage
import Testing

@testable import GodwitTool

@Suite struct WatchScreenTests {
  private func lines(
    _ given: GivenStatus, path: FilePath = "/data/Shop.sqlite", columns: Int = 80, rows: Int = 24,
    rates: MigrationRates = MigrationRates()
  ) -> [String] {
    WatchScreen(path: path, status: given.status, rates: rates)
      .lines(columns: columns, rows: rows).map { $0.text(hasColor: false) }
  }

  @Test func `all that is known stands in its line`() {
    var (given, rates) = (GivenStatus(), MigrationRates())
    let start = ContinuousClock.now
    rates.observe(given.progress, at: start)
    for index in given.parts.indices {
      given.parts[index].rowsDone += 10_000
      given.parts[index].bytesDone += 2 << 20
    }
    given.run.rate = 50 << 20
    rates.observe(given.progress, at: start + .seconds(2))
    #expect(
      lines(given, columns: 100, rates: rates) == [
        "/data/Shop.sqlite: running",
        "[###############################.............................] 52 %",
        "migrating, 0 of 3 work orders, 1 min 15 s left",
        "rows     110,000 of 1,000,000, 10,000 rows/s",
        "data     14.0 MiB of 100.0 MiB, 2.0 MiB/s",
        "workers  2 of 2 at work, 0 retries, at most 50.0 MiB/s",
        "memory   51.0 MiB of 256.0 MiB",
        "disk     5.0 GiB free, 3.0 GiB needed in all",
        "  1 ZTABLE1  70 %  5,000 rows/s  1.0 MiB/s  21.0 MiB of 85.0 MiB  key 45,678",
        "  2 ZTABLE2  70 %  5,000 rows/s  1.0 MiB/s  21.0 MiB of 85.0 MiB  key 45,678",
      ])
  }

  @Test func `while a migration is paused no worker is at work, and none has a speed`() {
    var (given, rates) = (GivenStatus(), MigrationRates())
    let start = ContinuousClock.now
    rates.observe(given.progress, at: start)
    for index in given.parts.indices { given.parts[index].rowsDone += 10_000 }
    rates.observe(given.progress, at: start + .seconds(2))
    (given.run.hold, given.run.holdReason) = (.asked, "me")
    given.run.isStanding = true
    let found = lines(given, columns: 100, rates: rates)
    #expect(found.contains("workers  0 of 2 at work, 2 paused, 0 retries"), "\(found)")
    #expect(!found.contains { $0.contains("/s") })
    #expect(found.last?.hasSuffix("  paused") == true)
  }

  @Test func `of several stages the one at work is shown, with its workers`() {
    var rates = MigrationRates()
    let (given, start) = (GivenStatus.staged(at: 2), ContinuousClock.now)
    func lines(_ stage: GivenStatus?, at time: Int) -> [String] {
      let status = given.told(amid: stage)
      if let progress = status.progress { rates.observe(progress, at: start + .seconds(time)) }
      return WatchScreen(path: "S", status: status, rates: rates).lines(columns: 100, rows: 24)
        .map { $0.text(hasColor: false) }
    }
    let early = lines(nil, at: 0)
    #expect(early[2] == "stage 2 of 3, surveying, 1 min 15 s left")
    #expect(!early.contains { $0.hasPrefix("rows") })
    var stage = GivenStatus(workers: 1)
    _ = lines(stage, at: 1)
    stage.parts[0].rowsDone += 10_000
    let later = lines(stage, at: 3)
    #expect(later[2] == "stage 2 of 3, migrating, 0 of 2 work orders, 1 min 15 s left")
    #expect(later[3] == "rows     55,000 of 1,000,000, 5,000 rows/s")
    #expect(later.last?.hasPrefix("  1 ZTABLE1  50 %  5,000 rows/s") == true)
    // The first rows of another stage are no speed of the one before.
    var next = GivenStatus.staged(at: 3)
    next.run.run = given.run.run
    rates.observe(
      next.told(amid: GivenStatus(workers: 2)).progress ?? stage.progress,
      at: start + .seconds(4))
    #expect(rates.overall == nil)
  }

  @Test(arguments: [1, 2, 5, 20, 40, 80, 200], [1, 2, 3, 7, 9, 10, 11, 24])
  func `no line is wider than the terminal, and none is too many`(columns: Int, rows: Int) {
    var given = GivenStatus(workers: 40)
    given.parts[3].table = "Z書庫書庫書庫書庫書庫e\u{301}\u{1B}[2J👩‍👩‍👧"
    (given.parts[4].attempt, given.parts[4].isPaused) = (.max, true)
    (given.run.hold, given.run.holdReason) = (.asked, "jürgen\n\u{1B}[2J since yesterday")
    for path in ["S", "/書庫/\u{1B}[2J\u{202E}\(String(repeating: "x", count: 300))/Shop.sqlite"] {
      let found = WatchScreen(path: FilePath(path), status: given.status, rates: MigrationRates())
        .lines(columns: columns, rows: rows)
      #expect(found.count <= rows && !found.isEmpty)
      for line in found {
        #expect(line.columns <= columns)
        let text = line.text(hasColor: false)
        #expect(text.unicodeScalars.allSatisfy { $0.value >= 32 && $0 != "\u{202E}" }, "\(text)")
      }
    }
  }

  @Test func `workers without a line are counted`() {
    let given = GivenStatus(workers: 9)
    let found = lines(given, rows: 13)
    #expect(found.count == 13 && found.last == "  and 5 more")
    #expect(lines(given, rows: 17).count == 17 && !lines(given, rows: 17)[16].contains("more"))
    #expect(lines(given, rows: 9).last == "  and 9 more")
    #expect(lines(given, rows: 8).last?.hasPrefix("disk") == true)
  }

  @Test func `a narrow terminal has the end of the path, the state, and a bar`() {
    let found = lines(GivenStatus(), columns: 20)
    #expect(found[0] == "…hop.sqlite: running" && found[1] == "[######.......] 52 %")
    #expect(found[2] == "migrating" && found[8] == "  1 ZTABLE1  50 %")
    #expect(found[3] == "rows     90,000")
  }

  @Test func `figures that have no room are left out whole`() {
    var given = GivenStatus()
    given.parts[1].attempt = 2
    let whole = lines(given, columns: 200)
    for columns in 24..<100 {
      for (line, full) in zip(lines(given, columns: columns), whole) {
        let figures = { (text: String) in
          text.split(whereSeparator: { " ,".contains($0) }).filter {
            $0.contains(where: \.isNumber)
          }
        }
        // The bar is drawn to the width.
        let isPart = Set(figures(line)).isSubset(of: figures(full))
        #expect(isPart || line.hasPrefix("["), "\(columns): \(line)")
      }
    }
    #expect(lines(given, columns: 60).last?.hasSuffix("  attempt 2") == true)
  }

  @Test func `why it is held is told apart from how far it is`() {
    var given = GivenStatus()
    (given.run.hold, given.run.holdReason, given.run.isStanding) = (.asked, "jane", true)
    let found = lines(given)
    #expect(found[0] == "/data/Shop.sqlite: paused")
    #expect(found[1] == "  requested by jane; `godwit resume` resumes it.")
    #expect(found[3] == "migrating, 0 of 3 work orders")
    let line = WatchLine(path: "S.sqlite", status: given.status, rate: nil)
    #expect(
      line.text
        == "S.sqlite: paused, 52 %, migrating, 0 of 3 work orders: requested by jane; "
        + "`godwit resume` resumes it.")
  }

  @Test func `stages count shares of themselves, and no rows`() {
    var given = GivenStatus(workers: 0)
    (given.run.workOrders, given.run.rowsTotal, given.run.bytesTotal) = (0, 0, 20_000)
    let found = lines(given)
    #expect(found[2] == "migrating, 1 min 15 s left")
    #expect(!found.contains { $0.hasPrefix("rows") || $0.hasPrefix("data") })
    #expect(found[3...4] == ["workers  up to 0", "memory   9.0 MiB of 256.0 MiB, without workers"])
  }

  @Test func `hostile numbers never trap`() {
    var given = GivenStatus()
    for index in given.parts.indices {
      (given.parts[index].rowsTotal, given.parts[index].rowsDone) = (.max, .max)
      (given.parts[index].bytesTotal, given.parts[index].bytesDone) = (.max, .max)
      (given.parts[index].peakMemory, given.parts[index].memoryLimit) = (.max, 1)
      (given.parts[index].lastKey, given.parts[index].attempt) = (.min, .max)
    }
    (given.run.rowsTotal, given.run.bytesTotal, given.run.rate) = (.max, .max, .max)
    (given.run.memoryLimit, given.run.diskNeed, given.free) = (.max, .max, .max)
    (given.run.peakMemory, given.run.workersWanted) = (.max, .max)
    given.run.secondsRemaining = 1e10
    var rates = MigrationRates()
    let now = ContinuousClock.now
    rates.observe(GivenStatus().progress, at: now)
    rates.observe(given.progress, at: now + .milliseconds(200))
    #expect(lines(given, columns: 200, rates: rates).contains { $0.contains("rows/s") })
    #expect(given.progress.memory == .max && given.progress.retries == 2 * (Int(UInt32.max) - 1))
  }

  @Test func `colours are in the state and the bar, where there are any`() {
    let found = WatchScreen(path: "S", status: GivenStatus().status, rates: MigrationRates())
      .lines(columns: 30, rows: 3)
    #expect(found[0].text(hasColor: true) == "S: \u{1B}[32mrunning\u{1B}[0m")
    #expect(found[1].text(hasColor: true).hasPrefix("[\u{1B}[32m####"))
    #expect(found[2].text(hasColor: true) == found[2].text(hasColor: false))
    #expect(found[0].columns == 10)
  }
}

@Suite struct TextColumnsTests {
  @Test(arguments: [
    ("plain", 5), ("größer", 6), ("e\u{301}", 1), ("書庫", 4), ("한국", 4), ("☺\u{FE0F}", 3),
    ("…€", 2), ("ไทย\u{E48}", 3), ("", 0),
  ])
  func `a text takes its columns, or counts as more`(text: String, columns: Int) {
    #expect(TextColumns.count(text) == columns)
  }

  @Test func `a text is cut between characters, at its end or its beginning`() {
    #expect(TextColumns.cut("書庫書庫", to: 6) == "書庫…" && TextColumns.cut("ab", to: 2) == "ab")
    #expect(TextColumns.end(of: "書庫書庫", in: 6) == "…書庫")
    #expect(TextColumns.cut("abc", to: 1) == "…" && TextColumns.cut("abc", to: 0).isEmpty)
    #expect(TextColumns.end(of: "abc", in: 1) == "…" && TextColumns.end(of: "abc", in: -3).isEmpty)
    #expect(TextColumns.cut("e\u{301}e\u{301}e\u{301}", to: 2) == "e\u{301}…")
  }
}
