import EngineList
import Foundation
import Logging
import Mapping
import MappingFiles
import MigrationStatus
import ModelFiles
import ObjectModel
import Planning
import Schema
import StoreFormat
import StoreNames
import Survey
import SystemCalls
import SystemPackage

// (1) A stage's store has its name `stage-N.sqlite` only once it is complete and on the disk, and
// its marker `stage-N.json` only after that.
// (2) A marker counts only for the run that it belongs to (`RunInputs`).
// (3) The store that a stage begins with is removed when the stage's own marker is there.

/// Runs the stages of a migration; all but the last make a store of their own in the work folder.
struct StageSequence {
  let request: MigrationRequest
  let survey: StoreSurvey
  let stages: [Stage]
  let workspace: Workspace
  let launcher: any WorkerLauncher
  let logger: Logger

  private var paths: MigrationPaths { workspace.paths }

  /// What all stages made, and the store that still has the result's external files next to it.
  struct Outcome {
    var last: StageRun.Outcome
    var lastStore: FilePath
  }

  /// Declares the store of a stage complete, and records what it was made of.
  private struct Marker: ResumableFile, Hashable {
    /// The version of the marker and of the stage's store.
    static let formatVersion = 9

    /// The run that it belongs to.
    let run: String?
    /// The losses of the stage, and below its accounts and missing files, for the final report.
    var losses: [Loss]
    var accounts: [StageAccounts]
    var missingExternalFiles: [String]
    /// Why another engine was used than the one that would have been chosen.
    var engineDeclined: String?
    /// The violations of the stage's model that were tolerated: how many, and the first ones.
    var violations: Int
    var firstViolations: [Violation]
    /// The defects of the stage, such as references without an inverse, and the repaired defects of
    /// its store for the next one.
    var defects: [Defect]
    /// The references that went with it, and those of them that are losses.
    var repairedReferences: [RepairedReferences.Counted]
    var repairLosses: [Loss]
    /// The `Checksum` of the stage's store.
    var storeChecksum: UInt64
    /// The checksum of the names and bytes of its external files.
    var externalChecksum: UInt64
  }

  /// Makes the result of the last stage, which stays in the work folder.
  func makeResult(_ reporter: ProgressReporter) async throws -> Outcome {
    var done = try begin(reporter)
    let wasResumed = !done.isEmpty
    for number in (done.count + 1)..<stages.count {
      done.append(try await intermediate(number, after: done.last, reporter: reporter))
      FaultPoint.coordinatorStageDone.reached()
      try Task.checkCancellation()
    }
    var own = request
    own.store = store(before: stages.count)
    own.journalMode = request.resultUsesWAL(from: survey) ? .wal : .delete
    var last = try await perform(stages.count, after: done.last, own: own, reporter: reporter)
    var report = last.report
    report.store = request.store.string
    report.destination = request.destination.string
    report.losses = done.flatMap(\.losses) + report.losses
    report.accounts = done.flatMap(\.accounts) + report.accounts
    for index in report.accounts.indices { report.accounts[index].stage = index + 1 }
    for (index, marker) in done.enumerated() {
      report.note(marker.repairedReferences, inStage: index + 1)
    }
    report.engineDeclined =
      done.compactMap(\.engineDeclined).first ?? report.engineDeclined
    report.missingExternalFiles = done.flatMap(\.missingExternalFiles)
    report.violations += done.reduce(0) { $0 + $1.violations }
    report.firstViolations = done.flatMap(\.firstViolations) + report.firstViolations
    for index in report.defects.indices { report.defects[index].stage = stages.count }
    report.defects = done.flatMap(\.defects).completed(by: report.defects)
    report.noteExtras(of: survey)
    report.resumed = report.resumed || wasResumed
    if !done.isEmpty { report.now = nil }
    last.report = report
    return Outcome(last: last, lastStore: own.store)
  }

  /// Checks the disk, and finds the stages that an earlier run has completed.
  private func begin(_ reporter: ProgressReporter) throws -> [Marker] {
    // A single stage checks and resumes by itself.
    guard stages.count > 1 else { return [] }
    let need = DiskNeed(
      of: stages, survey: survey, request: request,
      shardTenths: stages.map { $0.shardTenths(request) }.max() ?? 0)
    reporter.expect(need)
    try workspace.requireSpace(need)
    var done = try finishedStages()
    try requireConsent(&done)
    if done.isEmpty {
      // An interrupted stage determines itself whether it can resume.
      try workspace.clear(
        keeping: paths.filesOfRun.union([paths.run, paths.stage(number: 1).work]))
    } else {
      logger.notice("resuming an interrupted migration", metadata: ["stage": "\(done.count + 1)"])
    }
    reporter.beginStages(stages.count)
    return done
  }

  /// Checks that the losses of finished stages are accepted in this run, too, and gives them the
  /// causes that they have in it.
  ///
  /// - Throws: `MigrationError.losses`.
  private func requireConsent(_ done: inout [Marker]) throws {
    let repaired = stages[0].repaired + done.flatMap(\.defects).filter { $0.fate != .kept }
    try MadeLosses(found: done.flatMap(\.losses), chosen: Loss.chosen(in: repaired))
      .requireConsent(of: request)
    for place in done.indices {
      let own = done[place].losses.map(\.beforeDiscarding)
      done[place].losses = request.lossDecision.decide(own, keepsNothing: false).losses
    }
  }

  /// The store with which a stage begins; stages count from 1.
  private func store(before number: Int) -> FilePath {
    number == 1 ? request.store : paths.stage(number: number - 1).destination
  }

  // MARK: One stage

  private func intermediate(
    _ number: Int, after previous: Marker?, reporter: ProgressReporter
  ) async throws -> Marker {
    let destination = paths.stage(number: number).destination
    try remove(destination)
    var own = request
    own.store = store(before: number)
    own.output = destination
    own.isIntermediate = true
    own.journalMode = .delete
    let made = try await perform(number, after: previous, own: own, reporter: reporter)
    let result = paths.stage(number: number).result
    let files = ExternalFiles(
      schema: try StoreSchema(stages[number - 1].destination.model), result: result,
      names: made.externalNames)
    var brought = ExternalFiles.Brought()
    try files.bring(from: own.store, to: destination, into: &brought)
    // A marker that a later run takes up must not stand for two states.
    if number == 1 { try survey.access.requireOneState(missing: brought.missing) }
    let repaired = try repair(result, of: destination, forStage: number + 1)
    try Files.syncFile(result)
    try Files.rename(result, to: destination)
    try Files.syncDirectory(paths.work)
    FaultPoint.coordinatorStageNamed.reached()
    let found = made.report.defects.map { defect in
      var defect = defect
      defect.stage = number
      return defect
    }
    let marker = Marker(
      run: workspace.run, losses: made.report.losses, accounts: made.report.accounts,
      missingExternalFiles: brought.missing, engineDeclined: made.report.engineDeclined,
      violations: made.report.violations,
      firstViolations: made.report.firstViolations, defects: found + repaired.defects,
      repairedReferences: repaired.references, repairLosses: repaired.losses,
      storeChecksum: try Checksum.of(file: destination),
      externalChecksum: try ExternalDataFolder.checksum(
        support: SupportFolder.path(of: destination)))
    try Files.writeFileAtomically(
      VersionedFile(marker).sealed(), to: paths.stageMarker(number))
    try WorkFolder(path: paths.stage(number: number).work).remove()
    if number > 1 { try remove(paths.stage(number: number - 1).destination) }
    return marker
  }

  /// Runs a stage: the only one in the work folder itself, one of several in a folder of its own.
  private func perform(
    _ number: Int, after previous: Marker?, own: MigrationRequest, reporter: ProgressReporter
  ) async throws -> StageRun.Outcome {
    var stage = stages[number - 1]
    if let previous {
      stage.repaired = previous.defects.filter { $0.fate != .kept }
      stage.lostByChoice = previous.repairLosses
    }
    let survey = number == 1 ? survey : try survey(of: own.store, stage: stage)
    guard stages.count > 1 else {
      return try await StageRun(
        request: own, survey: survey, stage: stage,
        workspace: workspace, launcher: launcher, logger: logger
      ).makeResult(reporter)
    }
    var workspace = try Workspace.open(paths.stage(number: number), store: request.store)
    workspace.run = self.workspace.run
    if number == stages.count { workspace.paths.result = paths.result }
    reporter.reach(0, ofStage: number - 1)
    reporter.begin(stage: number)
    let inner = ProgressReporter(
      paths: workspace.paths, desk: reporter.desk, recorder: reporter.recorder, logger: logger
    ) {
      reporter.reach($0.fraction, ofStage: number - 1)
    }
    do {
      return try await inner.whilePublishing {
        try await StageRun(
          request: own, survey: survey, stage: stage,
          workspace: workspace, launcher: launcher, logger: logger
        ).makeResult(inner)
      }
    } catch {
      throw explained(error, stage: stage)
    }
  }

  /// Names the user's store in place of the stage's, and the versions.
  private func explained(_ error: any Error, stage: Stage) -> any Error {
    switch error {
    case MigrationError.impossible(_, let refusals, let losses):
      MigrationError.stepImpossible(
        store: request.store, from: stage.source.labels, to: stage.destination.labels, refusals,
        losses: losses)
    case MigrationError.stepImpossible(_, let from, let to, let refusals, let losses):
      MigrationError.stepImpossible(
        store: request.store, from: from, to: to, refusals, losses: losses)
    case MigrationError.losses(_, let losses):
      MigrationError.losses(store: request.store, losses)
    default: error
    }
  }

  /// Repairs the store of a stage by the request's choices, for the stage that begins with it;
  /// returns the repaired defects.
  ///
  /// No other process uses it, so no copy is made.
  private func repair(
    _ result: FilePath, of store: FilePath, forStage number: Int
  ) throws -> DefectRepair.Outcome {
    let none = DefectRepair.Outcome(defects: [], references: [], losses: [])
    guard request.defectChoices.repairsDefects else { return none }
    let stage = stages[number - 1]
    let survey = try survey(of: store, at: result, stage: stage)
    let repair = DefectRepair(
      survey: survey, choices: request.defectChoices, stage: stage, number: number)
    let repairs = try repair.repairs()
    survey.access.release()
    return repairs.isEmpty ? none : try repair.apply(repairs, to: result)
  }

  /// The contents of a stage's store, which may not have its name yet.
  private func survey(
    of store: FilePath, at path: FilePath? = nil, stage: Stage
  ) throws -> StoreSurvey {
    let access = try SourceAccess.open(path ?? store) { FilePath("\(store)-\($0)") }
    let reader = try StoreReader(immutable: access.readable)
    return try StoreSurvey(
      store: store, access: access, reader: reader, metadata: try reader.metadata(),
      model: stage.source.model)
  }

  private func remove(_ store: FilePath) throws {
    try Files.removeRegularFile(store)
    try ExternalDataFolder.remove(support: SupportFolder.path(of: store))
  }

  // MARK: Resuming

  /// The markers of the completed stages, from the first on.
  private func finishedStages() throws -> [Marker] {
    var found: [Marker] = []
    for number in 1..<stages.count {
      let path = paths.stageMarker(number)
      guard try Files.fileStatusIfPresent(path) != nil else { break }
      let bytes = try Files.readFile(path, limit: 1 << 26)
      guard let marker = try? VersionedFile<Marker>(sealed: bytes).content,
        marker.run == workspace.run
      else { break }
      found.append(marker)
    }
    // Only the last one's store is still needed.
    let store = paths.stage(number: found.count).destination
    guard let last = found.last, try Files.fileStatusIfPresent(store)?.kind == .file,
      try Checksum.of(file: store) == last.storeChecksum,
      try externalChecksum(of: store) == last.externalChecksum
    else { return [] }
    return found
  }

  /// The checksum of a stage's external files; nil where they are not as they were written.
  private func externalChecksum(of store: FilePath) throws -> UInt64? {
    do {
      return try ExternalDataFolder.checksum(support: SupportFolder.path(of: store))
    } catch {
      if error.knownDisposition.contains(.workReusable) { throw error }
      return nil
    }
  }
}

extension Stage {
  /// The size of its shards in tenths of the source, as far as the engine is known beforehand.
  fileprivate func shardTenths(_ request: MigrationRequest) -> Int64 {
    EngineList.shardTenths(byRows: isByRows, wish: request.engine)
  }

  /// Whether its rows are made by programs.
  private var isByRows: Bool { if case .rows = method { true } else { false } }
}
