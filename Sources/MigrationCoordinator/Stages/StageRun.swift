import EngineList
import Foundation
import Logging
import Mapping
import MigrationEngine
import MigrationStatus
import ModelFiles
import ObjectMigration
import ObjectModel
import Planning
import RowPrograms
import Schema
import StoreFormat
import Survey
import SystemCalls
import SystemPackage

/// One stage of a migration: from a surveyed store to a verified result in the work folder.
struct StageRun {
  /// The request with the stage's own source as `store`.
  let request: MigrationRequest
  let survey: StoreSurvey
  let stage: Stage
  let workspace: Workspace
  let launcher: any WorkerLauncher
  let logger: Logger

  private var paths: MigrationPaths { workspace.paths }

  /// What a stage made.
  struct Outcome {
    var report: MigrationReport
    var externalNames = ExternalNames()
  }

  /// Assesses the stage, chooses its engine and makes the result.
  func makeResult(_ reporter: ProgressReporter) async throws -> Outcome {
    try request.requireSupported(survey)
    let assessment = try assessment(reporter)
    try assessment.requirePossible(store: request.store, accepting: request.lossDecision)
    _ = try request.lossDecision.require(assessment.losses, of: survey, store: request.store)
    reporter.enter(.planning)
    var input = StageInput(request: request, survey: survey, assessment: assessment)
    input.folder = Files.parent(of: paths.result)
    input.allowEdit(of: request, isOnly: paths.destination == request.store)
    let choice = EngineList.choose(for: input, wish: request.engine)
    var outcome: Outcome
    do {
      outcome = try await attemptOrRestrict(
        assessment, input: input, type: choice.engine, reporter: reporter)
    } catch {
      throw try refusal(behind: error, of: assessment) ?? error
    }
    outcome.report.engineDeclined = choice.refusal
    outcome.report.joinTables = assessment.joinChoices
    return outcome
  }

  /// What is known of the stage; constraints that an index finds to be broken anyway are counted
  /// only where something else stands in the way.
  private func assessment(_ reporter: ProgressReporter) throws -> StageAssessment {
    var rules = AssessmentRules()
    rules.leavesConstraints = true
    let assessment = try StageAssessment(
      stage: stage, survey: survey, request: request, rules: rules
    ) { done, all in
      reporter.look(at: done, of: all)
    }
    guard assessment.leavesConstraints, !assessment.isPossible(accepting: request.lossDecision)
    else { return assessment }
    return try StageAssessment(stage: stage, survey: survey, request: request)
  }

  /// The refusal that would have come before a failure had all constraints been counted then; nil
  /// where they are kept.
  private func refusal(
    behind error: any Error, of assessment: StageAssessment
  ) throws -> MigrationError? {
    guard assessment.leavesConstraints, !(error is CancellationError) else { return nil }
    do {
      try StageAssessment(stage: stage, survey: survey, request: request)
        .requirePossible(store: request.store, accepting: request.lossDecision)
      return nil
    } catch let refusal as MigrationError {
      // What was made is of no use to a later run.
      try workspace.clear(keeping: paths.filesOfRun.union([paths.run]))
      return refusal
    } catch {
      // If the store can no longer be read, the first failure has the reason.
      return nil
    }
  }

  /// Plans, runs the workers and assembles their shards; if the engine's plan turns out not to
  /// work, once more under a restriction.
  private func attemptOrRestrict(
    _ assessment: StageAssessment, input: StageInput, type: any MigrationEngine.Type,
    reporter: ProgressReporter
  ) async throws -> Outcome {
    do {
      return try await attempt(
        assessment, input: input, type: type, under: nil, reporter: reporter)
    } catch {
      guard let restriction = type.restriction(after: error) else { throw error }
      logger.notice("\(restriction.notice)")
      return try await attempt(
        assessment, input: input, type: type, under: restriction, reporter: reporter.again())
    }
  }

  private func attempt(
    _ assessment: StageAssessment, input: StageInput, type: any MigrationEngine.Type,
    under restriction: PlanRestriction?, reporter: ProgressReporter
  ) async throws -> Outcome {
    if !type.leavesTables { try survey.rowCounts.countAll() }
    let saved = try plan(input: input, type: type, under: restriction)
    var engine = try saved.engine()
    reporter.expect(StageWork(saved.plan, schema: input.schema, for: request), of: type)
    let bringsFiles = request.output != nil && !input.schema.externalColumns.isEmpty
    let need = try DiskNeed(
      of: saved.plan, by: engine, stage: input,
      externalBytes: bringsFiles ? MigrationPaths.externalBytes(of: request.store) : 0)
    reporter.expect(need)
    do {
      try workspace.requireSpace(need)
    } catch PlaceError.diskFull(let shortages) {
      throw PlaceError.diskFull(try addingEditNeed(shortages, of: input))
    }
    try input.untakenKeys?.write(to: paths.untakenRows)
    let frame = try StageFrame(
      stage: stage, survey: survey, assessment: assessment,
      givesNewUUID: request.givesNewUUID && !request.isIntermediate)
    try engine.prepare(
      input, plan: saved.plan, frame: frame.store, in: paths, expecting: need.result)
    let results = try await runWorkers(
      input, assessment: assessment, saved: saved, engine: engine, reporter: reporter)
    return try StageAssembly(
      request: request, survey: survey, stage: stage, paths: paths,
      input: input,
      assessment: assessment, saved: saved, frame: frame
    ).assemble(results, engine: engine, reporter: reporter)
  }

  /// The space for an edit of the store, in addition to what another store lacks; if it was
  /// requested, it was declined.
  private func addingEditNeed(
    _ shortages: [DiskShortage], of input: StageInput
  ) throws -> [DiskShortage] {
    guard request.engine == nil, let editor = EngineList.editor(for: input) else {
      return shortages
    }
    let need = try input.need(of: editor, for: request).need.bytes
    return shortages.map { shortage in
      var shortage = shortage
      if need <= shortage.available { shortage.neededByEdit = need }
      return shortage
    }
  }

  // MARK: Planning

  private func plan(
    input: StageInput, type: any MigrationEngine.Type, under restriction: PlanRestriction?
  ) throws -> SavedPlan {
    let fingerprint = survey.access.fingerprint
    if let saved = try workspace.savedPlan(fingerprint, by: type.name),
      restriction == nil || saved.restriction == restriction
    {
      logger.notice("resuming an interrupted migration")
      return saved
    }
    try workspace.clear(keeping: paths.filesOfRun.union([paths.run]))
    let (engine, plan) = try type.planned(input, under: restriction)
    let saved = try SavedPlan(
      plan: plan, by: engine, under: restriction, of: fingerprint, in: workspace.run)
    try workspace.save(saved, syncs: !survey.isQuicklyMigrated)
    return saved
  }

  // MARK: Workers

  private func runWorkers(
    _ input: StageInput, assessment: StageAssessment, saved: SavedPlan,
    engine: any MigrationEngine, reporter: ProgressReporter
  ) async throws -> [WorkerPool.Result] {
    let paths = self.paths
    // Code that is not Godwit's own, that of policies, runs in processes only.
    let usesThreads =
      request.allowsThreads && saved.plan.isForThreads && !type(of: engine).runsForeignCode
      && !FaultPoint.befallsWorkers
    let documents = try saved.plan.workOrders.map { order in
      var document = WorkOrderDocument(
        order: order, saved: saved, input: input, assessment: assessment, paths: paths,
        request: request)
      document.task = try engine.task(
        for: order, of: saved.plan, stage: input, in: paths, now: saved.now)
      document.syncs = engine.syncsShards && !input.isQuicklyMade(order)
      document.usesThread = usesThreads && document.calls == nil
      if request.division.usesLauncher { document.sourceIdentity?.device = nil }
      return document
    }
    if saved.wasResumed { try engine.fence(paths) }
    let pool = WorkerPool(
      launcher: launcher, desk: reporter.desk, recorder: reporter.recorder,
      memory: request.memory, board: reporter.board, keepsManifests: workspace.keepsWork,
      claim: { try engine.claimExtent(in: paths) }, logger: logger)
    let beside = try engine.accompany(paths)
    let results: [WorkerPool.Result]
    do {
      defer { beside?.stop() }
      results = try await pool.execute(resuming: documents, of: saved.plan, reporter: reporter) {
        try engine.takesUp($0, in: paths)
      }
    }
    if results.contains(where: \.hasLostWorker) { try engine.fence(paths) }
    return results
  }
}

extension StageInput {
  /// The input of an engine.
  ///
  /// - Precondition: the assessment has no refusals.
  init(request: MigrationRequest, survey: StoreSurvey, assessment: StageAssessment) {
    guard let work = assessment.work else {
      preconditionFailure("an assessment without refusals has a program")
    }
    self.init(
      store: request.store, survey: survey, schema: assessment.schema, work: work,
      workers: request.workersWithRoom, memory: request.memory)
    hasRemoteWorkers = request.division.usesLauncher
    rangeRows = request.rangeRows
    verifiesFully = request.verifiesFully
    validates = request.validation != .off
    logsSQL = request.logsSQL
    bytesFromFiles = assessment.bytesFromFiles
    untakenKeys = assessment.rows?.untakenKeys
    untakenCounts = assessment.rows?.untakenCounts ?? [:]
    leavesRows = assessment.losses.contains {
      [.unknownEntity, .unknownReference, .dangling, .duplicate, .missingKey].contains($0.cause)
    }
    remakesIndexes = request.sourceCheck == .off
  }
}

extension StageInput {
  /// Finds out whether the store itself can be edited.
  ///
  /// - Parameter isOnly: whether the stage begins with the user's store and ends with what takes
  ///   its place.
  mutating func allowEdit(of request: MigrationRequest, isOnly: Bool) {
    let status = try? Files.fileStatus(request.store)
    editRefusal =
      if request.output != nil {
        "the result is a store of its own"
      } else if !isOnly {
        "the migration takes several stages"
      } else if survey.access.identity == nil {
        "a copy of the store is read, and not the store itself"
      } else if ![0, status?.owner].contains(Processes.user) {
        "the store belongs to another user"
      } else if status?.links != 1 {
        // SQLite searches for a journal next to the name by which it opens the store.
        "the store has several names (hard links)"
      } else {
        nil
      }
    freeBytes = folder.flatMap { try? Int64(clamping: Files.freeSpace(at: $0)) }
  }

  /// The disk that an engine would need, and the estimated seconds, which depend on the machine.
  func need(
    of type: any MigrationEngine.Type, for request: MigrationRequest
  ) throws -> (need: DiskNeed, costs: Double) {
    let (engine, plan) = try type.planned(self, under: nil)
    let work = StageWork(plan, schema: schema, for: request)
    return (try DiskNeed(of: plan, by: engine, stage: self), type.costs.seconds(of: work))
  }

  /// Whether the rows of a work order are made in less time than it takes to sync them.
  ///
  /// Whether a shard counts is known by its checksum: one that a power cut takes is made again.
  fileprivate func isQuicklyMade(_ order: WorkOrder) -> Bool {
    if case .rows = work { order.bytes < StoreSurvey.quickBytes } else { false }
  }
}

extension StoreSurvey {
  /// The most bytes that are made in less time than a few syncs take.
  fileprivate static let quickBytes: Int64 = 16 << 20

  /// Whether everything is made again before anybody notices that it was lost.
  var isQuicklyMigrated: Bool { sourceBytes < Self.quickBytes }
}

extension MigrationEngine {
  /// The same as `plan`, for callers that know the engine's type only at run time.
  static func planned(
    _ stage: StageInput, under restriction: PlanRestriction?
  ) throws -> (any MigrationEngine, MigrationPlan) {
    let made = try plan(stage: stage, under: restriction)
    return (made.engine, made.plan)
  }
}

extension PlanRestriction {
  /// The message that is logged before the second attempt.
  fileprivate var notice: String {
    switch self {
    case .movesNothing: "a b-tree of the store cannot be moved as it is: migrating all rows"
    case .undivided:
      "a policy or an expression needs objects of other mappings: all are migrated together"
    }
  }
}
