import GRDB
import Planning
import StoreFormat
import Survey
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

@Suite(.scratchFolder) struct StoreSwapperTests {
  private var folder: FilePath { ScratchFolder.current.appending("data") }
  private var paths: MigrationPaths {
    MigrationPaths(destination: store, below: ScratchFolder.current)
  }
  private var journal: SwapJournal { SwapJournal(paths) }

  init() throws {
    try Files.createDirectory(folder)
    try Files.createDirectory(paths.work)
  }
  private var store: FilePath { folder.appending("Shop.sqlite") }
  private var result: FilePath { folder.appending("result.sqlite") }
  private var kept: FilePath { folder.appending("Shop.sqlite.before-now") }

  private func make(_ path: FilePath, _ value: Int, mode: String = "DELETE") throws {
    let connection = try StoreConnection.writable(path)
    try connection.run { db in
      try db.execute(sql: "PRAGMA journal_mode = \(mode)")
      try db.execute(sql: "CREATE TABLE t (a); INSERT INTO t VALUES (\(value))")
    }
    try connection.queue.close()
  }

  private func swapper() throws -> StoreSwapper {
    StoreSwapper(
      store: store, fingerprint: try SourceFingerprint(of: store), kept: kept, journal: journal)
  }

  private func bytes(_ path: FilePath) throws -> [UInt8] {
    try Files.readFile(path, limit: 1 << 20)
  }

  private var names: [String] { get throws { try Files.listDirectory(folder).map(\.string) } }

  /// A swap that is refused changes nothing.
  private func refused(
    _ swapper: StoreSwapper, _ problem: StoreError.Problem
  ) throws {
    let before = (try bytes(store), try bytes(result), try names)
    let error = #expect(throws: StoreError.self) { try swapper.swap(result, discardsOld: false) }
    #expect(error?.problem == problem)
    #expect((try bytes(store), try bytes(result), try names) == before)
  }

  @Test func `the old store keeps its bytes under its new name`() throws {
    try make(store, 1)
    try make(result, 2)
    let (old, new) = (try bytes(store), try bytes(result))
    try swapper().swap(result, discardsOld: false)
    #expect(try bytes(store) == new)
    #expect(try bytes(kept) == old)
    #expect(try names == ["Shop.sqlite", "Shop.sqlite.before-now"])
  }

  @Test func `an old store that is not wanted is removed`() throws {
    try make(store, 1)
    try make(result, 2)
    try swapper().swap(result, discardsOld: true)
    #expect(try names == ["Shop.sqlite"])
  }

  @Test func `a store that has changed is not swapped`() throws {
    try make(store, 1)
    try make(result, 2)
    let swapper = try swapper()
    let connection = try StoreConnection.writable(store)
    try connection.run { try $0.execute(sql: "UPDATE t SET a = 3") }
    try connection.queue.close()
    try refused(swapper, .changedDuringMigration)
  }

  @Test func `a store that another process has open is not swapped`() throws {
    try make(store, 1)
    try make(result, 2)
    // The lock that SQLite holds as long as a connection in WAL mode lives.
    let lock = try RegionLock.acquire(store, kind: .shared, bytes: 0x4000_0002..<0x4000_0200)
    try refused(swapper(), .inUse)
    withExtendedLifetime(lock) {}
  }

  @Test func `empty logs of the old store do not stay beside the new one`() throws {
    try make(store, 1)
    try make(result, 2)
    for suffix in ["-wal", "-journal"] {
      try Files.writeFileAtomically([], to: FilePath(store.string + suffix))
    }
    try Files.writeFileAtomically(
      Array(repeating: 0, count: 32768), to: FilePath(store.string + "-shm"))
    try swapper().swap(result, discardsOld: false)
    #expect(try names == ["Shop.sqlite", "Shop.sqlite.before-now"])
  }

  @Test func `a log with changes is folded into the store that is kept`() throws {
    let original = folder.appending("original.sqlite")
    let queue = try DatabaseQueue(path: original.string)
    try queue.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
      try db.execute(sql: "CREATE TABLE t (a); INSERT INTO t VALUES (1), (2)")
    }
    for suffix in ["", "-wal"] {
      try Files.cloneOrCopy(
        from: FilePath(original.string + suffix), to: FilePath(store.string + suffix))
    }
    try queue.close()
    try Files.remove(original)
    try make(result, 2)
    try swapper().swap(result, discardsOld: false)
    #expect(try names == ["Shop.sqlite", "Shop.sqlite.before-now"])
    let rows = try StoreConnection.immutable(kept).run {
      try Int64.fetchOne($0, sql: "SELECT count(*) FROM t")
    }
    #expect(rows == 2)
  }

  @Test func `a name that is taken is not taken away`() throws {
    try make(store, 1)
    try make(result, 2)
    try Files.writeFileAtomically([7], to: kept)
    let old = try bytes(store)
    #expect(throws: SystemCallError.self) { try swapper().swap(result, discardsOld: false) }
    #expect(try bytes(store) == old)
    #expect(try bytes(kept) == [7])
  }

  @Test func `a new store that was named and never exchanged is removed`() throws {
    try make(store, 1)
    try make(result, 2)
    let old = try bytes(store)
    try journal.begin(result, named: kept)
    try Files.rename(result, to: kept)
    try journal.recover()
    #expect(try names == ["Shop.sqlite"])
    #expect(try bytes(store) == old)
    try journal.recover()
  }

  @Test func `an old store that was exchanged stays`() throws {
    try make(store, 1)
    try make(result, 2)
    let old = try bytes(store)
    try swapper().swap(result, discardsOld: false)
    try journal.recover()
    #expect(try bytes(kept) == old)
    #expect(try names == ["Shop.sqlite", "Shop.sqlite.before-now"])
  }
}
