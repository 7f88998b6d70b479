import Foundation
import GRDB
import Mapping
import ModelFiles
import ObjectModel
import Planning
import StoreFormat
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// Objects that share an object in a relationship which gets a to-one inverse.
@Suite(.scratchFolder) struct SharedReferenceTests {
  private static func model(
    isLater: Bool, hasChild: Bool, link: String = "card"
  ) throws -> ManagedObjectModel {
    let back = isLater ? [Relationship.toOne("item", "Item", inverse: link)] : []
    return try ManagedObjectModel(
      entities: [
        Entity("Card", [.optional("text")], back),
        Entity(
          "Item", [.optional("name")],
          [
            .toOne(
              link, "Card", inverse: isLater ? "item" : nil, was: link == "card" ? nil : "card")
          ]),
      ] + (hasChild ? [Entity("Special", in: "Item")] : []))
  }

  /// A store whose items 2, 3 and 7 have card 5, and all others none or one that is not there.
  private func given(hasChild: Bool, link: String = "card") throws -> GivenMigration {
    let given = try GivenMigration(
      from: Self.model(isLater: false, hasChild: hasChild),
      to: Self.model(isLater: true, hasChild: hasChild, link: link), rows: 60)
    try given.change(
      """
      UPDATE ZITEM SET ZCARD = NULL;
      UPDATE ZITEM SET ZCARD = 5 WHERE Z_PK IN (2, 3, 7);
      UPDATE ZITEM SET ZCARD = 6 WHERE Z_PK = 4;
      UPDATE ZITEM SET ZCARD = 9999 WHERE Z_PK IN (8, 9);
      """)
    return given
  }

  private func keys(_ sql: String, in store: FilePath) throws -> [Int64] {
    try StoreReader(immutable: store).connection.run { try Int64.fetchAll($0, sql: sql) }
  }

  @Test(arguments: [EngineName.sql, .pages, .clone], [true, false])
  func `all keep their references, and those that nothing leads back to are listed`(
    engine: EngineName, hasChild: Bool
  ) async throws {
    let given = try given(hasChild: hasChild, link: "ticket")
    var request = given.request(output: given.folder.appending("New.sqlite"))
    (request.engine, request.failsOnLoss) = (engine, true)
    let expected = Defect(
      kind: .oneSided, entity: "Item", property: "card", count: 2, keys: [3, 7], fate: .kept)
    let target = try TargetModel(paths: request.target, configuration: nil)
    let preview = try MigrationPreview.with(request, target: target) { $0.defects }
    #expect(preview.filter { $0.kind == .oneSided } == [expected])
    let report = try await given.run(request)
    #expect(report.defects.filter { $0.kind == .oneSided } == [expected])
    #expect(report.losses.isEmpty)
    let new = request.destination
    let kept = "SELECT Z_PK FROM ZITEM WHERE ZTICKET IS NOT NULL ORDER BY 1"
    #expect(try keys(kept, in: new) == [2, 3, 4, 7, 8, 9])
    #expect(try keys("SELECT ZITEM FROM ZCARD WHERE Z_PK IN (5, 6) ORDER BY 1", in: new) == [2, 4])
  }

  @Test func `where no two objects share one, nothing is listed`() async throws {
    let given = try given(hasChild: true)
    try given.change("UPDATE ZITEM SET ZCARD = Z_PK WHERE Z_PK IN (3, 7)")
    let report = try await given.run(given.request())
    #expect(!report.defects.contains { $0.kind == .oneSided })
  }

  @Test func `a stage that is not the last one lists them too`() async throws {
    let given = try given(hasChild: false)
    let bundle = try given.bundle(of: [
      Self.model(isLater: false, hasChild: false), Self.model(isLater: true, hasChild: false),
      Self.model(isLater: true, hasChild: true),
    ])
    var request = given.request(output: given.folder.appending("New.sqlite"))
    (request.target, request.isProgressive, request.isStepwise) = ([bundle], true, true)
    let report = try await given.run(request)
    let found = report.defects.filter { $0.kind == .oneSided && $0.property == "card" }
    #expect(found.map(\.keys) == [[3, 7]] && found.map(\.stage) == [1])
  }
}
