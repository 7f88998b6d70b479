import Foundation
import Mapping
import MigrationEngine
import ObjectMigration
import ObjectModel
import Planning
import RowPrograms
package import Schema
import StoreFormat
import Survey
package import SystemPackage

/// What is known of a stage before its first row is read: its result, its refusals and its losses.
package struct StageAssessment: Sendable {
  private enum Kind: Sendable {
    case rows(RowAssessment)
    case objects(CountedLosses, because: RowFallback?)
  }

  private let kind: Kind
  private let survey: StoreSurvey
  /// The tables of the store that the stage makes.
  package let schema: StoreSchema
  /// The join tables of the destination whose names are assumed.
  let joinChoices: [JoinContinuation.Choice]
  /// The losses that are known before policies run.
  package let losses: [Loss]
  /// What becomes of the references of each step, of relationships that may lose some.
  let references: [ReferenceCounts]
  /// External files without which the stage cannot be made, and what objects that are made one by
  /// one demand of rows.
  private let found: [Refusal]
  /// Whether values that do not fit became nil by choice, where that harms no others.
  private let emptiesValues: Bool
  /// What values that are read from files of their own take in the result.
  let bytesFromFiles: Int64
  /// CloudKit mirroring, if the store has it and it is wanted.
  let mirroring: MirroringCheck?

  /// Assesses a stage against the store that it begins with; writes nothing.
  ///
  /// - Parameters:
  ///   - rules: what is counted; what the request decides of that replaces what is given.
  ///   - looking: called periodically with the number of filters evaluated, and of all.
  init(
    stage: Stage, survey: StoreSurvey, request: MigrationRequest,
    rules: AssessmentRules = AssessmentRules(),
    looking: (_ done: Int64, _ all: Int64) -> Void = { _, _ in }
  ) throws {
    var rules = rules
    rules.scansAll = rules.scansAll || request.sourceCheck == .full
    rules.keepsHistory = request.history == .keep
    rules.requiresRules = request.validation == .strict
    do {
      try self.init(
        decided: stage, survey: survey, request: request, rules: rules, looking: looking)
    } catch let fallback as RowFallback {
      try self.init(
        decided: stage.falling(back: fallback), survey: survey, request: request, rules: rules,
        looking: looking)
    }
  }

  private init(
    decided stage: Stage, survey: StoreSurvey, request: MigrationRequest, rules: AssessmentRules,
    looking: (_ done: Int64, _ all: Int64) -> Void
  ) throws {
    self.survey = survey
    emptiesValues = request.defectChoices.values == .null
    let search = DefectSearch(survey: survey)
    let external = ExternalFileSearch(survey: survey, stage: stage)
    let strays = StrayRows(survey: survey, scansAll: rules.scansAll)
    let files = try external.obstacles(scansAll: strays.scans)
    bytesFromFiles = files.bytesRead
    let dangling = request.defectChoices.dangling == .fail ? try search.danglingLosses() : []
    let losses: [Loss]
    let obstacles: [Refusal]
    switch stage.method {
    case .rows(let steps):
      let assessment = try RowAssessment(
        survey: survey, steps: steps, rules: rules,
        defects: rules.searchesDefects ? try search.open() : nil, repaired: stage.repaired)
      kind = .rows(assessment)
      obstacles = try files.refusals + external.overlaps(known: assessment.untakenCounts.keys)
      schema = assessment.schema
      joinChoices = steps.last?.joinChoices ?? []
      references = assessment.references
      losses =
        assessment.losses + dangling
        + (request.history == .drop ? Self.historyLosses(survey) : [])
        + Self.indexLosses(schema, request: request)
    case .objects(let step, let fallback):
      let mappings = step.mappings.map(\.mapping)
      var made: StoreSchema
      (made, joinChoices) = try stage.joins.destination(
        of: step, by: mappings, from: survey.schema)
      made = made.withHistory(of: survey.schema)
      let triggers = try made.takeTriggers(of: survey, by: mappings)
      schema = made
      let counted = CountedLosses(survey: survey, mappings: mappings, to: schema) {
        step.marked($0)
      }
      kind = .objects(counted, because: fallback)
      var demands = try StageDemands.all(
        of: stage, in: survey, validates: request.validation == .strict)
      let fates = counted.fates
      let untakenKeeper = try counted.untakenKeeper(
        for: fates,
        and: demands.reduce(external.uses.filters) { $0.union($1.untakenRows) })
      let known = try counted.beforehand(
        now: Date().timeIntervalSinceReferenceDate, untakenKeeper: untakenKeeper
      ) { looking($0, counted.filtersToTry) }
      demands = demands.map { $0.known(by: untakenKeeper) }
      if let untakenKeeper {
        try survey.reader.connection.run { RowKeyReader(untakenKeeper.keys).install(in: $0) }
      }
      obstacles =
        try step.mappedRefusals + demands.flatMap { try $0.refusals(in: survey) }
        + triggers + files.refusals
        + external.overlaps(known: untakenKeeper?.counts.keys ?? [:].keys)
      references = [try ReferenceCounts(fates, view: counted.view, reader: survey.reader)]
      losses =
        try known + references.flatMap(\.losses) + strays.losses()
        + StrayReferences(survey: survey, program: nil).losses() + dangling
        + Self.historyLosses(survey) + Self.indexLosses(schema, request: request)
    }
    mirroring = try MirroringCheck(
      survey: survey, stage: stage, destination: schema.numbers, request: request)
    found = obstacles + (mirroring?.refusals ?? [])
    self.losses =
      losses + (mirroring?.losses ?? []) + stage.lostByChoice
      + (request.failsOnLoss ? Loss.chosen(in: stage.repaired) : [])
  }

  /// The indexes that only Core Data can make; those of a store between two stages are not used.
  private static func indexLosses(_ schema: StoreSchema, request: MigrationRequest) -> [Loss] {
    request.isIntermediate ? [] : schema.omissions.map { Loss($0) }
  }

  /// The history of a store whose objects are made one by one, or that is dropped by choice.
  private static func historyLosses(_ survey: StoreSurvey) -> [Loss] {
    let rows = survey.history?.rows ?? [:]
    let count = rows[HistoryTables.changes] ?? 0
    let all = count > 0 ? count : rows[HistoryTables.transactions] ?? 0
    guard all > 0 else { return [] }
    return [
      Loss(kind: .row, cause: .history, entity: Loss.historyName, property: nil, count: all)
    ]
  }

  /// The assessment of the rows, nil if objects are migrated one by one.
  var rows: RowAssessment? { if case .rows(let assessment) = kind { assessment } else { nil } }

  /// Whether constraints are left to the indexes that keep them.
  var leavesConstraints: Bool { rows?.leavesConstraints == true }

  /// The tables of CloudKit mirroring that are carried over, before and after.
  package var mirroringAccounts: [StageAccounts.OfTable]? { mirroring?.accounts }

  /// What the engine is to do, nil if there are refusals.
  var work: StageInput.Work? {
    switch kind {
    case .rows(let assessment): assessment.program.map { .rows($0) }
    case .objects(let counted, let fallback): .objects(counted.mappings, because: fallback)
    }
  }

  /// Whether nothing is known to stand in the way of the stage.
  func isPossible(accepting decision: LossDecision) -> Bool {
    (rows?.refusals ?? []).isEmpty && found.isEmpty
      && decision.decide(losses, keepsNothing: false).refusal == nil
  }

  /// Checks that there are no refusals; unaccepted losses are reported with them.
  ///
  /// - Throws: `MigrationError.impossible` or `stepImpossible`.
  package func requirePossible(store: FilePath, accepting decision: LossDecision) throws {
    let refusals = ((rows?.refusals ?? []) + found).map { refusal in
      guard emptiesValues, case .condition(.valuesFit, _, _) = refusal.reason else {
        return refusal
      }
      // Others are nil already.
      var shared = refusal
      shared.isOfSharedValues = true
      return shared
    }
    guard !refusals.isEmpty else { return }
    let losses = decision.decide(losses, keepsNothing: false).refusal?.refused ?? []
    guard let rows, rows.steps.count > 1, let step = rows.refusedStep?.step else {
      throw MigrationError.impossible(store: store, refusals, losses: losses)
    }
    throw MigrationError.stepImpossible(
      store: store, from: step.source.labels, to: step.destination.labels, refusals,
      losses: losses)
  }

  /// The accounts and losses of the finished stage.
  ///
  /// - Throws: `MigrationError.accountsDiffer`, if rows that were read are neither written nor
  ///   known losses.
  func accounts(
    _ plan: MigrationPlan, manifests: [ShardManifest], summary: ObjectSummary?,
    moved: [String] = []
  ) throws -> (accounts: StageAccounts, losses: [Loss]) {
    switch kind {
    case .rows(let assessment):
      let accounts = try RowAccounts(
        survey: survey, assessment: assessment, plan: plan, manifests: manifests,
        moved: Set(moved))
      var made = accounts.accounts
      made.mirroring = mirroring?.accounts
      return (made, losses + accounts.lateLosses)
    case .objects(let counted, _):
      let objects = summary?.accounts ?? ObjectAccounts()
      let accounts = try MappedAccounts(
        counted: counted, beforehand: losses(after: objects), objects: objects,
        manifests: manifests)
      return (accounts.accounts, accounts.losses)
    }
  }

  /// The losses that were known beforehand, with those references that the migration has shown in
  /// place of those that were expected of the same relationships.
  private func losses(after objects: ObjectAccounts) -> [Loss] {
    let expected = references.flatMap(\.counted).filter { counted in
      objects.references.contains {
        $0.entity == counted.place.entity && $0.relationship == counted.place.relationship.name
      }
    }.flatMap(\.losses)
    return losses.filter { !expected.contains($0) }
      + objects.references.flatMap { account in
        account.losses.map {
          Loss(
            kind: .relationship, cause: $0.cause, entity: $0.entity,
            property: account.relationship, count: $0.references, keys: $0.keys)
        }
      }
  }

  /// The accounts of references.
  func referenceAccounts(_ summary: ObjectSummary?) -> ReferenceAccounts {
    let steps: [(MappingModel, ManagedObjectModel)] =
      switch kind {
      case .rows(let assessment): assessment.steps.map { ($0.mapping, $0.step.source.model) }
      case .objects(let counted, _): [(counted.allMappings, survey.model)]
      }
    return ReferenceAccounts(
      zip(references, steps).map { .init(counts: $0, mapping: $1.0, model: $1.1) },
      observed: summary?.accounts.references ?? [])
  }

  /// The highest primary keys ever assigned, by root entity of the destination.
  func maxima(summary: ObjectSummary?) -> [String: Int64] {
    rows?.maxima(survey: survey) ?? summary?.maxima ?? [:]
  }
}
