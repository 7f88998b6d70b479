import EngineList
import Foundation
import MigrationEngine
import ModelFiles
package import Planning
import Schema
import StoreFormat
package import Survey
import SystemCalls
import SystemPackage

/// A prepared migration with what its first stage would do, found out without writing anything
/// beside the store.
package struct MigrationPreview: Sendable {
  package let prepared: PreparedMigration
  /// Of the first stage: those of others begin with stores that are not there yet.
  package let assessment: StageAssessment?
  /// Of the first stage; nil where it goes object by object.
  package let plan: MigrationPlan?
  /// What would make the rows, and why that; nil where no migration is needed or possible.
  package let engine: (kind: MigrationRequest.Engine, reason: String)?
  package let diskNeed: DiskNeed

  /// Whether workers would write pages of the result, and no tables of their own.
  package var writesPages: Bool { engine?.kind == .pages }
  package var survey: StoreSurvey { prepared.survey }
  package var isNeeded: Bool { prepared.isNeeded }
  package var route: FoundRoute? { prepared.route }
  package var stages: [Stage] { prepared.stages }
  /// What the first stage would lose, as far as it is known before policies run.
  package var losses: [Loss] { assessment?.losses ?? [] }

  /// Surveys the store of a request and hands the preview over while its files are there.
  ///
  /// A store whose latest changes are still in its `-wal` is copied to a temporary folder.
  package static func with<Result>(
    _ request: MigrationRequest, target: TargetModel, body: (MigrationPreview) throws -> Result
  ) throws -> Result {
    var request = try request.resolved()
    request.namesVersions = true
    let access = try SourceAccess.open(request.store)
    let survey = try StoreSurvey(opening: request, access: access, target: target)
    return try body(
      MigrationPreview(PreparedMigration(request: request, target: target, survey: survey)))
  }

  private init(_ prepared: PreparedMigration) throws {
    self.prepared = prepared
    let (request, survey) = (prepared.request, prepared.survey)
    assessment = try prepared.stages.first.map {
      try StageAssessment(stage: $0, survey: survey, request: request, scansAll: true)
    }
    var plan: MigrationPlan?
    var choice: EngineList.Choice?
    if let assessment, assessment.work != nil {
      let input = StageInput(request: request, survey: survey, assessment: assessment)
      let chosen = EngineList.choose(for: input, wish: request.engine.wish)
      if assessment.rows != nil { plan = try chosen.engine.planned(input, under: nil).1 }
      choice = chosen
    }
    self.plan = plan
    engine = choice.flatMap { choice in
      MigrationRequest.Engine(rawValue: choice.engine.name.rawValue).map { ($0, choice.reason) }
    }
    diskNeed = DiskNeed(
      sourceBytes: survey.access.fingerprint.bytes, stages: prepared.stages.count,
      shardTenths: choice?.engine.shardTenths ?? 14)
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
