import Expressions
import Foundation
import GRDB
import Godwit
import Mapping
import ModelFiles
import ObjectModel
import Planning
import Schema
import StoreFormat
import StoreNames
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// Losses of inferred mappings, and rows that stand for nothing.
@Suite(.scratchFolder) struct StoreLossTests {
  private func change(_ store: FilePath, _ sql: String) throws {
    let connection = try StoreConnection.writable(store)
    try connection.run { try $0.execute(sql: sql) }
    try connection.queue.close()
  }

  private func refusal(
    _ given: GivenMigration, _ request: MigrationRequest
  ) async throws -> LossRefusal? {
    let bytes = try given.bytes(given.store)
    let names = try given.names
    let error = await #expect(throws: MigrationError.self) { try await given.run(request) }
    #expect(try given.bytes(given.store) == bytes)
    #expect(try given.names == names)
    guard case .losses(_, let refusal)? = error else {
      Issue.record("another error: \(String(describing: error))")
      return nil
    }
    return refusal
  }

  @Test func `numbers that become others are counted and refused`() async throws {
    let given = try GivenMigration()
    try change(
      given.store,
      """
      UPDATE ZBOOK SET ZPAGES = Z_PK WHERE ZPAGES IS NOT NULL;
      UPDATE ZBOOK SET ZPAGES = Z_PK + 0.5 WHERE ZPAGES IS NOT NULL AND Z_PK % 3 = 0
      """)
    let count = try StoreReader(immutable: given.store).number(
      sql: "SELECT count(*) FROM ZBOOK WHERE ZPAGES <> CAST(ZPAGES AS INTEGER)")
    var request = given.request()
    request.lossConsent = .none
    let refusal = try #require(try await refusal(given, request))
    #expect(count > 0)
    #expect(refusal.refused.map(\.name) == ["Comic.pages"])
    #expect(refusal.refused.map(\.cause) == [.conversion])
    #expect(refusal.refused.map(\.count) == [count])
    let sentences = MigrationFailure(MigrationError.losses(store: given.store, refusal)).sentences
    #expect(sentences.last?.contains("choices.allowedLoss = [\"Comic.pages\"]") == true)
    #expect(sentences.contains { $0.hasPrefix("Book.gone") && $0.hasSuffix("(This is allowed.)") })
  }

  @Test func `the last copy takes a consent that names all that goes with it`() async throws {
    let given = try GivenMigration()
    var request = given.request()
    request.discardsOld = true
    let refusal = try #require(try await refusal(given, request))
    #expect(refusal.refused.map(\.name) == ["Book.gone", "Comic.gone"])
    #expect(refusal.refused.allSatisfy { $0.cause == .lastCopy })
    request.output = given.folder.appending("Out.sqlite")
    _ = try await given.run(request)
  }

  private static let lonely = Entity("Lonely", [.optional("word")])

  @Test(arguments: [EngineName.sql, .pages])
  func `rows of no entity are refused with their keys, and left where that is allowed`(
    engine: EngineName
  ) async throws {
    let given = try GivenMigration(
      from: ManagedObjectModel(Self.lonely),
      to: ManagedObjectModel(Entity("Lonely", [.optional("word"), .optional("more")])))
    try change(
      given.store,
      "UPDATE ZLONELY SET Z_ENT = 77 WHERE Z_PK IN (3, 9); UPDATE ZLONELY SET Z_ENT = NULL WHERE Z_PK = 4"
    )
    var request = given.request()
    request.engine = engine
    let refusal = try #require(try await refusal(given, request))
    #expect(refusal.refused.map(\.cause) == [.unknownEntity])
    #expect(refusal.refused.map(\.count) == [3])
    #expect(refusal.refused.first?.keys == [3, 4, 9])
    let rows = try StoreReader(immutable: given.store).number(sql: "SELECT count(*) FROM ZLONELY")
    request.lossConsent = .some(["Lonely"])
    let report = try await given.run(request)
    #expect(report.rows == rows - 3)
    #expect(report.accounts.first?.rows == ["Lonely": rows - 3])
  }

  @Test func `pairs without a key are refused`() async throws {
    let given = try GivenMigration()
    let schema = try StoreSchema(GivenMigration.old)
    let join = try #require(schema.joinTables.first)
    try change(given.store, "INSERT INTO \(join.name) (\(join.first.keyColumn)) VALUES (9901)")
    let refusal = try #require(try await refusal(given, given.request()))
    #expect(refusal.refused.map(\.cause) == [.missingKey])
    #expect(refusal.refused.map(\.count) == [1])
    #expect(refusal.refused.first?.keys == [9901])
  }

  @Test func `another app's model is refused with the hashes of both`() async throws {
    let given = try GivenMigration(
      from: ManagedObjectModel(Self.lonely),
      to: ManagedObjectModel(Entity("Stranger", [.optional("word")])))
    var request = given.request()
    let error = await #expect(throws: MigrationError.self) { try await given.run(request) }
    let failure = MigrationFailure(try #require(error))
    #expect(failure.coreDataCode == 134100)
    #expect(failure.exitStatus == .impossible)
    let old = try #require(try given.metadata().versionHashes["Lonely"]).hexadecimal
    #expect(failure.sentences.contains("  Lonely = \(old)"))
    #expect(failure.sentences.contains { $0.hasPrefix("  Stranger = ") })
    request.lossConsent = .all
    #expect(try await given.run(request).losses.map(\.cause) == [.allObjects])
  }

  @Test func `a model that removes all objects is asked for`() async throws {
    let given = try GivenMigration(
      from: ManagedObjectModel(Self.lonely, Entity("Kept", [.optional("x")])),
      to: ManagedObjectModel(Entity("Kept", [.optional("x")])))
    #expect(
      try await given.run(given.request(output: given.folder.appending("A.sqlite"))).losses.map(
        \.cause) == [.removed])
    try change(given.store, "DELETE FROM ZKEPT")
    let refusal = try #require(try await refusal(given, given.request()))
    #expect(refusal.refused.map(\.cause) == [.allObjects])
  }

  @Test func `a consent that names what there is not is told what there is`() async throws {
    let given = try GivenMigration()
    var request = given.request()
    request.lossConsent = .some(["Comic.pagers"])
    let error = await #expect(throws: MigrationError.self) { try await given.run(request) }
    guard case .consentUnknown(["Comic.pagers"], let known)? = error else {
      Issue.record("it was taken")
      return
    }
    #expect(known.contains("Comic.pages"))
    #expect(try MigrationFailure(#require(error)).exitStatus == .usage)
  }

  // MARK: External files

  private func photos() throws -> GivenMigration {
    try GivenMigration(
      from: ManagedObjectModel(Entity("Photo", [.external("image"), .external("preview")])),
      to: ManagedObjectModel(Entity("Photo", [.external("image")])), rows: 60)
  }

  private func files(_ store: FilePath) throws -> [String] {
    let folder = SupportFolder.path(of: store).appending("_EXTERNAL_DATA")
    guard try Files.fileStatusIfPresent(folder) != nil else { return [] }
    return try Files.listDirectory(folder).map(\.string).sorted()
  }

  @Test func `a store that is kept finds its external files under its new name`() async throws {
    let given = try photos()
    let before = try files(given.store)
    let report = try await given.run(given.request())
    let kept = FilePath(try #require(report.oldStore))
    #expect(before.count > 2)
    #expect(try files(kept) == before)
    #expect(try files(given.store) == before)
  }

  @Test func `a store that is discarded takes along what it alone names`() async throws {
    let given = try photos()
    let folder = SupportFolder.path(of: given.store).appending("_EXTERNAL_DATA")
    let stranger = "0F0F0F0F-0000-4000-8000-0F0F0F0F0F0F"
    try Files.writeFileAtomically([1], to: folder.appending("bystander"))
    try Files.writeFileAtomically([1], to: folder.appending(stranger))
    var request = given.request()
    request.discardsOld = true
    request.lossConsent = .all
    let before = try files(given.store)
    _ = try await given.run(request)
    let queue = try StoreConnection.immutable(given.store)
    let named = try queue.run { db in
      try String.fetchAll(
        db,
        sql: """
          SELECT CAST(substr(ZIMAGE, 2, 36) AS TEXT) FROM ZPHOTO WHERE substr(ZIMAGE, 1, 1) = X'02'
          """)
    }
    #expect(try files(given.store) == (named + ["bystander", stranger]).sorted())
    #expect(before.count > named.count + 2)
  }
}

extension GivenMigration {
  func metadata() throws -> StoreMetadata { try StoreReader(immutable: store).metadata() }
}
