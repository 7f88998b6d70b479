import Foundation
package import Logging
import Mapping
import MigrationEngine
package import MigrationStatus
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

/// One migration of one store, from the survey to the swap.
package struct Migration: Sendable {
  private let request: MigrationRequest
  private let launcher: any WorkerLauncher
  private let logger: Logger
  private let words: OutcomeWords

  /// Creates a migration; nothing is read or written before `run`.
  ///
  /// - Parameters:
  ///   - launcher: starts the workers, by default as processes of this executable.
  ///   - words: puts outcomes into the sentences of the status file and the record.
  package init(
    request: MigrationRequest, launcher: any WorkerLauncher = ProcessLauncher(),
    logger: Logger, words: OutcomeWords = .plain
  ) {
    self.request = request
    self.launcher = launcher
    self.logger = logger
    self.words = words
  }

  /// Migrates, and calls `progress` about ten times a second.
  ///
  /// - Throws: `MigrationError`, `StoreError` and the errors of models and mappings. After
  ///   `interrupted` the same request resumes; after any other the work folder is removed.
  package func run(
    progress: @escaping @Sendable (StatusSnapshot) -> Void = { _ in }
  ) async throws -> MigrationReport {
    let migration = try Migration(
      request: request.resolved(), launcher: launcher, logger: logger, words: words)
    return try await migration.runResolved(progress: progress)
  }

  private func runResolved(
    progress: @escaping @Sendable (StatusSnapshot) -> Void
  ) async throws -> MigrationReport {
    let keeper = OutcomeKeeper(request: request, words: words, logger: logger)
    do {
      let report = try await run(keeper, progress: progress)
      keeper.end(report)
      return report
    } catch {
      keeper.end(error)
      throw error
    }
  }

  private func run(
    _ keeper: OutcomeKeeper, progress: @escaping @Sendable (StatusSnapshot) -> Void
  ) async throws -> MigrationReport {
    let paths = request.paths
    if let output = request.output,
      try Files.fileStatusIfPresent(output, followLinks: false) != nil
    {
      return try finish(output, paths: paths)
    }
    if let output = request.output { try ResultHandover.requireFreeLogs(of: output) }
    let target = try TargetModel(paths: request.target, configuration: request.configuration)
    let workspace = try Workspace.open(paths, store: request.store)
    // A journal that cannot be followed stays, with its folder.
    try SwapJournal(paths).recover()
    do {
      keeper.begin(workspace.paths)
      let report = try await run(target, workspace: workspace, keeper: keeper, progress: progress)
      try remove(workspace)
      return report
    } catch is CancellationError {
      throw MigrationError.interrupted(work: paths.work)
    } catch {
      // Only an interrupted migration can be resumed, and keeps its work folder.
      try? remove(workspace)
      throw error
    }
  }

  private func remove(_ workspace: Workspace) throws {
    for path in try workspace.remove() {
      logger.warning(
        "left in the work folder, since Godwit did not make it",
        metadata: [
          "path": "\(path)"
        ])
    }
  }

  private func run(
    _ target: TargetModel, workspace: Workspace, keeper: OutcomeKeeper,
    progress: @escaping @Sendable (StatusSnapshot) -> Void
  ) async throws -> MigrationReport {
    let reporter = ProgressReporter(
      paths: workspace.paths, run: keeper.run, logger: logger, progress: progress)
    defer { reporter.end() }
    do {
      let survey = try survey(target: target, paths: workspace.paths)
      let prepared = try PreparedMigration(request: request, target: target, survey: survey)
      guard let found = prepared.route else {
        return try current(survey, workspace: workspace, keeper: keeper)
      }
      var report: MigrationReport
      do {
        report = try await migrate(
          survey, stages: prepared.stages, workspace: workspace, reporter: reporter)
      } catch {
        throw prepared.explained(error)
      }
      if request.output != nil {
        try keeper.note(MadeOutput(of: request, from: survey.access.fingerprint).text())
      }
      report.note(found, stages: prepared.stages)
      report.seconds = reporter.seconds
      report.peakMemory = reporter.peakMemory
      reporter.enter(.done)
      return report
    } catch {
      reporter.fail(words.failure(error))
      throw error
    }
  }

  /// Ends a migration whose output exists already: an earlier run finished it, or was killed after
  /// it had renamed the result.
  private func finish(_ output: FilePath, paths: MigrationPaths) throws -> MigrationReport {
    if let made = OutcomeKeeper.made(at: output),
      try made == MadeOutput(of: request, from: SourceFingerprint(of: request.store)).text()
    {
      return report(.alreadyThere)
    }
    let journal = SwapJournal(paths)
    guard try journal.isFinished(output) else { throw MigrationError.outputExists(output) }
    let workspace = try Workspace.open(paths, store: request.store)
    guard try journal.isFinished(output) else { throw MigrationError.outputExists(output) }
    try remove(workspace)
    return report(.finishedEarlier)
  }

  /// Copies a store that already has the target's model to the output, if that was asked for.
  private func current(
    _ survey: StoreSurvey, workspace: Workspace, keeper: OutcomeKeeper
  ) throws -> MigrationReport {
    guard request.copiesIfCurrent, let output = request.output else {
      return report(.alreadyCurrent)
    }
    let result = workspace.paths.result
    try Files.removeRegularFile(result)
    try Files.cloneOrCopy(from: survey.access.readable, to: result)
    if request.journalMode.map({ $0 == .wal }) ?? survey.access.usesWAL {
      try StoreConnection.setWAL(result)
    }
    let files = ExternalFiles(schema: survey.schema, result: result, names: ExternalNames())
    var report = report(.copied)
    report.missingExternalFiles = try files.bring(from: request.store, to: output)
    guard try SourceFingerprint(of: request.store) == survey.access.fingerprint else {
      throw StoreError(problem: .changedDuringMigration, store: request.store)
    }
    _ = try ResultHandover(
      request: request, survey: survey, files: files, paths: workspace.paths
    ).run()
    try keeper.note(MadeOutput(of: request, from: survey.access.fingerprint).text())
    return report
  }

  /// The report of a run that had nothing to migrate.
  private func report(_ outcome: MigrationReport.Outcome) -> MigrationReport {
    MigrationReport(
      outcome: outcome, store: request.store.string, destination: request.destination.string)
  }

  private func survey(target: TargetModel, paths: MigrationPaths) throws -> StoreSurvey {
    let access = try SourceAccess.open(request.store) {
      try SourceAccess.requireSpace(forCopyOf: request.store, in: paths.work)
      return paths.snapshot
    }
    return try StoreSurvey(opening: request, access: access, target: target)
  }

  /// Makes the result stage by stage, and puts it in its final place.
  private func migrate(
    _ survey: StoreSurvey, stages: [Stage], workspace: Workspace, reporter: ProgressReporter
  ) async throws -> MigrationReport {
    let made = try await StageSequence(
      request: request, survey: survey, stages: stages, workspace: workspace, launcher: launcher,
      logger: logger
    ).run(reporter)
    var report = made.last.report
    reporter.enter(.swapping)
    let files = ExternalFiles(
      schema: try StoreSchema(stages[stages.count - 1].destination.model),
      result: workspace.paths.result, names: made.last.externalNames)
    let missing = try files.bring(from: made.lastStore, to: request.destination)
    report.missingExternalFiles = Set(report.missingExternalFiles + missing).sorted()
    report.oldStore = try ResultHandover(
      request: request, survey: survey, files: files, paths: workspace.paths
    ).run()?.string
    return report
  }
}
