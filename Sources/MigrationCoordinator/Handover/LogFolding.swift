import GRDB
import Planning
import Schema
import StoreFormat
import StoreNames
import Survey
import SystemCalls
import SystemPackage

/// A store that is about to be replaced or edited: no other process has it open, it is unchanged
/// since the survey, and all of it is in the main file.
struct LogFolding {
  let store: FilePath
  let fingerprint: SourceFingerprint

  /// Keeps everybody else away; `held` is the lock where that is so already.
  ///
  /// - Throws: `StoreError` where somebody has the store open, or has written to it.
  func lock(held: RegionLock?) throws -> RegionLock {
    // Every open SQLite connection in WAL mode, and every running transaction in any other mode,
    // holds a lock in these bytes; a connection in another mode without a transaction holds none.
    let lock = try held ?? RegionLock.ofStore(store)
    guard try SourceFingerprint(of: store) == fingerprint else {
      throw StoreError(problem: .changedDuringMigration, store: store)
    }
    try SourceAccess.requireNoWriters(of: store, holding: lock)
    return lock
  }

  /// Moves all of the store into its main file, with no log next to it.
  func fold() throws {
    if fingerprint.hasLog { try foldLog() }
    try removeEmptyLogs()
  }

  /// Checkpoints the log, while no other process can open the store: the migration has read both.
  private func foldLog() throws {
    let connection = try StoreConnection.sole(store)
    // Opening has rolled a hot journal back.
    try connection.perform { db in
      guard let answer = try Row.fetchOne(db, sql: "PRAGMA wal_checkpoint(TRUNCATE)"),
        Int64.fromDatabaseValue(answer[0]) == 0
      else { throw StoreError(problem: .inUse, store: store) }
    }
    try connection.close()
  }

  /// Removes empty logs, which SQLite would replay into the new store once they are not.
  private func removeEmptyLogs() throws {
    for suffix in StoreFile.changeSuffixes {
      let path = FilePath(store.string + suffix)
      guard let status = try Files.fileStatusIfPresent(path, followLinks: false) else { continue }
      guard try status.kind == .file && (status.size == 0 || isEnded(path)) else {
        throw StoreError(problem: .inUse, store: store)
      }
      try Files.remove(path)
    }
    try Files.removeRegularFile(FilePath(store.string + "-shm"))
  }

  /// Whether a rollback journal is one that its transaction has ended by zeroing its head.
  private func isEnded(_ log: FilePath) throws -> Bool {
    try log.string.hasSuffix("-journal") && StoreLogs.journalBytes(of: store) == 0
  }
}
