import Foundation
import ModelFiles
package import Planning
import Schema
import StoreFormat
import SystemCalls
import SystemPackage

/// What a migration would do, found out without writing anything beside the store.
package struct Preview: Sendable {
  package let survey: StoreSurvey
  /// Whether the store's model is another one than the target's.
  package let isNeeded: Bool
  package let assessment: Assessment?
  package let plan: MigrationPlan?
  package let diskNeed: DiskNeed

  /// Surveys the store of a request and hands the preview over while its files are there.
  ///
  /// A store whose latest changes are still in its `-wal` is copied to a temporary folder.
  package static func with<Result>(
    _ request: MigrationRequest, _ target: TargetModel, _ body: (Preview) throws -> Result
  ) throws -> Result {
    let scratch = FilePath(NSTemporaryDirectory()).appending("godwit-\(UUID().uuidString)")
    defer { try? Files.removeTree(scratch) }
    let access = try SourceAccess.open(request.store) {
      try Files.createDirectory(scratch)
      return scratch.appending("source.sqlite")
    }
    let survey = try StoreSurvey(opening: request, access: access, target: target)
    let isNeeded = survey.metadata.versionHashes != target.hashes
    let assessment =
      isNeeded && survey.unsupported.isEmpty ? try Assessment(survey, to: target.model) : nil
    return try body(
      Preview(
        survey: survey, isNeeded: isNeeded, assessment: assessment,
        plan: try assessment.flatMap { try MigrationPlan(request, survey, $0) },
        diskNeed: DiskNeed(sourceBytes: access.fingerprint.bytes)))
  }

  /// Throws what would keep the migration from being done.
  package func requirePossible(failsOnLoss: Bool) throws {
    guard survey.unsupported.isEmpty || !isNeeded else {
      throw MigrationError.unsupported(store: survey.store, survey.unsupported)
    }
    guard let assessment else { return }
    guard assessment.hindrances.isEmpty else {
      throw MigrationError.impossible(store: survey.store, assessment.hindrances)
    }
    if failsOnLoss && !assessment.losses.isEmpty {
      throw MigrationError.losses(store: survey.store, assessment.losses)
    }
  }
}
