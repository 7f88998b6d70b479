import GRDB
import StoreFormat
import Survey
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

@Suite(.scratchFolder) struct SourceAccessTests {
  private var folder: FilePath { ScratchFolder.current.appending("data") }
  private var store: FilePath { folder.appending("Shop.sqlite") }
  private var snapshot: FilePath { ScratchFolder.current.appending("copy.sqlite") }
  private var pages: FilePath { ScratchFolder.current.appending("source.pages") }

  private func place(_ made: SourceAccess.Made) -> FilePath { made == .pages ? pages : snapshot }

  private func contents() throws -> [String: [UInt8]] {
    var result: [String: [UInt8]] = [:]
    for name in try Files.listDirectory(folder) {
      result[name.string] = try Files.readFile(folder.appending(name), limit: 1 << 30)
    }
    return result
  }

  private func count(_ access: SourceAccess) throws -> Int64 {
    try StoreConnection.immutable(access.readable).run {
      try Int64.fetchOne($0, sql: "SELECT count(*) FROM t") ?? -1
    }
  }

  /// Copies a store as it is at this moment, as after a crash.
  private func crash(_ original: FilePath, with suffixes: [String]) throws {
    try Files.createDirectory(folder)
    for suffix in suffixes {
      try Files.cloneOrCopy(
        from: FilePath(original.string + suffix), to: FilePath(store.string + suffix))
    }
  }

  private func makeWAL() throws -> DatabaseQueue {
    let original = ScratchFolder.current.appending("original.sqlite")
    let queue = try DatabaseQueue(path: original.string)
    try queue.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
      try db.execute(sql: "CREATE TABLE t (a); INSERT INTO t VALUES (1)")
      try db.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
      try db.execute(sql: "INSERT INTO t VALUES (2), (3)")
    }
    return queue
  }

  @Test func `rows that are still in the log are seen, and the source stays as it was`() throws {
    let queue = try makeWAL()
    try crash(ScratchFolder.current.appending("original.sqlite"), with: ["", "-wal"])
    let before = try contents()
    let access = try SourceAccess.open(store) { place($0) }
    #expect(access.readable == pages)
    #expect(access.fingerprint.walBytes > 0)
    #expect(try count(access) == 3)
    #expect(try contents() == before)
    #expect(try Files.fileStatusIfPresent(snapshot) == nil)
    try queue.close()
  }

  @Test func `a store that somebody has open is read with the log that it had`() throws {
    let queue = try makeWAL()
    let original = ScratchFolder.current.appending("original.sqlite")
    let access = try SourceAccess.open(original) { place($0) }
    #expect(access.readable == pages)
    #expect(try count(access) == 3)
    try queue.writeWithoutTransaction { db in
      try db.execute(sql: "INSERT INTO t VALUES (4)")
      for kind in ["PASSIVE", "FULL", "RESTART", "TRUNCATE"] {
        _ = try? Row.fetchOne(db, sql: "PRAGMA wal_checkpoint(\(kind))")
      }
    }
    #expect(try SourceFingerprint(of: original) != access.fingerprint)
    #expect(try count(access) == 3)
    try access.requireUnchanged()
    access.release()
    let moved = try queue.writeWithoutTransaction { db in
      try Row.fetchOne(db, sql: "PRAGMA wal_checkpoint(TRUNCATE)")
    }
    #expect(moved?[0] == 0)
    try queue.close()
  }

  @Test func `a main file that changes beside its log is not one state`() throws {
    let queue = try makeWAL()
    try crash(ScratchFolder.current.appending("original.sqlite"), with: ["", "-wal"])
    let access = try SourceAccess.open(store) { place($0) }
    // Nobody had it open, so no lock of an index keeps the log where it is.
    let other = try DatabaseQueue(path: store.string)
    try other.writeWithoutTransaction { db in
      try db.execute(sql: "INSERT INTO t VALUES (4)")
      _ = try Row.fetchOne(db, sql: "PRAGMA wal_checkpoint(PASSIVE)")
    }
    #expect(throws: StoreError.self) { try access.requireUnchanged() }
    try other.close()
    try queue.close()
  }

  @Test func `a log without a commit leaves the store as it is`() throws {
    let queue = try makeWAL()
    try crash(ScratchFolder.current.appending("original.sqlite"), with: [""])
    try Files.writeFileAtomically(Array(repeating: 7, count: 9000), to: FilePath("\(store)-wal"))
    let access = try SourceAccess.open(store) { place($0) }
    #expect(access.readable == store)
    #expect(try count(access) == 1)
    try queue.close()
  }

  @Test func `a store that keeps no log is copied with one beside it`() throws {
    let queue = try makeWAL()
    try crash(ScratchFolder.current.appending("original.sqlite"), with: ["", "-wal"])
    let file = try Files.open(store, mode: .writeOnly)
    try file.writeAll(toAbsoluteOffset: 18, [1, 1])
    try file.close()
    let access = try SourceAccess.open(store) { place($0) }
    #expect(access.readable == snapshot)
    #expect(try count(access) == 3)
    try queue.close()
  }

  @Test func `a copy of a store with a log has its pages, and nobody needs the store`() throws {
    let queue = try makeWAL()
    try crash(ScratchFolder.current.appending("original.sqlite"), with: ["", "-wal"])
    let access = try SourceAccess.open(store) { place($0) }.copied { (snapshot, nil) }
    #expect(access.readable == snapshot)
    #expect(access.identity == nil)
    #expect(try count(access) == 3)
    try queue.close()
  }

  @Test func `a transaction that never ended is rolled back in the copy only`() throws {
    let original = ScratchFolder.current.appending("original.sqlite")
    let queue = try DatabaseQueue(path: original.string)
    try queue.writeWithoutTransaction { db in
      try db.execute(sql: "CREATE TABLE t (a)")
      try db.execute(
        sql: """
          WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
          INSERT INTO t SELECT zeroblob(1000) FROM n
          """)
      try db.execute(sql: "PRAGMA cache_size = 5; BEGIN; DELETE FROM t WHERE rowid % 2 = 0")
      try crash(original, with: ["", "-journal"])
      try db.execute(sql: "ROLLBACK")
    }
    try queue.close()
    let before = try contents()
    // The main file by itself holds half of the transaction.
    #expect(before["Shop.sqlite"] != (try Files.readFile(original, limit: 1 << 30)))
    let access = try SourceAccess.open(store) { place($0) }
    #expect(access.fingerprint.journalBytes > 0)
    #expect(try count(access) == 500)
    #expect(try contents() == before)
  }

  @Test func `a store without a log is read where it is`() throws {
    try Files.createDirectory(folder)
    let connection = try StoreConnection.writable(store)
    try connection.run { try $0.execute(sql: "CREATE TABLE t (a); INSERT INTO t VALUES (1)") }
    try connection.queue.close()
    try Files.writeFileAtomically([], to: FilePath(store.string + "-wal"))
    let before = try contents()
    let access = try SourceAccess.open(store) { _ in
      Issue.record("no copy is needed")
      return snapshot
    }
    #expect(access.readable == store)
    #expect(try count(access) == 1)
    // Writers are kept away until the access is released.
    #expect(try RegionLock.acquire(store, kind: .exclusive, bytes: SourceAccess.lockBytes) == nil)
    access.release()
    #expect(try RegionLock.acquire(store, kind: .exclusive, bytes: SourceAccess.lockBytes) != nil)
    #expect(try contents() == before)
  }

  @Test func `a store that is being written is in use`() throws {
    try Files.createDirectory(folder)
    let connection = try StoreConnection.writable(store)
    try connection.run { try $0.execute(sql: "CREATE TABLE t (a)") }
    try connection.queue.close()
    let lock = try RegionLock.acquire(store, kind: .exclusive, bytes: SourceAccess.lockBytes)
    let error = #expect(throws: StoreError.self) { try SourceAccess.open(store) { place($0) } }
    #expect(error?.problem == .inUse)
    withExtendedLifetime(lock) {}
  }

  @Test func `any write shows in the fingerprint`() throws {
    try Files.createDirectory(folder)
    let connection = try StoreConnection.writable(store)
    try connection.run { try $0.execute(sql: "CREATE TABLE t (a); INSERT INTO t VALUES (1)") }
    let before = try SourceFingerprint(of: store)
    #expect(try SourceFingerprint(of: store) == before)
    try connection.run { try $0.execute(sql: "UPDATE t SET a = 2") }
    #expect(try SourceFingerprint(of: store) != before)
    try connection.queue.close()
  }

  // MARK: - A store that lives

  private func makeStore(mode: String) throws -> DatabaseQueue {
    try Files.createDirectory(folder)
    let queue = try DatabaseQueue(path: store.string)
    try queue.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA journal_mode = \(mode)")
      try db.execute(sql: "CREATE TABLE t (a); INSERT INTO t VALUES (1)")
      try db.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)")
    }
    return queue
  }

  @Test func `a log is not brought into a main file that is read`() throws {
    let queue = try makeStore(mode: "WAL")
    let access = try SourceAccess.open(store) { place($0) }
    #expect(access.readable == store)
    try queue.writeWithoutTransaction { db in
      try db.execute(sql: "INSERT INTO t VALUES (2)")
      _ = try? Row.fetchOne(db, sql: "PRAGMA wal_checkpoint(TRUNCATE)")
    }
    #expect(try count(access) == 1)
    try access.requireUnchanged()
    // Its log is another one, and so may its external files be.
    #expect(throws: StoreError.self) { try access.requireUntouched() }
    access.release()
    let moved = try queue.writeWithoutTransaction { db in
      try Row.fetchOne(db, sql: "PRAGMA wal_checkpoint(TRUNCATE)")
    }
    #expect(moved?[0] == 0)
    try queue.close()
  }

  @Test func `a journal with a zeroed header is none`() throws {
    let queue = try makeStore(mode: "PERSIST")
    try queue.close()
    let journal = FilePath(store.string + "-journal")
    #expect(try Files.fileStatus(journal).size > 0)
    let access = try SourceAccess.open(store) { _ in
      Issue.record("no copy is needed")
      return snapshot
    }
    #expect(!access.fingerprint.hasLog)
  }

  @Test func `a store that is replaced is nobody else's from the start`() throws {
    try makeStore(mode: "WAL").close()
    do {
      // The lock that another process holds as long as it has the store open.
      let other = try RegionLock.acquire(store, kind: .shared, bytes: 0x4000_0002..<0x4000_0200)
      let access = try SourceAccess.open(store, isReplaced: true) { place($0) }
      let error = #expect(throws: StoreError.self) { try access.lockOut() }
      #expect(error?.problem == .inUse)
      withExtendedLifetime(other) {}
    }
    let access = try SourceAccess.open(store, isReplaced: true) { place($0) }
    try access.lockOut()
    #expect(throws: DatabaseError.self) {
      try DatabaseQueue(path: store.string).write { try $0.execute(sql: "DELETE FROM t") }
    }
    #expect(access.handOverLock() != nil)
  }

  @Test func `a store that was replaced by another file and back was not one state`() throws {
    try makeStore(mode: "DELETE").close()
    let access = try SourceAccess.open(store) { place($0) }
    let aside = folder.appending("aside")
    try Files.rename(store, to: aside)
    try Files.writeFileAtomically([1, 2, 3], to: store)
    try Files.rename(aside, to: store)
    #expect(try SourceFingerprint(of: store) == access.fingerprint)
    #expect(throws: StoreError.self) { try access.requireUnchanged() }
  }
}
