import GRDB
package import Planning
import Schema
import StoreFormat
import StoreNames
import Synchronization
package import SystemCalls
package import SystemPackage

// (1) The source store, its `-wal` and its `-shm` are never written, and no file is created next to
// them.
// (2) What is read has every committed change. The pages that a `-wal` holds are copied, and read
// instead of those of the main file (`WALPages`); a store with a journal, or whose log is unlike
// others, is copied whole, and SQLite folds the files next to it into the copy.
// (3) What is read is one state. While it is read, SQLite's locks keep its main file unchanged: a
// writer of the older journal modes waits, and one with a log continues to write its log, which is
// not checkpointed. `requireUnchanged` finds programs without locks, after the last read.

/// A store as workers may read it: it does not change, and no file next to it matters.
package final class SourceAccess: Sendable {
  /// How a store is read that has files next to it.
  package enum Made: Sendable {
    /// The pages of its `-wal`, for as long as the store itself is read with them.
    case pages
    /// A store that is read in its place.
    case copy
  }

  /// The file to read, as a `SourceFile`: the store itself, the pages of its log or a copy of it.
  package let readable: FilePath
  /// What the store was when it was opened.
  package let fingerprint: SourceFingerprint
  /// Whether the store itself keeps a write-ahead log; a copy of it does not.
  package let usesWAL: Bool
  /// Whether it keeps one, and there was no file of it when the store was opened.
  package let lacksLog: Bool
  private let store: FilePath
  /// Whether another file is read than the store's own.
  private let isCopy: Bool
  /// When the main file changed last in any way.
  private let changed: Int64
  /// Keeps what was made for as long as it may be read.
  private let folder: TemporaryFolder?
  private let hold: Mutex<SourceHold?>

  private init(
    store: FilePath, readable: FilePath, isCopy: Bool, folder: TemporaryFolder?,
    as found: SourceState, hold: SourceHold?
  ) {
    self.store = store
    self.readable = readable
    self.isCopy = isCopy
    self.folder = folder
    fingerprint = found.fingerprint
    changed = found.changed
    usesWAL = found.usesWAL
    lacksLog =
      found.usesWAL && found.fingerprint.walBytes == 0
      && (try? Files.fileStatusIfPresent(FilePath("\(store)-wal"))) == nil
    self.hold = Mutex(hold)
  }

  /// Lets writers at the store again; nothing is read from it any more.
  package func release() { hold.withLock { $0 = nil } }

  /// The bytes that SQLite's locks lie on ("Database File Format", section 1.3).
  package static let lockBytes: Range<Int64> = 0x4000_0000..<0x4000_0200

  /// Opens a store for reading; what has to be made goes to a temporary folder.
  ///
  /// The files of a store are next to the file itself, also if a link leads to it.
  ///
  /// - Parameters:
  ///   - acceptsShort: whether the file may be shorter than its header states.
  ///   - isOwn: whether this process has made the file, and no other one writes it.
  package static func open(
    _ store: FilePath, acceptsShort: Bool = false, isOwn: Bool = false
  ) throws -> SourceAccess {
    let undone = try UndoneStore(store)
    if undone == nil {
      _ = try acceptsShort ? StoreHeader(reading: store) : StoreHeader(of: store)
    }
    var folder: TemporaryFolder?
    func place(_ made: Made) throws -> FilePath {
      let found = try folder ?? TemporaryFolder()
      folder = found
      return found.path.appending(made == .pages ? "source.pages" : "source.sqlite")
    }
    if let undone { return try open(undone, folder: { folder }, place: place) }
    return try open(
      try Files.resolved(store), isReplaced: false, isOwn: isOwn, folder: { folder }, place: place)
  }

  /// Opens the store that an edit has changed, as it was before.
  private static func open(
    _ undone: UndoneStore, folder: () -> TemporaryFolder?, place: (Made) throws -> FilePath
  ) throws -> SourceAccess {
    let store = try Files.resolved(undone.store)
    let hold = try SourceHold(store: store, isUpgradable: false)
    let state = try SourceState(of: store)
    let pages = try place(.pages)
    try undone.writePages(to: pages)
    guard try hold.isWhole(), try SourceState(of: store) == state else {
      throw StoreError(problem: .inUse, store: store)
    }
    return SourceAccess(
      store: store, readable: pages, isCopy: false, folder: folder(), as: state, hold: hold)
  }

  /// Opens a store, named without links, for reading.
  ///
  /// - Parameters:
  ///   - isReplaced: whether the result will take the store's place; see `lockOut`.
  ///   - place: where goes what has to be made; its folder exists then.
  ///
  /// A file that is shorter than its header states can be opened, but SQLite does not read it.
  package static func open(
    _ store: FilePath, isReplaced: Bool = false, place: (Made) throws -> FilePath
  ) throws -> SourceAccess {
    try open(store, isReplaced: isReplaced, isOwn: false, folder: { nil }, place: place)
  }

  private static func open(
    _ store: FilePath, isReplaced: Bool, isOwn: Bool, folder: () -> TemporaryFolder?,
    place: (Made) throws -> FilePath
  ) throws -> SourceAccess {
    for _ in 0..<20 {
      var hold = try SourceHold(store: store, isUpgradable: isReplaced)
      let before = try SourceState(of: store, waits: !isOwn)
      // A log that was begun since the hold was taken has locks of its own.
      guard try hold.isWhole() else { continue }
      var outcome = WALPages.Outcome.nothing
      var readable = store
      if before.fingerprint.hasLog {
        (outcome, readable) = try pages(of: store, as: before, place: place)
      }
      switch outcome {
      case .nothing, .written:
        guard try hold.isWhole(), try SourceState(of: store).hasSameMainFile(as: before) else {
          continue
        }
        return SourceAccess(
          store: store, readable: readable, isCopy: false, folder: folder(), as: before, hold: hold)
      case .changed: continue
      case .unfit: break
      }
      let copy = try place(.copy)
      guard let state = try self.copy(store, to: copy, from: before), try hold.isWhole() else {
        continue
      }
      try fold(copy)
      hold.leaveLog()
      return SourceAccess(
        store: store, readable: copy, isCopy: true, folder: folder(), as: state,
        hold: isReplaced ? hold : nil)
    }
    throw StoreError(problem: .inUse, store: store)
  }

  /// Makes a file of the pages of a store's log; what is to be read then.
  ///
  /// A journal is SQLite's to roll back, and so is a log that the store's header does not declare.
  private static func pages(
    of store: FilePath, as state: SourceState, place: (Made) throws -> FilePath
  ) throws -> (WALPages.Outcome, FilePath) {
    guard state.fingerprint.journalBytes == 0, state.usesWAL else { return (.unfit, store) }
    let path = try place(.pages)
    let outcome = try WALPages.write(of: store, to: path)
    return (outcome, outcome == .written ? path : store)
  }

  /// The access to a copy of the store, whose main file this one holds, and hands over.
  ///
  /// - Parameter snapshot: where the copy goes; a store that was copied is one already.
  package func copied(_ snapshot: () throws -> (path: FilePath, folder: TemporaryFolder?)) throws
    -> SourceAccess
  {
    if isCopy { return self }
    let (path, folder) = try snapshot()
    for suffix in StoreFile.suffixes {
      try Files.remove(FilePath(path.string + suffix))
    }
    try SourceFile.copy(readable, to: path)
    return try reading(path, folder: folder)
  }

  /// The access to a file that was made of the store, whose main file this one holds, and hands
  /// over.
  ///
  /// - Parameter folder: the folder of the file, where it is to go with the access.
  package func reading(_ path: FilePath, folder: TemporaryFolder?) throws -> SourceAccess {
    try requireUnchanged()
    let state = SourceState(fingerprint: fingerprint, changed: changed, usesWAL: usesWAL)
    let handed = hold.withLock { hold in
      defer { hold = nil }
      return hold
    }
    return SourceAccess(
      store: store, readable: path, isCopy: true, folder: folder, as: state, hold: handed)
  }

  // MARK: Copies

  /// Copies a store whose main file is held, and the files next to it; returns the copied state, or
  /// nil if it was not consistent.
  private static func copy(
    _ store: FilePath, to copy: FilePath, from before: SourceState
  ) throws -> SourceState? {
    for suffix in StoreFile.suffixes {
      try Files.remove(FilePath(copy.string + suffix))
    }
    try Files.cloneOrCopy(from: store, to: copy)
    for attempt in 1...20 {
      // The log grows while an app lives; it is short, and a moment without a commit will do.
      let state = try SourceState(of: store, waits: true)
      guard state.hasSameMainFile(as: before) else { return nil }
      for (suffix, bytes) in [
        ("-wal", state.fingerprint.walBytes), ("-journal", state.fingerprint.journalBytes),
      ] {
        let log = FilePath(copy.string + suffix)
        try Files.remove(log)
        if bytes > 0 { try Files.cloneOrCopy(from: FilePath(store.string + suffix), to: log) }
      }
      if try SourceState(of: store) == state { return state }
      Processes.sleep(microseconds: UInt32(attempt) * 10_000)
    }
    return nil
  }

  /// Brings the log of a copy into its main file.
  private static func fold(_ copy: FilePath) throws {
    let connection = try StoreConnection.writable(copy)
    try connection.run { db in
      // Opening has rolled a hot journal back; a log that cannot be folded in answers busy.
      let answer = try Row.fetchOne(db, sql: "PRAGMA wal_checkpoint(TRUNCATE)")
      if let answer, let busy = Int64.fromDatabaseValue(answer[0]), busy != 0 {
        throw StoreError(problem: .inUse, store: copy)
      }
      _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = DELETE")
    }
    try connection.close()
  }
}

extension RegionLock {
  /// Locks all bytes of a store by which SQLite keeps connections from each other.
  ///
  /// - Throws: `StoreError` with `inUse`, where another process holds a lock that conflicts.
  package static func ofStore(_ store: FilePath, kind: Kind = .exclusive) throws -> RegionLock {
    guard let lock = try acquire(store, kind: kind, bytes: SourceAccess.lockBytes) else {
      throw StoreError(problem: .inUse, store: store)
    }
    return lock
  }
}

// MARK: - The last look

extension SourceAccess {
  /// How a worker recognizes the unchanged main file; nil if a copy is read, which no other process
  /// writes.
  package var identity: FileIdentity? {
    if isCopy { return nil }
    return FileIdentity(
      device: fingerprint.device, inode: fingerprint.inode, bytes: fingerprint.bytes,
      modified: fingerprint.modified, changed: changed)
  }

  /// The bytes of the store, with the pages of its log.
  package var bytes: Int64 {
    (try? SourceFile(readable).byteCount) ?? fingerprint.bytes
  }

  /// Throws unless all that was read is of one state.
  ///
  /// Called after the last read, and before the access is released or handed over: the swap gives
  /// the store another name. A copy is of one state whatever becomes of the store.
  package func requireUnchanged() throws {
    guard !isCopy, hold.withLock({ $0 != nil }) else { return }
    let now: SourceState?
    do {
      now = try SourceState(of: store)
    } catch {
      // A file that is gone is a change; one that cannot be read now is not.
      if error.knownDisposition.contains(.workReusable) { throw error }
      now = nil
    }
    guard let now, now.changed == changed, now.fingerprint.hasSameMainFile(as: fingerprint) else {
      throw StoreError(problem: .changedDuringMigration, store: store)
    }
  }

  /// Throws where anything of the store has changed since it was opened, and be it a log: its
  /// external files may have gone then, although a value that was read names them.
  package func requireUntouched() throws {
    guard try SourceFingerprint(of: store) == fingerprint else {
      throw StoreError(problem: .changedDuringMigration, store: store)
    }
    try requireUnchanged()
  }

  /// Keeps all other processes, readers too, from opening a store that is replaced: an open
  /// connection would prevent the swap after all the work.
  ///
  /// - Throws: `inUse` where somebody has it open, or has written since it was read.
  package func lockOut() throws {
    let lock = try hold.withLock { hold in
      try hold?.lockOut() == true ? hold?.exclusiveLock : nil
    }
    guard let lock, try SourceFingerprint(of: store) == fingerprint else {
      throw StoreError(problem: .inUse, store: store)
    }
    try Self.requireNoWriters(of: store, holding: lock)
  }

  /// Throws where a process has the store open for writing: in the older journal modes a connection
  /// without a transaction holds no lock.
  ///
  /// - Parameter lock: an exclusive lock of the store. If its descriptor is the only one of the
  ///   file, the open files of other processes need not be searched.
  package static func requireNoWriters(
    of store: FilePath, holding lock: RegionLock? = nil
  ) throws {
    if let lock, lock.isOnlyOpening, try lock.status.isSameFile(as: Files.fileStatus(store)) {
      return
    }
    let writers = Processes.writers(of: store, being: try Files.fileStatus(store))
    if !writers.isEmpty {
      throw StoreError(problem: .openForWriting(by: writers), store: store)
    }
  }

  /// The lock of a store that others are locked out of, which ends with the access no more; nil
  /// where they are not.
  package func handOverLock() -> RegionLock? {
    hold.withLock { hold in
      defer { hold = nil }
      return hold?.exclusiveLock
    }
  }
}
