import Foundation
import Logging
import MigrationEngine
import MigrationStatus
import Planning
import Synchronization
import SystemCalls
import SystemPackage

/// Writes down what the progress estimate of a run is made from, for tests that make it again
/// (docs/progress-recordings.md).
///
/// No fault of it reaches the migration: what cannot be written is missing.
final class ProgressRecording: Sendable {
  /// The variable that names the file.
  static let variable = "GODWIT_RECORD_PROGRESS"
  /// The version of the format.
  static let version = 1

  /// One line of the file, an object of JSON.
  struct Line: Codable, Hashable, Sendable {
    /// The version of the format, in the first line.
    var version: Int?
    /// What there is to do in a stage, of which engine, and how fast the machine was found to be.
    var work: StageWork?
    var engine: EngineName?
    var speed: Double?
    /// What the phases of a stage are expected to cost, by their names.
    var expected: [String: Double]?
    /// What the phases after `migrating` are expected to cost, once rows are counted.
    var counted: [String: Double]?
    /// The work orders of a plan.
    var orders: [WorkForecast.Order]?
    /// The moment, in seconds since the recording began.
    var at: Double?
    /// The phase at work.
    var phase: Phase?
    /// The completed share of the phase, missing for 0.
    var inner: Double?
    /// In how many steps the phase is done, if each is as long as the longest; missing for 0.
    var steps: Int?
    /// How many workers may run at once.
    var workers: Int?
    /// Bytes that workers may read in a second, missing for no limit.
    var rate: UInt64?
    /// Whether the run stands still on request, missing for no.
    var isHeld: Bool?
    /// Whether only the swap is left, and held back; missing for no.
    var isReady: Bool?
    /// Work orders that are not as they were in an earlier line: number, rows done, and 0 for one
    /// on which nobody works, 1 for one at work, 2 for one that is done.
    var parts: [[UInt64]]?
    /// When the run ended.
    var ended: Double?
  }

  private struct State {
    var file: FileDescriptor?
    var parts: [UInt32: RunAdvance.Part] = [:]
    var last: (at: Int64, phase: Phase, inner: Double)?
  }

  /// Nanoseconds between two observations of which nothing but rows differs.
  private static let interval: Int64 = 200_000_000

  private let start = MonotonicClock.now()
  private let state: Mutex<State>

  /// Begins a file that is not there yet.
  ///
  /// - Throws: `SystemCallError`, if it cannot be created.
  init(_ path: FilePath) throws(SystemCallError) {
    state = Mutex(
      State(
        file: try Files.open(
          path, mode: .writeOnly, options: [.create, .exclusiveCreate, .closeOnExec],
          permissions: [.ownerReadWrite, .groupRead, .otherRead])))
    write(Line(version: Self.version))
  }

  /// The recording that the environment asks for, nil if it asks for none.
  static func asked(logger: Logger) -> ProgressRecording? {
    guard let path = ProcessInfo.processInfo.environment[variable], !path.isEmpty else {
      return nil
    }
    do {
      return try ProgressRecording(FilePath(path))
    } catch {
      logger.warning(
        "the progress is not recorded", metadata: ["file": "\(path)", "error": "\(error)"])
      return nil
    }
  }

  deinit { state.withLock { try? $0.file?.close() } }  // nothing is left to be written

  /// Takes an input; observations five times a second, and whenever a phase or a unit of it ends.
  func note(_ input: ProgressEstimate.Input) {
    switch input {
    case .expected(let costs): write(Line(expected: Self.named(costs)))
    case .counted(let costs): write(Line(counted: Self.named(costs)))
    case .planned(let orders): write(Line(orders: orders))
    case .observed(let seen):
      guard let line = state.withLock({ line(of: seen, after: &$0) }) else { return }
      write(line)
    }
  }

  /// Takes what there is to do in a stage.
  func note(_ work: StageWork, of engine: EngineName, speed: Double) {
    write(Line(work: work, engine: engine, speed: Self.rounded(speed, to: 1e3)))
  }

  /// Notes that the run has ended.
  func end() { write(Line(ended: seconds(at: MonotonicClock.now()))) }

  private func seconds(at moment: Int64) -> Double {
    Self.rounded(Double(moment - start) / 1e9, to: 1e3)
  }

  private static func named(_ costs: [Phase: Double]) -> [String: Double] {
    Dictionary(uniqueKeysWithValues: costs.map { ("\($0.key)", rounded($0.value, to: 1e6)) })
  }

  private static func rounded(_ value: Double, to parts: Double) -> Double {
    (value * parts).rounded() / parts
  }

  /// The line of an observation, nil for one that comes too early.
  private func line(of seen: ProgressEstimate.Observation, after state: inout State) -> Line? {
    if let last = state.last, last.phase == seen.phase, seen.at - last.at < Self.interval,
      seen.phase == .migrating || last.inner == seen.inner
    {
      return nil
    }
    state.last = (seen.at, seen.phase, seen.inner)
    let changed = seen.parts.filter { $0 != state.parts[$0.workOrder] }
    for part in changed { state.parts[part.workOrder] = part }
    let parts = changed.filter { $0.rowsDone > 0 || $0.isRunning || $0.isDone }.map {
      [UInt64($0.workOrder), $0.rowsDone, $0.isDone ? 2 : $0.isRunning ? 1 : 0]
    }
    var line = Line(at: seconds(at: seen.at), phase: seen.phase, workers: seen.workers)
    if seen.inner > 0 { line.inner = Self.rounded(seen.inner, to: 1e5) }
    if seen.steps > 0 { line.steps = seen.steps }
    if seen.rate > 0 { line.rate = seen.rate }
    if seen.isHeld { line.isHeld = true }
    if seen.isReady { line.isReady = true }
    if !parts.isEmpty { line.parts = parts }
    return line
  }

  private func write(_ line: Line) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    state.withLock { state in
      do {
        guard let file = state.file else { return }
        try file.writeAll(try encoder.encode(line) + [0x0A])
      } catch {
        // Half of a recording would be taken for all of it: it has no end.
        try? state.file?.close()
        state.file = nil
      }
    }
  }
}
