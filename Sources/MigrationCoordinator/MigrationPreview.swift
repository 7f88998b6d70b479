import EngineList
import Foundation
import Mapping
import MigrationEngine
import ModelFiles
package import ObjectMigration
package import Planning
import Schema
import StoreFormat
import StoreNames
package import Survey
import SystemCalls
import SystemPackage

/// A prepared migration and what its first stage would do, found without writing next to the store.
package struct MigrationPreview: Sendable {
  /// The migration up to its stages.
  package let prepared: PreparedMigration
  /// The assessment of the first stage, nil without stages.
  ///
  /// The stores with which other stages begin do not exist yet.
  package let assessment: StageAssessment?
  /// The plan of the first stage; nil if it is refused or goes object by object.
  package let plan: MigrationPlan?
  /// The engine of the first stage and why it was chosen; nil if no migration is needed or
  /// possible.
  package let engine: (name: EngineName, reason: String)?
  /// The new objects that the mapping models of the first stage make.
  package let newObjects: [NewObjectCount]
  /// What is wrong with rows of the store, and what becomes of it.
  package let defects: [Defect]
  /// The disk space that the whole migration would take.
  package let diskNeed: DiskNeed
  /// What it would take to edit the store itself, where nothing speaks against it.
  package let edit: (need: DiskNeed, seconds: Double)?

  /// The seconds that all stages should take on this machine, but for what policies do; nil if
  /// the first one is refused.
  ///
  /// The stores with which other stages begin do not exist yet: each is taken to cost what the
  /// first one does.
  package let secondsExpected: Double?
  /// Whether policies of the user's own are called, whose effects are unknown.
  package var callsPolicies: Bool {
    prepared.stages.flatMap(\.mappings).flatMap(\.entityMappings)
      .contains { $0.ownPolicyClassName != nil }
  }
  /// The contents of the store.
  package var survey: StoreSurvey { prepared.survey }
  /// Whether the store's model differs from the target's.
  package var isNeeded: Bool { prepared.isNeeded }
  /// The versions and mappings on the way to the target, nil if none is needed.
  package var route: FoundRoute? { prepared.route }
  /// The stages of the route, empty if none is needed.
  package var stages: [Stage] { prepared.stages }
  /// The losses of the first stage, as far as they are known before policies run, and indexes that
  /// the result will not have.
  package let losses: [Loss]

  /// The losses by choices of the first stage that are not in `losses`.
  package var chosenLosses: [Loss] {
    guard isNeeded else { return [] }
    let extras = prepared.request.extraTables == .drop ? Loss.leftOut(survey.extras) : []
    return Loss.chosen(in: defects).filter { !losses.contains($0) } + extras
  }

  /// Surveys the store of a request and passes the preview to `body`, during which its files exist.
  ///
  /// What its `-wal` holds is copied to a temporary folder; a store with a journal, as a whole.
  package static func with<Result>(
    _ request: MigrationRequest, target: TargetModel, body: (MigrationPreview) throws -> Result
  ) throws -> Result {
    do {
      return try resolved(request, target: target, body: body)
    } catch {
      throw request.offeringSalvage(behind: error, readable: request.store)
    }
  }

  private static func resolved<Result>(
    _ request: MigrationRequest, target: TargetModel, body: (MigrationPreview) throws -> Result
  ) throws -> Result {
    let start = ContinuousClock.now
    var request = try request.resolved()
    request.namesVersions = true
    let access = try SourceAccess.open(request.store, acceptsShort: request.salvages)
    return try access.explaining {
      do {
        // All objects are reported, including those of tables that a clone would leave.
        let prepared = try PreparedMigration(
          opening: access, of: request, target: target, surveyed: { try $0.rowCounts.countAll() }
        ) { _ in
          let folder = try TemporaryFolder()
          return (folder.path.appending("source.sqlite"), folder)
        }
        return try body(
          prepared.survey.diagnosing { try MigrationPreview(prepared, since: start) })
      } catch {
        throw request.offeringSalvage(behind: error, readable: access.readable)
      }
    }
  }

  private init(_ prepared: PreparedMigration, since start: ContinuousClock.Instant) throws {
    self.prepared = prepared
    let (request, survey) = (prepared.request, prepared.survey)
    var first = request
    first.isIntermediate = prepared.stages.count > 1
    var rules = AssessmentRules()
    (rules.scansAll, rules.searchesDefects) = (true, true)
    assessment = try prepared.stages.first.map {
      try StageAssessment(stage: $0, survey: survey, request: first, rules: rules)
    }
    // A migration counts the same in one pass, but for rows at which it looks as it copies them.
    let surveyed = (ContinuousClock.now - start) / .seconds(1)
    newObjects =
      try prepared.stages.first.map { stage in
        try NewObjectSurvey(
          store: survey.access.readable, source: survey.schema,
          destination: try StoreSchema(stage.destination.model),
          support: SupportFolder.path(of: survey.store),
          now: Date().timeIntervalSinceReferenceDate
        ).counts(of: stage.mappings)
      } ?? []
    let last = first.isIntermediate ? prepared.stages.last : nil
    losses =
      request.lossDecision.lost(of: assessment?.losses ?? [])
      + (try last.map { try StoreSchema($0.destination.model).omissions.map { Loss($0) } } ?? [])
    let (lost, model) = (losses, survey.model)
    let found = try prepared.defects(scansAll: true, known: assessment?.rows?.defects)
    defects = found.completed(by: assessment?.rows?.oneSided ?? []).map {
      $0.beside(lost, model: model)
    }
    var plan: MigrationPlan?
    var costs: Double?
    var choice: EngineList.Choice?
    var need: DiskNeed?
    var edit: (need: DiskNeed, costs: Double)?
    if let assessment, assessment.work != nil {
      var input = StageInput(request: request, survey: survey, assessment: assessment)
      input.folder = Files.parent(of: request.destination)
      input.allowEdit(of: request, isOnly: !first.isIntermediate)
      let chosen = EngineList.choose(for: input, wish: request.engine)
      let (engine, made) = try chosen.engine.planned(input, under: nil)
      costs = chosen.engine.costs.seconds(
        of: StageWork(made, schema: input.schema, for: request))
      if !first.isIntermediate {
        need = try DiskNeed(
          of: made, by: engine, stage: input, walBytes: survey.access.fingerprint.walBytes)
      }
      edit = try EngineList.editor(for: input).map { try input.need(of: $0, for: request) }
      if assessment.rows != nil { plan = made }
      choice = chosen
    }
    self.plan = plan
    engine = choice.map { ($0.engine.name, $0.reason) }
    let type = choice?.engine ?? EngineList.standard
    secondsExpected = costs.map {
      PhaseCosts.fixedSeconds + surveyed + Double(prepared.stages.count) * $0
    }
    self.edit = edit.map { ($0.need, PhaseCosts.fixedSeconds + surveyed + $0.costs) }
    diskNeed =
      need
      ?? DiskNeed(
        of: prepared.stages, survey: survey, request: request, shardTenths: type.shardTenths,
        walBytes: survey.access.fingerprint.walBytes)
  }

  /// Checks that nothing is known now that would prevent the migration.
  ///
  /// - Throws: `MigrationError.impossible`, `stepImpossible` or `losses`.
  package func requirePossible() throws {
    try assessment?.requirePossible(
      store: survey.store, accepting: prepared.request.lossDecision)
    guard isNeeded else { return }
    do {
      _ = try prepared.request.lossDecision.require(losses, of: survey, store: survey.store)
    } catch {
      throw prepared.explained(error)
    }
  }
}
