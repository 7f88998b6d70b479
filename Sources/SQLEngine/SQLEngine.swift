package import MigrationEngine
package import Planning

/// Migrates by SQL alone: `INSERT … SELECT` into shards, bare inserts to merge them.
package struct SQLEngine: MigrationEngine {
  package static let name = EngineName(rawValue: "sql")
  package static let shardTenths: Int64 = 14

  package static func refusal(of stage: StageInput) -> String? {
    if case .objects = stage.work { "objects are made one by one" } else { nil }
  }

  package static func plan(
    stage: StageInput, under restriction: PlanRestriction?
  ) throws -> (engine: SQLEngine, plan: MigrationPlan) {
    (SQLEngine(), try stage.rowPlan())
  }

  package func assemble(
    _ order: AssemblyOrder, in paths: MigrationPaths, progress: (AssemblyStep) throws -> Void
  ) throws -> AssemblyReport {
    try SQLAssembler().assemble(order, progress: progress)
  }

  package static func makeShard(_ work: ShardWork) throws -> Shard {
    var writer = try SQLShardWriter(work.document, policies: work.policies)
    let pieces = try work.write(into: &writer)
    let read = writer.propertiesRead
    return Shard(pieces: pieces, bytes: try writer.finish(), read: read)
  }
}
