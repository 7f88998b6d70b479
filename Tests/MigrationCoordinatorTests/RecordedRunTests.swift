import Foundation
import MigrationStatus
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

@Suite("What is told of recorded runs", .scratchFolder)
struct RecordedRunTests {
  private static let folder = FilePath(#filePath).removingLastComponent().appending("Recordings")

  private static func run(_ name: String) throws -> ReplayedRun {
    let path = folder.appending("\(name).jsonl").string
    return try ReplayedRun(String(contentsOfFile: path, encoding: .utf8))
  }

  @Test(arguments: ["rows", "indexes", "resumed", "policy"])
  func `the time left is right within three tenths, and progress is never silent`(
    name: String
  ) throws {
    let run = try Self.run(name)
    let ended = try #require(run.ended)
    #expect(ended >= 8, "a short run tells little")
    let errors = ToldProgress.errors(run.told, ended: ended).map { $0.map { Int($0 * 100) } }
    #expect(ToldProgress.faults(run.told, ended: ended) == [], "off by \(errors) %")
  }

  /// Other programs took a processor or two for a part of the run, or for all of it.
  @Test(arguments: ["objects", "pages", "busy"])
  func `beside other programs the time left is told within six tenths, and mostly within two`(
    name: String
  ) throws {
    let run = try Self.run(name)
    let ended = try #require(run.ended)
    let errors = try ToldProgress.errors(run.told, ended: ended).map { abs(try #require($0)) }
    #expect(errors.allSatisfy { $0 <= 0.6 }, "\(errors)")
    #expect(errors.sorted()[errors.count / 2] <= 0.2, "\(errors)")
    let silent = ToldProgress.faults(run.told, ended: ended).filter { !$0.contains("tenths") }
    #expect(silent == [])
  }

  /// The share by which the time that `plan` tells may differ from what a run takes.
  private static let planned = 1 / 1.5...1.5

  @Test(arguments: ["objects", "pages", "busy"])
  func `plan tells the time within a factor of one and a half`(name: String) throws {
    let run = try Self.run(name)
    let ended = try #require(run.ended)
    let told = try #require(run.planned())
    #expect(Self.planned.contains(told / ended), "\(told) s of \(ended) s")
    // Who judges is judged.
    for factor in [0.3, 5] {
      let wrong = try #require(run.planned(costsTimes: factor))
      #expect(!Self.planned.contains(wrong / ended))
    }
  }

  /// The recording of the same run on a machine that takes so many times as long, which was seen
  /// before it began, or not.
  private static func run(
    _ name: String, slower factor: Double, isKnown: Bool
  ) throws -> ReplayedRun {
    var run = try run(name)
    let known = isKnown ? factor : 1
    run.ended = run.ended.map { $0 * factor }
    run.inputs = run.inputs.map { input in
      switch input {
      case .expected(let costs): return .expected(costs.mapValues { $0 * known })
      case .counted(let costs): return .counted(costs.mapValues { $0 * known })
      case .planned(var orders):
        for order in orders.indices {
          for place in orders[order].stretches.indices {
            orders[order].stretches[place].cost *= known
          }
        }
        return .planned(orders)
      case .observed(var seen):
        seen.at = Int64(Double(seen.at) * factor)
        return .observed(seen)
      }
    }
    return run
  }

  @Test(arguments: ["rows", "indexes", "resumed"])
  func `a machine of another speed is told as well`(name: String) throws {
    for factor in [0.2, 10] {
      let run = try Self.run(name, slower: factor, isKnown: true)
      let errors = ToldProgress.errors(run.told, ended: try #require(run.ended))
      // Nothing is told of the first half second.
      let told = errors.dropFirst(factor < 1 ? 4 : 0)
      #expect(told.allSatisfy { abs($0 ?? 1) <= ToldProgress.tolerance }, "\(errors)")
    }
  }

  @Test(arguments: ["rows", "resumed"])
  func `a machine that turns out to be three times slower is told from the middle on`(
    name: String
  ) throws {
    let run = try Self.run(name, slower: 3, isKnown: false)
    let errors = ToldProgress.errors(run.told, ended: try #require(run.ended))
    #expect(errors.dropFirst(6).allSatisfy { abs($0 ?? 1) <= 0.4 }, "\(errors)")
  }

  // MARK: Who judges is judged

  private static func told(
    _ change: (inout ReplayedRun.Told) -> Void = { _ in }
  ) -> [ReplayedRun.Told] {
    stride(from: 0.0, through: 20, by: 0.5).map { at in
      var told = ReplayedRun.Told(
        at: at, phase: .migrating, fraction: at / 20, secondsRemaining: 20 - at)
      change(&told)
      return told
    }
  }

  @Test func `what is told truly has no faults`() {
    #expect(ToldProgress.faults(Self.told(), ended: 20) == [])
    // A reason is shown.
    let held = Self.told { told in
      if (5...12).contains(told.at) { (told.fraction, told.isHeld) = (0.25, true) }
    }
    #expect(ToldProgress.faults(held, ended: 20) == [])
  }

  @Test func `what is told falsely is found`() {
    func faults(_ change: (inout ReplayedRun.Told) -> Void) -> String {
      ToldProgress.faults(Self.told(change), ended: 20).joined(separator: "; ")
    }
    #expect(faults { $0.secondsRemaining = nil }.contains("nothing is told"))
    #expect(faults { $0.secondsRemaining = 0.6 * (20 - $0.at) }.contains("off by -4"))
    #expect(faults { $0.secondsRemaining = 1.5 * (20 - $0.at) }.contains("off by 5"))
    #expect(faults { $0.fraction = min(0.5, $0.fraction) }.contains("nothing moves from 10.0 s"))
    #expect(faults { $0.fraction = max(0.9, $0.fraction) }.contains("nothing moves from 0.0 s"))
    #expect(faults { $0.fraction *= 1.1 }.contains("the fraction is 1.0"))
    #expect(faults { $0.fraction *= $0.at > 10 ? 0.9 : 1 }.contains("falls at 10.5 s"))
    #expect(ToldProgress.faults(Self.told(), ended: nil) == ["the recording has no end"])
    #expect(ToldProgress.faults(Self.told(), ended: 30).contains { $0.contains("moves from 20.0") })
  }

  @Test func `a recording whose rows stand, or whose costs are wrong, is found`() throws {
    var standing = try Self.run("rows")
    let seen = standing.inputs.compactMap { input in
      if case .observed(let seen) = input, seen.phase == .migrating { seen } else { nil }
    }
    let middle = seen[seen.count / 2]
    standing.inputs = standing.inputs.map { input in
      guard case .observed(var seen) = input, seen.at > middle.at else { return input }
      (seen.phase, seen.inner, seen.parts) = (.migrating, middle.inner, middle.parts)
      return .observed(seen)
    }
    #expect(ToldProgress.faults(standing.told, ended: standing.ended) != [])
    var dear = try Self.run("rows")
    dear.inputs = dear.inputs.map { input in
      guard case .expected(var costs) = input else { return input }
      for phase in [Phase.merging, .relinking, .indexing, .verifying] { costs[phase]? *= 5 }
      return .expected(costs)
    }
    dear.inputs.removeAll { if case .counted = $0 { true } else { false } }
    #expect(ToldProgress.faults(dear.told, ended: dear.ended).contains { $0.contains("off by") })
  }

  // MARK: Recording

  @Test func `what is recorded is what the estimate was made from`() throws {
    let path = ScratchFolder.current.appending("run.jsonl")
    let recording = try ProgressRecording(path)
    var seen = ProgressEstimate.Observation(
      at: 0, phase: .surveying, inner: 0, parts: [], workers: 2)
    recording.note(.observed(seen))
    recording.note(.expected([.migrating: 2, .indexing: 1]))
    let order = WorkForecast.Order(
      number: 1, stretches: [.init(table: "ZA", rows: 100, bytes: 1000, cost: 2)],
      isFinished: false)
    recording.note(.planned([order]))
    for tick in 1...10 {
      (seen.phase, seen.inner) = (.migrating, Double(tick) / 10)
      seen.at = Int64(tick) * 100_000_000
      seen.parts = [
        .init(workOrder: 1, rowsDone: UInt64(tick * 10), isRunning: tick < 10, isDone: tick == 10)
      ]
      recording.note(.observed(seen))
    }
    recording.end()
    let run = try ReplayedRun(String(contentsOfFile: path.string, encoding: .utf8))
    #expect(run.ended != nil)
    #expect(run.inputs.contains(.planned([order])))
    #expect(run.inputs.contains(.expected([.migrating: 2, .indexing: 1])))
    let observed = run.inputs.compactMap { input in
      if case .observed(let seen) = input { seen } else { nil }
    }
    // Five times a second, and when a phase begins.
    #expect(observed.map(\.phase) == [.surveying] + Array(repeating: .migrating, count: 5))
    #expect(observed.last?.parts.first?.rowsDone == 90)
    // A file that is there is left alone.
    #expect(throws: (any Error).self) { try ProgressRecording(path) }
  }

  @Test func `a recording of another version is refused`() {
    #expect(throws: DecodingError.self) { try ReplayedRun(#"{"version":2}"#) }
    #expect(throws: DecodingError.self) { try ReplayedRun(#"{"at":1,"phase":"flying"}"#) }
    #expect(throws: DecodingError.self) { try ReplayedRun("no JSON") }
  }
}
