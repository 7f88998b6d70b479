import Foundation
import Mapping
import ObjectModel
import StoreFormat
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

@Suite(.scratchFolder) struct MigrationTests {
  @Test func `a store is migrated in its place and the old one kept byte for byte`() async throws {
    let given = try GivenMigration()
    let old = try given.bytes(given.store)
    let report = try await given.run(given.request(workers: 2))
    #expect(report.outcome == .migrated)
    let kept = try #require(report.oldStore)
    #expect(try given.bytes(FilePath(kept)) == old)
    #expect(
      try given.names == [
        "New.mom", "Shop.sqlite", FilePath(kept).lastComponent?.string ?? "",
        "Shop.sqlite.godwit-kept.json",
      ])
    let reader = try StoreReader(immutable: given.store)
    #expect(try reader.metadata().versionHashes == GivenMigration.new.versionHashes())
    #expect(try reader.metadata().uuid == StoreReader(immutable: FilePath(kept)).metadata().uuid)
    #expect(try reader.cachedModel() != nil)
    #expect(try reader.number(sql: "SELECT count(*) FROM ZBOOK WHERE ZPRICE = 9.5") == 120)
    #expect(try reader.number(sql: "SELECT count(*) FROM ZBOOK WHERE ZYEAR IS NULL") == 0)
    #expect(
      try reader.number(
        sql: "SELECT count(*) FROM ZBOOK WHERE Z_FOK_WRITER IS NULL AND ZWRITER IS NOT NULL") == 0)
    #expect(report.danglingReferences.isEmpty)
    #expect(report.losses.map(\.name) == ["Book.gone", "Comic.gone", "Comic.pages"])
    #expect(report.losses.map(\.cause) == [.removed, .removed, .conversion])
    #expect(!report.resumed)
  }

  @Test func `with an output the source stays as it was, and so does its folder`() async throws {
    let given = try GivenMigration()
    let old = try given.bytes(given.store)
    let output = given.folder.appending("Out.sqlite")
    let report = try await given.run(given.request(output: output))
    #expect(try given.bytes(given.store) == old)
    #expect(try given.names == ["New.mom", "Out.sqlite", "Shop.sqlite"])
    #expect(report.oldStore == nil)
    await #expect(throws: PlaceError.self) {
      try await given.run(given.request(output: output))
    }
  }

  @Test func `workers and ranges change nothing in the result`() async throws {
    let given = try GivenMigration()
    var dumps: Set<String> = []
    for (index, (workers, rangeRows)) in [(1, nil), (2, 5), (3, 37)].enumerated() {
      let output = given.folder.appending("Out\(index).sqlite")
      _ = try await given.run(
        given.request(workers: workers, rangeRows: rangeRows.map(Int64.init), output: output))
      dumps.insert(try StoreDump.text(of: output))
    }
    #expect(dumps.count == 1)
  }

  @Test func `a store that has the model already is left alone`() async throws {
    let given = try GivenMigration(to: GivenMigration.old)
    let old = try given.bytes(given.store)
    #expect(try await given.run(given.request()).outcome == .alreadyCurrent)
    #expect(try given.bytes(given.store) == old)
    #expect(try given.names == ["New.mom", "Shop.sqlite"])
  }

  @Test func `the old store goes where it is not wanted`() async throws {
    let given = try GivenMigration()
    var request = given.request()
    request.discardsOld = true
    request.lossConsent = .all
    #expect(try await given.run(request).oldStore == nil)
    #expect(try given.names == ["New.mom", "Shop.sqlite"])
  }

  @Test(arguments: [StoreFormat.JournalMode.wal, .delete])
  func `the journal mode is the one asked for`(mode: StoreFormat.JournalMode) async throws {
    let given = try GivenMigration()
    var request = given.request()
    request.journalMode = mode
    request.discardsOld = true
    request.lossConsent = .all
    _ = try await given.run(request)
    #expect(try StoreHeader(of: given.store).usesWAL == (mode == .wal))
    #expect(try given.names == ["New.mom", "Shop.sqlite"])
  }

  @Test func `a store in a write-ahead log stays in one`() async throws {
    let given = try GivenMigration(journalMode: .wal)
    _ = try await given.run(given.request())
    #expect(try StoreHeader(of: given.store).usesWAL)
  }

  @Test func `file mode and keys of the application survive`() async throws {
    let given = try GivenMigration()
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o640], ofItemAtPath: given.store.string)
    _ = try await given.run(given.request())
    #expect(try Files.fileStatus(given.store).mode == 0o640)
  }

  @Test func `an empty store is migrated`() async throws {
    let given = try GivenMigration(rows: 0)
    #expect(try await given.run(given.request()).rows == 0)
  }
}

extension Entity {
  func adding(_ attribute: Attribute) -> Entity {
    var entity = self
    entity.attributes.append(attribute)
    return entity
  }
}
