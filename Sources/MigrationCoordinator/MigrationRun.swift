import EngineList
package import Logging
package import MigrationStatus
import ModelFiles
import ObjectModel
import Planning
import Schema
import StoreFormat
import StoreNames
import Survey
import SystemCalls
import SystemPackage

/// One migration of one store, from the survey to the swap.
package struct MigrationRun: Sendable {
  /// The request, resolved.
  let request: MigrationRequest
  let launcher: any WorkerLauncher
  let logger: Logger
  let recorder: RunRecorder
  let keeper: OutcomeKeeper
  let desk: ControlDesk
  let progress: @Sendable (StatusSnapshot) -> Void

  /// Migrates a store, and calls `progress` about ten times a second.
  ///
  /// - Parameters:
  ///   - launcher: starts the workers, by default as processes of this executable.
  ///   - words: puts outcomes into the sentences of the status file and the record.
  ///   - recorder: records this run.
  /// - Throws: `MigrationError`, `StoreError` and the errors of models and mappings. After
  ///   `interrupted` the same request resumes; after any other the work folder is removed, unless a
  ///   later run can use its work.
  package static func migrate(
    _ request: MigrationRequest, launcher: any WorkerLauncher = ProcessLauncher(), logger: Logger,
    words: OutcomeWords = .plain, recorder: RunRecorder = RunRecorder(),
    progress: @escaping @Sendable (StatusSnapshot) -> Void = { _ in }
  ) async throws -> MigrationReport {
    let request = try request.resolved()
    let run = MigrationRun(
      request: request, launcher: launcher, logger: logger, recorder: recorder,
      keeper: OutcomeKeeper(request: request, words: words, logger: logger),
      desk: ControlDesk(controls: request.controls, workers: request.workers, logger: logger),
      progress: progress)
    let task = Task(executorPreference: request.shared?.executor) {
      try await run.runRecordingOutcome()
    }
    run.desk.whenCancelled { task.cancel() }
    return try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }

  /// Migrates, and records the outcome.
  private func runRecordingOutcome() async throws -> MigrationReport {
    do {
      let report = try await runInWorkspace()
      keeper.end(report)
      return report
    } catch {
      keeper.end(error)
      throw error
    }
  }

  /// Checks the output, reads the target's model, and works in memory or in the work folder.
  private func runInWorkspace() async throws -> MigrationReport {
    let paths = request.paths
    if let output = request.output {
      try CompanionName.requireFree(output, besides: [request.store])
    }
    if let output = request.output,
      try Files.fileStatusIfPresent(output, followLinks: false) != nil
    {
      return try accept(output, paths: paths)
    }
    if request.output == nil, let owner = try KeptName.owner(of: request.store) {
      throw PlaceError.keptInPlace(request.store, of: owner)
    }
    // An edit writes to the store and does not rename it.
    if request.output == nil, !EngineList.edits(wish: request.engine),
      try Files.isReservedForOwner(request.store)
    {
      throw PlaceError.storeReserved(request.store)
    }
    try request.requireShortNames()
    if let output = request.output {
      try ResultHandover.requireFreeLogs(of: output, besides: request.store)
    }
    let target = try target()
    // It takes nearly a tenth of the time for hundreds of entities.
    async let _ = ArchivedModel.make(ahead: target.model)
    var isShortRun = isShortRun
    if isShortRun, let temporary = try temporaryWorkspace() {
      do {
        return try await makeReport(in: temporary, target: target)
      } catch is Workspace.NeedsFolder {
        isShortRun = false
      }
    }
    var workspace = try Workspace.open(paths, store: request.store)
    workspace.keepsWork = !isShortRun
    // A journal that cannot be followed stays, with its folder.
    let recovery = try SwapJournal(paths).recover()
    // The work was for an earlier state of the store, or has become the store.
    if recovery != .undone { try workspace.clear() }
    if request.output == nil {
      try KeptStores(of: request.store).removeUnfinished(shared: request.shared)
    }
    return try await makeReport(in: workspace, wasSwapped: recovery == .ended, target: target)
  }

  /// The target's model, which migrations of many stores share.
  func target() throws -> TargetModel {
    try request.shared?.target ?? request.targetModel
      ?? TargetModel(
        paths: request.target, configuration: request.configuration, library: request.library)
  }

  /// Makes the report in a workspace, which is removed at the end unless a later run resumes.
  private func makeReport(
    in workspace: Workspace, wasSwapped: Bool = false, target: TargetModel
  ) async throws -> MigrationReport {
    var workspace = workspace
    if request.restarts { try workspace.clear() }
    var work = try FoundWork(in: workspace, wasSwapped: wasSwapped)
    do {
      keeper.begin(request.paths, writes: !(workspace.isTemporary && request.output == nil))
      if request.keepsOld {
        _ = try KeptStores(of: request.store).entries()
        if !workspace.isTemporary { workspace.keepsByCopy = try workspace.findsNoLinks() }
      }
      try desk.prepareSwap()
      var report = try await publishAndMigrate(target, workspace: workspace, work: &work)
      if work.isOwn { report.handoverNotes += remove(workspace) }
      desk.removeSwapFile()
      return report
    } catch is CancellationError {
      // The swap file stays: the same command waits for it again.
      throw MigrationError.interrupted(work: request.paths.work)
    } catch {
      desk.removeSwapFile()
      if workspace.isTemporary, StoreError.disposition(of: error).contains(.diskFull) {
        throw Workspace.NeedsFolder()
      }
      if !workspace.isTemporary { leave(workspace, work: work, after: error) }
      throw error
    }
  }

  /// The temporary folder of a short run, which leaves no work folder; nil for any other run.
  private func temporaryWorkspace() throws -> Workspace? {
    guard request.output != nil else { return try Workspace.inMemory(for: request) }
    guard request.work == nil,
      try Files.fileStatusIfPresent(request.paths.work, followLinks: false) == nil
    else { return nil }
    return Workspace.temporary(for: request.paths.destination)
  }

  /// Who made what is in the work folder.
  struct FoundWork {
    /// Whether it belongs to this run or to none.
    var isOwn: Bool
    /// Whether there was something done before this run.
    let hadResults: Bool
    /// Whether an earlier run had swapped the store, and was cut off then.
    let wasSwapped: Bool

    init(in workspace: Workspace, wasSwapped: Bool) throws {
      isOwn = try workspace.runInputs() == nil
      hadResults = try workspace.hasDoneSomething
      self.wasSwapped = wasSwapped
    }
  }

  /// Removes the work folder after a failure, unless a later run can resume its work.
  private func leave(_ workspace: Workspace, work: FoundWork, after error: any Error) {
    // What cannot be undone now is undone by the next run, which finds the journal.
    let recovery = try? SwapJournal(request.paths).recover()
    guard recovery == .undone || recovery == .putBack, work.isOwn else { return }
    if recovery == .undone, keepsWork(work, in: workspace, after: error) {
      logger.warning(
        "completed work stays in the work folder, and the same command resumes it",
        metadata: ["path": "\(request.paths.work)"])
      return
    }
    _ = remove(workspace)
  }

  /// Whether a later run can resume the completed work: where the system or a device is the cause,
  /// and in work of an earlier run unless the error makes it suspect.
  private func keepsWork(_ work: FoundWork, in workspace: Workspace, after error: any Error) -> Bool
  {
    // What cannot be checked may exist.
    guard (try? workspace.hasDoneSomething) ?? true else { return false }
    let disposition = StoreError.disposition(of: error)
    if disposition.contains(.workReusable) { return true }
    return work.hadResults && !disposition.contains(.workSuspect)
  }

  /// Removes the work folder; leftovers of it are harmless.
  func remove(_ workspace: Workspace) -> [HandoverNote] {
    var notes: [HandoverNote] = []
    HandoverNote.collect(.notRemoved, at: workspace.paths.work, in: &notes) {
      for path in try workspace.remove() {
        logger.warning(
          "left in the work folder, since Godwit did not make it", metadata: ["path": "\(path)"])
      }
    }
    return notes
  }

  /// Migrates, and publishes the progress if there is a work folder.
  private func publishAndMigrate(
    _ target: TargetModel, workspace: Workspace, work: inout FoundWork
  ) async throws -> MigrationReport {
    let reporter =
      workspace.keepsWork
      ? ProgressReporter(
        paths: workspace.paths, run: keeper.run, desk: desk, recorder: recorder, isOuter: true,
        memory: request.memory, logger: logger, progress: progress)
      : ProgressReporter(desk: desk, recorder: recorder)
    return try await reporter.whilePublishing {
      try await prepareAndMigrate(target, workspace: workspace, work: &work, reporter: reporter)
    }
  }

  /// Surveys the store and finds the stages; then makes the result, or copies a store that is
  /// current.
  private func prepareAndMigrate(
    _ target: TargetModel, workspace: Workspace, work: inout FoundWork, reporter: ProgressReporter
  ) async throws -> MigrationReport {
    var workspace = workspace
    do {
      let prepared = try prepare(target: target, workspace: workspace, reporter: reporter)
      let survey = prepared.survey
      guard let found = prepared.route else {
        var report = try current(survey, target: target, workspace: workspace, work: &work)
        report.salvage = prepared.salvage
        return report
      }
      try workspace.begin(
        try RunInputs(request: request, prepared: prepared), syncs: !survey.isQuicklyMigrated)
      work.isOwn = true
      keeper.note(way: RecordedWay(of: prepared, to: target))
      let defects = try prepared.defects(scansAll: request.sourceCheck == .full)
      var report: MigrationReport
      do {
        report = try await makeAndHandOver(
          prepared, along: found, defects: defects, workspace: workspace, reporter: reporter
        ) { try ModelChecksums(target: target, route: found) }
      } catch {
        throw survey.diagnosing(behind: survey.access.explained(prepared.explained(error)))
      }
      let recording = recorder.recording
      report.seconds = recording.secondsByPhase
      report.timeline = recording
      report.peakMemory = reporter.peakMemory
      let seen = recording.samples.map(\.memory).max() ?? 0
      report.mostMemory = max(Int64(clamping: seen), report.peakMemory)
      report.models = ComparedModels(along: prepared.stages)
      reporter.enter(.done)
      return report
    } catch {
      reporter.fail(keeper.words.failure(error))
      throw error
    }
  }

  /// Whether the run is too short to report progress or to resume.
  private var isShortRun: Bool {
    guard request.skipsStatusOfShortRuns, !FaultPoint.isAwaited, request.policies.isEmpty,
      request.controls == MigrationControls()
    else { return false }
    do {
      // Files next to a small store may be large.
      let support = SupportFolder.path(of: request.store)
      guard try Files.fileStatusIfPresent(support) == nil else { return false }
      return try [request.store, FilePath("\(request.store)-wal")].allSatisfy { path in
        try Files.fileStatusIfPresent(path)?.size ?? 0 < Self.shortRunBytes
      }
    } catch {
      // The time for an unreadable store is unknown; opening it reports the error.
      return false
    }
  }

  private static let shortRunBytes: Int64 = 8 << 20

  /// Surveys the store, and finds the way; if the result will replace it, no other process may have
  /// it open from now on.
  private func prepare(
    target: TargetModel, workspace: Workspace, reporter: ProgressReporter
  ) throws -> PreparedMigration {
    let paths = workspace.paths
    let isReplaced = request.output == nil
    var access = try SourceAccess.open(request.store, isReplaced: isReplaced) { made in
      switch made {
      case .pages:
        try SourceAccess.requireSpace(forPagesOf: request.store, in: paths.work)
        return paths.walPages
      case .copy:
        try SourceAccess.requireSpace(forCopyOf: request.store, in: paths.work)
        return paths.sourceCopy
      }
    }
    // From then on only the lock has the store open, which the system can show (`isOnlyOpening`).
    if isReplaced, workspace.isTemporary { access = try access.copied { (paths.sourceCopy, nil) } }
    return try access.explaining { [access] in
      let prepared = try PreparedMigration(opening: access, of: request, target: target) { copy in
        try SourceAccess.requireSpace(forCopyOf: request.store, in: paths.work)
        return (copy == .salvaged ? paths.salvaged : paths.sourceCopy, nil)
      }
      if isReplaced, prepared.route != nil {
        try prepared.survey.access.lockOut()
        try InstantSwap.removeUnfinished(of: request.store, shared: request.shared)
      }
      return prepared
    }
  }

  /// Makes the result stage by stage, and puts it in its final place.
  private func makeAndHandOver(
    _ prepared: PreparedMigration, along route: FoundRoute, defects: [Defect],
    workspace: Workspace, reporter: ProgressReporter, models: @escaping () throws -> ModelChecksums
  ) async throws -> MigrationReport {
    let (survey, stages) = (prepared.survey, prepared.stages)
    let made = try await StageSequence(
      request: prepared.request, survey: survey, stages: stages, workspace: workspace,
      launcher: launcher,
      logger: logger
    ).makeResult(reporter)
    var report = made.last.report
    let listsDangling = defects.contains { $0.kind == .dangling }
    if !listsDangling, !report.danglingReferences.isEmpty {
      // Which ones they are is looked up only where there are any, and once.
      report.defects += try DefectSearch(survey: survey).danglingReferences()
      report.uncheckedReferences = nil
    }
    // The record is written at the swap, so the report must be complete before it.
    report.note(route, stages: stages, words: keeper.words)
    report.note(defects.completed(by: report.defects))
    let lost = report.losses
    report.defects = report.defects.map { $0.beside(lost, model: survey.model) }
    report.note(prepared.repairedReferences, inStage: 0)
    report.salvage = prepared.salvage
    try desk.waitToSwap()
    reporter.enter(.swapping)
    let files = ExternalFiles(
      schema: try StoreSchema(stages[stages.count - 1].destination.model),
      result: workspace.paths.result, names: made.last.externalNames)
    try hand(
      over: files, from: made.lastStore, survey: survey, oldNames: prepared.oldNames,
      workspace: workspace, in: &report, models: models)
    return report
  }
}
