import Foundation
import ObjectModel
import Planning
import StoreFormat
import Survey
import SystemCalls
import SystemPackage

// (1) A journal states what a result will become before anything outside the work folder changes,
// so that leftovers of a kill or a failure can be recognized.
// (2) It is followed only as far as the files still are the ones that it names, by device and
// inode, and only next to its own destination.

/// Remembers a handover that has begun, and undoes it or ends it.
struct SwapJournal {
  private let path: FilePath
  private let destination: FilePath

  init(_ paths: MigrationPaths) {
    path = paths.swapJournal
    destination = paths.destination
  }

  /// A file by what it is, whatever its name.
  struct Identity: Hashable, Codable {
    var device: UInt64
    var inode: UInt64
    /// The start of the system; after another one, the file system may have another number.
    var boot: [UInt8]?

    init(_ status: FileStatus) {
      (device, inode, boot) = (status.device, status.inode, Processes.bootID)
    }

    /// Whether a regular file of that name is this one.
    func isThere(_ path: FilePath) throws -> Bool {
      let status = try Files.fileStatusIfPresent(path, followLinks: false)
      guard let status, status.kind == .file, status.inode == inode else { return false }
      return status.device == device || boot != nil && boot != Processes.bootID
    }
  }

  /// What a handover is about.
  struct Entry: ResumableFile, Hashable {
    static let formatVersion = 4

    /// The file that becomes the destination.
    var result: Identity
    /// The store that it replaces; nil where the result becomes an output.
    var replaced: Replaced?
    /// The inputs of an output; nil where a store is replaced.
    var made: MadeOutput?
    /// What the result was, where it is a store that was kept.
    var restored: Restored?
    /// What becomes of the store where it is edited, or an edit of it undone.
    var edit: Edit?
  }

  /// An edit of the store itself, or its undoing.
  struct Edit: Hashable, Codable {
    /// The name of SQLite's journal where the store is the new one; nil where there is none then.
    var undo: String?
    /// What the store is once it is the new one.
    var after: UndoNote.State
    /// The external files that go with the old store where it cannot come back.
    var obsolete: [String]
    /// True if a rollback undoes the edit.
    var isUndoing: Bool? = nil
  }

  /// A store that was kept and comes back.
  struct Restored: Hashable, Codable {
    var name: String
    /// The external files that come back with it.
    var links: [String]
  }

  /// What becomes of a store that is replaced.
  struct Replaced: Hashable, Codable {
    var store: Identity
    /// The name under which it is kept; nil where it is not.
    var kept: String?
    /// The file that is kept: the store itself under a second name, or a copy of it.
    var keptFile: Identity
    /// The external files that get a second name for the kept store.
    var links: [String] = []
    /// Whether their folder is made for it.
    var makesSupport = false
    /// The external files that no store names once the store is gone.
    var obsolete: [String] = []
  }

  /// What following a journal came to.
  enum Recovery: Hashable {
    /// There was none, or nothing had been replaced.
    case undone
    /// The result has its name.
    case ended
    /// A store that was being edited is the old one again.
    case putBack
  }

  /// Notes what is about to happen.
  func begin(_ entry: Entry) throws {
    try Files.writeFileAtomically(VersionedFile(entry).sealed(), to: path)
  }

  /// The rollback that the journal is about, by the names of the store that comes back and of the
  /// one that it replaces; nil for another handover.
  func rollback() throws -> (restored: String, kept: String?)? {
    guard let entry = try entry() else { return nil }
    if let restored = entry.restored { return (restored.name, entry.replaced?.kept) }
    guard let edit = entry.edit, edit.isUndoing == true else { return nil }
    return edit.undo.map { ($0, nil) }
  }

  /// The inputs of a result that becomes an output; nil for another handover.
  func madeOutput() throws -> MadeOutput? { try entry()?.made }

  /// Undoes a handover whose result has not got its name, and ends one whose result has.
  ///
  /// Can be repeated: the journal goes last.
  ///
  /// - Parameters:
  ///   - isLocked: whether this process keeps everybody else from the destination.
  ///   - isSynced: whether the new name is on the disk already.
  ///   - keepsJournal: whether the journal stays, until all that follows is done as well.
  @discardableResult
  func recover(
    isLocked: Bool = false, isSynced: Bool = false, keepsJournal: Bool = false
  ) throws -> Recovery {
    var recovery = Recovery.undone
    if let edit = try entry()?.edit {
      recovery = try recover(edit, isLocked: isLocked)
    } else if let entry = try entry() {
      let isNamed = try entry.result.isThere(destination)
      if isNamed {
        recovery = .ended
        // A kill may have come before the new name was on the disk.
        if !isSynced { try Files.syncDirectory(Files.parent(of: destination)) }
      }
      if let replaced = entry.replaced {
        if isNamed {
          try OldExternalFiles(store: destination).remove(replaced.obsolete)
          if replaced.kept == nil { try KeptStores(of: destination).noteDiscard() }
          if let restored = entry.restored {
            try KeptStores(of: destination).release(restored.name)
          }
        } else if try replaced.store.isThere(destination) {
          if let restored = entry.restored, let kept = ownName(restored.name) {
            try OldExternalFiles(store: kept).undo(
              names: restored.links, of: destination, madeSupport: false)
          }
          try undo(replaced)
        }
      } else if isNamed {
        // The journal shows that the output is complete.
        return .ended
      }
    }
    if !keepsJournal { try Files.removeRegularFile(path) }
    return recovery
  }

  /// Has SQLite put a store back whose edit has not ended, or whose undoing has begun.
  ///
  /// While SQLite's journal has the name at which SQLite searches for it, the store is the old one.
  private func recover(_ edit: Edit, isLocked: Bool) throws -> Recovery {
    let undo = edit.undo.flatMap(ownName)
    if let undo, try Files.fileStatusIfPresent(undo, followLinks: false) != nil { return .ended }
    let path = RollbackJournal.path(of: destination)
    let isJournaled = try Files.fileStatusIfPresent(path, followLinks: false) != nil
    if edit.undo == nil, !isJournaled, hasModel(edit.after.model) {
      if try isUnchanged(since: edit.after) {
        try OldExternalFiles(store: destination).remove(edit.obsolete)
      }
      try KeptStores(of: destination).noteDiscard()
      return .ended
    }
    // If another process has the store open, SQLite has restored it, and a journal belongs to that
    // process.
    var lock: RegionLock?
    if !isLocked {
      lock = try RegionLock.ofStore(destination)
      try SourceAccess.requireNoWriters(of: destination)
    }
    try withExtendedLifetime(lock) {
      guard isJournaled else { return }
      let note = try RollbackJournal(path).flatMap { UndoNote($0) }
      try StoreEdit.undo(destination)
      // By its time the store is known to edits before this one.
      if let note { try Files.setModified(destination, to: note.before.modified) }
    }
    if let undo { try KeptStores(of: destination).forget(undo) }
    return .putBack
  }

  /// Whether the store has the version hashes that an edit gave it.
  ///
  /// Nothing else shows that SQLite has not restored the store: after commits by an app, the change
  /// counter may have any value.
  private func hasModel(_ checksum: String) -> Bool {
    // An unreadable store keeps its external files.
    (try? StoreReader(immutable: destination).metadata().versionHashes.checksum) == checksum
  }

  /// Whether no commit shows in an edited store.
  private func isUnchanged(since after: UndoNote.State) throws -> Bool {
    try Files.fileStatus(destination).size == after.bytes
      && StoreHeader(reading: destination).changeCounter == after.counter
  }

  /// Takes the second names back that a store got which is still where it was.
  private func undo(_ replaced: Replaced) throws {
    guard let name = replaced.kept, let kept = ownName(name) else { return }
    if try replaced.keptFile.isThere(kept) {
      try Files.remove(kept)
      try Files.syncDirectory(Files.parent(of: kept))
    }
    try KeptStores(of: destination).forget(kept)
    try OldExternalFiles(store: destination).undo(
      names: replaced.links, of: kept, madeSupport: replaced.makesSupport)
  }

  /// The entry, nil if there is none or it is damaged.
  ///
  /// - Throws: `PlaceError.workFolderForeign`, for a journal of another version of Godwit.
  private func entry() throws -> Entry? {
    try VersionedFile<Entry>.content(at: path, limit: 1 << 26)
  }

  /// The path of a name that Godwit gives to a store that it keeps: a journal is not trusted.
  private func ownName(_ name: String) -> FilePath? {
    guard let component = FilePath.Component(name), component.kind == .regular,
      KeptStores.isName(component, of: destination)
    else { return nil }
    return Files.parent(of: destination).appending(component)
  }
}
