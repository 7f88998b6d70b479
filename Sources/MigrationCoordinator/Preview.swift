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
  /// The way to the target; nil where none is needed.
  package let route: FoundRoute?
  /// The steps of the route that run at once.
  package let legs: [Leg]
  /// Of the first leg, where its rows are made by programs: those of others begin with stores that
  /// are not there yet.
  package let assessment: Assessment?
  package let plan: MigrationPlan?
  /// What the first leg would lose, as far as it is known before policies run.
  package let losses: [Loss]
  /// Whether workers would write pages of the result, and no tables of their own.
  package let writesPages: Bool
  package let diskNeed: DiskNeed

  /// Surveys the store of a request and hands the preview over while its files are there.
  ///
  /// A store whose latest changes are still in its `-wal` is copied to a temporary folder.
  package static func with<Result>(
    _ request: MigrationRequest, _ target: TargetModel, _ body: (Preview) throws -> Result
  ) throws -> Result {
    let request = try request.resolved()
    let access = try SourceAccess.open(request.store)
    let survey = try StoreSurvey(opening: request, access: access, target: target)
    let isNeeded = survey.metadata.versionHashes != target.hashes
    let isPossible = isNeeded && survey.unsupported.isEmpty
    let route =
      isPossible
      ? try RouteFinder(request: request, target: target, survey: survey).find(namesVersions: true)
      : nil
    let legs =
      try route.map {
        try LegPlanner(
          $0.route, source: survey.schema, isStepwise: request.isStepwise,
          independentPolicies: request.independentPolicies
        ).legs
      } ?? []
    var assessment: Assessment?
    var losses: [Loss] = []
    switch legs.first?.work {
    case .rows(let steps):
      let made = try Assessment(survey, steps, scansAll: true)
      (assessment, losses) = (made, made.losses)
    case .objects(let step): losses = try Self.losses(survey, step)
    case nil: break
    }
    let moves = try assessment.flatMap { try TreeMoves(request, survey, $0) }
    return try body(
      Preview(
        survey: survey, isNeeded: isNeeded, route: route, legs: legs, assessment: assessment,
        plan: try assessment.flatMap { try MigrationPlan(request, survey, $0, moves: moves) },
        losses: losses, writesPages: moves != nil,
        diskNeed: DiskNeed(sourceBytes: access.fingerprint.bytes, legs: legs.count)))
  }

  private static func losses(_ survey: StoreSurvey, _ step: MigrationRoute.Step) throws -> [Loss] {
    let counted = CountedLosses(
      survey, step.mappings.map(\.mapping), to: try StoreSchema(step.destination.model))
    return try counted.beforehand(now: Date().timeIntervalSinceReferenceDate)
      + StrayRows(survey: survey, scansAll: true).losses()
  }

  /// Throws what would keep the migration from being done.
  package func requirePossible(_ request: MigrationRequest) throws {
    guard survey.unsupported.isEmpty || !isNeeded else {
      throw MigrationError.unsupported(store: survey.store, survey.unsupported)
    }
    try assessment?.requirePossible(store: survey.store)
    guard isNeeded else { return }
    try LossRules(request: request, survey: survey, legs: legs).check()
    _ = try request.lossDecision.require(losses, of: survey, store: survey.store)
  }
}
