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

  /// Makes the result; if the engine's plan turns out not to work, once more under a restriction.
  func run(_ reporter: ProgressReporter) async throws -> Outcome {
    try request.requireSupported(survey)
    let assessment = try assessment(reporter)
    try assessment.requirePossible(store: request.store, accepting: request.lossDecision)
    _ = try request.lossDecision.require(assessment.losses, of: survey, store: request.store)
    reporter.enter(.planning)
    var input = StageInput(request: request, survey: survey, assessment: assessment)
    input.folder = Files.parent(of: paths.result)
    let choice = EngineList.choose(for: input, wish: request.engine)
    var outcome: Outcome
    do {
      outcome = try await carryOut(
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
    if case .objects = stage.work, survey.sourceBytes >= MachineSpeed.leastBytes {
      reporter.expect(roughly: roughCosts(trying: 0), speed: MachineSpeed.ratio)
    }
    let assessment = try StageAssessment(
      stage: stage, survey: survey, request: request, leavingConstraints: true
    ) { done, all in
      reporter.look(at: done, of: all) { roughCosts(trying: all) }
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
      try workspace.clear(
        keeping: paths.copiesOfSource.union([paths.status, paths.statusLock, paths.run]))
      return refusal
    } catch {
      // Where the store cannot be read any more, the first failure says why.
      return nil
    }
  }

  /// Plans, runs the workers and assembles their shards; if the engine's plan turns out not to
  /// work, once more under a restriction.
  private func carryOut(
    _ assessment: StageAssessment, input: StageInput, type: any MigrationEngine.Type,
    reporter: ProgressReporter
  ) async throws -> Outcome {
    do {
      return try await carryOut(
        assessment, input: input, type: type, under: nil, reporter: reporter)
    } catch {
      guard let restriction = type.restriction(after: error) else { throw error }
      logger.notice("\(restriction.notice)")
      return try await carryOut(
        assessment, input: input, type: type, under: restriction, reporter: reporter.again())
    }
  }

  private func carryOut(
    _ assessment: StageAssessment, input: StageInput, type: any MigrationEngine.Type,
    under restriction: PlanRestriction?, reporter: ProgressReporter
  ) async throws -> Outcome {
    let saved = try plan(input: input, type: type, under: restriction)
    var engine = try saved.engine()
    reporter.expect(
      StageWork(saved.plan, schema: input.destination, for: request), of: type,
      speed: MachineSpeed.ratio(migrating: survey))
    let need = try DiskNeed(
      of: saved.plan, by: engine, stage: input,
      externalBytes: request.output == nil ? 0 : MigrationPaths.externalBytes(of: request.store))
    reporter.expect(need)
    try workspace.requireSpace(need)
    try input.dropped?.write(to: paths.dropped)
    try engine.prepare(input, plan: saved.plan, in: paths, expecting: need.result)
    let results = try await migrate(
      input, assessment: assessment, saved: saved, engine: engine, reporter: reporter)
    do {
      return try finish(
        results, input: input, assessment: assessment, saved: saved, engine: engine,
        reporter: reporter)
    } catch let error as AssemblyError {
      throw MigrationError(error: error, in: paths.work)
    }
  }

  // MARK: Planning

  private func plan(
    input: StageInput, type: any MigrationEngine.Type, under restriction: PlanRestriction?
  ) throws -> SavedPlan {
    let inputs = PlanInputs(request: request, survey: survey, stage: stage)
    if let saved = try workspace.savedPlan(inputs, by: type.name),
      restriction == nil || saved.restriction == restriction
    {
      logger.notice("taking up an interrupted migration")
      return saved
    }
    try workspace.clear(
      keeping: paths.copiesOfSource.union([paths.status, paths.statusLock, paths.run]))
    let (engine, plan) = try type.planned(input, under: restriction)
    let saved = try SavedPlan(plan: plan, by: engine, under: restriction, of: inputs)
    try workspace.save(saved, syncs: !survey.isQuicklyMigrated)
    return saved
  }

  /// What the phases of a stage should take whose objects are surveyed one by one, as far as it is
  /// known before there is a plan.
  private func roughCosts(trying filters: Int64) -> [Phase: Double] {
    let costs = EngineList.objectCosts
    let rows = stage.mappings.flatMap(\.entityMappings).compactMap(\.sourceEntityName)
      .reduce(0) { $0 + survey.count(of: $1) }
    let order = StageWork.Order(rows: rows, bytes: survey.sourceBytes, work: 0)
    var rough = costs.phases(
      of: StageWork(orders: [order], indexEntries: Double(rows), workers: 1))
    rough[.surveying] = costs.seenRow * Double(rows + filters)
    return rough
  }

  // MARK: Workers

  private func migrate(
    _ input: StageInput, assessment: StageAssessment, saved: SavedPlan,
    engine: any MigrationEngine, reporter: ProgressReporter
  ) async throws -> [WorkerPool.Result] {
    let documents = try saved.plan.workOrders.map { order in
      var document = WorkOrderDocument(
        order: order, saved: saved, input: input, assessment: assessment, paths: paths,
        request: request)
      document.task = try engine.task(
        for: order, of: saved.plan, stage: input, in: paths, now: saved.now)
      document.syncs = engine.syncsShards && !input.isQuicklyMade(order)
      document.planBytes = saved.plan.bytes
      if reporter.status == nil { document.status = nil }
      return document
    }
    let pool = WorkerPool(
      launcher: launcher, desk: reporter.desk, recorder: reporter.recorder,
      memory: request.memory, status: reporter.status, logger: logger)
    let beside = try engine.accompany(paths)
    defer { beside?.stop() }
    return try await pool.run(resuming: documents, of: saved.plan, reporter: reporter) {
      try engine.takesUp($0, in: paths)
    }
  }

  // MARK: From shards to the store

  private func finish(
    _ results: [WorkerPool.Result], input: StageInput, assessment: StageAssessment,
    saved: SavedPlan, engine: any MigrationEngine, reporter: ProgressReporter
  ) throws -> Outcome {
    let manifests = results.map(\.manifest)
    reporter.expect(
      counted: type(of: engine).costs.phases(
        of: StageWork(
          saved.plan.counted(by: manifests), schema: input.destination, for: request)))
    var report = MigrationReport(
      outcome: .migrated, store: request.store.string, destination: request.destination.string)
    let summary = try type(of: engine).summary(of: manifests)
    // Objects are validated and accounted before assembly; for rows, assembly may still reject the
    // plan, so accounts come after it.
    if let summary {
      try settle(
        &report, assessment: assessment, plan: saved.plan, manifests: manifests, summary: summary)
      try judge(summary.violations, report: &report)
    }
    let order = try assemblyOrder(
      input, assessment: assessment, saved: saved, manifests: manifests, summary: summary,
      report: &report)
    let assembled = try engine.assemble(order, in: paths) { step in
      try reporter.desk.pass()
      reporter.enter(step)
    }
    if summary == nil {
      try settle(
        &report, assessment: assessment, plan: saved.plan, manifests: manifests, summary: nil,
        moved: assembled.movedTables)
    }
    FaultPoint.coordinatorAssembled.reached()
    try Task.checkCancellation()
    if summary == nil, !stage.mappings.isEmpty, request.validation != .off {
      try judge(ViolationList(inStore: paths.result, of: assessment.destination), report: &report)
    }
    report.engine = saved.engineName
    report.wasVerifiedFully = request.verifiesFully
    report.graph = PartitionGraph(saved.plan)
    report.movedTables = assembled.movedTables
    report.rows = assembled.rows
    report.stayingRows = saved.plan.staying.isEmpty ? nil : saved.plan.stayingRows
    report.danglingReferences = assembled.danglingReferences
    // Whoever does not keep references that lead nowhere had all tables searched for them.
    if request.defectChoices.dangling == .keep, !assembled.uncheckedReferences.isEmpty {
      report.uncheckedReferences = assembled.uncheckedReferences.map {
        .init(table: $0.table, column: $0.column)
      }
    }
    report.omittedIndexes = assessment.destination.omissions
    report.keptTables = keptTables
    report.extraTables = survey.differences.extraTables.filter { !keptTables.contains($0) }
    report.workOrders = results.map { .init(result: $0, plan: saved.plan) }.sorted {
      $0.number < $1.number
    }
    report.resumed = saved.isTakenUp
    return Outcome(report: report, externalNames: assembled.externalNames)
  }

  /// Adds accounts and losses to the report.
  ///
  /// - Throws: `MigrationError.accountsDiffer`, or `losses` if some are not accepted.
  private func settle(
    _ report: inout MigrationReport, assessment: StageAssessment, plan: MigrationPlan,
    manifests: [ShardManifest], summary: ObjectSummary?, moved: [String] = []
  ) throws {
    let (accounts, losses) = try assessment.settled(
      plan, manifests: manifests, summary: summary, moved: moved)
    report.accounts = [accounts]
    report.losses = try request.lossDecision.require(losses, of: survey, store: request.store)
  }

  /// Adds violations to the report.
  ///
  /// - Throws: `ObjectMigrationError`, if the request does not tolerate them.
  private func judge(_ violations: ViolationList, report: inout MigrationReport) throws {
    if let failure = ObjectMigrationError(violations: violations, mode: request.validation) {
      throw failure
    }
    report.violations = violations.count
    report.firstViolations = violations.first
  }

  /// What the migration leaves in the history of the store, if it keeps any.
  ///
  /// A store between two stages gets no transaction: readers of the history see one migration.
  private func historyRecord(now: Double) -> HistoryRecord? {
    guard let history = survey.history else { return nil }
    let author =
      "\(GodwitVersion.author): migration to model with digest "
      + "{ \(stage.destination.hashes.digest) }"
    let isTold = !request.isIntermediate && !history.isEmpty
    return HistoryRecord(
      maxima: history.maxima,
      entry: isTold ? .init(author: author, program: "godwit", time: now) : nil)
  }

  /// The tables of no model that are copied as they are.
  private var keptTables: [String] {
    request.extraTables == .keep ? survey.extras.filter(\.isCopied).map(\.name) : []
  }

  /// The derived attributes whose values were carried, and count rows that stayed behind.
  private func lateDerived(_ order: AssemblyOrder) throws -> [DerivedAttribute] {
    let program = order.plan.program
    guard !program.tables.isEmpty else { return [] }
    var written: [String: Int64] = [:]
    let tables = Dictionary(
      order.plan.workOrders.flatMap(\.pieces).map { ($0.number, $0.destinationTable) },
      uniquingKeysWith: { first, _ in first })
    for piece in order.manifests.flatMap(\.pieces) {
      if let table = tables[piece.piece] { written[table, default: 0] += piece.rowsWritten }
    }
    let staying = order.plan.stayingTables
    func isWhole(_ table: String) throws -> Bool {
      guard !staying.contains(table),
        let source = program.tables.first(where: { $0.destinationTable == table })
      else {
        return true
      }
      return try survey.reader.rowCount(of: source.sourceTable, by: .index) == written[table] ?? 0
    }
    let compiler = DerivedCompiler(source: survey.schema, destination: order.schema)
    let moved = try order.schema.keptTriggers.filter {
      try !compiler.tables(namedBy: $0).allSatisfy(isWhole)
    }
    guard moved.isEmpty else {
      throw MigrationError.impossible(store: request.store, order.schema.refusals(of: moved))
    }
    return try order.schema.derived.filter { attribute in
      guard !program.derived.contains(attribute) else { return false }
      return try !isWhole(attribute.table) || !isWhole(attribute.source.table)
    }
  }

  private func assemblyOrder(
    _ input: StageInput, assessment: StageAssessment, saved: SavedPlan,
    manifests: [ShardManifest], summary: ObjectSummary?, report: inout MigrationReport
  ) throws -> AssemblyOrder {
    let model = assessment.destination.model
    var order = AssemblyOrder(
      stage: input, plan: saved.plan, manifests: manifests,
      metadata: survey.metadata.restated(
        hashes: stage.destination.hashes, versionIdentifiers: model.versionIdentifiers),
      paths: paths)
    do {
      let encoded = try ModelArchive.encode(model)
      order.modelCache = encoded.bytes
      report.modelCacheLeftOut = encoded.leftOut.map { .init($0) }
    } catch {
      report.modelCacheOmitted = error.problem.words
    }
    order.maxima = assessment.maxima(summary: summary)
    order.plan.program.derived += try lateDerived(order)
    order.history = historyRecord(now: saved.now)
    var extras = ExtraTables(of: survey.access.readable, names: keptTables)
    assessment.mirroring?.add(to: &extras)
    order.extras = extras
    if let mode = request.journalMode { order.usesWAL = mode == .wal }
    // The result is synced once more when it has its attributes; what there is to write takes long
    // only where there is much, and belongs to this phase then.
    order.syncs = !survey.isQuicklyMigrated
    return order
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
      store: request.store, survey: survey, destination: assessment.destination, work: work,
      workers: request.workersWithRoom, memory: request.memory)
    rangeRows = request.rangeRows
    verifiesFully = request.verifiesFully
    validates = request.validation != .off
    logsSQL = request.logsSQL
    bytesFromFiles = assessment.bytesFromFiles
    dropped = assessment.rows?.dropped
    untaken = assessment.rows?.untaken ?? [:]
    leavesRows = assessment.losses.contains {
      [.unknownEntity, .unknownReference, .dangling, .duplicate, .missingKey].contains($0.cause)
    }
    remakesIndexes = request.sourceCheck == .off
  }
}

extension StageInput {
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

extension MigrationPlan {
  /// The plan with the rows that workers have written instead of those that were estimated.
  fileprivate func counted(by manifests: [ShardManifest]) -> MigrationPlan {
    let rows = Dictionary(
      manifests.flatMap(\.pieces).map { ($0.piece, $0.rowsWritten) },
      uniquingKeysWith: { first, _ in first })
    var plan = self
    for order in plan.workOrders.indices {
      for piece in plan.workOrders[order].pieces.indices {
        let number = plan.workOrders[order].pieces[piece].number
        if let found = rows[number] { plan.workOrders[order].pieces[piece].rows = found }
      }
    }
    return plan
  }
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
      "a policy or an expression asks for what other mappings make: all are migrated as one"
    }
  }
}

extension MigrationError {
  fileprivate init(error: AssemblyError, in folder: FilePath) {
    switch error {
    case .manifestForeign(let path): self = .manifestForeign(folder.pushing(path))
    case .rowsDiffer(let table, let expected, let found):
      self = .verificationFailed(table: table, expectedRows: expected, rows: found)
    case .damaged(let answers): self = .resultDamaged(answers)
    }
  }
}
