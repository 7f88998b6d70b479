import Expressions
import GRDB
import ObjectModel
import Planning
import StoreFormat
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// Files of external values come along, whoever finds their names.
@Suite(.scratchFolder) struct ExternalFilesTests {
  private static func model(_ more: Attribute...) -> ManagedObjectModel {
    do {
      return try ManagedObjectModel(
        Entity("Photo", [.optional("album", .binary), .external("image"), .external("preview")]),
        Entity("Scan", [.external("image")] + more))
    } catch { preconditionFailure("\(error)") }
  }

  private func files(of store: String, in folder: FilePath) throws -> [String] {
    try Files.listDirectory(folder.appending(".\(store)_SUPPORT").appending("_EXTERNAL_DATA"))
      .map(\.string).sorted()
  }

  @Test func `a file of the same name at the output is neither taken nor replaced`() async throws {
    let given = try GivenMigration(
      from: Self.model(), to: Self.model(.optional("color")), rows: 90)
    let output = given.folder.appending("New.sqlite")
    let request = given.request(output: output)
    let name = try #require(try files(of: "Shop", in: given.folder).first)
    let folder = given.folder.appending(".New_SUPPORT").appending("_EXTERNAL_DATA")
    try Files.createDirectory(folder.removingLastComponent())
    try Files.createDirectory(folder)
    let size = try given.bytes(
      given.folder.appending(".Shop_SUPPORT").appending("_EXTERNAL_DATA").appending(name)
    ).count
    for foreign in [[UInt8](repeating: 7, count: size), [1]] {
      try Files.writeFileAtomically(foreign, to: folder.appending(name))
      await #expect(throws: MigrationError.self) { try await given.run(request) }
      #expect(try given.bytes(folder.appending(name)) == foreign)
      #expect(try Files.fileStatusIfPresent(output) == nil)
    }
    try Files.remove(folder.appending(name))
    _ = try await given.run(request)
    #expect(try files(of: "New", in: given.folder).contains(name))
  }

  @Test(
    arguments: [EngineName.sql, .pages],
    [
      "",
      // The names lie in chains now.
      "UPDATE ZPHOTO SET ZALBUM = randomblob(9000)",
      "DELETE FROM ZPHOTO WHERE Z_PK % 7 = 0; UPDATE ZSCAN SET ZIMAGE = X'0199' WHERE Z_PK % 5 = 0",
    ])
  func `the files that rows name come along, of moved rows and of others`(
    engine: EngineName, change: String
  ) async throws {
    let given = try GivenMigration(
      from: Self.model(), to: Self.model(.mandatory("color", default: .string("red"))), rows: 900)
    let connection = try StoreConnection.writable(given.store)
    let named = try connection.run { db in
      try db.execute(sql: change)
      return try ["ZIMAGE FROM ZPHOTO", "ZPREVIEW FROM ZPHOTO", "ZIMAGE FROM ZSCAN"].flatMap {
        let parts = $0.split(separator: " ", maxSplits: 1)
        return try String.fetchAll(
          db,
          sql: """
            SELECT CAST(substr(\(parts[0]), 2, 36) AS TEXT) \(parts[1])
            WHERE hex(\(parts[0])) LIKE '02%' AND length(\(parts[0])) = 38
            """)
      }
    }
    try connection.queue.close()
    let lost = try #require(named.first)
    try Files.remove(
      given.folder.appending(".Shop_SUPPORT").appending("_EXTERNAL_DATA").appending(lost))
    var request = given.request(
      workers: 2, rangeRows: 100, output: given.folder.appending("New.sqlite"))
    request.engine = engine
    let report = try await given.run(request)
    #expect(report.movedTables == (engine == .pages ? ["ZPHOTO"] : []))
    #expect(report.missingExternalFiles == [lost])
    #expect(named.count > 10)
    #expect(try files(of: "New", in: given.folder) == named.dropFirst().sorted())
  }
}
