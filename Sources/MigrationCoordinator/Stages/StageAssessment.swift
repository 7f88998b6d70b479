import Foundation
import Mapping
import MigrationEngine
import Planning
import RowPrograms
package import Schema
import StoreFormat
import Survey
package import SystemPackage

/// What is known of a stage before its first row is read: what its store becomes, what stands in
/// the way, what is lost.
package struct StageAssessment: Sendable {
  private enum Kind: Sendable {
    case rows(Assessment)
    case objects(CountedLosses)
  }

  private let kind: Kind
  private let survey: StoreSurvey
  package let destination: StoreSchema
  /// Names of join tables that nothing proves.
  let joinChoices: [JoinContinuation.Choice]
  /// What is lost, as far as it is known before policies run.
  package let losses: [Loss]

  /// Holds a stage against the store that it begins with; writes nothing.
  ///
  /// - Parameter scansAll: looks at every row for entities that the model does not have.
  init(
    stage: Stage, survey: StoreSurvey, request: MigrationRequest, scansAll: Bool = false
  ) throws {
    self.survey = survey
    switch stage.work {
    case .rows(let steps):
      let assessment = try Assessment(survey: survey, steps: steps, scansAll: scansAll)
      kind = .rows(assessment)
      destination = assessment.destination
      joinChoices = steps.last?.joinChoices ?? []
      losses = assessment.losses
    case .objects(let step):
      let mappings = step.mappings.map(\.mapping)
      (destination, joinChoices) = try JoinChoices(request: request, target: step.destination.model)
        .destination(of: step, by: mappings, from: survey.schema)
      let counted = CountedLosses(survey: survey, mappings: mappings, to: destination)
      kind = .objects(counted)
      losses =
        try counted.beforehand(now: Date().timeIntervalSinceReferenceDate)
        + StrayRows(survey: survey, scansAll: scansAll).losses()
    }
  }

  /// That of the rows; nil where objects are made one by one.
  var rows: Assessment? { if case .rows(let assessment) = kind { assessment } else { nil } }

  /// What an engine makes of the stage; nil where something stands in the way.
  var work: StageInput.Work? {
    switch kind {
    case .rows(let assessment): assessment.program.map { .rows($0) }
    case .objects(let counted): .objects(counted.mappings)
    }
  }

  /// Throws what stands in the way.
  package func requirePossible(store: FilePath) throws {
    guard case .rows(let assessment) = kind, !assessment.refusals.isEmpty else { return }
    guard assessment.steps.count > 1, let step = assessment.refusedStep?.step else {
      throw MigrationError.impossible(store: store, assessment.refusals)
    }
    throw MigrationError.stepImpossible(
      store: store, from: step.source.names, to: step.destination.names, assessment.refusals)
  }

  /// Where all objects went, and all that is lost now that it is known.
  ///
  /// Throws where rows that were read are neither written nor known to be lost.
  func settled(
    _ plan: MigrationPlan, manifests: [ShardManifest], summary: ObjectSummary?
  ) throws -> (accounts: StageAccounts, losses: [Loss]) {
    switch kind {
    case .rows(let assessment):
      let accounts = try RowAccounts(
        survey: survey, assessment: assessment, plan: plan, manifests: manifests)
      return (accounts.accounts, losses + accounts.lateLosses)
    case .objects(let counted):
      let objects = summary?.accounts ?? ObjectAccounts()
      let accounts = try MappedAccounts(counted: counted, beforehand: losses, objects: objects)
      return (accounts.accounts, accounts.losses)
    }
  }

  /// The highest keys ever given, by root entity of the destination.
  func maxima(summary: ObjectSummary?) -> [String: Int64] {
    rows?.maxima(survey: survey) ?? summary?.maxima ?? [:]
  }
}
