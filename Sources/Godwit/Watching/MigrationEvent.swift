public import Foundation
public import SystemPackage

/// One thing that happened in a migration, for programs that follow it.
///
/// `godwit migrate --log-format json` prints one object a line (docs/schemas/event.schema.json).
///
/// ```swift
/// let events = Mutex(MigrationEvents())
/// let result = try await migration.run { progress in
///   for event in events.withLock({ $0.after(progress, at: clock()) }) { send(event) }
/// }
/// ```
public enum MigrationEvent: Hashable, Sendable {
  /// The migration begins.
  case begun(store: FilePath, destination: FilePath)
  /// A phase begins.
  case phase(MigrationProgress.Phase)
  /// The work is divided: source rows and bytes, work orders, and how many workers may run.
  case planned(rows: Int64, bytes: Int64, workOrders: Int, workers: Int)
  /// A worker begins an attempt at a work order.
  case workOrderBegun(number: Int, partition: Int, attempt: Int, process: Int32)
  /// The rows of a work order are migrated.
  case workOrderDone(number: Int, rows: Int64)
  /// An attempt at a work order has failed.
  case workOrderFailed(number: Int, attempt: Int)
  /// How far the migration is: the share, the time remaining, rows and bytes.
  case progress(
    fraction: Double, timeRemaining: Duration?, rowsDone: Int64, rowsTotal: Int64,
    bytesDone: Int64, bytesTotal: Int64)
  /// Something worth knowing, as a sentence; the level is a warning if something is wrong.
  case message(String, level: Level, facts: [String: String])
  /// The migration has a result.
  case done(outcome: StoreMigration.Result.Outcome, rows: Int64)
  /// The migration has ended without a result.
  case failed(exitStatus: Int32, coreDataCode: Int?, sentences: [String])

  /// How much a message matters.
  public enum Level: String, Hashable, Sendable, CaseIterable, Encodable {
    case debug, info, warning, error
  }

  /// The event that stands for a failure.
  public init(_ failure: MigrationFailure) {
    self = .failed(
      exitStatus: failure.exitStatus.rawValue, coreDataCode: failure.coreDataCode,
      sentences: failure.sentences)
  }
}

/// Makes events from the progress of a migration.
public struct MigrationEvents: Sendable {
  private var isPlanned = false
  private var phase: MigrationProgress.Phase?
  private var orders: [Int: MigrationProgress.WorkOrder] = [:]
  private var told: Double?
  private var hasWaited = false

  /// Seconds between two events of progress.
  public static let pace = 5.0

  /// Begins before the first progress.
  public init() {}

  /// What happened since the progress before.
  ///
  /// - Parameters:
  ///   - progress: the present progress.
  ///   - time: seconds of a clock that never goes back.
  public mutating func after(
    _ progress: MigrationProgress, at time: Double
  ) -> [MigrationEvent] {
    // The record of the last work order may come just after that of the next phase.
    let isAhead = progress.phase > .migrating && progress.phase < .done
    if isAhead, !hasWaited, progress.workOrders.contains(where: { $0.state == .running }) {
      hasWaited = true
      return []
    }
    var events: [MigrationEvent] = []
    // Work orders are done before another phase begins, whether anybody saw them at work or not.
    if progress.phase > .migrating {
      let isUnseen = !isPlanned && progress.workOrderCount > 0 && progress.phase != .failed
      if isUnseen, phase != .migrating { events.append(.phase(.migrating)) }
      events += work(progress)
    }
    if progress.phase != phase, progress.phase != .failed, progress.phase != .done {
      events.append(.phase(progress.phase))
      told = nil
    }
    phase = progress.phase
    events += work(progress)
    if told.map({ time - $0 >= Self.pace }) ?? false {
      events.append(
        .progress(
          fraction: progress.fraction, timeRemaining: progress.timeRemaining,
          rowsDone: progress.rowsDone, rowsTotal: progress.rowsTotal,
          bytesDone: progress.bytesDone, bytesTotal: progress.bytesTotal))
      told = time
    }
    if told == nil { told = time }
    return events
  }

  /// The plan, once there is one, and what became of its work orders.
  private mutating func work(_ progress: MigrationProgress) -> [MigrationEvent] {
    var events: [MigrationEvent] = []
    // The plan is published just before its phase begins.
    if !isPlanned, progress.workOrderCount > 0, progress.phase >= .migrating {
      isPlanned = true
      events.append(
        .planned(
          rows: progress.rowsTotal, bytes: progress.bytesTotal,
          workOrders: progress.workOrderCount, workers: progress.workers))
    }
    // A worker may be done with little before anybody hears of the phase in which it began.
    return isPlanned ? events + workOrders(progress) : events
  }

  /// What became of work orders; one that is done at once has begun all the same.
  private mutating func workOrders(_ progress: MigrationProgress) -> [MigrationEvent] {
    var events: [MigrationEvent] = []
    for order in progress.workOrders {
      let before = orders[order.number]
      orders[order.number] = order
      if order.attempt > before?.attempt ?? 0 {
        // An attempt may be over before anybody sees it.
        if order.attempt > 1, before?.state != .failed || before?.attempt != order.attempt - 1 {
          events.append(.workOrderFailed(number: order.number, attempt: order.attempt - 1))
        }
        events.append(
          .workOrderBegun(
            number: order.number, partition: order.partition, attempt: order.attempt,
            process: order.process))
      }
      guard order.state != before?.state else { continue }
      if order.state == .done {
        events.append(.workOrderDone(number: order.number, rows: order.rowsDone))
      } else if order.state == .failed {
        events.append(.workOrderFailed(number: order.number, attempt: order.attempt))
      }
    }
    return events
  }
}

/// An event with its time, as an object of JSON.
public struct MigrationEventRecord: Encodable, Sendable {
  /// The event.
  public var event: MigrationEvent
  /// When it happened.
  public var time: Date

  /// Takes an event and when it happened.
  public init(_ event: MigrationEvent, at time: Date) { (self.event, self.time) = (event, time) }

  private enum CodingKeys: CodingKey {
    case version, time, event, store, destination, godwit, phase, rows, bytes, workOrders, workers,
      workOrder, partition, attempt, process, fraction, secondsRemaining, rowsDone, rowsTotal,
      bytesDone, bytesTotal, message, level, facts, outcome, exitStatus, coreDataCode, sentences
  }

  /// Encodes one object: `version`, `time`, the name of the event, and its fields.
  public func encode(to encoder: any Encoder) throws {
    var object = encoder.container(keyedBy: CodingKeys.self)
    try object.encode(1, forKey: .version)
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true, timeZone: .gmt)
    try object.encode(time.formatted(style), forKey: .time)
    try object.encode(name, forKey: .event)
    switch event {
    case .begun(let store, let destination):
      try object.encode(store.string, forKey: .store)
      try object.encode(destination.string, forKey: .destination)
      try object.encode(ToolProcess.version, forKey: .godwit)
    case .phase(let phase): try object.encode(phase.rawValue, forKey: .phase)
    case .planned(let rows, let bytes, let workOrders, let workers):
      try object.encode(rows, forKey: .rows)
      try object.encode(bytes, forKey: .bytes)
      try object.encode(workOrders, forKey: .workOrders)
      try object.encode(workers, forKey: .workers)
    case .workOrderBegun(let number, let partition, let attempt, let process):
      try object.encode(number, forKey: .workOrder)
      try object.encode(partition, forKey: .partition)
      try object.encode(attempt, forKey: .attempt)
      try object.encode(process, forKey: .process)
    case .workOrderDone(let number, let rows):
      try object.encode(number, forKey: .workOrder)
      try object.encode(rows, forKey: .rows)
    case .workOrderFailed(let number, let attempt):
      try object.encode(number, forKey: .workOrder)
      try object.encode(attempt, forKey: .attempt)
    case .progress(
      let fraction, let timeRemaining, let rowsDone, let rowsTotal, let bytesDone,
      let bytesTotal):
      try object.encode(fraction, forKey: .fraction)
      try object.encodeIfPresent(
        timeRemaining.map { $0 / .seconds(1) }, forKey: .secondsRemaining)
      try object.encode(rowsDone, forKey: .rowsDone)
      try object.encode(rowsTotal, forKey: .rowsTotal)
      try object.encode(bytesDone, forKey: .bytesDone)
      try object.encode(bytesTotal, forKey: .bytesTotal)
    case .message(let text, let level, let facts):
      try object.encode(text, forKey: .message)
      try object.encode(level, forKey: .level)
      try object.encode(facts, forKey: .facts)
    case .done(let outcome, let rows):
      try object.encode(outcome.rawValue, forKey: .outcome)
      try object.encode(rows, forKey: .rows)
    case .failed(let exitStatus, let coreDataCode, let sentences):
      try object.encode(exitStatus, forKey: .exitStatus)
      try object.encodeIfPresent(coreDataCode, forKey: .coreDataCode)
      try object.encode(sentences, forKey: .sentences)
    }
  }

  private var name: String {
    switch event {
    case .begun: "begun"
    case .phase: "phase"
    case .planned: "planned"
    case .workOrderBegun: "workOrderBegun"
    case .workOrderDone: "workOrderDone"
    case .workOrderFailed: "workOrderFailed"
    case .progress: "progress"
    case .message: "message"
    case .done: "done"
    case .failed: "failed"
    }
  }
}
