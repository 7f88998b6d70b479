import Foundation
import GRDB
import Planning
import StoreFormat
import Survey
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

@Suite(.scratchFolder) struct InstantSwapTests {
  private var folder: FilePath { ScratchFolder.current.appending("data") }
  private var store: FilePath { folder.appending("Shop.sqlite") }
  private var result: FilePath { ScratchFolder.current.appending("result.sqlite") }

  init() throws {
    try Files.createDirectory(folder)
    for (path, value) in [(store, 1), (result, 2)] {
      let connection = try StoreConnection.writable(path)
      try connection.run { db in
        try db.execute(sql: "CREATE TABLE t (a); INSERT INTO t VALUES (\(value))")
      }
      try connection.queue.close()
    }
  }

  private func bytes(_ path: FilePath) throws -> [UInt8] {
    try Files.readFile(path, limit: 1 << 20)
  }

  private var names: [String] { get throws { try Files.listDirectory(folder).map(\.string) } }

  private func swap() throws -> FilePath {
    let made = try InstantSwap(store: store, fingerprint: SourceFingerprint(of: store)).swap(result)
    #expect(made.notes.isEmpty)
    return made.kept
  }

  @Test func `the old store keeps its bytes, and the new one has its mode`() throws {
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: store.string)
    let (old, new) = (try bytes(store), try bytes(result))
    let kept = try swap()
    #expect(try bytes(store) == new)
    #expect(try bytes(kept) == old)
    #expect(try Files.fileStatus(store).mode & 0o777 == 0o640)
    #expect(try KeptStores(of: store).entries().map(\.name) == [kept.lastComponent?.string])
    #expect(try names.count == 3)
  }

  @Test func `a store that another process has open for writing stays`() throws {
    let other = Process()
    other.executableURL = URL(filePath: "/bin/sh")
    other.arguments = ["-c", "exec 3<>\"$1\"; echo; exec sleep 60", "sh", store.string]
    let pipe = Pipe()
    other.standardOutput = pipe
    try other.run()
    defer { kill(other.processIdentifier, SIGKILL) }
    _ = pipe.fileHandleForReading.availableData
    let old = try bytes(store)
    let error = #expect(throws: StoreError.self) { try swap() }
    #expect(error?.problem == .openForWriting(by: [other.processIdentifier]))
    #expect(try bytes(store) == old)
    #expect(try names == ["Shop.sqlite"])
  }

  @Test func `a store with other names is left to another way`() throws {
    try Files.link(from: store, to: folder.appending("Other.sqlite"))
    #expect(throws: Workspace.NeedsFolder.self) { try swap() }
    #expect(try names == ["Other.sqlite", "Shop.sqlite"])
  }

  @Test(arguments: 0..<8)
  func `what a kill leaves before the swap is removed`(left: Int) throws {
    let kept = folder.appending("Shop.sqlite.before-20260101-000000")
    let old = try bytes(store)
    if left & 1 != 0 {
      let status = try Files.fileStatus(store)
      try KeptStores(of: store).note(
        .init(
          name: kept.lastComponent?.string ?? "", bytes: status.size, modified: status.modified,
          checksum: KeptStores.checksum(of: store), time: 1))
    }
    if left & 2 != 0 { try Files.link(from: store, to: kept) }
    if left & 4 != 0 {
      for name in ["Shop.sqlite.godwit-new", "Shop.sqlite.godwit-kept.json"] {
        try Files.writeFileAtomically([1], to: folder.appending("\(name).4711.12.tmp"))
      }
    }
    try InstantSwap.removeUnfinished(of: store, shared: nil)
    #expect(try names == ["Shop.sqlite"])
    #expect(try bytes(store) == old)
  }

  @Test func `a kept store is never removed`() throws {
    let kept = try swap()
    try Files.link(from: store, to: folder.appending("mine.sqlite"))
    let before = try names
    try InstantSwap.removeUnfinished(of: store, shared: nil)
    #expect(try names == before)
    #expect(try KeptStores(of: store).entries().map(\.name) == [kept.lastComponent?.string])
  }

  @Test func `the entry of a kept store that was moved stays`() throws {
    let kept = try swap()
    try Files.rename(kept, to: folder.appending("mine.sqlite"))
    try InstantSwap.removeUnfinished(of: store, shared: nil)
    #expect(try KeptStores(of: store).entries().map(\.name) == [kept.lastComponent?.string])
    #expect(try StoreUpkeep(of: store).finish().isEmpty)
    #expect(try KeptStores(of: store).entries().map(\.name) == [kept.lastComponent?.string])
    try Files.rename(folder.appending("mine.sqlite"), to: kept)
    #expect(try StoreUpkeep(of: store).finish() == [kept])
    #expect(try names == ["Shop.sqlite"])
  }

  @Test func `finish removes the entry of a run that was killed before it kept the store`() throws {
    let status = try Files.fileStatus(store)
    try KeptStores(of: store).note(
      .init(
        name: "Shop.sqlite.before-20260101-000000", bytes: status.size, modified: status.modified,
        checksum: KeptStores.checksum(of: store), time: 1))
    #expect(try StoreUpkeep(of: store).finish().isEmpty)
    #expect(try names == ["Shop.sqlite"])
  }

  @Test func `a file that its process is writing stays`() throws {
    let path = folder.appending("Shop.sqlite.godwit-new.4711.12.tmp")
    try Files.writeFileAtomically([1], to: path)
    let lock = try FileLock.acquire(path)
    try InstantSwap.removeUnfinished(of: store, shared: nil)
    #expect(try names.contains(path.lastComponent?.string ?? ""))
    withExtendedLifetime(lock) {}
  }
}
