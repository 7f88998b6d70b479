import Foundation
import MigrationStatus
import Planning
import Schema
import StoreFormat
import StoreNames
import Survey
import SystemCalls
package import SystemPackage

// (1) Nothing is touched but what the list of kept stores and the mark of the work folder name.
// (2) Each call continues an earlier one that was interrupted.

/// The files that migrations left next to a store, and what to do with them.
package struct StoreUpkeep: Sendable {
  /// The store under the name that apps open.
  package let store: FilePath
  let paths: MigrationPaths

  /// Takes a store, or an output that was never finished, and `work` as a migration does.
  package init(of path: FilePath, work: FilePath? = nil) throws {
    store =
      try Files.fileStatusIfPresent(path) == nil
      ? Files.resolvedFolder(of: path) : Files.resolved(path)
    guard try Files.fileStatusIfPresent(store)?.isDirectory != true else {
      throw StoreError(problem: .isFolder, store: store)
    }
    let folder = try work.map {
      try Files.fileStatusIfPresent($0) == nil ? Files.resolvedFolder(of: $0) : Files.resolved($0)
    }
    let named = MigrationPaths(destination: store, below: folder)
    paths = try folder == nil ? Self.recorded(named) ?? named : named
  }

  /// The paths of work that the record next to the store names, if there is none next to the store
  /// itself; nil unless it is the store's own work, and marked as such.
  private static func recorded(_ beside: MigrationPaths) throws -> MigrationPaths? {
    guard try Files.fileStatusIfPresent(beside.work, followLinks: false) == nil,
      let record = try? OutcomeFile(beside: beside.destination).read(), let work = record.workFolder
    else { return nil }
    // A record is not trusted: only the folder that this store would get counts.
    let found = MigrationPaths(destination: beside.destination, below: Files.parent(of: work))
    guard found.work == work,
      try Files.fileStatusIfPresent(work, followLinks: false)?.isDirectory == true,
      try WorkFolder(path: work).mark()?.destination == beside.destination.string
    else { return nil }
    return found
  }

  var kept: KeptStores { KeptStores(of: store) }

  // MARK: Going back

  /// What came of a rollback.
  package struct Rollback: Sendable {
    /// Where the store that has its place again was.
    package var restored: FilePath
    /// Where the store is that it replaced; nil where an edit was undone.
    package var kept: FilePath?
    /// What failed once the store had its place again.
    package var notes: [HandoverNote] = []
    /// Whether a call before this one had done it, and was killed before it ended.
    package var wasDone = false
  }

  /// Puts a store that was kept in its place again, the latest one or a certain one, and keeps the
  /// one that it replaces.
  package func rollBack(to wanted: FilePath? = nil) throws -> Rollback {
    // Throws where there is no such store.
    _ = try StoreHeader(of: store)
    return try afterEarlier { workspace, earlier in
      if let earlier, wanted.map({ $0.lastComponent == earlier.restored.lastComponent }) ?? true {
        return earlier
      }
      let entry: KeptStores.Entry
      do {
        entry = try self.entry(wanted: wanted)
      } catch let error as PlaceError where error.statesNothingKept {
        // What a rollback left that was killed at its very end.
        guard workspace.folderExisted, try workspace.holdsNoWork,
          let done = try recordedRollback(wanted)
        else { throw error }
        return done
      }
      if KeptName.isUndo(kept.path(of: entry)) { return try undo(entry) }
      let old = kept.path(of: entry)
      try kept.requireThere(entry)
      guard try Self.removeIdleLogs(of: old) else { throw PlaceError.keptChanged(old) }
      let lock = try RegionLock.ofStore(old)
      return try withExtendedLifetime(lock) {
        let own = OldExternalFiles(store: store)
        let after = try kept.freeName(.after) { try own.missing(for: $0) == nil }
        try SourceAccess.requireNoWriters(of: old, holding: lock)
        var swapper = StoreSwapper(
          store: store, fingerprint: try SourceFingerprint(of: store), kept: after,
          obsolete: try own.unnamed(by: entry), restored: entry, journal: SwapJournal(paths),
          scratch: workspace.paths.result)
        swapper.newLock = lock
        var notes = try swapper.swap(old)
        let record = OutcomeFile(beside: store)
        HandoverNote.collect(.notRecorded, at: record.path, in: &notes) {
          try record.change { $0.restore(old) }
        }
        return Rollback(restored: old, kept: after, notes: notes)
      }
    }
  }

  /// The store that the last rollback put in its place, by the record; nil where there is none.
  private var recordedOld: FilePath? {
    (try? OutcomeFile(beside: store).read())?.restored.map { FilePath($0.path) }
  }

  /// The last rollback by the record of the store; nil where there is none.
  private func recordedRollback(_ wanted: FilePath?) throws -> Rollback? {
    guard let old = recordedOld,
      wanted.map({ $0.lastComponent == old.lastComponent }) ?? true,
      try Files.fileStatusIfPresent(old, followLinks: false) == nil
    else { return nil }
    let last = try kept.entries().max { $0.time < $1.time }
    return Rollback(
      restored: old, kept: last.flatMap { isReplaced($0) ? kept.path(of: $0) : nil }, wasDone: true)
  }

  /// Whether a store that a migration kept is back in its place, by the list and the record.
  ///
  /// - Parameter time: the end of the migration, in seconds since 1970.
  package func isRestored(_ old: FilePath, since time: Double) throws -> Bool {
    let entries = try kept.entries()
    guard try Files.fileStatusIfPresent(old, followLinks: false) == nil,
      !entries.contains(where: { $0.name == old.lastComponent?.string })
    else { return false }
    if let recordedOld, recordedOld.lastComponent == old.lastComponent { return true }
    // Without a record, a rollback shows by the store that it has replaced.
    return entries.contains { $0.time >= time && isReplaced($0) }
  }

  /// Whether an entry is of a store that a rollback replaced.
  private func isReplaced(_ entry: KeptStores.Entry) -> Bool {
    FilePath.Component(entry.name).flatMap { KeptStores.kind(of: $0, beside: store) } == .after
  }

  /// Has SQLite put the store back by the journal of an edit, where it is as the edit has left it.
  private func undo(_ entry: KeptStores.Entry) throws -> Rollback {
    let undo = kept.path(of: entry)
    try kept.requireThere(entry)
    guard let file = try RollbackJournal(undo), let note = UndoNote(file) else {
      throw PlaceError.keptChanged(undo)
    }
    let lock = try RegionLock.ofStore(store)
    try SourceAccess.requireNoWriters(of: store)
    return try withExtendedLifetime(lock) {
      guard try note.isLeft(in: store, by: file) else {
        throw StoreError(problem: .editOutdated(of: store), store: undo)
      }
      try LogFolding(store: store, fingerprint: SourceFingerprint(of: store)).fold()
      try SwapJournal(paths).begin(
        .init(
          result: .init(Files.fileStatus(store)),
          edit: .init(undo: entry.name, after: note.after, obsolete: [], isUndoing: true)))
      try Files.renameNoReplace(undo, to: RollbackJournal.path(of: store))
      try Files.syncDirectory(Files.parent(of: store))
      try SwapJournal(paths).recover(isLocked: true, keepsJournal: true)
      var notes: [HandoverNote] = []
      let record = OutcomeFile(beside: store)
      HandoverNote.collect(.notRecorded, at: record.path, in: &notes) {
        try record.change { $0.restore(undo) }
      }
      return Rollback(restored: undo, kept: nil, notes: notes)
    }
  }

  /// The entry of the store that was named, or of the one that was kept last.
  ///
  /// - Throws: `PlaceError`, also where a later migration has discarded its old store and none is
  ///   named.
  func entry(wanted: FilePath?) throws -> KeptStores.Entry {
    let entries = try kept.entries().filter { !$0.isLeaving }
    guard let wanted else {
      let before = entries.filter { entry in
        FilePath.Component(entry.name).flatMap { KeptStores.kind(of: $0, beside: store) } == .before
      }
      guard let last = before.max(by: { $0.time < $1.time }) else {
        if let file = try kept.unlisted(.before) {
          throw PlaceError.keptUnlisted(file, list: kept.path)
        }
        throw PlaceError.nothingKept(store: store, as: nil)
      }
      if last.precedesDiscard == true {
        throw PlaceError.oldStoreDiscarded(store, earlier: kept.path(of: last))
      }
      return last
    }
    guard let found = entries.first(where: { $0.name == wanted.lastComponent?.string }) else {
      let renamed = try entries.first { try kept.isThere($0, at: wanted) }
      throw renamed.map { PlaceError.keptMissing(kept.path(of: $0), found: wanted) }
        ?? PlaceError.nothingKept(store: store, as: wanted)
    }
    return found
  }

  /// Removes empty logs next to a kept store; false if one is not empty.
  private static func removeIdleLogs(of store: FilePath) throws -> Bool {
    for suffix in StoreFile.changeSuffixes {
      let path = FilePath("\(store)\(suffix)")
      guard let status = try Files.fileStatusIfPresent(path, followLinks: false) else { continue }
      guard status.kind == .file, status.size == 0 else { return false }
      try Files.remove(path)
    }
    try Files.removeRegularFile(FilePath("\(store)-shm"))
    return true
  }

  // MARK: Letting go

  /// Removes all stores that were kept, with what is there for them alone.
  ///
  /// One that is not there may have been moved, so its entry and its external files stay.
  ///
  /// - Returns: what is gone.
  /// - Throws: `PlaceError.keptChanged` where one is not as it was kept; none is removed then.
  package func finish() throws -> [FilePath] {
    try withWorkspace { _ in
      func exists(_ path: FilePath) throws -> Bool {
        try Files.fileStatusIfPresent(path, followLinks: false) != nil
      }
      let entries = try kept.entries()
      let changed = try entries.first { try exists(kept.path(of: $0)) && !kept.isThere($0) }
      if let changed { throw PlaceError.keptChanged(kept.path(of: changed)) }
      var gone: [FilePath] = []
      for var entry in entries {
        let path = kept.path(of: entry)
        if try exists(path) {
          // No other process has it open; the search for its external files opens it.
          _ = try RegionLock.ofStore(path)
          let obsolete =
            KeptName.isUndo(path)
            ? try obsoleteFiles(after: path) : try obsoleteFiles(of: entry)
          entry.isLeaving = true
          try kept.note(entry)
          try OldExternalFiles(store: store).remove(obsolete)
          for suffix in StoreFile.logSuffixes + [""] {
            try Files.removeRegularFile(FilePath("\(path)\(suffix)"))
          }
          try Files.syncDirectory(Files.parent(of: path))
          gone.append(path)
        } else if try !entry.isLeaving && !kept.isUnfinished(entry) {
          continue
        }
        try kept.release(entry.name)
      }
      return gone
    }
  }

  /// The external files that only the store before an edit names: what has its place now may be an
  /// older one.
  private func obsoleteFiles(after undo: FilePath) throws -> [String] {
    let note = try RollbackJournal(undo).flatMap { UndoNote($0) }
    guard let note, !note.obsolete.isEmpty else { return [] }
    let named = try OldExternalFiles(store: store).named()
    return note.obsolete.filter { !named.contains($0) }
  }

  /// The external files of a kept store that are in the folder of its successor as well, and that
  /// the successor does not name: its model has lost the attribute.
  private func obsoleteFiles(of entry: KeptStores.Entry) throws -> [String] {
    let files = OldExternalFiles(store: store)
    guard !entry.externalFiles.isEmpty, try !files.isShared(but: kept.entries().map(\.name)) else {
      return []
    }
    var candidates = Set(entry.externalFiles).intersection(try files.names().map(\.string))
    // The store before an edit has the same folder.
    for other in try kept.entries() where KeptName.isUndo(kept.path(of: other)) {
      let note = try? RollbackJournal(kept.path(of: other)).flatMap { UndoNote($0) }
      candidates.subtract(note?.obsolete ?? [])
    }
    if candidates.isEmpty { return [] }
    // Of a store that cannot be read it is unknown which files it needs.
    guard let named = try? files.named() else { return [] }
    candidates.subtract(named)
    if candidates.isEmpty { return [] }
    let old = try OldExternalFiles(store: kept.path(of: entry)).named()
    return candidates.intersection(old).sorted()
  }

  // MARK: Leftovers

  /// What was left of interrupted and failed migrations, and is gone now.
  package struct Discarded: Sendable {
    /// The files and folders that were removed.
    package var removed: [FilePath] = []
    /// What lies in the work folder and is none of Godwit's.
    package var foreign: [FilePath] = []
  }

  /// Removes what interrupted and failed migrations left.
  package func discard() throws -> Discarded {
    var done = Discarded()
    if try Files.fileStatusIfPresent(paths.work, followLinks: false) != nil {
      let workspace = try Workspace.open(paths, store: store)
      try SwapJournal(paths).recover()
      let source = try WorkFolder(path: paths.work).mark().map { FilePath($0.store) }
      let hadResult = try Files.fileStatusIfPresent(workspace.paths.result) != nil
      done.foreign = try workspace.remove()
      if done.foreign.isEmpty { done.removed.append(paths.work) }
      if hadResult, let source { done.removed += try removeCopies(from: source) }
    }
    for path in try leftovers() where try Files.removeRegularFile(path) {
      done.removed.append(path)
    }
    if let record = try? OutcomeFile(beside: store).read(),
      [.interrupted, .failed, .running].contains(record.state), !record.isOfLivingProcess,
      try Files.removeRegularFile(OutcomeFile(beside: store).path)
    {
      done.removed.append(OutcomeFile(beside: store).path)
    }
    return done
  }

  /// Removes copies of a source's external files next to an unfinished output.
  private func removeCopies(from source: FilePath) throws -> [FilePath] {
    guard source != store, try Files.fileStatusIfPresent(store, followLinks: false) == nil
    else { return [] }
    let (own, other) = (OldExternalFiles(store: store), OldExternalFiles.folder(of: source))
    let folder = OldExternalFiles.folder(of: store)
    guard folder != other, try !own.isShared else { return [] }
    var removed: [FilePath] = []
    for name in try own.names() {
      let (copy, original) = (folder.appending(name), other.appending(name))
      guard try Files.fileStatusIfPresent(original, followLinks: false)?.kind == .file,
        try OldExternalFiles.isSame(original, as: copy)
      else { continue }
      try Files.remove(copy)
      removed.append(copy)
    }
    if !removed.isEmpty { try OldExternalFiles.removeEmptyFolders(of: store) }
    return removed
  }

  /// Runs something alone with the store: no migration of it begins meanwhile.
  func withWorkspace<Result>(_ body: (Workspace) throws -> Result) throws -> Result {
    try afterEarlier { workspace, _ in try body(workspace) }
  }

  /// The same; `body` also gets the rollback that a call before this one had done when it was
  /// killed.
  private func afterEarlier<Result>(
    _ body: (Workspace, Rollback?) throws -> Result
  ) throws -> Result {
    let workspace = try Workspace.open(paths, store: store)
    // What a call before this one, or a migration, has begun is ended or undone first.
    let earlier = try endEarlier()
    try kept.removeUnfinished()
    // The work of an interrupted migration stays.
    let isOwn = try !workspace.folderExisted || workspace.holdsNoWork
    do {
      let result = try body(workspace, earlier)
      // The journal of a rollback goes last.
      if isOwn { _ = try? workspace.remove() } else { _ = try? SwapJournal(paths).recover() }
      return result
    } catch {
      let isUndone = (try? SwapJournal(paths).recover()) != nil
      if isOwn && isUndone { _ = try? workspace.remove() }
      throw error
    }
  }

  /// Follows the journal of a call before this one; the rollback that it had done, if it was one.
  private func endEarlier() throws -> Rollback? {
    let journal = SwapJournal(paths)
    guard let begun = try journal.rollback() else {
      try journal.recover()
      return nil
    }
    let recovery = try journal.recover(keepsJournal: true)
    let folder = Files.parent(of: store)
    let old = folder.appending(begun.restored)
    let isDone = recovery == (KeptName.isUndo(old) ? .putBack : .ended)
    if isDone { _ = try? OutcomeFile(beside: store).change { $0.restore(old) } }
    try journal.recover()
    return isDone
      ? Rollback(restored: old, kept: begun.kept.map { folder.appending($0) }, wasDone: true) : nil
  }
}
