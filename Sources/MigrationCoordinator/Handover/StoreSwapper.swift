import GRDB
import StoreFormat
import SystemCalls
import SystemPackage

// (1) The store's name always leads to a whole store: the old one, or the verified new one.
// (2) The old store is reachable at every instant: by its name, or by the name of the kept copy.
// (3) Only an unchanged store that nobody has open is swapped.
//
//     built -> named [rename]   named -> swapped [exchange]   swapped -> done [discard, or keep]

/// Puts a finished store in the place of the old one.
struct StoreSwapper {
  let store: FilePath
  let fingerprint: SourceFingerprint
  /// The name under which the old store is kept.
  let kept: FilePath
  let journal: SwapJournal

  /// Swaps `result`, which lies on the same file system, with the store.
  func swap(_ result: FilePath, discardsOld: Bool) throws {
    guard try SourceFingerprint(of: store) == fingerprint else {
      throw StoreError(.changedDuringMigration, store: store)
    }
    if fingerprint.walBytes > 0 || fingerprint.journalBytes > 0 { try foldLog() }
    // Every SQLite connection holds a shared lock in these bytes, in any journal mode.
    guard
      let lock = try RegionLock.acquire(store, .exclusive, bytes: SourceAccess.lockBytes)
    else { throw StoreError(.inUse, store: store) }
    try withExtendedLifetime(lock) {
      try removeEmptyLogs()
      try journal.begin(result, named: kept)
      try Files.renameNoReplace(result, to: kept)
      try Files.syncDirectory(Files.parent(of: kept))
      FaultPoint.reached("coordinator:named")
      do {
        try Files.exchange(kept, store)
      } catch {
        try Files.rename(kept, to: result)
        throw error
      }
      FaultPoint.reached("coordinator:exchanged")
      try Files.syncDirectory(Files.parent(of: store))
    }
    if discardsOld {
      try Files.remove(kept)
      try Files.syncDirectory(Files.parent(of: store))
    }
  }

  /// Brings the log into the main file: what was migrated is what the log and the file hold.
  private func foldLog() throws {
    let connection = try StoreConnection.writable(store)
    try connection.run { db in
      guard let answer = try Row.fetchOne(db, sql: "PRAGMA wal_checkpoint(TRUNCATE)"),
        Int64.fromDatabaseValue(answer[0]) == 0
      else { throw StoreError(.inUse, store: store) }
    }
    do { try connection.queue.close() } catch { throw connection.failure(error) }
  }

  /// A log beside the new store would be replayed into it, so none may stay.
  private func removeEmptyLogs() throws {
    for suffix in ["-wal", "-journal"] {
      let path = FilePath(store.string + suffix)
      guard let status = try Files.fileStatusIfPresent(path) else { continue }
      guard status.size == 0 else { throw StoreError(.inUse, store: store) }
      try Files.remove(path)
    }
    try Files.remove(FilePath(store.string + "-shm"))
  }
}
