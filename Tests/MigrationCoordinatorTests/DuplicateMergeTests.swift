import GRDB
import Mapping
import ObjectModel
import Planning
import StoreFormat
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// With `merge`, references and pairs of removed duplicates lead to the object that stays; with the
/// other choices they are losses.
@Suite(.scratchFolder) struct DuplicateMergeTests {
  private static func model(isUnique: Bool) throws -> ManagedObjectModel {
    try ManagedObjectModel(
      Entity("Badge", [], [.toOne("user", "User", inverse: "badge")]),
      Entity("Client", [.optional("label")], [.toOne("user", "User", inverse: "clients")]),
      Entity("Grp", [], [.toMany("members", "User", inverse: "groups", isOrdered: true)]),
      Entity(
        "User", [.optional("uid")],
        [
          .toMany("clients", "Client", inverse: "user", isOrdered: true),
          .toMany("groups", "Grp", inverse: "members"), .toOne("badge", "Badge", inverse: "user"),
          .toOne("boss", "User", inverse: "staff"), .toMany("staff", "User", inverse: "boss"),
        ], unique: isUnique ? [["uid"]] : []))
  }

  /// Users 1, 2 and 4 are one; 5 is the boss of 2, and 4 that of 3.
  private func given() throws -> GivenMigration {
    let given = try GivenMigration(
      from: Self.model(isUnique: false), to: Self.model(isUnique: true), rows: 0)
    try given.change(
      """
      INSERT INTO ZUSER (Z_PK, Z_ENT, Z_OPT, ZUID, ZBADGE, ZBOSS) VALUES (1, 4, 1, 'u', 1, NULL),
        (2, 4, 1, 'u', 2, 5), (3, 4, 1, 'v', NULL, 4), (4, 4, 1, 'u', NULL, NULL),
        (5, 4, 1, 'w', 3, NULL), (6, 4, 1, NULL, NULL, NULL), (7, 4, 1, NULL, NULL, NULL);
      INSERT INTO ZBADGE (Z_PK, Z_ENT, Z_OPT, ZUSER) VALUES (1, 1, 1, 1), (2, 1, 1, 2), (3, 1, 1, 5);
      INSERT INTO ZCLIENT (Z_PK, Z_ENT, Z_OPT, ZUSER, Z_FOK_USER) VALUES (1, 2, 1, 1, 4096),
        (2, 2, 1, 2, 2048), (3, 2, 1, 2, 1024), (4, 2, 1, 4, 1024), (5, 2, 1, 3, 1024);
      INSERT INTO ZGRP (Z_PK, Z_ENT, Z_OPT) VALUES (1, 3, 1), (2, 3, 1);
      INSERT INTO Z_3MEMBERS (Z_3GROUPS, Z_4MEMBERS, Z_FOK_4MEMBERS) VALUES (1, 1, 2048),
        (1, 2, 1024), (2, 2, 1024), (2, 4, 2048), (2, 3, 4096);
      UPDATE Z_PRIMARYKEY SET Z_MAX = 9
      """)
    return given
  }

  private func rows(_ sql: String, in store: FilePath) throws -> String {
    try StoreReader(immutable: store).connection.run { db in
      try Row.fetchAll(db, sql: sql).map { row in
        row.map { "\(Int64.fromDatabaseValue($0.1).map { "\($0)" } ?? "-")" }.joined(separator: ":")
      }.joined(separator: " ")
    }
  }

  @Test(arguments: [EngineName.sql, .pages])
  func `everything that led to a duplicate leads to the one that stays`(
    engine: EngineName
  ) async throws {
    let given = try given()
    var request = given.request(output: given.folder.appending("New.sqlite"))
    (request.engine, request.defectChoices.duplicates) = (engine, .merge)
    request.failsOnLoss = true
    // The duplicates go with their values, and one badge of two has no place left.
    for consent in [[], ["User"], ["Badge.user"]] as [Set<String>] {
      request.lossConsent = .some(consent)
      await #expect(throws: MigrationError.self) { try await given.run(request) }
    }
    request.lossConsent = .some(["Badge.user", "User"])
    let report = try await given.run(request)
    let new = request.destination
    #expect(try rows("SELECT Z_PK FROM ZUSER ORDER BY 1", in: new) == "1 3 5 6 7")
    #expect(
      try rows("SELECT Z_PK FROM ZCLIENT WHERE ZUSER = 1 ORDER BY Z_FOK_USER", in: new) == "1 3 2 4"
    )
    #expect(
      try rows("SELECT Z_3GROUPS, Z_4MEMBERS FROM Z_3MEMBERS ORDER BY 1, 2", in: new)
        == "1:1 2:1 2:3")
    #expect(try rows("SELECT Z_PK, ZUSER FROM ZBADGE ORDER BY 1", in: new) == "1:1 2:- 3:5")
    #expect(
      try rows("SELECT Z_PK, ZBADGE, ZBOSS FROM ZUSER WHERE Z_PK < 4", in: new) == "1:1:5 3:-:1")
    #expect(
      report.losses.map { "\($0.name) \($0.cause) \($0.count) \($0.keys)" }
        == ["Badge.user duplicate 1 [2]", "User duplicate 2 []"])
    for account in report.accounts[0].references ?? [] {
      #expect(
        account.referencesIn
          == account.referencesOut + account.dropped.reduce(0) { $0 + $1.references })
    }
    let badges = report.accounts[0].references?.first { $0.entity == "Badge" }
    #expect(badges?.dropped == [.init(cause: .duplicate, references: 1)])
    #expect(report.defects.contains { $0.fate == .merged && $0.property == "user" })
  }

  @Test(arguments: [DefectChoices.Duplicates.keepFirst, .keepLast], [EngineName.sql, .pages])
  func `without it they are losses that need no consent`(
    choice: DefectChoices.Duplicates, engine: EngineName
  ) async throws {
    let given = try given()
    var request = given.request(output: given.folder.appending("New.sqlite"))
    (request.engine, request.defectChoices.duplicates) = (engine, choice)
    request.failsOnLoss = true
    await #expect(throws: MigrationError.self) { try await given.run(request) }
    request.failsOnLoss = false
    let report = try await given.run(request)
    let losses = Dictionary(
      uniqueKeysWithValues: report.losses.map { ("\($0.name) \($0.cause)", $0.count) })
    let isFirst = choice == .keepFirst
    #expect(losses["Client.user duplicate"] == (isFirst ? 3 : 3))
    #expect(losses["Badge.user duplicate"] == (isFirst ? 1 : 2))
    #expect(losses["User.boss duplicate"] == (isFirst ? 1 : nil))
    let clients = report.accounts[0].references?.first { $0.entity == "Client" }
    #expect(clients?.referencesIn == 5 && clients?.referencesOut == 2)
    #expect(
      try StoreReader(immutable: request.destination).number(
        sql: "SELECT count(ZUSER) FROM ZCLIENT") == 2)
  }
}
