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
    try Files.setModified(kept, to: 1)
    let names = try given.names
    #expect(throws: PlaceError.self) { try upkeep.copyOld(to: output) }
    #expect(try given.names == names)
  }
}
