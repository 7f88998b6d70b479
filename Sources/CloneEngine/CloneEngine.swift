package import MigrationEngine
package import Planning
import StoreFormat
import Survey
import SystemCalls
import SystemPackage

/// Begins the result as a clone of the source, and makes only what changes.
///
/// Where the file system shares blocks between files, time and room follow what a migration
/// changes, however large the store is; elsewhere the clone is a copy.
package struct CloneEngine: SourceEngine {
  /// The name `clone`, by which `--engine` and the report refer to it.
  package static let name = EngineName.clone
  /// All engines but `edit` give the same bytes.
  package static let isEdit = false

  /// Whether the clone shares blocks with the source.
  package let sharesBlocks: Bool
  package let source: String
  package let trees: StayingTrees

  /// Takes what stays.
  package init(trees: StayingTrees, of stage: StageInput) {
    sharesBlocks = !trees.tables.isEmpty && Self.sharesBlocks(stage)
    source = stage.survey.access.readable.string
    self.trees = trees
  }

  /// Refuses nothing besides what `StayingTrees` does.
  package static func ownRefusal(of stage: StageInput) -> String? { nil }

  /// A clone on request is not declined for the time that it takes.
  package static func isWorthwhile(_ trees: StayingTrees, for stage: StageInput) -> Bool { true }

  /// The size of a store from which it matters how much of it is written.
  private static let worthwhileBytes: Int64 = 16 << 20

  /// Whether a clone takes less time than writing all pages; false where the schema cannot be read,
  /// which ends the plan of any engine.
  package static func isWorthwhile(for stage: StageInput) -> Bool {
    do {
      guard stage.survey.access.fingerprint.bytes >= worthwhileBytes, sharesBlocks(stage),
        try StayingTrees.refusal(of: stage) == nil
      else { return false }
      let trees = try StayingTrees(stage, altersTables: isEdit)
      return try !trees.tables.isEmpty && trees.work(stage).isWorthwhile(stage, costs: costs)
    } catch {
      return false
    }
  }

  private static func sharesBlocks(_ stage: StageInput) -> Bool {
    guard let folder = stage.folder,
      let main = try? SourceFile.main(of: stage.survey.access.readable)
    else { return false }
    return Files.canShareBlocks(of: main, in: folder)
  }
}
