package import MigrationStatus

/// The activities of a run over time, for its report: phases, work orders and progress.
///
/// All times are seconds since the run began. It has no clock of its own.
package struct RunRecording: Hashable, Codable, Sendable {
  /// A phase of a stage.
  package struct PhaseSpan: Hashable, Codable, Sendable {
    /// The name of the phase.
    package var phase: String
    /// The number of the stage, from 1.
    package var stage: Int
    /// When it began.
    package var from: Double
    /// When it ended.
    package var to: Double
  }

  /// One attempt of a worker at a work order.
  package struct OrderSpan: Hashable, Codable, Sendable {
    /// The number of the work order in the plan of its stage.
    package var workOrder: Int
    /// The number of the stage, from 1.
    package var stage: Int
    /// The number of the partition from which its rows come.
    package var partition: Int
    /// The number of the attempt, from 1.
    package var attempt: Int
    /// Source rows of the work order, as far as the survey counted or estimated them.
    package var rows: Int64
    /// When the worker was started.
    package var from: Double
    /// When it ended.
    package var to: Double
    /// Whether it did all of its work.
    package var isDone: Bool

    /// Takes times in seconds since the run began.
    package init(
      workOrder: Int, stage: Int, partition: Int, attempt: Int, rows: Int64, from: Double,
      to: Double, isDone: Bool
    ) {
      (self.workOrder, self.stage, self.partition) = (workOrder, stage, partition)
      (self.attempt, self.rows, self.isDone) = (attempt, rows, isDone)
      (self.from, self.to) = (from, to)
    }
  }

  /// How far the run was at one moment.
  package struct Sample: Hashable, Codable, Sendable {
    /// The moment.
    package var at: Double
    /// The name of the phase at work.
    package var phase: String
    /// The completed share of the phase, 0...1.
    package var inner: Double
    /// The units of the phase, 0 where it has none.
    package var units: Int
    /// The completed share of the run, 0...1.
    package var fraction: Double
    /// The remaining time reported then, in seconds; nil if none was reported.
    package var secondsRemaining: Double?
    /// Whether the run was paused on request.
    package var isHeld: Bool
    /// The number of the stage, from 1.
    package var stage: Int
    /// Source rows of the stage that were migrated.
    package var rows: UInt64
    /// Source bytes of the stage that were migrated.
    package var bytes: UInt64
    /// Workers at work.
    package var workers: Int
    /// The most private memory so far of all processes at work then, in bytes.
    package var memory: UInt64

    /// Takes what was seen at a moment; a watcher knows neither shares nor units of a phase.
    package init(
      at time: Double, phase: String, inner: Double = 0, units: Int = 0, fraction: Double,
      secondsRemaining: Double?, isHeld: Bool, stage: Int, rows: UInt64, bytes: UInt64,
      workers: Int, memory: UInt64
    ) {
      (at, self.phase, self.inner, self.units) = (time, phase, inner, units)
      (self.fraction, self.secondsRemaining) = (fraction, secondsRemaining)
      (self.isHeld, self.stage, self.rows, self.bytes) = (isHeld, stage, rows, bytes)
      (self.workers, self.memory) = (workers, memory)
    }
  }

  /// When the run began, in seconds since 1970.
  package let startedAt: Double
  /// How long it took.
  package private(set) var seconds = 0.0
  /// What the phases of the first stage were expected to cost, by their names; only the ratios of
  /// these numbers mean something.
  package private(set) var expected: [String: Double] = [:]
  /// The phases in their order.
  package private(set) var phases: [PhaseSpan] = []
  /// The work orders in the order of their starts, without those that an earlier run did.
  package private(set) var workOrders: [OrderSpan] = []
  /// How far the run was, at most `mostSamples` moments.
  package private(set) var samples: [Sample] = []

  /// The places of the work orders whose workers have not ended.
  private var open: Set<Int> = []
  /// The least seconds between two samples, which doubles when there are too many.
  private var interval = 0.0

  /// The most samples that are kept.
  package static let mostSamples = 600

  private enum CodingKeys: CodingKey {
    case startedAt, seconds, expected, phases, workOrders, samples
  }

  /// Begins a recording, at a time in seconds since 1970.
  package init(startedAt: Double) { self.startedAt = startedAt }

  /// Takes what phases are expected to cost; what comes first counts.
  mutating func expect(_ costs: [Phase: Double]) {
    guard expected.isEmpty else { return }
    expected = Dictionary(uniqueKeysWithValues: costs.map { ("\($0.key)", $0.value) })
  }

  /// Ends the phase at work, and begins another.
  package mutating func enter(_ phase: Phase, stage: Int, at time: Double) {
    endPhase(at: time)
    if phase.isWorking {
      phases.append(PhaseSpan(phase: "\(phase)", stage: stage, from: time, to: time))
    }
  }

  /// Records that a worker begins; pass the result to `end`.
  package mutating func begin(_ order: OrderSpan) -> Int {
    workOrders.append(order)
    open.insert(workOrders.count - 1)
    return workOrders.count - 1
  }

  /// Notes that a worker has ended.
  package mutating func end(_ index: Int, isDone: Bool, at time: Double) {
    guard workOrders.indices.contains(index) else { return }
    open.remove(index)
    (workOrders[index].to, workOrders[index].isDone) = (time, isDone)
  }

  /// Keeps a sample, unless the last one is too young.
  package mutating func note(_ sample: Sample) {
    if let last = samples.last, sample.at < last.at + interval { return }
    samples.append(sample)
    guard samples.count > Self.mostSamples else { return }
    samples = samples.enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element)
    let span = (samples.last?.at ?? 0) - (samples.first?.at ?? 0)
    interval = span / Double(max(1, samples.count - 1)) * 0.95
  }

  /// Ends the recording, and what is still at work.
  package mutating func end(at time: Double) {
    endPhase(at: time)
    for index in open { workOrders[index].to = time }
    seconds = max(0, time)
  }

  private mutating func endPhase(at time: Double) {
    if !phases.isEmpty { phases[phases.count - 1].to = time }
  }

  /// Seconds in each phase, by its name.
  package var secondsByPhase: [String: Double] {
    Dictionary(phases.map { ($0.phase, $0.to - $0.from) }, uniquingKeysWith: +)
  }
}
