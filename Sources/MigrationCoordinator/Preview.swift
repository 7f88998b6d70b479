import Foundation
import ModelFiles
package import Planning
import Schema
import StoreFormat
import SystemCalls
import SystemPackage

/// What a migration would do, found out without writing anything beside the store.
package struct Preview: Sendable {
  package let prepared: PreparedMigration
  /// Of the first leg, where its rows are made by programs: those of others begin with stores that
  /// are not there yet.
  package let assessment: Assessment?
  package let plan: MigrationPlan?
  /// What the first leg would lose, as far as it is known before policies run.
  package let losses: [Loss]
  /// Whether workers would write pages of the result, and no tables of their own.
  package let writesPages: Bool
  package let diskNeed: DiskNeed

  package var survey: StoreSurvey { prepared.survey }
  package var isNeeded: Bool { prepared.isNeeded }
  package var route: FoundRoute? { prepared.route }
  package var legs: [Leg] { prepared.legs }

  /// Surveys the store of a request and hands the preview over while its files are there.
  ///
  /// A store whose latest changes are still in its `-wal` is copied to a temporary folder.
  package static func with<Result>(
    _ request: MigrationRequest, _ target: TargetModel, _ body: (Preview) throws -> Result
  ) throws -> Result {
    var request = try request.resolved()
    request.namesVersions = true
    let access = try SourceAccess.open(request.store)
    let survey = try StoreSurvey(opening: request, access: access, target: target)
    let prepared = try PreparedMigration(request, target, survey)
    var assessment: Assessment?
    var losses: [Loss] = []
    switch prepared.legs.first?.work {
    case .rows(let steps):
      let made = try Assessment(survey, steps, scansAll: true)
      (assessment, losses) = (made, made.losses)
    case .objects(let step): losses = try Self.losses(survey, step)
    case nil: break
    }
    let moves = try assessment.flatMap { try TreeMoves(request, survey, $0) }
    return try body(
      Preview(
        prepared: prepared, assessment: assessment,
        plan: try assessment.flatMap { try MigrationPlan(request, survey, $0, moves: moves) },
        losses: losses, writesPages: moves != nil,
        diskNeed: DiskNeed(
          sourceBytes: access.fingerprint.bytes, legs: prepared.legs.count,
          writesPages: moves != nil)))
  }

  private static func losses(_ survey: StoreSurvey, _ step: MigrationRoute.Step) throws -> [Loss] {
    let counted = CountedLosses(
      survey, step.mappings.map(\.mapping), to: try StoreSchema(step.destination.model))
    return try counted.beforehand(now: Date().timeIntervalSinceReferenceDate)
      + StrayRows(survey: survey, scansAll: true).losses()
  }

  /// Throws what would keep the migration from being done, as far as it is known now.
  package func requirePossible() throws {
    try assessment?.requirePossible(store: survey.store)
    guard isNeeded else { return }
    do {
      _ = try prepared.request.lossDecision.require(losses, of: survey, store: survey.store)
    } catch {
      throw prepared.explained(error)
    }
  }
}
