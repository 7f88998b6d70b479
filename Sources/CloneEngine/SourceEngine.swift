package import MigrationEngine
import PageEngine
package import Planning
import SQLEngine
import StoreFormat
import Survey
import SystemPackage

// (1) What a result begins with is the source as it was surveyed, the pages of its log included.
// (2) A table stays only where its rows, as SQL would make them, are those that it has, but for
// columns that are updated in it, and no row of any table stays behind: no reference of a table
// that stays can lose what it leads to.
// (3) Tables that stay are not read, unless they are updated: what is wrong in them is wrong in the
// result as well, and the old store is no better.
// (4) SQLite gives away pages that are free or become so only after the pointer map has confirmed
// that nothing else uses them: a damaged list of free pages must not destroy tables that stay.

/// A store whose pages cannot be left where they are after all.
struct CloneError: Error {}

/// An engine whose result begins as the source: it makes only what changes.
///
/// There is one set of rules for what stays (`StayingTrees`). Rows that change are made by SQL.
package protocol SourceEngine: MigrationEngine {
  /// Whether the result is pages for the store itself, whose tables may then have their columns in
  /// another order than those of a new store.
  static var isEdit: Bool { get }
  /// Why nothing can be made of a stage's source in this way, as the end of a sentence.
  static func ownRefusal(of stage: StageInput) -> String?
  /// Whether the engine is used for a stage that it covers.
  static func isWorthwhile(_ trees: StayingTrees, for stage: StageInput) throws -> Bool
  /// Takes what stays.
  init(trees: StayingTrees, of stage: StageInput)
  /// What stays.
  var trees: StayingTrees { get }
  /// The source, with the pages of its log.
  var source: String { get }
}

extension SourceEngine {
  /// As for SQL, of the tables that change (`sharesBlocks`).
  package static var shardTenths: Int64 { SQLEngine.shardTenths }
  /// Only Godwit's own code runs.
  package static var runsForeignCode: Bool { false }
  /// Each worker syncs its shard.
  package var syncsShards: Bool { true }
  /// As for SQL, of the tables that change.
  package static func workBytes(beside sizes: ResultSizes) -> Int64 {
    SQLEngine.workBytes(beside: sizes)
  }
  /// Tables that stay are neither read nor counted.
  package static var leavesTables: Bool { true }

  /// Those of SQL, of rows that are updated where they are, and of indexes that are filled by
  /// pages (`IndexFilling`): small ones do not count.
  ///
  /// Measured as docs/explanation/performance.md states ("Costs of engines"). For another engine
  /// of this kind, measure them again.
  package static var costs: PhaseCosts {
    var costs = SQLEngine.costs
    costs.indexEntry = 0.2e-6
    (costs.updatedRow, costs.updatedByte) = (1.2e-6, 2e-9)
    return costs
  }

  /// Refuses what leaves rows behind, and stores whose pages SQLite cannot give to others.
  package static func refusal(of stage: StageInput) -> String? {
    if let reason = ownRefusal(of: stage) { return reason }
    do {
      if let reason = try StayingTrees.refusal(of: stage) { return reason }
      let trees = try StayingTrees(stage, altersTables: isEdit)
      if trees.tables.isEmpty { return "no table stays unchanged" }
      return try isWorthwhile(trees, for: stage)
        ? nil : "so much of the store changes that writing a new one is faster"
    } catch {
      // Whatever cannot be read of the schema ends the plan of any engine.
      return "the store's schema cannot be read"
    }
  }

  /// A source whose pages cannot be left is given up, and all rows are made.
  package static func restriction(after error: any Error) -> PlanRestriction? {
    error is CloneError ? .movesNothing : nil
  }

  /// Plans the rows of the tables that do not stay, as for SQL.
  ///
  /// - Throws: `StoreError` where the source cannot be read.
  package static func plan(
    stage: StageInput, under restriction: PlanRestriction?
  ) throws -> (engine: Self, plan: MigrationPlan) {
    let trees =
      restriction == .movesNothing
      ? StayingTrees.none : try StayingTrees(stage, altersTables: isEdit)
    return (Self(trees: trees, of: stage), try trees.plan(stage))
  }

  /// Begins the result, and replaces the tables that change with the shards.
  ///
  /// - Throws: `CloneError`, where what lies in the source does not allow it.
  package func assemble(
    _ order: AssemblyOrder, in paths: MigrationPaths, progress: (AssemblyStep) throws -> Void
  ) throws -> AssemblyReport {
    if trees.tables.isEmpty { return try SQLAssembler().assemble(order, progress: progress) }
    let base = SourceClone(
      source: FilePath(source), trees: trees, isEdit: Self.isEdit)
    do {
      return try SQLAssembler(base).assemble(order, progress: progress)
    } catch let error as StoreError where error.problem == .damaged {
      throw CloneError()
    } catch is PageEdit.TooLarge {
      throw CloneError()
    } catch AssemblyError.damaged {
      throw CloneError()
    } catch let error as PageError where error.isOfSource {
      throw CloneError()
    }
  }

  /// Writes each piece of a work order into a table of the shard.
  package static func makeShard(_ work: ShardWork) throws -> Shard { try SQLEngine.makeShard(work) }
}

extension PageError {
  /// Whether pages that stay are not as they should be.
  fileprivate var isOfSource: Bool {
    switch problem {
    case .damaged, .keysOutOfOrder, .endOfFile: true
    default: false
    }
  }
}
