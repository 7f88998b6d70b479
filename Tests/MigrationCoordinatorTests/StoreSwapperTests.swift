import Foundation
import GRDB
import Planning
import Schema
import StoreFormat
import StoreNames
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
  private var kept: FilePath { folder.appending("Shop.sqlite.before-20260101-000000") }

  private func make(_ path: FilePath, _ value: Int, mode: String = "DELETE") throws {
    let connection = try StoreConnection.writable(path)
    try connection.run { db in
      try db.execute(sql: "PRAGMA journal_mode = \(mode)")
      try db.execute(sql: "CREATE TABLE t (a); INSERT INTO t VALUES (\(value))")
    }
    try connection.queue.close()
  }

  private func swapper(keeps: Bool = true) throws -> StoreSwapper {
    StoreSwapper(
      store: store, fingerprint: try SourceFingerprint(of: store), kept: keeps ? kept : nil,
      journal: journal, scratch: paths.result)
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
    let error = #expect(throws: StoreError.self) { try swapper.swap(result) }
    #expect(error?.problem == problem)
    #expect((try bytes(store), try bytes(result), try names) == before)
  }

  @Test func `the old store keeps its bytes under its new name`() throws {
    try make(store, 1)
    try make(result, 2)
    let (old, new) = (try bytes(store), try bytes(result))
    #expect(try swapper().swap(result).isEmpty)
    #expect(try bytes(store) == new)
    #expect(try bytes(kept) == old)
    #expect(
      try names == ["Shop.sqlite", kept.lastComponent?.string, "Shop.sqlite.godwit-kept.json"])
  }

  @Test func `an old store that is not wanted is removed`() throws {
    try make(store, 1)
    try make(result, 2)
    #expect(try swapper(keeps: false).swap(result).isEmpty)
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
    #expect(try swapper().swap(result).isEmpty)
    #expect(
      try names == ["Shop.sqlite", kept.lastComponent?.string, "Shop.sqlite.godwit-kept.json"])
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
    #expect(try swapper().swap(result).isEmpty)
    #expect(
      try names == ["Shop.sqlite", kept.lastComponent?.string, "Shop.sqlite.godwit-kept.json"])
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
    #expect(throws: SystemCallError.self) { try swapper().swap(result) }
    #expect(try bytes(store) == old)
    #expect(try bytes(kept) == [7])
  }

  @Test func `a swap that was cut off before the rename is undone`() throws {
    try make(store, 1)
    try make(result, 2)
    let old = try bytes(store)
    let identity = SwapJournal.Identity(try Files.fileStatus(store))
    var replaced = SwapJournal.Replaced(store: identity, keptFile: identity)
    replaced.kept = kept.lastComponent?.string
    let entry = SwapJournal.Entry(
      result: .init(try Files.fileStatus(result)), replaced: replaced)
    try journal.begin(entry)
    try Files.link(from: store, to: kept)
    #expect(try journal.recover() == .undone)
    #expect(try names == ["Shop.sqlite", "result.sqlite"])
    #expect(try bytes(store) == old)
    #expect(try journal.recover() == .undone)
  }

  @Test func `an old store that was swapped stays`() throws {
    try make(store, 1)
    try make(result, 2)
    let old = try bytes(store)
    #expect(try swapper().swap(result).isEmpty)
    #expect(try journal.recover() == .undone)
    #expect(try bytes(kept) == old)
    #expect(
      try names == ["Shop.sqlite", kept.lastComponent?.string, "Shop.sqlite.godwit-kept.json"])
  }

  @Test func `a journal touches no file that became another one`() throws {
    try make(store, 1)
    try make(result, 2)
    let identity = SwapJournal.Identity(try Files.fileStatus(result))
    var replaced = SwapJournal.Replaced(store: identity, keptFile: identity)
    replaced.kept = kept.lastComponent?.string
    try journal.begin(.init(result: identity, replaced: replaced))
    try make(kept, 3)
    try Files.remove(result)
    let before = try (bytes(store), bytes(kept))
    try journal.recover()
    #expect(try (bytes(store), bytes(kept)) == before)
  }

  @Test func `a log at the name of a kept store has it take another name`() throws {
    try make(store, 1)
    let list = KeptStores(of: store)
    let free = try list.freeName(.before)
    #expect(!free.string.hasSuffix(".2"))
    for suffix in ["-wal", "-journal", "-shm"] {
      let taken = FilePath("\(free)\(suffix)")
      try Files.writeFileAtomically([1], to: taken)
      #expect(try KeptStores.isOccupied(free))
      try Files.remove(taken)
    }
    let numbered = try list.freeName(.before) { !$0.string.hasSuffix(".3") }
    #expect(numbered.string.hasSuffix(".3"))
    #expect(try KeptStores.isName(#require(numbered.lastComponent), of: store))
  }

  @Test(arguments: [
    "Shop.sqlite.before-20260101", "Shop.sqlite.before-20260101-000000.1",
    "Shop.sqlite.before-20260101-000000-wal", "Shop.sqlite.before-2026010a-000000",
    "Other.sqlite.before-20260101-000000", "Shop.sqlite.during-20260101-000000",
    "Shop.sqlite.before-20260101-000000.2.3",
  ])
  func `a name that Godwit does not give is none of a kept store`(name: String) throws {
    #expect(try !KeptStores.isName(#require(FilePath.Component(name)), of: store))
  }

  @Test func `a list of kept stores that is not one is refused`() throws {
    try make(store, 1)
    try make(result, 2)
    try Files.writeFileAtomically(Array("{}".utf8), to: KeptStores(of: store).path)
    let old = try bytes(store)
    #expect(throws: PlaceError.self) { try swapper().swap(result) }
    #expect(try bytes(store) == old)
    #expect(try names == ["Shop.sqlite", "Shop.sqlite.godwit-kept.json", "result.sqlite"])
  }

  @Test func `a journal with a zeroed header does not stay, and is not in the way`() throws {
    try make(store, 1)
    try make(result, 2)
    try Files.writeFileAtomically(
      Array(repeating: 0, count: 1024), to: FilePath(store.string + "-journal"))
    #expect(try swapper().swap(result).isEmpty)
    #expect(
      try names == ["Shop.sqlite", kept.lastComponent?.string, "Shop.sqlite.godwit-kept.json"])
  }

  @Test func `a store that a process has open for writing is not swapped`() throws {
    try make(store, 1)
    try make(result, 2)
    let idle = Process()
    idle.executableURL = URL(filePath: "/bin/sh")
    idle.arguments = ["-c", "exec 3<>\"$0\"; echo; exec sleep 60", store.string]
    let said = Pipe()
    idle.standardOutput = said
    try idle.run()
    defer {
      kill(idle.processIdentifier, SIGKILL)
      idle.waitUntilExit()
    }
    _ = said.fileHandleForReading.readData(ofLength: 1)
    try refused(swapper(), .openForWriting(by: [idle.processIdentifier]))
  }
}
