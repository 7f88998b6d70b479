import Mapping
package import MigrationEngine
import ObjectMigration
import ObjectModel
package import Planning
import RowPrograms
import SQLEngine
import Schema
import Survey
import SystemCalls
import SystemPackage

/// Migrates object by object, by mapping models that compute, split or join, or name policies.
///
/// Mappings that nothing joins are different work orders, so that workers share them; what comes
/// out does not depend on how many workers there are. Shards are merged by SQL.
package struct ObjectEngine: MigrationEngine {
  /// The name `objects`, by which the report refers to it.
  package static let name = EngineName.objects
  /// Each object is made by itself; what follows is SQL's.
  package static let costs = PhaseCosts(
    row: 11e-6, byte: 6e-9, work: 1e-9, mergedRow: 0.6e-6, mergedByte: 2e-9,
    relinkedRow: 0, indexEntry: 0.3e-6, verifiedByte: 1.5e-9, swappedByte: 0.5e-9)
  /// 1.4 times the source: shards hold all rows (docs/explanation/performance.md, "Disk").
  package static let shardTenths: Int64 = 14
  /// Policies may do anything.
  package static let runsForeignCode = true
  /// Every row is read.
  package static let leavesTables = false
  /// Each worker syncs its shard.
  package var syncsShards: Bool { true }
  /// Every byte of the result is written.
  package var sharesBlocks: Bool { false }

  /// As for SQL, which merges the shards.
  package static func workBytes(beside sizes: ResultSizes) -> Int64 {
    SQLEngine.workBytes(beside: sizes)
  }

  /// What work orders are made of; the first group is partition 1.
  private var groups: MappingGroups

  /// Refuses stages whose rows are made by programs.
  package static func refusal(of stage: StageInput) -> String? {
    if case .rows = stage.work { "no mapping model defines the objects" } else { nil }
  }

  /// Groups that turn out to be related after all are migrated as one.
  package static func restriction(after error: any Error) -> PlanRestriction? {
    if case .beyondGroup = (error as? ObjectMigrationError)?.problem { .undivided } else { nil }
  }

  /// Plans a work order for each group of mappings that nothing joins to others.
  package static func plan(
    stage: StageInput, under restriction: PlanRestriction?
  ) throws -> (engine: ObjectEngine, plan: MigrationPlan) {
    guard case .objects(let mappings, _) = stage.work else {
      preconditionFailure("a stage by rows is refused")
    }
    let model = stage.schema.model
    let groups =
      restriction == .undivided
      ? MappingGroups(undivided: mappings, destination: model)
      : MappingGroups(models: mappings, source: stage.survey.model, destination: model)
    let planner = ObjectPlanner(
      survey: stage.survey, destination: stage.schema, mappings: mappings)
    return (ObjectEngine(groups: groups), try planner.plan(groups: groups))
  }

  /// The `ObjectWork` of a work order.
  package func task(
    for order: WorkOrder, of plan: MigrationPlan, stage: StageInput, in paths: MigrationPaths,
    now: Double
  ) throws -> EnginePayload? {
    guard case .objects(let mappings, _) = stage.work else {
      preconditionFailure("a stage by rows is refused")
    }
    var work = ObjectWork(
      source: stage.survey.model, destination: stage.schema.model, mappings: mappings,
      group: groups.groups[order.partition - 1], maxima: stage.survey.maxima,
      validates: stage.validates, now: now)
    work.naming = stage.schema.joinNaming
    return EnginePayload(work)
  }

  /// What the groups read, made and found to break the rules, added up in the order of the orders.
  ///
  /// - Throws: `AssemblyError` where a manifest is another engine's.
  package static func summary(of manifests: [ShardManifest]) throws -> ObjectSummary? {
    var summary = ObjectSummary()
    for manifest in manifests.sorted(by: { $0.order < $1.order }) {
      guard let outcome = try? manifest.outcome?.decoded(as: ObjectOutcome.self) else {
        throw AssemblyError.manifestForeign(FilePath(manifest.shard))
      }
      summary.accounts.add(outcome.accounts)
      summary.violations.add(outcome.violations)
      summary.maxima.merge(outcome.maxima, uniquingKeysWith: max)
    }
    return summary
  }

  /// Merges the shards by SQL.
  package func assemble(
    _ order: AssemblyOrder, in paths: MigrationPaths, progress: (AssemblyStep) throws -> Void
  ) throws -> AssemblyReport {
    try SQLAssembler().assemble(order, progress: progress)
  }

  /// Carries out the mappings of one group.
  ///
  /// - Throws: `ShardError` where the work order lacks the engine's task; `ObjectMigrationError`.
  package static func makeShard(_ work: ShardWork) throws -> Shard {
    guard let task = try work.document.task?.decoded(as: ObjectWork.self) else {
      throw ShardError(.orderIncomplete)
    }
    let made = try ObjectShard(work: task, of: work).write()
    let bytes = try Files.fileStatus(FilePath(work.document.shard)).size
    return Shard(
      pieces: made.pieces, bytes: bytes, digestsRows: true,
      outcome: EnginePayload(made.outcome))
  }
}
