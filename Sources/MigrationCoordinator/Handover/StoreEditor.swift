import Foundation
import Planning
import StoreFormat
import Survey
import SystemCalls
import SystemPackage

// (1) The result is complete and verified before anything of the store changes: what is left to do
// is to put pages in their places.
// (2) Before the first page changes there is a journal of the old pages, under the name at which
// SQLite searches for it. The store is the old one as long as the journal has that name, and the
// new one once it has another: there is no third state.
// (3) The next program that opens the store undoes what a kill left, with any SQLite; the next run
// only removes its own notes of it.
// (4) A store is restored only if it is unchanged since the edit.
//
//     made -> noted [swap.json] -> kept [journal] -> written [pages] -> edited [rename]

/// Puts the pages of a finished result in their places in the store itself.
struct StoreEditor {
  let store: FilePath
  let fingerprint: SourceFingerprint
  /// The name that the journal gets in the end, by which the edit can be undone; nil where it goes.
  let undo: FilePath?
  /// The external files that the new store does not name.
  let obsolete: [String]
  /// The store's identifier, and the checksums of the models before and after.
  let uuid: String
  let models: (before: String, after: String)
  let journal: SwapJournal
  /// The exclusive lock of the store, where it is held already.
  var lock: RegionLock? = nil

  /// Edits the store by the pages of `result`.
  ///
  /// - Returns: what failed once the store was the new one.
  func edit(by result: FilePath) throws -> [HandoverNote] {
    let folding = LogFolding(store: store, fingerprint: fingerprint)
    let lock = try folding.lock(held: self.lock)
    return try withExtendedLifetime(lock) {
      let after = try stateAfter(result)
      try journal.begin(
        .init(
          result: .init(try Files.fileStatus(store)),
          edit: .init(undo: undo?.lastComponent?.string, after: after, obsolete: obsolete)))
      do {
        try folding.fold()
        try replacePages(try StoreEdit(result), after: after)
      } catch {
        // If it cannot be undone now, the next program that opens the store undoes it.
        _ = try? journal.recover(isLocked: true)
        throw error
      }
      return cleanUp()
    }
  }

  private func stateAfter(_ result: FilePath) throws -> UndoNote.State {
    UndoNote.State(
      bytes: try SourceFile(result).byteCount,
      counter: try StoreHeader(readingSource: result).changeCounter, modified: WallClock.now(),
      model: models.after)
  }

  /// Everything up to the rename that counts.
  private func replacePages(_ edit: StoreEdit, after: UndoNote.State) throws {
    try requireSpace(edit)
    let note = UndoNote(
      godwit: GodwitVersion.current, uuid: uuid,
      before: .init(
        bytes: edit.bytesBefore, counter: try StoreHeader(reading: store).changeCounter,
        modified: try Files.fileStatus(store).modified, model: models.before),
      after: after, pagesAfter: edit.checksumAfter, obsolete: obsolete)
    try edit.writeJournal(note: VersionedFile(note).sealed())
    try edit.write(modified: after.modified)
    let path = RollbackJournal.path(of: store)
    guard let undo else {
      try Files.remove(path)
      return
    }
    let kept = try Files.fileStatus(path)
    try KeptStores(of: store).note(
      .init(
        name: undo.lastComponent?.string ?? "", bytes: kept.size, modified: kept.modified,
        checksum: KeptStores.checksum(of: path), time: Date().timeIntervalSince1970))
    try Files.renameNoReplace(path, to: undo)
  }

  private func requireSpace(_ edit: StoreEdit) throws {
    let folder = Files.parent(of: store)
    try DiskShortage.requireRoom(for: [
      (folder, edit.journalBytes, "the original pages"),
      (folder, max(0, edit.bytesAfter - edit.bytesBefore), "new pages"),
    ])
  }

  private func cleanUp() -> [HandoverNote] {
    var notes: [HandoverNote] = []
    let folder = Files.parent(of: store)
    HandoverNote.collect(.notSynced, at: folder, in: &notes) {
      try Files.syncDirectory(folder)
    }
    // What only the old store names goes once it cannot come back.
    if notes.isEmpty {
      HandoverNote.collect(.notRemoved, at: OldExternalFiles.folder(of: store), in: &notes) {
        try journal.recover(isLocked: true)
      }
    }
    return notes
  }
}
