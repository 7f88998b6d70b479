import Foundation
import Logging
import ObjectModel
import Planning
import Schema
import StoreFormat
import StoreNames
import Survey
import SystemCalls
import SystemPackage

/// Puts a finished result in its final place.
struct ResultHandover {
  let request: MigrationRequest
  let survey: StoreSurvey
  /// The external files that the store names, if the survey is of a repaired copy of it.
  let oldNames: Set<String>?
  let files: ExternalFiles
  let workspace: Workspace
  let keeper: OutcomeKeeper
  /// What the result lacks of the store.
  let losses: MadeLosses
  /// The models and mapping models that decided on the result.
  let models: () throws -> ModelChecksums

  private var paths: MigrationPaths { workspace.paths }

  /// What came of a handover.
  struct Outcome {
    /// Where the old store is kept, if it is.
    var oldStore: FilePath?
    /// What failed once the result was in its place.
    var notes: [HandoverNote] = []
  }

  /// Gives the result the name of the output, or replaces the store with it.
  func handOver() throws -> Outcome {
    // `EditEngine` leaves pages for the store, every other engine a store.
    if try SourceFile.hasPages(paths.result) { return try edit() }
    if request.output == nil, workspace.isTemporary { return try swapAtOnce() }
    try Files.copyAttributes(from: request.store, to: paths.result)
    if !request.isTrial { try Files.syncFile(paths.result) }
    if let output = request.output { return try name(output) }
    let old = OldExternalFiles(store: request.store)
    let obsolete =
      request.discardsOld
      ? try old.obsolete(survey: survey, named: oldNames, files: files) : []
    let kept =
      request.discardsOld
      ? nil
      : try KeptStores(of: request.store).freeName(.before) { try old.missing(for: $0) == nil }
    let names = try Files.fileStatus(request.store).links
    var swapper = StoreSwapper(
      store: request.store, fingerprint: survey.access.fingerprint, kept: kept,
      obsolete: obsolete, journal: SwapJournal(paths), scratch: paths.result)
    swapper.logFolded = { [workspace] in try workspace.note($0) }
    swapper.lock = survey.access.handOverLock()
    var notes = try swapper.swap(paths.result)
    if names > 1 { notes.append(.init(kind: .otherNames, path: request.store)) }
    return Outcome(oldStore: kept, notes: notes)
  }

  /// Replaces the store with a small result, without a journal.
  private func swapAtOnce() throws -> Outcome {
    var swap = InstantSwap(store: request.store, fingerprint: survey.access.fingerprint)
    swap.lock = survey.access.handOverLock()
    let made = try swap.swap(paths.result)
    return Outcome(oldStore: made.kept, notes: made.notes)
  }

  /// Puts the pages that the result consists of in their places in the store.
  private func edit() throws -> Outcome {
    let undo = request.discardsOld ? nil : try KeptStores(of: request.store).freeUndoName()
    let obsolete = try OldExternalFiles(store: request.store)
      .obsolete(survey: survey, named: oldNames, files: files)
    var editor = StoreEditor(
      store: request.store, fingerprint: survey.access.fingerprint, undo: undo, obsolete: obsolete,
      uuid: survey.metadata.uuid,
      models: (
        survey.metadata.versionHashes.checksum,
        try StoreReader(immutable: paths.result).metadata().versionHashes.checksum
      ), journal: SwapJournal(paths))
    editor.lock = survey.access.handOverLock()
    do {
      return Outcome(oldStore: undo, notes: try editor.edit(by: paths.result))
    } catch {
      // Where the log has been brought into the store, what was done is of no use to a later run;
      // the failure that counts is the first.
      let isUndone = (try? SwapJournal(paths).recover()) != nil
      let now = try? SourceFingerprint(of: request.store)
      if isUndone, now != survey.access.fingerprint { _ = try? workspace.clear() }
      throw error
    }
  }

  private func name(_ output: FilePath) throws -> Outcome {
    try Self.requireFreeLogs(of: output)
    let status = try Files.fileStatus(paths.result)
    let result = SwapJournal.Identity(status)
    // A temporary folder leaves nothing for a journal to record.
    let keepsJournal = !request.isTrial && !workspace.isTemporary
    let made = keepsJournal || request.keepsRecord ? try madeOutput(status) : nil
    if keepsJournal { try SwapJournal(paths).begin(.init(result: result, made: made)) }
    try made.map(keeper.note(made:))
    do {
      try place(output)
    } catch let error as SystemCallError {
      // Some network file systems report a failure after they have done the rename.
      guard (try? result.isThere(output)) == true else {
        throw error.errno == .fileExists ? PlaceError.outputExists(output) : error
      }
    }
    FaultPoint.coordinatorOutput.reached()
    var notes: [HandoverNote] = []
    let folder = Files.parent(of: output)
    guard !request.isTrial else { return Outcome() }
    HandoverNote.collect(.notSynced, at: folder, in: &notes) {
      try Files.syncDirectory(folder)
    }
    return Outcome(notes: notes)
  }

  private func place(_ output: FilePath) throws {
    do {
      try Files.renameNoReplace(paths.result, to: output)
    } catch {
      guard workspace.isTemporary, error.errno == .improperLink else { throw error }
      try Files.placeCopy(of: paths.result, at: output) { status in
        if request.keepsRecord { try keeper.note(made: madeOutput(status)) }
      }
    }
  }

  private func madeOutput(_ status: FileStatus) throws -> MadeOutput {
    try MadeOutput(
      status, of: request, from: survey.access.fingerprint, by: try models(), losing: losses)
  }

  /// Checks that no log is next to a store's path, which SQLite would replay into the new store.
  ///
  /// - Throws: `PlaceError.outputExists`; `StoreError` with `companionName` where it is the
  ///   source.
  static func requireFreeLogs(of store: FilePath, besides source: FilePath? = nil) throws {
    for suffix in StoreFile.logSuffixes {
      let beside = FilePath("\(store)\(suffix)")
      if let found = try Files.fileStatusIfPresent(beside, followLinks: false) {
        let own = try source.flatMap { try Files.fileStatusIfPresent($0) }
        if let own, own.inode == found.inode, own.device == found.device {
          throw StoreError(problem: .companionName(of: store), store: beside)
        }
        throw PlaceError.outputExists(beside)
      }
    }
  }
}
