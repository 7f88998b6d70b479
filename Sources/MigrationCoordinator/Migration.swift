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
  private let words: OutcomeWords

  package init(
    _ request: MigrationRequest, launcher: any WorkerLauncher = ProcessLauncher(),
    logger: Logger, words: OutcomeWords = .plain
  ) {
    self.request = request
    self.launcher = launcher
    self.logger = logger
    self.words = words
  }

  /// Migrates; `progress` hears a few times a second how far it is.
  package func run(
    progress: @escaping @Sendable (StatusSnapshot) -> Void = { _ in }
  ) async throws -> MigrationReport {
    let migration = try Migration(
      request.resolved(), launcher: launcher, logger: logger, words: words)
    return try await migration.runResolved(progress: progress)
  }

  private func runResolved(
    progress: @escaping @Sendable (StatusSnapshot) -> Void
  ) async throws -> MigrationReport {
    let keeper = OutcomeKeeper(request, words, logger)
    do {
      let report = try await run(keeper, progress)
      keeper.end(report)
      return report
    } catch {
      keeper.end(error)
      throw error
    }
  }

  private func run(
    _ keeper: OutcomeKeeper, _ progress: @escaping @Sendable (StatusSnapshot) -> Void
  ) async throws -> MigrationReport {
    let paths = request.paths
    if let output = request.output,
      try Files.fileStatusIfPresent(output, followLinks: false) != nil
    {
      return try finish(output, paths)
    }
    if let output = request.output { try requireFreeLogs(of: output) }
    let target = try TargetModel(request.target, configuration: request.configuration)
    let workspace = try Workspace.open(paths, store: request.store)
    do {
      try SwapJournal(paths).recover()
      keeper.begin(workspace.paths)
      let report = try await run(target, workspace, keeper, progress)
      try remove(workspace)
      return report
    } catch is CancellationError {
      throw MigrationError.interrupted(work: paths.work)
    } catch {
      // Only an interrupted migration leaves something to take up again.
      try? remove(workspace)
      throw error
    }
  }

  /// Throws where a log lies at a store's name, which SQLite would replay into it.
  private func requireFreeLogs(of store: FilePath) throws {
    for suffix in ["-wal", "-journal", "-shm"] {
      let beside = FilePath("\(store)\(suffix)")
      if try Files.fileStatusIfPresent(beside, followLinks: false) != nil {
        throw MigrationError.outputExists(beside)
      }
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
    _ target: TargetModel, _ workspace: Workspace, _ keeper: OutcomeKeeper,
    _ progress: @escaping @Sendable (StatusSnapshot) -> Void
  ) async throws -> MigrationReport {
    let telling = Telling(workspace.paths, run: keeper.run, logger: logger, progress)
    defer { telling.end() }
    do {
      let survey = try survey(target, workspace.paths)
      let prepared = try PreparedMigration(request, target, survey)
      guard let found = prepared.route else { return try current(survey, workspace, keeper) }
      var report: MigrationReport
      do {
        report = try await migrate(survey, prepared.legs, workspace, telling)
      } catch {
        throw prepared.explained(error)
      }
      if request.output != nil { try keeper.note(made(survey.access.fingerprint)) }
      report.note(found, prepared.legs)
      report.seconds = telling.seconds
      report.peakMemory = telling.peakMemory
      telling.enter(.done)
      return report
    } catch {
      telling.fail(words.failure(error))
      throw error
    }
  }

  /// Ends a migration whose output is there: one that was cut off once its result had its name, or
  /// one that an earlier run finished.
  private func finish(_ output: FilePath, _ paths: MigrationPaths) throws -> MigrationReport {
    if let made = OutcomeKeeper.made(at: output),
      try made == self.made(SourceFingerprint(of: request.store))
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

  /// What the output was made of, and how it is known again.
  private func made(_ source: SourceFingerprint) throws -> String {
    let status = try Files.fileStatus(request.destination, followLinks: false)
    let made = MadeOutput(
      source: source, device: status.device, inode: status.inode, bytes: status.size,
      modified: status.modified, options: request.resultOptions)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    return String(decoding: try encoder.encode(made), as: UTF8.self)
  }

  private struct MadeOutput: Encodable {
    var source: SourceFingerprint
    var device: UInt64
    var inode: UInt64
    var bytes: Int64
    var modified: Int64
    var options: [String]
  }

  /// Copies a store that has the model already, where that was asked for.
  private func current(
    _ survey: StoreSurvey, _ workspace: Workspace, _ keeper: OutcomeKeeper
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
      throw StoreError(.changedDuringMigration, store: request.store)
    }
    _ = try handOver(survey, files, workspace.paths)
    try keeper.note(made(survey.access.fingerprint))
    return report
  }

  /// The report of a run that had nothing to migrate.
  private func report(_ outcome: MigrationReport.Outcome) -> MigrationReport {
    MigrationReport(
      outcome: outcome, store: request.store.string, destination: request.destination.string)
  }

  private func survey(_ target: TargetModel, _ paths: MigrationPaths) throws -> StoreSurvey {
    let access = try SourceAccess.open(request.store) {
      try SourceAccess.requireSpace(forCopyOf: request.store, in: paths.work)
      return paths.snapshot
    }
    return try StoreSurvey(opening: request, access: access, target: target)
  }

  /// Makes the result by one leg or by several, and puts it where it belongs.
  private func migrate(
    _ survey: StoreSurvey, _ legs: [Leg], _ workspace: Workspace, _ telling: Telling
  ) async throws -> MigrationReport {
    let outcome: LegMigration.Outcome
    var lastStore = request.store
    if legs.count == 1 {
      outcome = try await LegMigration(
        request: request, survey: survey, leg: legs[0], workspace: workspace, launcher: launcher,
        logger: logger
      ).run(telling)
    } else {
      let all = try await LegsMigration(
        request: request, survey: survey, legs: legs, workspace: workspace, launcher: launcher,
        logger: logger
      ).run(telling)
      (outcome, lastStore) = (all.last, all.lastStore)
    }
    var report = outcome.report
    telling.enter(.swapping)
    let files = ExternalFiles(
      schema: try StoreSchema(legs[legs.count - 1].destination.model),
      result: workspace.paths.result, names: outcome.externalNames)
    let missing = try files.bring(from: lastStore, to: request.destination)
    report.missingExternalFiles = Set(report.missingExternalFiles + missing).sorted()
    report.oldStore = try handOver(survey, files, workspace.paths)?.string
    return report
  }

  /// Puts the result where it belongs; the path of the old store where it is kept.
  private func handOver(
    _ survey: StoreSurvey, _ files: ExternalFiles, _ paths: MigrationPaths
  ) throws -> FilePath? {
    _ = try Files.copyAttributes(from: request.store, to: paths.result)
    try Files.syncFile(paths.result)
    if let output = request.output {
      try requireFreeLogs(of: output)
      try SwapJournal(paths).begin(paths.result, named: output, isLast: true)
      try Files.renameNoReplace(paths.result, to: output)
      try Files.syncDirectory(Files.parent(of: output))
      FaultPoint.reached("coordinator:output")
      return nil
    }
    let kept = try nameOfKept()
    let swapper = StoreSwapper(
      store: request.store, fingerprint: survey.access.fingerprint, kept: kept,
      journal: SwapJournal(paths))
    let old = OldExternalFiles(store: request.store)
    let obsolete = request.discardsOld ? try old.obsolete(survey, files) : []
    survey.access.release()
    let links = request.discardsOld ? [] : try old.keep(for: kept)
    do {
      try swapper.swap(paths.result, discardsOld: request.discardsOld)
    } catch {
      old.undo(links)
      throw error
    }
    try old.remove(obsolete)
    return request.discardsOld ? nil : kept
  }

  /// `STORE.before-TIME`; within one second with a number.
  private func nameOfKept() throws -> FilePath {
    let plain = "\(request.store).before-\(Self.timestamp())"
    var name = FilePath(plain)
    var number = 1
    while try Files.fileStatusIfPresent(name, followLinks: false) != nil {
      number += 1
      name = FilePath("\(plain).\(number)")
    }
    return name
  }

  private static func timestamp() -> String {
    let formatter = DateFormatter()
    formatter.locale = Locale(identifier: "en_US_POSIX")
    formatter.timeZone = TimeZone(identifier: "UTC")
    formatter.dateFormat = "yyyyMMdd-HHmmss"
    return formatter.string(from: Date())
  }
}
