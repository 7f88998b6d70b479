import Foundation
import Logging
import Mapping
import MigrationStatus
import ModelFiles
import ObjectMigration
import ObjectModel
import Planning
import RowPrograms
import Schema
import StoreFormat
import StorePages
import SystemCalls
import SystemPackage

/// One leg of a migration: from a surveyed store to a verified result that has no name yet.
struct LegMigration {
  /// Whose store is the one that the leg begins with.
  let request: MigrationRequest
  let survey: StoreSurvey
  let leg: Leg
  let workspace: Workspace
  let launcher: any WorkerLauncher
  let logger: Logger

  private var paths: MigrationPaths { workspace.paths }
  private var target: RouteVersion { leg.destination }

  /// What came of a leg.
  struct Outcome {
    var report: MigrationReport
    var externalNames = ExternalNames()
  }

  /// Makes the result.
  func run(_ telling: Telling) async throws -> Outcome {
    try requireSupported()
    switch leg.work {
    case .rows(let steps): return try await byRows(steps, telling)
    case .objects(let step): return Outcome(report: try await byObjects(step, telling))
    }
  }

  private func requireSupported() throws {
    guard survey.unsupported.isEmpty else {
      throw MigrationError.unsupported(store: request.store, survey.unsupported)
    }
  }

  /// Object by object, by mapping models that compute, split or join, or name a policy.
  private func byObjects(
    _ step: MigrationRoute.Step, _ telling: Telling
  ) async throws -> MigrationReport {
    try checkSpace(writesPages: false)
    let (destination, choices) = try JoinChoices(request, target: target.model).destination(
      of: step, by: step.mappings.map(\.mapping), from: survey.schema)
    var report = try await MappedMigration(
      request: request, survey: survey, target: TargetModel(target), destination: destination,
      models: step.mappings, workspace: workspace, launcher: launcher, logger: logger
    ).run(telling)
    report.joinTables = choices
    return report
  }

  private func byRows(_ steps: [RowStep], _ telling: Telling) async throws -> Outcome {
    let assessment = try assess(steps)
    telling.enter(.planning)
    do {
      return try await carryOut(assessment, telling, moving: true)
    } catch let error as PageError where error.problem == .unmovable {
      logger.notice("a b-tree of the store cannot be moved as it is: migrating all rows")
      return try await carryOut(assessment, Telling(), moving: false)
    } catch let error as PageError {
      // What was read was the store, whatever copy of it.
      throw error.at(file: request.store)
    }
  }

  /// In workers; moves b-trees of the store that stay as they are, if it may.
  private func carryOut(
    _ assessment: Assessment, _ telling: Telling, moving: Bool
  ) async throws -> Outcome {
    let saved = try plan(assessment, moving: moving)
    try checkSpace(writesPages: saved.pages != nil)
    let results = try await migrate(saved, assessment, telling)
    var report = try finish(results, saved, assessment, telling)
    report.joinTables = assessment.steps.last?.joinChoices ?? []
    return Outcome(
      report: report,
      externalNames: ExternalNames(results.map(\.manifest), in: paths.work))
  }

  // MARK: Before the first row is written

  private func assess(_ steps: [RowStep]) throws -> Assessment {
    let assessment = try Assessment(survey, steps)
    try assessment.requirePossible(store: request.store)
    _ = try request.lossDecision.require(assessment.losses, of: survey, store: request.store)
    return assessment
  }

  private func plan(_ assessment: Assessment, moving: Bool) throws -> SavedPlan {
    var inputs = PlanInputs(
      fingerprint: survey.access.fingerprint,
      sourceModel: survey.metadata.versionHashes.checksum,
      destinationModel: target.hashes.checksum, rangeRows: request.rangeRows,
      engine: request.engine,
      objects: leg.mappings.isEmpty
        ? nil : .init(mappings: leg.mappings, validates: request.validation != .off),
      steps: leg.steps.dropFirst().map(\.source.hashes.checksum))
    inputs.joinTables = request.joinTables
    if moving, let saved = try workspace.savedPlan(inputs), saved.objects == nil {
      logger.notice("taking up an interrupted migration")
      return saved
    }
    try workspace.clear(keeping: [paths.snapshot, paths.status, paths.statusLock])
    let moves = moving ? try TreeMoves(request, survey, assessment) : nil
    guard var plan = try MigrationPlan(request, survey, assessment, moves: moves) else {
      preconditionFailure("an assessment without hindrances has a program")
    }
    let pages = PageLayout(request, survey, assessment.destination, plan, moves: moves)
    if pages != nil { plan.program = plan.program.placing() }
    let saved = SavedPlan(
      id: UUID().uuidString, inputs: inputs, plan: plan, pages: pages,
      now: Date().timeIntervalSinceReferenceDate)
    try workspace.save(saved)
    return saved
  }

  private func checkSpace(writesPages: Bool) throws {
    let copies = request.output == nil ? 0 : MigrationPaths.externalBytes(of: request.store)
    try workspace.requireSpace(
      DiskNeed(
        sourceBytes: survey.access.fingerprint.bytes, writesPages: writesPages,
        externalBytes: copies))
  }

  // MARK: Workers

  private func migrate(
    _ saved: SavedPlan, _ assessment: Assessment, _ telling: Telling
  ) async throws -> [WorkerPool.Result] {
    var saved = saved
    if saved.pages != nil {
      try saved.pages?.prepare(paths, expecting: survey.access.fingerprint.bytes)
      try OrderPlaces(
        program: saved.plan.program, source: survey.access.readable, memory: request.memory
      ).write(to: paths.places)
    }
    let documents = saved.plan.workOrders.map {
      var document = WorkOrderDocument($0, saved, survey, assessment, paths, request)
      if telling.status == nil { document.status = nil }
      return document
    }
    let pool = WorkerPool(
      launcher: launcher, workers: request.workers, status: telling.status, logger: logger)
    let writeback = saved.pages?.isDirect == false ? try Writeback(paths.result) : nil
    defer { writeback?.stop() }
    return try await pool.run(resuming: documents, of: saved.plan, telling)
  }

  // MARK: From shards to the store

  private func finish(
    _ results: [WorkerPool.Result], _ saved: SavedPlan, _ assessment: Assessment,
    _ telling: Telling
  ) throws -> MigrationReport {
    var report = MigrationReport(
      outcome: .migrated, store: request.store.string, destination: request.destination.string)
    var cache: [UInt8]?
    do {
      let encoded = try ModelArchive.encode(assessment.destination.model)
      cache = encoded.bytes
      report.modelCacheLeftOut = encoded.leftOut.map { .init($0) }
    } catch {
      report.modelCacheOmitted = "\(error)"
    }
    var order = AssemblyOrder(
      schema: assessment.destination, plan: saved.plan, manifests: results.map(\.manifest),
      folder: paths.work, result: paths.result,
      metadata: survey.metadata.restated(
        hashes: target.hashes,
        versionIdentifiers: assessment.destination.model.versionIdentifiers),
      modelCache: cache, maxima: assessment.maxima(survey),
      usesWAL: request.journalMode.map { $0 == .wal } ?? survey.access.usesWAL,
      memory: request.memory, verifiesFully: request.verifiesFully, logsSQL: request.logsSQL)
    order.textEncoding = survey.header.textEncoding
    let assembler: any Assembler =
      saved.pages.map { GraftAssembler(layout: $0, paths: paths) } ?? SQLAssembler()
    let assembled = try assembler.assemble(order) { telling.assembly($0) }
    let accounts = try RowAccounts(survey, assessment, saved.plan, results.map(\.manifest))
    report.accounts = [accounts.accounts]
    // Rows that an index hides, and what policies leave alone, are known only now.
    report.losses = try request.lossDecision.require(
      assessment.losses + accounts.lateLosses, of: survey, store: request.store)
    FaultPoint.reached("coordinator:assembled")
    try Task.checkCancellation()
    if !leg.mappings.isEmpty, request.validation != .off {
      let violations = try ViolationList(inStore: paths.result, of: assessment.destination)
      if let failure = ObjectMigrationError(violations, request.validation) { throw failure }
      report.violations = violations.count
      report.firstViolations = violations.first
    }
    report.engine = saved.pages == nil ? .sql : .pages
    if saved.pages == nil && request.engine == .pages {
      report.engineDeclined = PageLayout.hindrance(survey, saved.plan.program)
    }
    report.movedTables = saved.pages?.moves?.tables.keys.sorted() ?? []
    report.rows = assembled.rows
    report.danglingReferences = assembled.danglingReferences
    report.omittedIndexes = assessment.destination.omissions
    report.extraTables = survey.differences.extraTables
    report.workOrders = results.map { .init($0, saved.plan) }.sorted { $0.number < $1.number }
    report.resumed = saved.isTakenUp
    return report
  }
}

extension Leg {
  /// The mapping models that users gave for its steps.
  fileprivate var mappings: [MappingModel] { steps.flatMap(\.mappings).map(\.mapping) }
}

extension Assessment {
  /// Throws what stands in the way.
  func requirePossible(store: FilePath) throws {
    guard !hindrances.isEmpty else { return }
    guard steps.count > 1, let step = hindered?.step else {
      throw MigrationError.impossible(store: store, hindrances)
    }
    throw MigrationError.stepImpossible(
      store: store, from: step.source.names, to: step.destination.names, hindrances)
  }
}
