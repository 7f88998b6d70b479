import Foundation
import GRDB
import SystemPackage
import TestSupport
import Testing

/// Stores that SwiftData made: migrations to the model of a newer store, taken from that store.
///
/// What Apple's own newer store looks like is the expectation; rows are compared by plain SQL.
@Suite(.needsCorpus, .scratchFolder) struct ModernStoreTests {
  private var folder: FilePath { ScratchFolder.current }
  private static let freezeRay =
    "modern/TrinsicVentures+FreezeRay/2025-10-09-249d147/TestApp/FreezeRay/Fixtures"
  private static let cocktails = "modern/MatthewHunt84+MetaCocktailsSwiftData"
  private static let resources = "modern/sergd2005+ResourcesManager"

  /// A copy of a store in a folder of its own, with its `-wal`, and with further rows.
  private func copy(
    _ relative: String, as name: String, rows: String = ""
  ) throws -> FilePath {
    let place = folder.appending(name)
    try FileManager.default.createDirectory(
      atPath: place.string, withIntermediateDirectories: true)
    let store = try Corpus.copyStore(relative, to: place)
    if rows.isEmpty { return store }
    let queue = try DatabaseQueue(path: store.string)
    try queue.writeWithoutTransaction { try $0.execute(sql: rows) }
    try queue.close()
    return store
  }

  private func read<Value>(_ store: FilePath, _ body: (Database) throws -> Value) throws -> Value {
    let queue = try DatabaseQueue(path: store.string)
    defer { try? queue.close() }
    return try queue.writeWithoutTransaction(body)
  }

  /// The statements that make the tables and indexes of a store, those of history included.
  private func schema(_ store: FilePath) throws -> [String] {
    try read(store) { db in
      try String.fetchAll(
        db,
        sql: """
          SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND type IN ('table', 'index')
          ORDER BY sql
          """)
    }
  }

  private func texts(_ store: FilePath, _ query: String) throws -> [String] {
    try read(store) { db in
      try Row.fetchAll(db, sql: query).map { row in
        row.databaseValues.map(StoreDump.text).joined(separator: " ")
      }
    }
  }

  private func migrate(
    _ store: FilePath, to other: FilePath, _ more: [String] = []
  ) async throws -> (result: FilePath, outcome: BuiltTool.Outcome) {
    let result = folder.appending("Result.store")
    let outcome = try await BuiltTool.run(
      ["migrate", store.string, "--to", other.string, "--output", result.string] + more)
    return (result, outcome)
  }

  private func requireVerified(_ store: FilePath, _ result: FilePath, _ more: [String] = [])
    async throws
  {
    let verified = try await BuiltTool.run(["verify", store.string, result.string] + more)
    #expect(verified.status == 0, "\(verified.standardOutput)\(verified.standardError)")
  }

  @Test func `a SwiftData store gets the second version of its schema`() async throws {
    let store = try copy(
      "\(Self.freezeRay)/1.0.0/App.sqlite", as: "old",
      rows: """
        INSERT INTO ZUSER (Z_PK, Z_ENT, Z_OPT, ZCREATEDAT, ZNAME)
        VALUES (1, 1, 1, 700000000.5, 'Ada'), (2, 1, 3, 1, 'Bo');
        UPDATE Z_PRIMARYKEY SET Z_MAX = 2 WHERE Z_NAME = 'User';
        """)
    let newer = try copy("\(Self.freezeRay)/2.0.0/App.sqlite", as: "new")
    let (result, outcome) = try await migrate(store, to: newer)
    try #require(outcome.status == 0, "\(outcome.standardError)")
    #expect(try schema(result) == schema(newer))
    #expect(
      try texts(result, "SELECT Z_PK, Z_ENT, Z_OPT, ZCREATEDAT, ZNAME, ZEMAIL FROM ZUSER")
        == ["1 1 1 700000000.5 'Ada' NULL", "2 1 3 1 'Bo' NULL"])
    try await requireVerified(store, result)
    let again = try await BuiltTool.run(["check", result.string, "--to", newer.string])
    #expect(again.standardOutput.contains("already has this model"))
  }

  @Test(arguments: ["2024-07-28-a14090c", "2024-07-28-bc3d34e", "2024-07-28-54f311d"])
  func `the states of one store have one model`(state: String) async throws {
    let store = try copy("\(Self.resources)/\(state)/default.store", as: "old")
    let other = try copy("\(Self.resources)/2024-07-28-54f311d/default.store", as: "new")
    let check = try await BuiltTool.run(["check", store.string, "--to", other.string])
    #expect(check.status == 0, "\(check.standardError)")
    #expect(check.standardOutput.contains("already has this model"), "\(check.standardOutput)")
  }

  /// The two versions differ in the columns of two UUIDs: what was `prep.id` alone is two columns.
  @Test func `composites of a real store are mapped by element`() async throws {
    let store = try copy(
      "\(Self.cocktails)/2024-07-13-3292fc7/MetaCocktailsSwiftData/default.store", as: "old")
    let newer = try copy(
      "\(Self.cocktails)/2024-09-09-1997dc6/MetaCocktailsSwiftData/default.store", as: "new")
    let refused = try await migrate(store, to: newer)
    #expect(refused.outcome.status == 78)
    let mandatory = [
      "Cocktail.isCustomCocktail", "IngredientBase.baseCategory", "IngredientBase.id",
      "IngredientBase.specialtyCategory", "IngredientBase.umbrellaCategory",
    ]
    for name in mandatory {
      #expect(refused.outcome.standardError.contains("\(name): mandatory, without a default"))
    }
    let mapping = try await self.mapping(from: store, to: newer)
    // The app kept fewer garnishes than its model asks for.
    let (result, outcome) = try await migrate(
      store, to: newer,
      ["--mapping", mapping.string, "--workers", "2", "--validation", "report"])
    try #require(outcome.status == 0, "\(outcome.standardError)")
    #expect(try schema(result) == schema(newer))
    for (table, old, new) in [
      ("ZCOCKTAIL", "ZID, ZID1, ZPERSON, ZYEAR, ZICE", "ZID, ZID1, ZPERSON, ZYEAR, ZICE"),
      ("ZINGREDIENTBASE", "ZID, ZNAME, ZPREPRECIPE", "ZID1, ZNAME, ZPREPRECIPE"),
      ("ZINGREDIENT", "ZID, ZVALUE, ZUNIT, Z1SPEC", "ZID, ZVALUE, ZUNIT, Z1SPEC"),
    ] {
      let before = try texts(store, "SELECT Z_PK, \(old) FROM \(table) ORDER BY Z_PK")
      #expect(before.count > 100)
      #expect(try texts(result, "SELECT Z_PK, \(new) FROM \(table) ORDER BY Z_PK") == before)
    }
    // A token of before is a store's UUID and the number of a transaction.
    for query in [
      "SELECT Z_UUID FROM Z_METADATA", "SELECT * FROM ATRANSACTION WHERE Z_PK = 1",
      "SELECT count(*), sum(ZENTITYPK), sum(ZTRANSACTIONID) FROM ACHANGE",
      "SELECT ZENTITY, count(*) FROM ACHANGE GROUP BY 1",
    ] {
      #expect(try texts(result, query) == texts(store, query))
    }
    #expect(try texts(store, "SELECT count(*) FROM ACHANGE") == ["2670"])
    #expect(try texts(result, "SELECT max(Z_PK) FROM ATRANSACTION") == ["2"])
    try await requireVerified(store, result, ["--mapping", mapping.string])
  }

  /// The inferred mapping, with values for what SwiftData's second version made mandatory.
  private func mapping(from store: FilePath, to newer: FilePath) async throws -> FilePath {
    let file = folder.appending("Cocktails.json")
    let written = try await BuiltTool.run([
      "map", "--from", store.string, "--to", newer.string, "--output", file.string,
    ])
    #expect(written.status == 0, "\(written.standardError)")
    var text = try String(contentsOfFile: file.string, encoding: .utf8)
    for (name, value) in [
      ("isCustomCocktail", "NO"), ("baseCategory", "\\\"Spirit\\\""),
      ("specialtyCategory", "\\\"None\\\""), ("umbrellaCategory", "\\\"None\\\""),
      ("id", "CAST(\\\"2F1A7C52-6C0E-4A0E-9D3B-0A4C5D6E7F80\\\", \\\"NSUUID\\\")"),
    ] {
      text = text.replacing("\"\(name)\": null", with: "\"\(name)\": \"\(value)\"")
    }
    try Data(text.utf8).write(to: URL(filePath: file.string))
    return file
  }

  @Test func `a store whose columns do not fit its own hashes is refused with their names`()
    async throws
  {
    let store = try copy(
      "\(Self.cocktails)/2024-09-09-1997dc6/MetaCocktailsSwiftData/default.store", as: "old",
      rows: """
        ALTER TABLE ZCOCKTAIL DROP COLUMN ZPERSON; ALTER TABLE ZINGREDIENTBASE DROP COLUMN ZID1;
        """)
    let other = try copy("\(Self.freezeRay)/2.0.0/App.sqlite", as: "new")
    let (_, outcome) = try await migrate(store, to: other)
    #expect(outcome.status == 65, "\(outcome.standardError)")
    for name in ["ZCOCKTAIL.ZPERSON", "ZINGREDIENTBASE.ZID1"] {
      #expect(outcome.standardError.contains(name), "\(outcome.standardError)")
    }
  }
}
