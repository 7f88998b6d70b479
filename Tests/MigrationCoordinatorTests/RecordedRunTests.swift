import Foundation
import MigrationStatus
import Testing

@testable import MigrationCoordinator

/// A run of which was written down how far it was: at `rows`, `indexes`, `resumed` and `policy` the
/// machine did nothing else, at the others programs began and ended meanwhile.
private struct RecordedRun {
  /// A line of the file: what phases were expected to take, or an observation, or the end.
  private struct Line: Decodable {
    var expected, counted: [String: Double]?
    var at: Double?
    var phase: String?
    var inner: Double?
    var steps: Int?
    var isHeld: Bool?
    var ended: Double?
  }

  /// What was told at one moment.
  struct Told {
    var at, fraction: Double
    var secondsRemaining: Double?
    var phase: Phase
  }

  var ended = 0.0
  var told: [Told] = []

  /// Tells a run again, as if the machine had taken so many times as long.
  init(_ name: String, slower factor: Double = 1) throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent()
      .appending(path: "Recordings/\(name).jsonl")
    var estimate = ProgressEstimate()
    for text in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
      let line = try JSONDecoder().decode(Line.self, from: Data(text.utf8))
      if let costs = line.expected { estimate.expect(Self.phases(costs)) }
      if let costs = line.counted { estimate.expect(later: Self.phases(costs)) }
      if let ended = line.ended { self.ended = ended * factor }
      guard let at = line.at.map({ $0 * factor }) else { continue }
      let phase = try #require(Phase.allCases.first { "\($0)" == line.phase })
      estimate.observe(
        .init(
          at: Int64(at * 1e9), phase: phase, inner: line.inner ?? 0, steps: line.steps ?? 0,
          isHeld: line.isHeld ?? false))
      told.append(
        Told(
          at: at, fraction: estimate.fraction, secondsRemaining: estimate.secondsRemaining,
          phase: phase))
    }
  }

  private static func phases(_ costs: [String: Double]) -> [Phase: Double] {
    let named = Phase.allCases.map { ($0, costs["\($0)"]) }
    return Dictionary(uniqueKeysWithValues: named.compactMap { p, c in c.map { (p, $0) } })
  }

  /// What was told at each tenth after the first, by what it then took; nil where nothing was told.
  var ratios: [Double?] {
    (2..<10).map { tenth in
      let moment = ended * Double(tenth) / 10
      guard let last = told.last(where: { $0.at <= moment }), let left = last.secondsRemaining
      else { return nil }
      // Watchers count down from what was told.
      return max(0, left - (moment - last.at)) / (ended - moment)
    }
  }
}

@Suite("What is told of recorded runs")
struct RecordedRunTests {
  @Test(arguments: ["rows", "indexes", "resumed", "policy", "objects", "pages", "busy"])
  func `the time left is between half and double from the second tenth on`(name: String) throws {
    let run = try RecordedRun(name)
    #expect(run.ended >= 8, "a short run tells little")
    for (tenth, ratio) in zip(2..., run.ratios) {
      #expect((0.5...2).contains(ratio ?? 0), "at \(tenth) tenths: \(ratio ?? -1)")
    }
    let fractions = run.told.map(\.fraction)
    #expect(fractions == fractions.sorted() && fractions.allSatisfy { (0...1).contains($0) })
  }

  @Test(arguments: ["rows", "indexes", "resumed", "policy"])
  func `of a machine three times slower, most of the second half is told as well`(
    name: String
  ) throws {
    let ratios = try RecordedRun(name, slower: 3).ratios.dropFirst(3).map { $0 ?? 0 }
    #expect(ratios.filter { (0.5...2).contains($0) }.count >= 4, "\(ratios)")
  }

  @Test func `something new is told every two seconds`() throws {
    for name in ["rows", "indexes", "resumed", "pages"] {
      let run = try RecordedRun(name)
      var since = try #require(run.told.first)
      for now in run.told where now.fraction > since.fraction {
        #expect(now.at - since.at <= 2, "\(name): nothing moves from \(since.at) s on")
        since = now
      }
    }
  }
}
