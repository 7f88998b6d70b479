import Foundation
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// What `rollback --output` writes.
@Suite(.scratchFolder) struct OldStoreCopyTests {
  /// A store that was migrated in place, and what it was.
  private func migrated() async throws -> (GivenMigration, [UInt8]) {
    let given = try GivenMigration()
    let old = try given.bytes(given.store)
    _ = try await given.run(given.request())
    return (given, old)
  }

  @Test func `the old store goes to another file, and nothing else changes`() async throws {
    let (given, old) = try await migrated()
    let (new, names) = (try given.bytes(given.store), try given.names)
    let output = given.folder.appending("Old.sqlite")
    let done = try StoreUpkeep(of: given.store).copyOld(to: output)
    #expect(try given.bytes(output) == old)
    #expect(try given.bytes(given.store) == new)
    #expect(try given.names.filter { $0 != "Old.sqlite" } == names)
    #expect(try given.bytes(done.kept) == old)
    #expect(try Files.fileStatus(output).modified == Files.fileStatus(done.kept).modified)
    // The way back is there as before.
    _ = try StoreUpkeep(of: given.store).rollBack()
    #expect(try given.bytes(given.store) == old)
  }

  @Test func `a file that is there, and what was kept and changed, are refused`() async throws {
    let (given, _) = try await migrated()
    let upkeep = try StoreUpkeep(of: given.store)
    let output = given.folder.appending("Old.sqlite")
    try Files.writeFileAtomically([1], to: FilePath("\(output)-wal"))
    #expect(throws: PlaceError.self) { try upkeep.copyOld(to: output) }
    #expect(throws: PlaceError.self) { try upkeep.copyOld(to: given.store) }
    try Files.remove(FilePath("\(output)-wal"))
    let kept = try #require(try upkeep.contents().kept.first?.path)
    var bytes = try given.bytes(kept)
    bytes[bytes.count - 1] ^= 1
    try Files.writeFileAtomically(bytes, to: kept)
    let names = try given.names
    #expect(throws: PlaceError.self) { try upkeep.copyOld(to: output) }
    #expect(try given.names == names)
  }

  @Test func `a kept store with another time is the one that was kept`() async throws {
    let (given, old) = try await migrated()
    let upkeep = try StoreUpkeep(of: given.store)
    let kept = try #require(try upkeep.contents().kept.first?.path)
    try Files.setModified(kept, to: 1)
    #expect(try upkeep.contents().kept.map(\.state) == [.whole])
    _ = try upkeep.rollBack()
    #expect(try given.bytes(given.store) == old)
  }

  @Test(arguments: ["-wal", "-journal"])
  func `a kept store with changes in a log is neither restored nor removed`(
    suffix: String
  ) async throws {
    let (given, _) = try await migrated()
    let upkeep = try StoreUpkeep(of: given.store)
    let kept = try #require(try upkeep.contents().kept.first?.path)
    let log = FilePath("\(kept)\(suffix)")
    try Files.writeFileAtomically([1], to: log)
    let names = try given.names
    #expect(try upkeep.contents().kept.map(\.state) == [.changed])
    #expect(throws: PlaceError.self) { try upkeep.rollBack() }
    #expect(throws: PlaceError.self) { try upkeep.finish() }
    #expect(try given.names == names)
    // An app that only reads leaves an empty one.
    try Files.writeFileAtomically([], to: log)
    #expect(try upkeep.finish() == [kept])
  }
}
