package import MigrationEngine
import PageEngine
package import Planning
import SQLEngine
import StoreFormat
import Survey
import SystemPackage

// (1) The store is not touched: the result is a file of the pages that change, which reads as the
// store will be. Whoever hands it over puts these pages in their places.
// (2) What stays, and what SQLite may take for other pages, is as for a clone.

/// Makes the pages of a store that change, and leaves all others where they are.
///
/// Time and room follow what a migration changes, on any file system. What a clone leaves alone is
/// left alone; so are tables that get columns without values, or other indexes.
package struct EditEngine: MigrationEngine {
  /// The name `edit`, by which `--engine` and the report refer to it.
  package static let name = EngineName(rawValue: "edit")
  /// As for SQL, of the tables that change (`sharesBlocks`).
  package static let shardTenths = SQLEngine.shardTenths
  /// Tables that stay are neither read nor counted.
  package static let leavesTables = true

  /// Whether only what changes takes room.
  package let sharesBlocks: Bool
  private let source: String
  private let trees: StayingTrees

  /// Refuses what a clone refuses, and what is no store that takes its own place.
  package static func refusal(of stage: StageInput) -> String? {
    if let reason = stage.editRefusal { return reason }
    do {
      if let reason = try StayingTrees.refusal(of: stage) { return reason }
      let trees = try StayingTrees(stage, isLoose: true)
      if trees.tables.isEmpty { return "no table stays as it is" }
      return try isWorthwhile(trees, for: stage)
        ? nil : "so much of the store changes that writing it anew takes less time"
    } catch {
      // Whatever cannot be read of the schema ends the plan of any engine.
      return "the store's schema cannot be read"
    }
  }

  /// The size of a store from which it matters how long each byte takes.
  private static let leastBytes: Int64 = 16 << 20

  /// Whether an edit takes less time than writing all pages, or these have no room.
  private static func isWorthwhile(
    _ trees: StayingTrees, for stage: StageInput
  ) throws -> Bool {
    let bytes = stage.survey.access.bytes
    guard bytes >= leastBytes, stage.freeBytes ?? .max >= bytes + bytes / 8 else { return true }
    let edit = costs.seconds(of: try trees.plan(stage), for: stage)
    let anew =
      PageEngine.refusal(of: stage) == nil
      ? PageEngine.costs.seconds(
        of: try PageEngine.plan(stage: stage, under: nil).plan, for: stage)
      : SQLEngine.costs.seconds(of: try SQLEngine.plan(stage: stage, under: nil).plan, for: stage)
    return edit <= anew
  }

  /// Those of SQL, and each page that changes is read and written twice besides.
  package static var costs: PhaseCosts {
    var costs = SQLEngine.costs
    costs.swappedByte += 3e-9
    return costs
  }

  /// What is made lies in pages of its own, those in whose places they go are kept, and the store
  /// may grow by as much.
  package static func workBytes(beside sizes: ResultSizes) -> Int64 {
    SQLEngine.workBytes(beside: sizes) + 2 * sizes.result
  }

  /// A store that cannot be edited is given up, and all rows are made.
  package static func restriction(after error: any Error) -> PlanRestriction? {
    error is CloneError ? .movesNothing : nil
  }

  /// Plans the rows of the tables that change, as for SQL.
  ///
  /// - Throws: `StoreError` where the source cannot be read.
  package static func plan(
    stage: StageInput, under restriction: PlanRestriction?
  ) throws -> (engine: EditEngine, plan: MigrationPlan) {
    let trees =
      restriction == .movesNothing ? StayingTrees.none : try StayingTrees(stage, isLoose: true)
    let engine = EditEngine(
      sharesBlocks: !trees.tables.isEmpty, source: stage.survey.access.readable.string,
      trees: trees)
    return (engine, try trees.plan(stage))
  }

  /// Makes the pages in which the new store differs from the old one.
  package func assemble(
    _ order: AssemblyOrder, in paths: MigrationPaths, progress: (AssemblyStep) throws -> Void
  ) throws -> AssemblyReport {
    guard !trees.tables.isEmpty else {
      return try SQLAssembler().assemble(order, progress: progress)
    }
    return try SourceClone(
      source: FilePath(source), names: trees.names, orders: trees.orders, isEdit: true
    ).assemble(order, progress: progress)
  }

  /// Writes each piece of a work order into a table of the shard.
  package static func makeShard(_ work: ShardWork) throws -> Shard { try SQLEngine.makeShard(work) }
}

extension PhaseCosts {
  /// What a plan takes, in seconds.
  fileprivate func seconds(of plan: MigrationPlan, for stage: StageInput) -> Double {
    seconds(
      of: StageWork(
        plan, schema: stage.destination, workers: stage.workers,
        isVerifiedFully: stage.verifiesFully, isSwapped: true))
  }
}
