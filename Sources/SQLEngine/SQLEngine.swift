package import MigrationEngine
package import Planning

/// Migrates by SQL alone: `INSERT … SELECT` into shards, bare inserts to merge them.
package struct SQLEngine: MigrationEngine {
  /// The name `sql`, by which `--engine` and the report refer to it.
  package static let name = EngineName.sql
  /// 1.4 times the source: shards hold all rows (docs/explanation/performance.md, "Disk").
  package static let shardTenths: Int64 = 14

  /// SQL reads and writes each row twice.
  package static let costs = PhaseCosts(
    row: 1.65e-6, byte: 5.2e-9, mergedRow: 0.78e-6, mergedByte: 1e-9, relinkedRow: 1e-6,
    indexEntry: 0.47e-6, verifiedByte: 2e-9, swappedByte: 0.4e-9)
  /// Every row is read.
  package static let leavesTables = false
  /// Only Godwit's own code runs.
  package static let runsForeignCode = false
  /// Each worker syncs its shard.
  package var syncsShards: Bool { true }
  /// Every byte of the result is written.
  package var sharesBlocks: Bool { false }

  /// Shards have all rows once more, and an index is sorted in runs that are merged into others.
  package static func workBytes(beside sizes: ResultSizes) -> Int64 {
    sizes.rows + 2 * sizes.largestIndex + sizes.places + sizes.others + 1 << 20
  }

  /// Refuses objects made one by one, and nothing else.
  package static func refusal(of stage: StageInput) -> String? {
    if case .objects = stage.work { "objects are made one by one" } else { nil }
  }

  /// Plans the pieces of a stage; there is nothing that a restriction would change.
  package static func plan(
    stage: StageInput, under restriction: PlanRestriction?
  ) throws -> (engine: SQLEngine, plan: MigrationPlan) {
    (SQLEngine(), try stage.rowPlan())
  }

  /// Puts the shards together by `INSERT … SELECT`.
  package func assemble(
    _ order: AssemblyOrder, in paths: MigrationPaths, progress: (AssemblyStep) throws -> Void
  ) throws -> AssemblyReport {
    try SQLAssembler().assemble(order, progress: progress)
  }

  /// Writes each piece of a work order into a table of the shard.
  package static func makeShard(_ work: ShardWork) throws -> Shard {
    var writer = try SQLShardWriter(work.document, policies: work.policies)
    let pieces = try work.write(into: &writer)
    let read = writer.propertiesRead
    return Shard(pieces: pieces, bytes: try writer.finish(), digestsRows: true, read: read)
  }
}
