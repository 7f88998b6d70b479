package import Planning
import RowPrograms
import StoreFormat

/// One way to make the rows of a result: a planner, a shard writer and an assembler.
///
/// An engine is a value that the coordinator makes while it plans a stage and keeps in the plan,
/// so that a later run can take the stage up. `EngineList` names all engines.
package protocol MigrationEngine: Codable, Sendable {
  /// The name that plans, work orders and manifests refer to the engine by.
  static var name: EngineName { get }

  /// What shards take, in tenths of the bytes of the source (docs/performance.md, "Disk").
  static var shardTenths: Int64 { get }

  /// Why the engine cannot make a stage, as the end of a sentence; nil where it can.
  static func refusal(of stage: StageInput) -> String?

  /// The restriction under which the stage is planned anew after an error; nil where the error
  /// stands.
  static func restriction(after error: any Error) -> PlanRestriction?

  /// Decides which worker makes which rows, and what the engine needs to know for that.
  static func plan(
    stage: StageInput, under restriction: PlanRestriction?
  ) throws -> (engine: Self, plan: MigrationPlan)

  /// Whether the engine still finds what an earlier run of its plan left in the work folder.
  func canResume(in paths: MigrationPaths) throws -> Bool

  /// Makes the files that workers write to, unless they are there, for a result of about so many
  /// bytes.
  mutating func prepare(
    _ stage: StageInput, plan: MigrationPlan, in paths: MigrationPaths, expecting bytes: Int64
  ) throws

  /// What a worker needs to know of a work order besides its programs; nil for nothing.
  ///
  /// - Parameter now: seconds since 2001, the same for every attempt.
  func task(
    for order: WorkOrder, of plan: MigrationPlan, stage: StageInput, in paths: MigrationPaths,
    now: Double
  ) throws -> EnginePayload?

  /// Whether workers sync what they leave, because nobody would notice a restart of the system.
  var syncsShards: Bool { get }

  /// What goes on in the coordinator while workers run.
  func accompany(_ paths: MigrationPaths) throws -> (any Accompaniment)?

  /// What came of the objects that shards were made of; nil where rows were migrated.
  static func summary(of manifests: [ShardManifest]) throws -> ObjectSummary?

  /// Puts shards together into one store: synced, with nothing beside it.
  ///
  /// - Throws: `AssemblyError` where the result is not what the shards say.
  func assemble(
    _ order: AssemblyOrder, in paths: MigrationPaths, progress: (AssemblyStep) throws -> Void
  ) throws -> AssemblyReport

  /// Makes the shard of one work order, in a worker process.
  static func makeShard(_ work: ShardWork) throws -> Shard
}

/// A condition under which a stage is planned anew.
package enum PlanRestriction: String, Codable, Sendable {
  /// No b-tree of the source is moved as it is.
  case movesNothing
  /// All entity mappings go to one worker.
  case undivided
}

/// Something that goes on beside the workers until it is stopped.
package protocol Accompaniment: Sendable {
  func stop()
}

extension MigrationEngine {
  package static func restriction(after error: any Error) -> PlanRestriction? { nil }
  package func canResume(in paths: MigrationPaths) throws -> Bool { true }
  package mutating func prepare(
    _ stage: StageInput, plan: MigrationPlan, in paths: MigrationPaths, expecting bytes: Int64
  ) throws {}
  package func task(
    for order: WorkOrder, of plan: MigrationPlan, stage: StageInput, in paths: MigrationPaths,
    now: Double
  ) throws -> EnginePayload? { nil }
  package static func summary(of manifests: [ShardManifest]) throws -> ObjectSummary? { nil }
  package var syncsShards: Bool { true }
  package func accompany(_ paths: MigrationPaths) throws -> (any Accompaniment)? { nil }
}
