import MigrationEngine
import Planning
import Schema
import StoreFormat
import Survey
import SystemCalls
import SystemPackage

extension MigrationRun {
  /// Ends a migration whose output exists already: an earlier run finished it, or was killed after
  /// it had renamed the result.
  ///
  /// - Throws: `outputExists` where it was made from something else, or where that is unknown;
  ///   `MigrationError.losses` where it lacks what this run may not lose.
  func accept(_ output: FilePath, paths: MigrationPaths) throws -> MigrationReport {
    let status = try Files.fileStatus(output, followLinks: false)
    var made = OutcomeKeeper.made(at: output)
    // Without a record, the work folder of a run that was killed has the answer.
    if made?.isFile(status) != true { made = try SwapJournal(paths).madeOutput() }
    guard let made, made.isFile(status), try made.isMade(by: request, target: target) else {
      throw PlaceError.outputExists(output)
    }
    try made.losses.requireConsent(of: request)
    guard try Files.fileStatusIfPresent(paths.work, followLinks: false) != nil else {
      return report(.alreadyThere)
    }
    // That run was killed before it had removed its work folder, or had its name on the disk.
    let workspace = try Workspace.open(paths, store: request.store)
    var report = report(.finishedEarlier)
    let folder = Files.parent(of: output)
    HandoverNote.collect(.notSynced, at: folder, in: &report.handoverNotes) {
      try Files.syncDirectory(folder)
    }
    // A later run may have used the folder for a migration of the output itself.
    if try SwapJournal(paths).madeOutput()?.isFile(status) ?? !workspace.hasBegun {
      report.handoverNotes += remove(workspace)
    }
    return report
  }

  /// Copies a store that already has the target's model to the output, if requested.
  func current(
    _ survey: StoreSurvey, target: TargetModel, workspace: Workspace, work: inout FoundWork
  ) throws -> MigrationReport {
    let earlier = try workspace.runInputs()
    // Work that an earlier run did on this store for another target can still be resumed.
    work.isOwn =
      work.wasSwapped || earlier?.isMade(for: survey.access.fingerprint) != true
    guard request.copiesIfCurrent, request.output != nil else {
      return report(work.wasSwapped ? .finishedEarlier : .alreadyCurrent)
    }
    guard work.isOwn else {
      throw PlaceError.otherRun(work: workspace.paths.work, [.targetModel])
    }
    let result = workspace.paths.result
    try Files.removeRegularFile(result)
    try SourceFile.copy(survey.access.readable, to: result)
    if request.givesNewUUID { try StoreConnection.setNewUUID(result) }
    if request.resultUsesWAL(from: survey) {
      try StoreConnection.setWAL(result)
    }
    let files = ExternalFiles(schema: survey.schema, result: result, names: ExternalNames())
    var report = report(.copied)
    try survey.access.requireUntouched()
    try hand(
      over: files, from: request.store, survey: survey, workspace: workspace, in: &report
    ) { try ModelChecksums(target: target, route: nil) }
    return report
  }

  /// The report of a run that had nothing to migrate.
  func report(_ outcome: MigrationReport.Outcome) -> MigrationReport {
    MigrationReport(
      outcome: outcome, store: request.store.string, destination: request.destination.string)
  }

  /// The bytes that external files may take where there are none of their names yet.
  private func bytesToBring(_ files: ExternalFiles, from store: FilePath) -> Int64 {
    if store == request.destination || files.schema.externalColumns.isEmpty { return 0 }
    return max(
      0,
      MigrationPaths.externalBytes(of: store)
        - MigrationPaths.externalBytes(of: request.destination))
  }

  /// Brings the external files of a result, and puts it where it belongs.
  func hand(
    over files: ExternalFiles, from store: FilePath, survey: StoreSurvey,
    oldNames: Set<String>? = nil, workspace: Workspace, in report: inout MigrationReport,
    models: @escaping () throws -> ModelChecksums
  ) throws {
    try workspace.requireSpace(forExternal: bytesToBring(files, from: store))
    var brought = ExternalFiles.Brought()
    do {
      try files.bring(from: store, to: request.destination, into: &brought)
      try survey.access.requireOneState(
        missing: store == request.store ? brought.missing : [])
      report.missingExternalFiles =
        Set(report.missingExternalFiles + brought.missing).sorted()
      keeper.note(result: report, writes: request.output == nil && !workspace.isTemporary)
      let outcome = try ResultHandover(
        request: request, survey: survey, oldNames: oldNames, files: files, workspace: workspace,
        keeper: keeper,
        losses: MadeLosses(report, consent: request.lossConsent), models: models
      ).handOver()
      report.oldStore = outcome.oldStore?.string
      report.handoverNotes += outcome.notes
    } catch {
      // Nothing names them, and the next run copies them again.
      brought.remove()
      throw error
    }
  }
}
