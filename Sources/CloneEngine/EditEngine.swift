package import MigrationEngine
package import Planning
import SQLEngine
import StoreFormat
import Survey
import SystemPackage

/// Makes the pages of a store that change, and leaves all others where they are.
///
/// The store is not touched: the result is a file of these pages, which reads as the store will be.
/// `StoreEditor` puts them in their places. Time and room follow what a migration changes, on any
/// file system.
package struct EditEngine: SourceEngine {
  /// The name `edit`, by which `--engine` and the report refer to it.
  package static let name = EngineName.edit
  /// New columns lie behind the others.
  package static let isEdit = true

  /// Whether only what changes takes room.
  package var sharesBlocks: Bool { !trees.tables.isEmpty }
  package let source: String
  package let trees: StayingTrees

  /// Takes what stays.
  package init(trees: StayingTrees, of stage: StageInput) {
    source = stage.survey.access.readable.string
    self.trees = trees
  }

  /// Refuses what is no store that takes its own place.
  package static func ownRefusal(of stage: StageInput) -> String? { stage.editRefusal }

  /// The most bytes that may change: their pages are listed in memory (`PageEdit.TooLarge`).
  private static let mostBytes: Int64 = 3 << 30

  /// Whether an edit takes less time than writing all pages, or these have no room.
  package static func isWorthwhile(
    _ trees: StayingTrees, for stage: StageInput
  ) throws -> Bool {
    let bytes = stage.survey.access.bytes
    let work = try trees.work(stage)
    guard work.changingBytes <= mostBytes else { return false }
    guard stage.freeBytes ?? .max >= bytes + bytes / 8 else { return true }
    // No other file is made, synced and renamed.
    return try work.isWorthwhile(stage, costs: costs, saving: PhaseCosts.fixedSeconds)
  }

  /// Those of a clone, and each page that changes is read and written twice besides.
  package static var costs: PhaseCosts {
    var costs = CloneEngine.costs
    costs.swappedByte += 3e-9
    return costs
  }

  /// What is made lies in pages of its own, those in whose places they go are kept, and the store
  /// may grow by as much.
  package static func workBytes(beside sizes: ResultSizes) -> Int64 {
    SQLEngine.workBytes(beside: sizes) + 2 * sizes.result
  }
}
