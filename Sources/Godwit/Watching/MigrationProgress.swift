public import Foundation
import MigrationStatus

/// The progress of a running migration.
public struct MigrationProgress: Hashable, Sendable {
  /// The phases of a migration, in their order.
  public enum Phase: String, Hashable, Sendable, CaseIterable, CustomStringConvertible {
    /// Reads models, tables and statistics of the store.
    case surveying
    /// Divides the work into work orders.
    case planning
    /// Copies the source.
    case reading
    /// Workers execute their work orders.
    case migrating
    /// Merges the workers' shards.
    case merging
    /// Checks and completes references between objects.
    case relinking
    /// Builds the indexes.
    case indexing
    /// Verifies the result.
    case verifying
    /// Puts the result in its final place.
    case swapping
    /// The result is in its final place.
    case done
    /// The migration has ended without a result.
    case failed

    /// The name of the phase.
    public var description: String { rawValue }
  }

  /// The progress of one work order.
  public struct WorkOrder: Hashable, Sendable {
    /// The states of a work order.
    public enum State: String, Hashable, Sendable, CaseIterable {
      /// No worker has started on it.
      case planned
      /// A worker is executing it.
      case running
      /// Its rows are migrated.
      case done
      /// Its last worker ended without migrating them.
      case failed
    }

    /// The number of the work order, from 1.
    public var number: Int
    /// The number of the partition from which its rows come, from 1.
    public var partition: Int
    /// The state of the work order.
    public var state: State
    /// The number of the attempt, from 1; 0 before the first.
    public var attempt: Int
    /// The process of its worker, 0 before the first.
    public var process: Int32
    /// The table whose rows are being migrated.
    public var table: String
    /// Source rows of the work order.
    public var rowsTotal: Int64
    /// Source rows that are migrated.
    public var rowsDone: Int64
    /// Source bytes of the work order.
    public var bytesTotal: Int64
    /// Source bytes that are migrated.
    public var bytesDone: Int64
    /// The primary key of the row migrated last.
    public var lastKey: Int64
    /// The peak private memory of its worker, in bytes.
    public var peakMemory: Int64
    /// The memory that its worker may use in bytes, nil if it is not known.
    public var memoryLimit: Int64?
    /// When its worker last showed that it runs.
    public var heartbeat: Date
    /// Whether its worker is paused because the migration is paused.
    public var isPaused: Bool
    /// Whether it claims to be running, yet its process is gone.
    public var isStale: Bool
  }

  /// The progress of the stage at work, of a migration with several.
  public struct Stage: Hashable, Sendable {
    /// The number of the stage, from 1.
    public var number: Int
    /// How many stages the migration has.
    public var count: Int
    /// The phase of the stage.
    public var phase: Phase
    /// Source rows of the stage.
    public var rowsTotal: Int64
    /// Source rows that are migrated.
    public var rowsDone: Int64
    /// Source bytes of the stage.
    public var bytesTotal: Int64
    /// Source bytes that are migrated.
    public var bytesDone: Int64
    /// The number of work orders of the stage.
    public var workOrderCount: Int
  }

  /// The completed share, 0...1, which never falls.
  public var fraction: Double
  /// The present phase.
  public var phase: Phase
  /// The estimated time remaining, nil until a hundredth is done.
  public var timeRemaining: Duration?
  /// Source rows of the migration.
  public var rowsTotal: Int64
  /// Source rows that are migrated.
  public var rowsDone: Int64
  /// Source bytes of the migration.
  public var bytesTotal: Int64
  /// Source bytes that are migrated.
  public var bytesDone: Int64
  /// The process that coordinates the migration.
  public var coordinator: Int32
  /// The peak private memory of the coordinator so far, in bytes.
  public var peakMemory: Int64
  /// The memory that all processes together may use in bytes, nil if it is not known.
  public var memoryLimit: Int64?
  /// The disk that the migration was expected to write in bytes, nil if it is not known.
  public var diskNeed: Int64?
  /// When the migration started.
  public var started: Date
  /// When the process that coordinates it last showed that it runs.
  public var heartbeat: Date
  /// When it last got further.
  public var lastProgress: Date
  /// How many workers may run at once.
  public var workers: Int
  /// Source bytes per second that all workers together may read, nil for no limit.
  public var bytesPerSecond: Int64?
  /// The number of work orders.
  public var workOrderCount: Int
  /// The work orders by number, of several stages those of the one at work; empty before the plan
  /// is made.
  public var workOrders: [WorkOrder]
  /// The stage at work; nil where there is one stage, or nothing is known of it.
  ///
  /// Only ``MigrationMonitor`` reports it: other counts are then shares of stages.
  public var stage: Stage?

  init(_ core: StatusSnapshot) {
    (fraction, phase) = (core.fraction, Phase(core.phase))
    timeRemaining = core.secondsRemaining.map { .seconds($0) }
    (rowsTotal, rowsDone) = (Int64(clamping: core.rowsTotal), Int64(clamping: core.rowsDone))
    (bytesTotal, bytesDone) = (Int64(clamping: core.bytesTotal), Int64(clamping: core.bytesDone))
    (coordinator, peakMemory) = (core.coordinator, Int64(clamping: core.peakMemoryBytes))
    (memoryLimit, diskNeed) = (Self.known(core.memoryLimitBytes), Self.known(core.diskNeedBytes))
    started = Date(timeIntervalSince1970: core.startedAt)
    heartbeat = Date(timeIntervalSince1970: core.heartbeatAt)
    lastProgress = Date(timeIntervalSince1970: core.progressAt)
    (workers, bytesPerSecond) = (Int(core.workersWanted), Self.known(core.rate))
    workOrderCount = Int(core.workOrders)
    workOrders = core.parts.map { WorkOrder($0) }
    stage = core.stage.map { Stage($0) }
  }

  /// A number; nil for 0, which means that there is none.
  fileprivate static func known(_ number: UInt64) -> Int64? {
    number == 0 ? nil : Int64(clamping: number)
  }

  /// The same once the result is in its place.
  var ended: Self {
    var result = self
    (result.fraction, result.phase, result.timeRemaining) = (1, .done, .zero)
    (result.rowsDone, result.bytesDone) = (rowsTotal, bytesTotal)
    return result
  }
}

extension MigrationProgress.Phase: Comparable {
  /// Orders phases as a migration goes through them.
  public static func < (first: Self, second: Self) -> Bool {
    first.place < second.place
  }

  private var place: Int { Self.allCases.firstIndex(of: self) ?? 0 }
}

extension MigrationProgress.Stage {
  fileprivate init(_ core: StatusSnapshot.Stage) {
    (number, count, phase) = (Int(core.number), Int(core.count), .init(core.phase))
    (rowsTotal, rowsDone) = (Int64(clamping: core.rowsTotal), Int64(clamping: core.rowsDone))
    (bytesTotal, bytesDone) = (Int64(clamping: core.bytesTotal), Int64(clamping: core.bytesDone))
    workOrderCount = Int(core.workOrders)
  }
}

extension MigrationProgress {
  /// The current activity: the stage at work, or the whole if there is one stage.
  package var atWork: Stage {
    stage
      ?? Stage(
        number: 1, count: 1, phase: phase, rowsTotal: rowsTotal, rowsDone: rowsDone,
        bytesTotal: bytesTotal, bytesDone: bytesDone, workOrderCount: workOrderCount)
  }
}

extension MigrationProgress {
  /// The work orders on which workers are at work.
  public var workOrdersAtWork: [WorkOrder] {
    workOrders.filter { $0.state == .running && !$0.isStale }
  }

  /// How many workers were started because an earlier one ended without its rows.
  public var retries: Int {
    workOrders.reduce(0) { sum, order in
      let (more, overflow) = sum.addingReportingOverflow(max(0, order.attempt - 1))
      return overflow ? .max : more
    }
  }

  /// The peak private memory of the coordinator and the workers at work together, in bytes.
  public var memory: Int64 {
    workOrdersAtWork.reduce(peakMemory) { sum, order in
      let (more, overflow) = sum.addingReportingOverflow(order.peakMemory)
      return overflow ? .max : more
    }
  }
}

extension MigrationProgress.WorkOrder {
  fileprivate init(_ core: StatusSnapshot.Part) {
    (number, partition) = (Int(core.workOrder), Int(core.partition))
    state =
      switch core.state {
      case .planned: .planned
      case .running: .running
      case .done: .done
      case .failed: .failed
      }
    (attempt, process, table) = (Int(core.attempt), core.process, core.table)
    (rowsTotal, rowsDone) = (Int64(clamping: core.rowsTotal), Int64(clamping: core.rowsDone))
    (bytesTotal, bytesDone) = (Int64(clamping: core.bytesTotal), Int64(clamping: core.bytesDone))
    (lastKey, heartbeat) = (core.lastKey, Date(timeIntervalSince1970: core.heartbeatAt))
    peakMemory = Int64(clamping: core.peakMemoryBytes)
    memoryLimit = MigrationProgress.known(core.memoryLimitBytes)
    (isPaused, isStale) = (core.isPaused, core.isStale)
  }
}

extension MigrationProgress.Phase {
  fileprivate init(_ core: MigrationStatus.Phase) {
    self =
      switch core {
      case .surveying: .surveying
      case .planning: .planning
      case .reading: .reading
      case .migrating: .migrating
      case .merging: .merging
      case .relinking: .relinking
      case .indexing: .indexing
      case .verifying: .verifying
      case .swapping: .swapping
      case .done: .done
      case .failed: .failed
      }
  }
}
