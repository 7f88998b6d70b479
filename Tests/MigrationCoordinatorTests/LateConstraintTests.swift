import GRDB
import Godwit
import Mapping
import ObjectModel
import Planning
import StoreFormat
import SystemCalls
import TestSupport
import Testing

@testable import MigrationCoordinator

/// New constraints of many rows, which the index that keeps them finds to be broken.
@Suite(.scratchFolder) struct LateConstraintTests {
  private static let rows: Int64 = 66_000

  private func given() throws -> GivenMigration {
    let model = { (isUnique: Bool) in
      try ManagedObjectModel(
        Entity(
          "Lone", [.optional("code")] + (isUnique ? [.optional("more")] : []),
          unique: isUnique ? [["code"]] : []))
    }
    let given = try GivenMigration(from: model(false), to: model(true), rows: Self.rows)
    try given.change("UPDATE ZLONE SET ZCODE = 'c' || (Z_PK * 7919 % 100003)")
    return given
  }

  private func refusals(
    _ given: GivenMigration, _ change: (inout MigrationRequest) -> Void
  ) async throws -> [Refusal] {
    var request = given.request()
    change(&request)
    do {
      _ = try await given.run(request)
    } catch MigrationError.impossible(_, let refusals, _) {
      return refusals
    }
    return []
  }

  @Test(arguments: [EngineName.pages, .sql])
  func `a broken constraint is refused like one that was counted before`(
    engine: EngineName
  ) async throws {
    let given = try given()
    try given.change("UPDATE ZLONE SET ZCODE = 'same' WHERE Z_PK IN (5, 900, 65999)")
    let before = try given.bytes(given.store)
    let told = try await refusals(given) { $0.engine = engine }
    #expect(
      told.map(\.reason) == [.condition(.unique(properties: ["code"]), count: 3, keys: [5])])
    #expect(try given.bytes(given.store) == before)
    #expect(try given.names.sorted() == ["New.mom", "Shop.sqlite"])
  }

  @Test func `what is not there equals nothing`() async throws {
    let given = try given()
    try given.change("UPDATE ZLONE SET ZCODE = NULL WHERE Z_PK % 3 = 0")
    #expect(try await refusals(given) { $0.engine = .pages } == [])
    let connection = try StoreConnection.immutable(given.store)
    let index = try connection.run { db in
      try String.fetchOne(
        db, sql: "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql LIKE '%UNIQUE%'")
    }
    #expect(index != nil)
  }
}
