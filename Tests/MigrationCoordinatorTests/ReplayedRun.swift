import EngineList
import Foundation
import MigrationEngine
import MigrationStatus
import Planning

@testable import MigrationCoordinator

/// A run whose progress was recorded (docs/progress-recordings.md), for the estimate of this build.
struct ReplayedRun {
  /// What an estimate told at one moment.
  struct Told {
    /// The moment, in seconds since the recording began.
    var at: Double
    var phase: Phase
    var fraction: Double
    var secondsRemaining: Double?
    /// Whether it is shown why nothing goes on.
    var isHeld = false
  }

  /// What the estimate was made from.
  var inputs: [ProgressEstimate.Input] = []
  /// When the run ended, nil where the recording was cut off.
  var ended: Double?
  /// What there was to do, by which engine, and how fast the machine was found to be.
  var work: (counts: StageWork, engine: EngineName, speed: Double)?

  /// Reads a recording.
  ///
  /// - Throws: `DecodingError`, for lines of another kind or version.
  init(_ text: String) throws {
    var parts: [UInt32: RunAdvance.Part] = [:]
    for (index, text) in text.split(separator: "\n").enumerated() {
      let line = try JSONDecoder().decode(ProgressRecording.Line.self, from: Data(text.utf8))
      if index == 0, line.version != ProgressRecording.version {
        throw DecodingError.dataCorrupted(
          .init(codingPath: [], debugDescription: "a recording of another version"))
      }
      if let counts = line.work, let engine = line.engine, let speed = line.speed {
        work = (counts, engine, speed)
      }
      if let costs = line.expected { inputs.append(.expected(Self.phases(costs))) }
      if let costs = line.counted { inputs.append(.counted(Self.phases(costs))) }
      if let orders = line.orders { inputs.append(.planned(orders)) }
      if let seen = line.observation(after: &parts) { inputs.append(.observed(seen)) }
      if let ended = line.ended { self.ended = ended }
    }
  }

  /// The seconds that `plan` tells of such a run, which surveys the store likewise; nil where it is
  /// not recorded what there was to do.
  ///
  /// - Parameter factor: what the costs of this build are multiplied by.
  func planned(costsTimes factor: Double = 1) -> Double? {
    guard let work, let engine = EngineList.engine(named: work.engine) else { return nil }
    let surveyed = inputs.compactMap { input in
      if case .observed(let seen) = input, seen.phase > .surveying { seen.at } else { nil }
    }.first.map { Double($0) / 1e9 }
    let costs = engine.costs.phases(of: work.counts).values.reduce(0, +)
    return (surveyed ?? 0) + MachineSpeed.fixedSeconds + factor * costs / work.speed
  }

  private static func phases(_ costs: [String: Double]) -> [Phase: Double] {
    let named = Phase.allCases.map { ($0, costs["\($0)"]) }
    return Dictionary(uniqueKeysWithValues: named.compactMap { p, c in c.map { (p, $0) } })
  }

  /// What the estimate of this build tells at each observation.
  var told: [Told] {
    var estimate = ProgressEstimate()
    return inputs.compactMap { input in
      estimate.take(input)
      guard case .observed(let seen) = input else { return nil }
      return Told(
        at: Double(seen.at) / 1e9, phase: seen.phase, fraction: estimate.fraction,
        secondsRemaining: estimate.secondsRemaining, isHeld: seen.isHeld)
    }
  }
}

extension ProgressRecording.Line {
  /// The observation in the line, nil if it has another input.
  fileprivate func observation(
    after parts: inout [UInt32: RunAdvance.Part]
  ) -> ProgressEstimate.Observation? {
    guard let at, let phase else { return nil }
    for values in self.parts ?? [] where values.count == 3 {
      let number = UInt32(clamping: values[0])
      parts[number] = .init(
        workOrder: number, rowsDone: values[1], isRunning: values[2] == 1, isDone: values[2] == 2)
    }
    return .init(
      at: Int64(at * 1e9), phase: phase, inner: inner ?? 0, steps: steps ?? 0,
      parts: parts.values.sorted { $0.workOrder < $1.workOrder }, isHeld: isHeld ?? false,
      isReady: isReady ?? false, workers: workers ?? 1, rate: rate ?? 0)
  }
}

/// Judges what was told of a run by how it went.
enum ToldProgress {
  /// The share by which a time may be wrong.
  static let tolerance = 0.3
  /// Seconds after which what is told has to be something else, or has to say why it is not.
  static let longestSilence = 2.0

  /// How far off the time was at each tenth of a run, as shares of the truth; nil where nothing was
  /// told.
  static func errors(_ told: [ReplayedRun.Told], ended: Double) -> [Double?] {
    (1..<10).map { tenth in
      let moment = ended * Double(tenth) / 10
      let last = told.last { $0.at <= moment }
      guard let last, let left = last.secondsRemaining else { return nil }
      // Watchers count down from what was told.
      let now = max(0, left - (moment - last.at))
      return (now - (ended - moment)) / (ended - moment)
    }
  }

  /// What was told falsely, a sentence each.
  static func faults(_ told: [ReplayedRun.Told], ended: Double?) -> [String] {
    guard let ended, let first = told.first else { return ["the recording has no end"] }
    var faults: [String] = []
    for (tenth, error) in zip(1..., errors(told, ended: ended)) {
      guard let error else {
        faults.append("at \(tenth) tenths nothing is told")
        continue
      }
      if abs(error) > tolerance {
        faults.append("at \(tenth) tenths the time is off by \(Int(error * 100)) %")
      }
    }
    if first.at > longestSilence { faults.append("nothing is told before \(first.at) s") }
    var since = first
    for (before, now) in zip(told, told.dropFirst()) {
      if now.fraction < before.fraction { faults.append("the fraction falls at \(now.at) s") }
      if now.fraction > since.fraction || now.isHeld {
        since = now
      } else if now.at - since.at > longestSilence {
        faults.append("nothing moves from \(since.at) s on, in the phase \(since.phase)")
        since = now
      }
    }
    if ended - since.at > longestSilence { faults.append("nothing moves from \(since.at) s on") }
    if let wrong = told.first(where: { !(0...1).contains($0.fraction) }) {
      faults.append("the fraction is \(wrong.fraction) at \(wrong.at) s")
    }
    return faults
  }
}
