import GRDB
import Planning
import StoreFormat
import Survey
import SystemCalls
import SystemPackage

// (1) The store's name always leads to a whole store: the old one, or the verified new one.
// (2) The old store is reachable at every instant: by its name, or by the name of the kept copy.
// (3) Only an unchanged store that nobody has open is swapped.
//
//     built -> named [rename]   named -> swapped [exchange]   swapped -> done [discard, or keep]

/// Exchanges a finished store with the old one.
struct StoreSwapper {
  let store: FilePath
  let fingerprint: SourceFingerprint
  /// The path under which the old store is kept, and which the new one has before the exchange.
  let kept: FilePath
  let journal: SwapJournal

  /// Exchanges `result`, which lies on the same file system, with the store.
  ///
  /// - Throws: `StoreError` if the store has changed since the survey, or is in use.
  func swap(_ result: FilePath, discardsOld: Bool) throws {
    guard try SourceFingerprint(of: store) == fingerprint else {
      throw StoreError(problem: .changedDuringMigration, store: store)
    }
    let expected = fingerprint.hasLog ? try foldLog() : try Facts(of: store)
    // Every open SQLite connection in WAL mode, and every running transaction in any other mode,
    // holds a lock in these bytes.
    guard
      let lock = try RegionLock.acquire(store, kind: .exclusive, bytes: SourceAccess.lockBytes)
    else { throw StoreError(problem: .inUse, store: store) }
    // A commit between the comparison and the lock would be lost with the old store.
    guard try Facts(of: store) == expected else {
      throw StoreError(problem: .changedDuringMigration, store: store)
    }
    try withExtendedLifetime(lock) {
      try removeEmptyLogs()
      try journal.begin(result, named: kept)
      try Files.renameNoReplace(result, to: kept)
      try Files.syncDirectory(Files.parent(of: kept))
      FaultPoint.coordinatorNamed.reached()
      do {
        try Files.exchange(kept, store)
      } catch {
        try Files.rename(kept, to: result)
        throw error
      }
      FaultPoint.coordinatorExchanged.reached()
      try Files.syncDirectory(Files.parent(of: store))
    }
    if discardsOld {
      try Files.remove(kept)
      try Files.syncDirectory(Files.parent(of: store))
    }
  }

  /// What changes with the store's files, found without opening the main file: closing it would
  /// drop the locks that SQLite holds in this process.
  private struct Facts: Equatable {
    var main: FileStatus
    var log: FileStatus?
    var journal: FileStatus?

    init(of store: FilePath) throws {
      main = try Files.fileStatus(store)
      let log = try Files.fileStatusIfPresent(FilePath(store.string + "-wal"))
      let journal = try Files.fileStatusIfPresent(FilePath(store.string + "-journal"))
      self.log = log.flatMap { $0.size > 0 ? $0 : nil }
      self.journal = journal.flatMap { $0.size > 0 ? $0 : nil }
    }
  }

  /// Checkpoints the log into the main file, with the store locked: the migration read both.
  private func foldLog() throws -> Facts {
    let before = try Facts(of: store)
    let connection = try StoreConnection.writable(store)
    let after = try connection.perform { db in
      try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE")
      try db.execute(sql: "BEGIN EXCLUSIVE")
      let found = try Facts(of: store)
      try db.execute(sql: "COMMIT")
      // A hot journal was rolled back by opening; a log has to be the one that was read.
      guard before.journal != nil || found == before else {
        throw StoreError(problem: .changedDuringMigration, store: store)
      }
      guard let answer = try Row.fetchOne(db, sql: "PRAGMA wal_checkpoint(TRUNCATE)"),
        Int64.fromDatabaseValue(answer[0]) == 0
      else { throw StoreError(problem: .inUse, store: store) }
      return try Facts(of: store)
    }
    do { try connection.queue.close() } catch { throw connection.failure(error: error) }
    return after
  }

  /// Removes empty logs, which SQLite would replay into the new store once they are not.
  private func removeEmptyLogs() throws {
    for suffix in ["-wal", "-journal"] {
      let path = FilePath(store.string + suffix)
      guard let status = try Files.fileStatusIfPresent(path) else { continue }
      guard status.size == 0 else { throw StoreError(problem: .inUse, store: store) }
      try Files.remove(path)
    }
    try Files.remove(FilePath(store.string + "-shm"))
  }
}
