import MigrationCoordinator
import ObjectModel
import Planning
import RowPrograms
import Schema
import Survey
public import SystemPackage

extension StoreMigration {
  /// Finds out what the migration would do, without writing anything beside the store.
  ///
  /// A store whose latest changes are still in its `-wal` is copied to a temporary folder.
  ///
  /// - Parameter target: the model to migrate to, where it was read before; nil reads it.
  /// - Throws: `MigrationFailure` where that cannot be found out, such as for a store without its
  ///   model or without a way to the target. What is found out and keeps the migration from being
  ///   done is ``Preparation/refusal``.
  public func prepare(for target: MigrationTarget? = nil) async throws -> Preparation {
    try WorkerDispatch.requireNoWorker()
    return try MigrationFailure.catching {
      let model = try target?.core ?? TargetModel(paths: self.target, configuration: configuration)
      return try MigrationPreview.with(request, target: model) {
        Preparation(preview: $0, workers: workers)
      }
    }
  }

  /// What a migration would do.
  public struct Preparation: Sendable {
    /// The store to migrate.
    public let store: FilePath
    /// Whether the store's model is another one than the target's.
    public let isNeeded: Bool
    /// Whether nothing is known that would keep the migration from being done.
    public var isPossible: Bool { refusal == nil }
    /// What would keep it from being done: the reasons, or the losses that nobody allowed.
    public let refusal: MigrationFailure?
    /// Objects of the store by entity, without those of subentities.
    public let objects: [String: Int64]
    /// The names of the version that the store has; empty where it has none.
    public let from: [String]
    /// The names of the version that the store gets.
    public let to: [String]
    /// The way from one to the other.
    public let steps: [Step]
    /// How many stages the steps make: each begins with a store of its own.
    public let stageCount: Int
    /// Steps that begin with stores which are not there yet: their rows could not be looked at.
    public let stepsNotSurveyed: Int
    /// Mapping models that were found and are not used.
    public let unusedMappings: [UnusedMapping]
    /// What the first stage would lose, as far as it is known before policies run.
    public let losses: [Loss]
    /// Indexes that cannot be made.
    public let omittedIndexes: [OmittedIndex]
    /// What would write the rows of the first stage; nil where no migration is needed.
    public let engine: Engine?
    /// Why that and nothing else, in words.
    public let engineReason: String?
    /// Source rows of the first stage; 0 where it runs object by object.
    public let rows: Int64
    /// Bytes that they take, estimated.
    public let bytes: Int64
    /// Bytes of disk at the peak, estimated; 0 where no migration is needed.
    public let diskNeeded: Int64
    /// How long the first stage would take on a fast disk, estimated; nil where it runs object by
    /// object, which takes as long as its policies do, and where no migration is needed.
    public let expectedDuration: Duration?
    /// Groups of tables that no relationship connects; empty where it runs object by object.
    public let partitions: [Partition]
    /// What worker processes would do, in the order in which they begin.
    public let workOrders: [WorkOrder]

    let plan: MigrationPlan?
    private let seconds: Double
    private let coreSteps: [MigrationReport.Step]
    private let coreUnusedMappings: [MigrationReport.UnusedMapping]
  }

  /// Tables that no relationship connects with any other.
  public struct Partition: Hashable, Sendable {
    /// From 1 up, the largest first.
    public var number: Int
    /// Tables of the new store.
    public var tables: [String]
    /// Source rows.
    public var rows: Int64
    /// Bytes that they take, estimated.
    public var bytes: Int64
  }

  /// What one worker process does.
  public struct WorkOrder: Hashable, Sendable {
    /// Rows of one table that are migrated without a break.
    public struct Piece: Hashable, Sendable {
      /// The table of the new store.
      public var table: String
      /// Their keys (`Z_PK`); a bound that is that of `Int64` is none.
      public var keys: ClosedRange<Int64>
    }

    /// From 1 up, in the order in which workers begin with them.
    public var number: Int
    /// The partition that it is a part of.
    public var partition: Int
    /// Source rows.
    public var rows: Int64
    /// Bytes that they take, estimated.
    public var bytes: Int64
    /// The rows themselves.
    public var pieces: [Piece]
  }

  /// An index of the model that cannot be made.
  public struct OmittedIndex: Hashable, Sendable {
    /// The entity that has it.
    public var entity: String
    /// Its name.
    public var index: String
    /// Why, in words.
    public var reason: String
  }
}

extension StoreMigration.Preparation {
  init(preview: MigrationPreview, workers: Int) {
    store = preview.prepared.request.store
    isNeeded = preview.isNeeded
    refusal = Self.refusal(preview)
    objects = Dictionary(
      preview.survey.model.entities.map { ($0.name, preview.survey.count(of: $0.name)) },
      uniquingKeysWith: +)
    (from, to) = preview.prepared.versions ?? ([], [])
    coreSteps = MigrationReport.Step.steps(of: preview.stages)
    steps = coreSteps.map { StoreMigration.Step($0) }
    stageCount = preview.stages.count
    stepsNotSurveyed = preview.stages.dropFirst().reduce(0) { $0 + $1.steps.count }
    coreUnusedMappings = preview.route?.unusedMappings ?? []
    unusedMappings = coreUnusedMappings.map { StoreMigration.UnusedMapping($0) }
    losses = preview.losses.map { StoreMigration.Loss($0) }
    omittedIndexes = (preview.assessment?.destination.omissions ?? []).map {
      .init(entity: $0.entity, index: $0.index, reason: $0.reason)
    }
    let engine = preview.engine
    self.engine = engine.flatMap { StoreMigration.Engine(rawValue: $0.kind.rawValue) }
    engineReason = engine?.reason
    (rows, bytes) = (preview.plan?.rows ?? 0, preview.plan?.bytes ?? 0)
    diskNeeded = preview.isNeeded ? preview.diskNeed.bytes : 0
    seconds =
      Double(bytes) / (Self.pace(writingPages: preview.writesPages) * Double(max(1, workers)))
      + 0.05
    expectedDuration = preview.plan == nil || !preview.isNeeded ? nil : .seconds(seconds)
    plan = preview.plan
    partitions = (preview.plan?.partitions ?? []).map { StoreMigration.Partition($0) }
    workOrders = (preview.plan?.workOrders ?? []).map { StoreMigration.WorkOrder($0) }
  }

  /// Bytes of source per second and worker, as measured on two cores and a fast disk.
  private static func pace(writingPages: Bool) -> Double { writingPages ? 800e6 : 40e6 }

  private static func refusal(_ preview: MigrationPreview) -> MigrationFailure? {
    do {
      try preview.requirePossible()
      return nil
    } catch {
      return MigrationFailure(error)
    }
  }
}

extension StoreMigration.Partition {
  fileprivate init(_ core: Planning.Partition) {
    (number, tables, rows, bytes) = (core.number, core.tables, core.rows, core.bytes)
  }
}

extension StoreMigration.WorkOrder {
  fileprivate init(_ core: Planning.WorkOrder) {
    (number, partition, rows, bytes) = (core.number, core.partition, core.rows, core.bytes)
    pieces = core.pieces.map {
      Piece(table: $0.destinationTable, keys: $0.keys.first...$0.keys.last)
    }
  }
}

extension StoreMigration.Preparation: Encodable {
  private enum CodingKeys: CodingKey {
    case isNeeded, route, unusedMappings, plan, losses, rows, bytes, diskNeeded, secondsEstimated
  }

  /// Encodes what `godwit plan --json` prints.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(isNeeded, forKey: .isNeeded)
    try container.encode(coreSteps, forKey: .route)
    try container.encode(coreUnusedMappings, forKey: .unusedMappings)
    try container.encodeIfPresent(plan, forKey: .plan)
    try container.encode(losses, forKey: .losses)
    try container.encode(rows, forKey: .rows)
    try container.encode(bytes, forKey: .bytes)
    try container.encode(diskNeeded, forKey: .diskNeeded)
    try container.encode(seconds, forKey: .secondsEstimated)
  }
}
