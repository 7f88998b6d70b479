import Expressions
import Foundation
import GRDB
import Godwit
import Mapping
import MappingFiles
import ModelFiles
import ObjectModel
import Planning
import StoreFormat
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// Choices hold in every step of a route, and where objects are made one by one.
@Suite(.scratchFolder) struct StagedDefectTests {
  /// Versions 1 to 3 of a model; the second renames, the last narrows types and has a constraint.
  private static func model(_ version: Int) throws -> ManagedObjectModel {
    if version == 1 {
      return try ManagedObjectModel(
        Entity(
          "Thing",
          [.optional("code"), .optional("level", .integer32), .optional("level2", .integer32)],
          [.toOne("next", "Thing", inverse: "before"), .toMany("before", "Thing", inverse: "next")])
      )
    }
    let type = version == 3 ? AttributeType.integer16 : .integer32
    return try ManagedObjectModel(
      Entity("Added", [.optional("snout")]),
      Entity(
        "Item", was: "Thing",
        [
          .optional("sign", was: "code"), .optional("level", type),
          .optional("rank", type, was: "level2"),
        ], [.toOne("next", "Item", inverse: "before"), .toMany("before", "Item", inverse: "next")],
        unique: version == 3 ? [["sign"]] : []))
  }

  private static let changes = """
    UPDATE ZTHING SET ZCODE = 'c' || Z_PK, ZLEVEL = 1, ZLEVEL2 = 2, ZNEXT = Z_PK;
    UPDATE ZTHING SET ZCODE = 'same' WHERE Z_PK IN (4, 6, 9);
    UPDATE ZTHING SET ZLEVEL2 = 70000 WHERE Z_PK IN (3, 8);
    UPDATE ZTHING SET ZNEXT = 6 WHERE Z_PK = 1;
    """

  private func given() throws -> (GivenMigration, MigrationRequest) {
    let given = try GivenMigration(from: Self.model(1), to: Self.model(3), rows: 60)
    let connection = try StoreConnection.writable(given.store)
    try connection.run { try $0.execute(sql: Self.changes) }
    try connection.queue.close()
    let bundle = try given.bundle(of: (1...3).map { try Self.model($0) })
    var request = given.request(output: given.folder.appending("New.sqlite"))
    request.target = [bundle]
    request.isProgressive = true
    return (given, request)
  }

  private func count(_ sql: String, in store: FilePath) throws -> Int64 {
    try StoreReader(immutable: store).number(sql: "SELECT count(*) FROM \(sql)")
  }

  private func judge(
    _ report: MigrationReport, stage: Int, result: FilePath, items: Int64 = 60
  ) throws {
    let found = report.defects.map { [$0.kind.rawValue, "\($0.keys)", "\($0.stage)"] }
    #expect(
      found == [
        ["value", "[3, 8]", "\(stage)"], ["duplicate", "[6, 9]", "\(stage)"],
        ["removedTarget", "[1]", "\(stage)"],
      ])
    #expect(try count("ZITEM", in: result) == items - 2)
    #expect(try count("ZITEM WHERE Z_PK IN (3, 8) AND ZRANK IS NULL", in: result) == 2)
    #expect(try count("ZITEM WHERE ZRANK IS NULL", in: result) == 2)
    #expect(try count("ZITEM WHERE ZNEXT IS NULL", in: result) == 1)
    let dropped = report.accounts.map { stage in
      stage.entities.flatMap(\.dropped).reduce(0) { $0 + $1.objects }
    }
    #expect(dropped == (stage == 1 ? [2] : [0, 2]))
    for account in report.accounts.flatMap(\.entities) {
      #expect(
        account.rowsIn == account.rowsOut + account.dropped.reduce(0) { $0 + $1.objects })
    }
  }

  @Test(arguments: [false, true], [EngineName.sql, .pages])
  func `what a later step demands is settled by the same choices`(
    isStepwise: Bool, engine: EngineName
  ) async throws {
    var (given, request) = try given()
    (request.isStepwise, request.engine) = (isStepwise, engine)
    let error = await #expect(throws: MigrationError.self) { try await given.run(request) }
    guard case .stepImpossible? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    request.defectChoices.duplicates = .keepFirst
    request.defectChoices.values = .null
    request.restarts = true
    let bytes = try given.bytes(given.store)
    let report = try await given.run(request)
    try judge(report, stage: isStepwise ? 2 : 1, result: request.destination)
    #expect(try given.bytes(given.store) == bytes)
  }

  @Test(arguments: [false, true], [DefectChoices.Duplicates.keepFirst, .merge])
  func `references to duplicates of a later step are accounted in its stage, or merged`(
    isStepwise: Bool, choice: DefectChoices.Duplicates
  ) async throws {
    var (given, request) = try given()
    request.isStepwise = isStepwise
    (request.defectChoices.duplicates, request.defectChoices.values) = (choice, .null)
    let report = try await given.run(request)
    let isMerged = choice == .merge
    #expect(
      try count("ZITEM WHERE Z_PK = 1 AND ZNEXT = 4", in: request.destination)
        == (isMerged ? 1 : 0))
    #expect(report.losses.map(\.cause) == (isMerged ? [] : [.duplicate]))
    let account = try #require(report.accounts.last?.references?.first)
    #expect(account.relationship == "next" && account.referencesIn == 60)
    #expect(account.dropped == [.init(cause: .duplicate, references: isMerged ? 2 : 3)])
    #expect(
      try count("ZITEM WHERE ZNEXT IS NOT NULL", in: request.destination)
        == account.referencesOut)
  }

  @Test func `a run that goes on after a repaired stage reports what it repaired`() async throws {
    var (given, request) = try given()
    request.isStepwise = true
    request.defectChoices.duplicates = .keepFirst
    request.defectChoices.values = .null
    let killed = FaultyLauncher { document, _ in
      if document.source.hasSuffix("stage-1.sqlite") { throw CancellationError() }
      return nil
    }
    await #expect(throws: MigrationError.self) { try await given.run(request, killed) }
    // What the finished stage removed by choice is lost where nothing may be lost.
    request.failsOnLoss = true
    let error = await #expect(throws: MigrationError.self) { try await given.run(request) }
    #expect(error.map { MigrationFailure($0).exitStatus } == .impossible)
    request.failsOnLoss = false
    let report = try await given.run(request)
    #expect(report.resumed)
    try judge(report, stage: 2, result: request.destination)
  }

  @Test func `objects that are made one by one are settled by the same choices`() async throws {
    let (old, new) = (try Self.model(2), try Self.model(3))
    let given = try GivenMigration(from: old, to: new, rows: 60)
    let connection = try StoreConnection.writable(given.store)
    try connection.run { db in
      try db.execute(
        sql: Self.changes.replacing("ZTHING", with: "ZITEM").replacing("ZCODE", with: "ZSIGN")
          .replacing("ZLEVEL2", with: "ZRANK") + "DELETE FROM ZADDED")
    }
    try connection.queue.close()
    let file = given.folder.appending("Map.json")
    let inference = MappingInference(from: old, to: new)
    let mapping = MappingModel.inferred(inference, source: old, destination: new)
    try Files.writeFileAtomically(Array(MappingText.text(mapping: mapping).utf8), to: file)
    var request = given.request(output: given.folder.appending("New.sqlite"))
    request.mappings = [file]
    request.engine = .objects
    let error = await #expect(throws: MigrationError.self) { try await given.run(request) }
    let sentences = MigrationFailure(try #require(error)).sentences
    #expect(sentences.contains { $0.hasPrefix("Item.rank: 2 objects (Z_PK 3, 8) with values") })
    #expect(sentences.contains { $0.contains("choices.duplicates = .keepFirst") })
    request.defectChoices.duplicates = .keepFirst
    request.defectChoices.values = .null
    let report = try await given.run(request)
    #expect(report.engine == .objects)
    try judge(
      report, stage: 1, result: request.destination, items: count("ZITEM", in: given.store))
  }

  @Test(arguments: [EngineName?.none, .sql, .pages, .objects], [true, false])
  func `choices hold for a value that an earlier step gives to all objects`(
    engine: EngineName?, isText: Bool
  ) async throws {
    func version(_ number: Int) throws -> ManagedObjectModel {
      let type: AttributeType = isText ? .string : number == 3 ? .integer16 : .integer64
      return try ManagedObjectModel(
        Entity(
          "Item", [.optional("name")] + (number == 1 ? [] : [.optional("code", type)]),
          unique: isText && number == 3 ? [["code"]] : []))
    }
    let given = try GivenMigration(from: version(1), to: version(3), rows: 20)
    var request = given.request(output: given.folder.appending("New.sqlite"))
    request.target = [try given.bundle(of: (1...3).map(version))]
    request.isProgressive = true
    request.engine = engine
    request.settings = [isText ? "Item.code=\"x\"" : "Item.code=300000"]
    if isText {
      request.defectChoices.duplicates = .keepFirst
    } else {
      request.defectChoices.values = .null
    }
    let report = try await given.run(request)
    #expect(report.defects.map(\.stage) == [2])
    #expect(try count("ZITEM", in: request.destination) == (isText ? 1 : 20))
    #expect(try count("ZITEM WHERE ZCODE IS NULL", in: request.destination) == (isText ? 0 : 20))
  }
}
