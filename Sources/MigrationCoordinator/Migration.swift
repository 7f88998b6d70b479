import Foundation
package import Logging
package import MigrationStatus
import Mapping
import ModelFiles
import ObjectMigration
import ObjectModel
import Planning
import RowPrograms
import Schema
import StoreFormat
import SystemCalls
import SystemPackage

/// One migration of one store, from the survey to the swap.
package struct Migration: Sendable {
  private let request: MigrationRequest
  private let launcher: any WorkerLauncher
  private let logger: Logger

  package init(
    _ request: MigrationRequest, launcher: any WorkerLauncher = ProcessLauncher(),
    logger: Logger
  ) {
    self.request = request
    self.launcher = launcher
    self.logger = logger
  }

  /// Migrates; `progress` hears a few times a second how far it is.
  package func run(
    progress: @escaping @Sendable (StatusSnapshot) -> Void = { _ in }
  ) async throws -> MigrationReport {
    _ = try StoreHeader(of: request.store)
    if let output = request.output, try Files.fileStatusIfPresent(output) != nil {
      throw MigrationError.outputExists(output)
    }
    let target = try TargetModel(request.target, configuration: request.configuration)
    let paths = MigrationPaths(destination: request.destination, work: request.work)
    let workspace = try Workspace.open(paths, store: request.store)
    do {
      try SwapJournal(path: paths.swapJournal).recover()
      let report = try await run(target, workspace, progress)
      try workspace.remove()
      return report
    } catch is CancellationError {
      throw MigrationError.interrupted(work: paths.work)
    } catch {
      // Only an interrupted migration leaves something to take up again.
      try? workspace.remove()
      throw error
    }
  }

  private func run(
    _ target: TargetModel, _ workspace: Workspace,
    _ progress: @escaping @Sendable (StatusSnapshot) -> Void
  ) async throws -> MigrationReport {
    let telling = Telling(workspace.paths, logger: logger, progress)
    defer { telling.end() }
    do {
      let survey = try survey(target, workspace.paths)
      if survey.metadata.versionHashes == target.hashes { return unchanged() }
      let assessment: Assessment
      if request.mappings.isEmpty {
        assessment = try assess(survey, target)
      } else {
        let mappings = try MappedMigration.mappings(request, survey, target)
        guard let found = try assess(survey, target, by: mappings) else {
          return try await byMapping(mappings, survey, target, workspace, telling)
        }
        assessment = found
      }
      telling.enter(.planning)
      let saved = try plan(survey, assessment, target, workspace)
      try checkSpace(survey, workspace.paths)
      let results = try await migrate(saved, survey, assessment, workspace, telling)
      let report = try finish(
        results, saved, survey, assessment, target, workspace.paths, telling)
      telling.enter(.done)
      return report
    } catch {
      telling.fail("\(error)")
      throw error
    }
  }

  /// By mapping models of the user's own whose objects depend on each other.
  private func byMapping(
    _ mappings: [MappingModel], _ survey: StoreSurvey, _ target: TargetModel,
    _ workspace: Workspace, _ telling: Telling
  ) async throws -> MigrationReport {
    try requireSupported(survey)
    try checkSpace(survey, workspace.paths)
    var report = try await MappedMigration(
      request: request, survey: survey, target: target,
      mappings: mappings, workspace: workspace,
      launcher: launcher, logger: logger
    ).run(telling)
    telling.enter(.swapping)
    let files = ExternalFiles(
      schema: try StoreSchema(target.model), result: workspace.paths.result)
    report.missingExternalFiles = try files.bring(from: request.store, to: request.destination)
    report.oldStore = try handOver(survey, workspace.paths)?.string
    report.seconds = telling.seconds
    telling.enter(.done)
    return report
  }

  private func requireSupported(_ survey: StoreSurvey) throws {
    guard survey.unsupported.isEmpty else {
      throw MigrationError.unsupported(store: request.store, survey.unsupported)
    }
  }

  private func unchanged() -> MigrationReport {
    MigrationReport(
      outcome: .alreadyCurrent, store: request.store.string,
      destination: request.destination.string)
  }

  // MARK: Before the first row is written

  private func survey(_ target: TargetModel, _ paths: MigrationPaths) throws -> StoreSurvey {
    let access = try SourceAccess.open(request.store) { paths.snapshot }
    return try StoreSurvey(opening: request, access: access, target: target)
  }

  private func assess(_ survey: StoreSurvey, _ target: TargetModel) throws -> Assessment {
    try requireSupported(survey)
    return try checked(try Assessment(survey, to: target.model))
  }

  /// By a mapping model of the user's own, if each object depends on its source object alone.
  private func assess(
    _ survey: StoreSurvey, _ target: TargetModel, by mappings: [MappingModel]
  ) throws -> Assessment? {
    try requireSupported(survey)
    try ObjectMigration.checkPolicies(mappings, registered: request.policies.keys)
    guard request.engine != .objects, mappings.count == 1 else { return nil }
    let independent = request.policies.filter { $0.value().objectsAreIndependent }
    do {
      let calls = try RowCalls(
        mappings[0], source: survey.model, destination: target.model,
        independentPolicies: Set(independent.keys))
      return try checked(
        try Assessment(survey, to: target.model, by: mappings[0], calls))
    } catch let obstacle as RowCalls.Obstacle {
      logger.debug("migrating object by object: \(obstacle)")
    } catch let error as CompileError {
      logger.debug("migrating object by object: \(error)")
    }
    return nil
  }

  private func checked(_ assessment: Assessment) throws -> Assessment {
    guard assessment.hindrances.isEmpty else {
      throw MigrationError.impossible(store: request.store, assessment.hindrances)
    }
    if request.failsOnLoss && !assessment.losses.isEmpty {
      throw MigrationError.losses(store: request.store, assessment.losses)
    }
    return assessment
  }

  private func plan(
    _ survey: StoreSurvey, _ assessment: Assessment, _ target: TargetModel,
    _ workspace: Workspace
  ) throws -> SavedPlan {
    let inputs = PlanInputs(
      fingerprint: survey.access.fingerprint,
      sourceModel: survey.metadata.versionHashes.checksum,
      destinationModel: target.hashes.checksum, rangeRows: request.rangeRows,
      engine: request.engine,
      objects: assessment.calls.map { _ in
        .init(mappings: [assessment.mapping], validates: request.validation != .off)
      })
    if let saved = try workspace.savedPlan(inputs), saved.objects == nil {
      logger.notice("taking up an interrupted migration")
      return saved
    }
    let paths = workspace.paths
    try workspace.clear(keeping: [paths.snapshot, paths.status, paths.statusLock])
    guard var plan = try MigrationPlan(request, survey, assessment) else {
      preconditionFailure("an assessment without hindrances has a program")
    }
    let pages = PageLayout(request, survey, assessment.destination, plan)
    if pages != nil { plan.program = plan.program.placing() }
    let saved = SavedPlan(
      id: UUID().uuidString, inputs: inputs, plan: plan, pages: pages,
      now: Date().timeIntervalSinceReferenceDate)
    try workspace.save(saved)
    return saved
  }

  /// Shards, result and the sorting of indexes take about twice the source at their peak.
  private func checkSpace(_ survey: StoreSurvey, _ paths: MigrationPaths) throws {
    let needed = DiskNeed(sourceBytes: survey.access.fingerprint.bytes).bytes
    let available = Int64(clamping: try Files.freeSpace(at: paths.work))
    guard needed <= available else {
      throw MigrationError.diskFull(paths.work, needed: needed, available: available)
    }
  }

  // MARK: Workers

  private func migrate(
    _ saved: SavedPlan, _ survey: StoreSurvey, _ assessment: Assessment,
    _ workspace: Workspace, _ telling: Telling
  ) async throws -> [WorkerPool.Result] {
    if let pages = saved.pages {
      try pages.prepare(workspace.paths)
      try OrderPlaces(
        program: saved.plan.program, source: survey.access.readable, memory: request.memory
      ).write(to: workspace.paths.places)
    }
    let documents = saved.plan.workOrders.map {
      WorkOrderDocument($0, saved, survey, assessment, workspace.paths, request)
    }
    let pool = WorkerPool(
      launcher: launcher, workers: request.workers, status: telling.status, logger: logger)
    return try await pool.run(resuming: documents, of: saved.plan, telling)
  }

  // MARK: From shards to the store

  private func finish(
    _ results: [WorkerPool.Result], _ saved: SavedPlan, _ survey: StoreSurvey,
    _ assessment: Assessment, _ target: TargetModel, _ paths: MigrationPaths,
    _ telling: Telling
  ) throws -> MigrationReport {
    var report = MigrationReport(
      outcome: .migrated, store: request.store.string, destination: request.destination.string)
    var cache: [UInt8]?
    do {
      cache = try ModelArchive.encode(assessment.destination.model)
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
      usesWAL: request.journalMode.map { $0 == .wal } ?? survey.header.usesWAL,
      memory: request.memory, verifiesFully: request.verifiesFully, logsSQL: request.logsSQL)
    order.textEncoding = survey.header.textEncoding
    let assembler: any Assembler =
      saved.pages.map { GraftAssembler(layout: $0, paths: paths) } ?? SQLAssembler()
    let assembled = try assembler.assemble(order) { telling.assembly($0) }
    FaultPoint.reached("coordinator:assembled")
    try Task.checkCancellation()
    if assessment.calls != nil, request.validation != .off {
      let violations = try ViolationList(inStore: paths.result, of: assessment.destination)
      if let failure = ObjectMigrationError(violations, request.validation) { throw failure }
      report.violations = violations.count
      report.firstViolations = violations.first
    }
    telling.enter(.swapping)
    let files = ExternalFiles(schema: assessment.destination, result: paths.result)
    report.missingExternalFiles = try files.bring(from: request.store, to: request.destination)
    report.oldStore = try handOver(survey, paths)?.string
    report.engine = saved.pages == nil ? .sql : .pages
    if saved.pages == nil && request.engine == .pages {
      report.engineDeclined = PageLayout.hindrance(survey, saved.plan)
    }
    report.rows = assembled.rows
    report.danglingReferences = assembled.danglingReferences
    report.losses = assessment.losses
    report.omittedIndexes = assessment.destination.omissions
    report.extraTables = survey.differences.extraTables
    report.workOrders = results.map { .init($0, saved.plan) }.sorted { $0.number < $1.number }
    report.seconds = telling.seconds
    report.resumed = saved.isTakenUp
    return report
  }

  /// Puts the result where it belongs; the path of the old store where it is kept.
  private func handOver(_ survey: StoreSurvey, _ paths: MigrationPaths) throws -> FilePath? {
    _ = try Files.copyAttributes(from: request.store, to: paths.result)
    try Files.syncFile(paths.result)
    if let output = request.output {
      try Files.renameNoReplace(paths.result, to: output)
      try Files.syncDirectory(Files.parent(of: output))
      return nil
    }
    let kept = FilePath("\(request.store).before-\(Self.timestamp())")
    let swapper = StoreSwapper(
      store: request.store, fingerprint: survey.access.fingerprint, kept: kept,
      journal: SwapJournal(path: paths.swapJournal))
    survey.access.release()
    try swapper.swap(paths.result, discardsOld: request.discardsOld)
    return request.discardsOld ? nil : kept
  }

  private static func timestamp() -> String {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(identifier: "UTC")
    formatter.dateFormat = "yyyyMMdd-HHmmss"
    return formatter.string(from: Date())
  }
}
