package import Planning

/// One way to make the rows of a result: a planner, a shard writer and an assembler.
///
/// An engine is a value that the coordinator creates when it plans a stage and saves with the plan,
/// so that a later run can resume the stage. `EngineList` names all engines.
package protocol MigrationEngine: Codable, Sendable {
  /// The name by which plans, work orders and manifests refer to the engine.
  static var name: EngineName { get }

  /// The size of the shards in tenths of the source (docs/explanation/performance.md, "Disk").
  static var shardTenths: Int64 { get }

  /// The bytes of shards and temporary files in addition to a result of these sizes, at the peak.
  static func workBytes(beside sizes: ResultSizes) -> Int64

  /// What the phases of a stage cost.
  static var costs: PhaseCosts { get }

  /// Whether tables may stay as they are, unread and uncounted.
  static var leavesTables: Bool { get }

  /// Whether orders may run code that is not Godwit's own, which only a process isolates.
  static var runsForeignCode: Bool { get }

  /// Why the engine does not cover a stage, as the end of a sentence; nil if it does.
  static func refusal(of stage: StageInput) -> String?

  /// The restriction under which to plan the stage again after an error; nil if the error is final.
  static func restriction(after error: any Error) -> PlanRestriction?

  /// Decides which worker makes which rows, and what the engine has to remember for that.
  static func plan(
    stage: StageInput, under restriction: PlanRestriction?
  ) throws -> (engine: Self, plan: MigrationPlan)

  /// Whether the files that an earlier run of the plan left in the work folder are usable.
  func canResume(in paths: MigrationPaths) throws -> Bool

  /// Whether the other files of an earlier run's worker match its manifest; the checksum of the
  /// shard is already known to be right. If so, no worker changes them any more.
  func takesUp(_ manifest: ShardManifest, in paths: MigrationPaths) throws -> Bool

  /// Creates the files to which workers write, unless they exist.
  ///
  /// - Parameters:
  ///   - frame: what the result has besides rows, without the keys of objects.
  ///   - bytes: the expected size of the result.
  mutating func prepare(
    _ stage: StageInput, plan: MigrationPlan, frame: StoreFrame, in paths: MigrationPaths,
    expecting bytes: Int64
  ) throws

  /// What a worker has to know of a work order besides its programs, nil for nothing.
  ///
  /// - Parameter now: the value of `now()` in seconds since 2001, the same for every attempt.
  func task(
    for order: WorkOrder, of plan: MigrationPlan, stage: StageInput, in paths: MigrationPaths,
    now: Double
  ) throws -> EnginePayload?

  /// Whether workers sync their shards, because a restart of the system would go unnoticed.
  var syncsShards: Bool { get }

  /// Whether the result shares blocks with the source, and takes room for what changes alone.
  var sharesBlocks: Bool { get }

  /// Starts work that the coordinator does while workers run, nil for none.
  func accompany(_ paths: MigrationPaths) throws -> (any Accompaniment)?

  /// Reserves an extent of the result for a worker; its number, from 0.
  ///
  /// - Throws: `ShardError` where workers of the engine write to files of their own.
  func claimExtent(in paths: MigrationPaths) throws -> Int64

  /// Keeps workers whose end is unknown from the files of the stage: what they write from now on is
  /// lost. No other worker runs meanwhile.
  func fence(_ paths: MigrationPaths) throws

  /// The combined summary of shards made from objects, nil if rows were migrated.
  static func summary(of manifests: [ShardManifest]) throws -> ObjectSummary?

  /// Assembles shards into one store, which is synced if the order requires it, and has no log next
  /// to it.
  ///
  /// - Throws: `AssemblyError`, if the result is not what the manifests describe.
  func assemble(
    _ order: AssemblyOrder, in paths: MigrationPaths, progress: (AssemblyStep) throws -> Void
  ) throws -> AssemblyReport

  /// Makes the shard of one work order, in a worker process or a thread of the coordinator.
  ///
  /// - Throws: `ShardError`, `StoreError` and the errors of mappings and policies.
  static func makeShard(_ work: ShardWork) throws -> Shard
}

/// Work that continues in the coordinator until it is stopped.
package protocol Accompaniment: Sendable {
  /// Ends the work and waits until it has ended.
  func stop()
}

extension MigrationEngine {
  /// By default every error is final.
  package static func restriction(after error: any Error) -> PlanRestriction? { nil }
  /// By default there are no files besides shards and manifests.
  package func canResume(in paths: MigrationPaths) throws -> Bool { true }
  /// By default there is nothing besides the shard.
  package func takesUp(_ manifest: ShardManifest, in paths: MigrationPaths) throws -> Bool { true }
  /// By default workers create all their files.
  package mutating func prepare(
    _ stage: StageInput, plan: MigrationPlan, frame: StoreFrame, in paths: MigrationPaths,
    expecting bytes: Int64
  ) throws {}
  /// By default the programs of a work order are enough.
  package func task(
    for order: WorkOrder, of plan: MigrationPlan, stage: StageInput, in paths: MigrationPaths,
    now: Double
  ) throws -> EnginePayload? { nil }
  /// By default rows are migrated.
  package static func summary(of manifests: [ShardManifest]) throws -> ObjectSummary? { nil }
  /// By default workers write to their shards alone.
  package func claimExtent(in paths: MigrationPaths) throws -> Int64 {
    throw ShardError(.orderIncomplete)
  }
  /// By default each attempt has files of its own.
  package func fence(_ paths: MigrationPaths) throws {}
  /// By default the coordinator only waits for the workers.
  package func accompany(_ paths: MigrationPaths) throws -> (any Accompaniment)? { nil }
}
