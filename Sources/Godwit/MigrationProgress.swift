import MigrationStatus

/// How far a running migration is.
public struct MigrationProgress: Hashable, Sendable {
  /// What is being done, in the order in which phases follow each other.
  public enum Phase: String, Hashable, Sendable, CaseIterable, CustomStringConvertible {
    /// Reading what the store holds.
    case surveying
    /// Cutting the work into work orders.
    case planning
    /// Copying the source.
    case reading
    /// Workers migrate their work orders.
    case migrating
    /// Putting the workers' shards together.
    case merging
    /// Relating what they made.
    case relinking
    /// Making the indexes.
    case indexing
    /// Verifying the result.
    case verifying
    /// Putting the result into its place.
    case swapping
    /// The result is in its place.
    case done
    /// There is no result.
    case failed

    /// The name of the phase.
    public var description: String { rawValue }
  }

  /// What one worker process does.
  public struct WorkOrder: Hashable, Sendable {
    /// How far a work order is.
    public enum State: String, Hashable, Sendable, CaseIterable {
      /// No worker has begun with it.
      case planned
      /// A worker is at it.
      case running
      /// Its rows are migrated.
      case done
      /// Its worker ended without them.
      case failed
    }

    /// From 1 up.
    public var number: Int
    /// The partition that it is a part of, from 1 up.
    public var partition: Int
    /// How far it is.
    public var state: State
    /// The number of the attempt, from 1 up.
    public var attempt: Int
    /// The process at work.
    public var process: Int32
    /// The table at work.
    public var table: String
    /// Source rows of the order.
    public var rowsTotal: UInt64
    /// Source rows that are done.
    public var rowsDone: UInt64
    /// Source bytes of the order.
    public var bytesTotal: UInt64
    /// Source bytes that are done.
    public var bytesDone: UInt64
    /// Whether it claims to run, yet its process is gone.
    public var isStale: Bool
  }

  /// From 0 to 1; it never falls.
  public var fraction: Double
  /// What is being done.
  public var phase: Phase
  /// Seconds left, or nil while too little is done to tell.
  public var secondsRemaining: Double?
  /// Source rows of the migration.
  public var rowsTotal: UInt64
  /// Source rows that are done.
  public var rowsDone: UInt64
  /// Source bytes of the migration.
  public var bytesTotal: UInt64
  /// Source bytes that are done.
  public var bytesDone: UInt64
  /// The process that coordinates the migration.
  public var coordinator: Int32
  /// The most bytes of memory that the coordinator occupied so far.
  public var peakMemory: UInt64
  /// How many work orders there are.
  public var workOrderCount: Int
  /// The work orders, as far as they are known.
  public var workOrders: [WorkOrder]

  init(_ core: StatusSnapshot) {
    (fraction, phase) = (core.fraction, Phase(core.phase))
    secondsRemaining = core.secondsRemaining
    (rowsTotal, rowsDone) = (core.rowsTotal, core.rowsDone)
    (bytesTotal, bytesDone) = (core.bytesTotal, core.bytesDone)
    (coordinator, peakMemory) = (core.coordinator, core.peakMemoryBytes)
    workOrderCount = Int(core.workOrders)
    workOrders = core.parts.map { WorkOrder($0) }
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
    (rowsTotal, rowsDone) = (core.rowsTotal, core.rowsDone)
    (bytesTotal, bytesDone) = (core.bytesTotal, core.bytesDone)
    isStale = core.isStale
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
