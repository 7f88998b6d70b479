package import MigrationEngine
package import Planning
import SQLEngine
import StoreFormat
import Survey
import SystemCalls
import SystemPackage

// (1) What a clone begins with is the source as it was surveyed, the pages of its log included.
// (2) A table stays only where its rows, as SQL would make them, are those that it has, and no row
// of any table stays behind: no reference of a table that stays can lose what it leads to.
// (3) Tables that stay are not read: what is wrong in them is wrong in the result as well, and the
// old store is no better.
// (4) SQLite gives away pages that are free or become so only after the pointer map has confirmed
// that they are nobody else's: a damaged list of free pages must not cost what stays.

/// A store whose pages cannot be left where they are after all.
struct CloneError: Error {}

extension SourceClone {
  /// Begins the result, and puts the shards in the place of the tables that change.
  ///
  /// - Throws: `CloneError`, where what lies in the source does not allow it.
  func assemble(
    _ order: AssemblyOrder, progress: (AssemblyStep) throws -> Void
  ) throws -> AssemblyReport {
    do {
      return try SQLAssembler(self).assemble(order, progress: progress)
    } catch let error as StoreError where error.problem == .damaged {
      throw CloneError()
    } catch is PageEdit.TooLarge {
      throw CloneError()
    } catch AssemblyError.damaged {
      throw CloneError()
    }
  }
}

/// Begins the result as a clone of the source, and makes only the tables that change.
///
/// Where the file system shares blocks between files, time and room follow what a migration
/// changes, however large the store is; elsewhere the clone is a copy. Rows that change are made by
/// SQL.
package struct CloneEngine: MigrationEngine {
  /// The name `clone`, by which `--engine` and the report refer to it.
  package static let name = EngineName(rawValue: "clone")
  /// As for SQL, of the tables that change (`sharesBlocks`).
  package static let shardTenths = SQLEngine.shardTenths
  /// Tables that stay are neither read nor counted.
  package static let leavesTables = true

  /// Whether the clone shares blocks with the source.
  package let sharesBlocks: Bool
  private let source: String
  private let trees: StayingTrees

  /// Refuses what leaves rows behind, and stores whose pages SQLite cannot give to others.
  package static func refusal(of stage: StageInput) -> String? {
    do {
      return try StayingTrees.refusal(of: stage)
        ?? (StayingTrees(stage).tables.isEmpty ? "no table stays as it is" : nil)
    } catch {
      // Whatever cannot be read of the schema ends the plan of any engine.
      return "the store's schema cannot be read"
    }
  }

  /// The size of a store from which it matters how much of it is written.
  private static let worthwhileBytes: Int64 = 16 << 20
  /// SQL takes as long for a byte as pages for so many: then at most this part may change.
  private static let mostChanging: Int64 = 8

  /// Whether a clone takes less time than writing all pages; false where the schema cannot be read,
  /// which ends the plan of any engine.
  package static func isWorthwhile(for stage: StageInput) -> Bool {
    (try? changesLittle(stage)) ?? false
  }

  private static func changesLittle(_ stage: StageInput) throws -> Bool {
    let bytes = stage.survey.access.fingerprint.bytes
    guard bytes >= worthwhileBytes, sharesBlocks(stage),
      try StayingTrees.refusal(of: stage) == nil
    else { return false }
    let trees = try StayingTrees(stage)
    if trees.tables.isEmpty { return false }
    return try trees.changingBytes(stage) * mostChanging <= bytes
  }

  private static func sharesBlocks(_ stage: StageInput) -> Bool {
    guard let folder = stage.folder,
      let main = try? SourceFile.main(of: stage.survey.access.readable)
    else { return false }
    return Files.canShareBlocks(of: main, in: folder)
  }

  /// A clone that cannot be changed is given up, and all rows are made.
  package static func restriction(after error: any Error) -> PlanRestriction? {
    error is CloneError ? .movesNothing : nil
  }

  /// Plans the rows of the tables that change, as for SQL.
  ///
  /// - Throws: `StoreError` where the source cannot be read.
  package static func plan(
    stage: StageInput, under restriction: PlanRestriction?
  ) throws -> (engine: CloneEngine, plan: MigrationPlan) {
    let trees = restriction == .movesNothing ? StayingTrees.none : try StayingTrees(stage)
    let plan = try trees.plan(stage)
    let engine = CloneEngine(
      sharesBlocks: !plan.staying.isEmpty && sharesBlocks(stage),
      source: stage.survey.access.readable.string, trees: trees)
    return (engine, plan)
  }

  /// Clones the source and puts the shards in the place of the tables that change.
  package func assemble(
    _ order: AssemblyOrder, in paths: MigrationPaths, progress: (AssemblyStep) throws -> Void
  ) throws -> AssemblyReport {
    guard !trees.tables.isEmpty else {
      return try SQLAssembler().assemble(order, progress: progress)
    }
    return try SourceClone(source: FilePath(source), names: trees.names)
      .assemble(order, progress: progress)
  }

  /// Writes each piece of a work order into a table of the shard.
  package static func makeShard(_ work: ShardWork) throws -> Shard { try SQLEngine.makeShard(work) }
}
