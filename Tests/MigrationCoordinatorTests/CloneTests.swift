import Expressions
import GRDB
import MigrationEngine
import ObjectModel
import Planning
import Schema
import StoreFormat
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import CloneEngine
@testable import MigrationCoordinator

/// A result that begins as a clone of the store must be what SQL makes of it.
@Suite(.scratchFolder) struct CloneTests {
  private static func model(_ more: Attribute..., name: String = "Person") -> ManagedObjectModel {
    do {
      let person = Entity(
        name, was: "Person", [.optional("name")], [.toMany("books", "Book", inverse: "author")])
      return try ManagedObjectModel(
        Entity(
          "Book", [.mandatory("title"), .optional("cover", .binary)],
          [.toOne("author", name, inverse: "books"), .toMany("tags", "Tag", inverse: "books")]),
        person,
        Entity("Tag", [.optional("word")] + more, [.toMany("books", "Book", inverse: "tags")]))
    } catch { preconditionFailure("\(error)") }
  }

  private func given(
    _ change: String = "",
    to target: ManagedObjectModel = model(.mandatory("color", default: .string("red")))
  ) throws -> GivenMigration {
    let given = try GivenMigration(from: Self.model(), to: target, rows: 3_000)
    let connection = try StoreConnection.writable(given.store)
    try connection.run { try $0.execute(sql: change) }
    try connection.queue.close()
    return given
  }

  private func run(
    _ given: GivenMigration, engine: EngineName,
    _ change: (inout MigrationRequest) -> Void = { _ in }
  ) async throws -> (report: MigrationReport, bytes: [UInt8]) {
    let output = given.folder.appending("\(engine).sqlite")
    var request = given.request(workers: 2, output: output)
    request.engine = engine
    change(&request)
    let report = try await given.run(request)
    let copy = FilePath("\(output).vacuumed")
    let connection = try StoreConnection.writable(output)
    try connection.run { db in
      #expect(try String.fetchAll(db, sql: "PRAGMA integrity_check") == ["ok"])
      try db.execute(sql: "VACUUM INTO ?", arguments: [copy.string])
    }
    try connection.queue.close()
    return (report, try Files.readFile(copy, limit: 1 << 30))
  }

  @Test(
    arguments: [
      "", "DELETE FROM ZBOOK WHERE Z_PK % 3 = 0", "PRAGMA journal_mode = WAL",
      "PRAGMA user_version = 7; PRAGMA application_id = 8; PRAGMA default_cache_size = 99",
      "ANALYZE", "CREATE INDEX ZBOOK_ZOTHER ON ZBOOK (ZTITLE)",
      "UPDATE ZTAG SET ZWORD = hex(randomblob(3000))",
    ])
  func `a clone is what SQL makes, and what does not change stays`(change: String) async throws {
    let given = try given(change)
    let (report, bytes) = try await run(given, engine: .clone)
    let (bySQL, expected) = try await run(given, engine: .sql)
    #expect(report.engine == .clone)
    #expect(report.movedTables == ["ZBOOK", "ZPERSON", "Z_1TAGS"])
    let isAlike = bytes == expected
    #expect(isAlike)
    #expect(report.rows == bySQL.rows)
    let accounts = try #require(report.accounts.first)
    #expect(accounts.rows == bySQL.accounts.first?.rows)
    #expect(
      accounts.entities.map { $0.isEstimated == true }
        == accounts.entities.map { $0.entity != "Tag" })
    #expect(accounts.entities.allSatisfy { $0.rowsIn == $0.rowsOut })
  }

  @Test(arguments: [EngineName.sql, .pages, .clone])
  func `numbers of the app in the header stay`(engine: EngineName) async throws {
    let given = try given("PRAGMA user_version = -7; PRAGMA application_id = 8")
    _ = try await run(given, engine: engine)
    let header = try StoreHeader(of: given.folder.appending("\(engine).sqlite"))
    #expect(header.appNumbers == AppNumbers(userVersion: -7, applicationID: 8))
  }

  @Test(arguments: [true, false])
  func `references that lead nowhere are counted, or nobody says that there are none`(
    isFull: Bool
  ) async throws {
    let given = try given(
      """
      UPDATE ZBOOK SET ZAUTHOR = 99999 WHERE Z_PK % 100 = 1;
      INSERT INTO Z_1TAGS VALUES (99999, 1)
      """)
    let (report, _) = try await run(given, engine: .clone) { $0.verifiesFully = isFull }
    let (bySQL, _) = try await run(given, engine: .sql)
    #expect(report.movedTables == ["ZBOOK", "ZPERSON", "Z_1TAGS"])
    #expect(bySQL.danglingReferences.count == 2 && bySQL.uncheckedReferences == nil)
    #expect(report.danglingReferences == (isFull ? bySQL.danglingReferences : []))
    #expect(
      report.uncheckedReferences?.map { "\($0.table).\($0.column)" }.sorted()
        == (isFull ? nil : ["ZBOOK.ZAUTHOR", "Z_1TAGS.Z_1BOOKS", "Z_1TAGS.Z_3TAGS"]))
  }

  @Test func `whoever decides on references that lead nowhere has all of them looked over`()
    async throws
  {
    let (report, _) = try await run(try given(), engine: .clone) {
      $0.defectChoices.dangling = .fail
    }
    #expect(report.engine == .clone && !report.movedTables.isEmpty)
    #expect(report.uncheckedReferences == nil)
  }

  @Test func `a table stays under another name`() async throws {
    let given = try given(to: Self.model(name: "Human"))
    let (report, bytes) = try await run(given, engine: .clone)
    let (_, expected) = try await run(given, engine: .sql)
    // No table changes, so no worker is started.
    #expect(report.movedTables == ["ZBOOK", "ZHUMAN", "ZTAG", "Z_1TAGS"])
    #expect(report.workOrders.isEmpty)
    let isAlike = bytes == expected
    #expect(isAlike)
  }

  @Test(arguments: [
    ("PRAGMA auto_vacuum = 0; VACUUM", "the store keeps no map of its pages"),
    ("PRAGMA page_size = 8192; VACUUM", "the store has pages of another size than the new one"),
  ])
  func `a store that cannot give its pages to others is migrated otherwise, and why is told`(
    change: String, reason: String
  ) async throws {
    let (report, _) = try await run(try given(change), engine: .clone)
    #expect(report.engine == .sql)
    #expect(report.engineDeclined == reason)
  }

  @Test func `rows that stay behind keep a clone from being made`() async throws {
    let given = try given("INSERT INTO ZTAG (Z_PK, Z_ENT, Z_OPT) VALUES (99999, 77, 1)")
    let (report, _) = try await run(given, engine: .clone) {
      $0.lossConsent = .all
    }
    #expect(report.engine == .sql)
    #expect(report.engineDeclined == "rows stay behind")
  }

  @Test func `the plan names what stays, and asks for room for the rest alone`() async throws {
    let given = try given()
    var request = given.request(workers: 2, output: given.folder.appending("new.sqlite"))
    let target = try TargetModel(paths: [given.target], configuration: nil)
    for (engine, staying) in [
      (EngineName.clone, ["ZBOOK", "ZPERSON", "Z_1TAGS"]), (.pages, []),
    ] {
      request.engine = engine
      try MigrationPreview.with(request, target: target) { preview in
        let plan = try #require(preview.plan)
        #expect(preview.engine?.name == engine)
        #expect(plan.stayingTables == Set(staying))
        #expect(
          plan.workOrders.flatMap(\.pieces).allSatisfy { !staying.contains($0.destinationTable) })
      }
    }
  }

  @Test func `pages that may belong to others are given to nobody`() async throws {
    let given = try given()
    let root = try StoreReader(immutable: given.store).number(
      sql: "SELECT rootpage FROM sqlite_schema WHERE name = 'ZTAG'")
    var bytes = try Files.readFile(given.store, limit: 1 << 28)
    // The pointer map has the root of a table that changes for a free page.
    bytes[4096 + 5 * (Int(root) - 3)] = 2
    try Files.writeFileAtomically(bytes, to: given.store)
    let (report, clone) = try await run(given, engine: .clone)
    let (_, expected) = try await run(given, engine: .sql)
    #expect(report.movedTables.isEmpty)
    #expect(report.accounts.flatMap(\.entities).allSatisfy { $0.isEstimated == nil })
    let isAlike = clone == expected
    #expect(isAlike)
  }

  @Test func `a b-tree that is not as it was ends the assembly`() throws {
    let given = try given()
    let result = given.folder.appending("clone.sqlite")
    let clone = SourceClone(source: given.store, trees: .none, isEdit: false)
    try clone.make(result)
    let connection = try StoreConnection.scratch(result, cacheBytes: 1 << 20)
    let roots = try connection.run { try StoreWriter.roots(in: $0) }
    try clone.requireStaying(["ZBOOK"], in: result, roots: roots)
    try connection.run { try $0.execute(sql: "DELETE FROM ZBOOK WHERE Z_PK > 100") }
    #expect(throws: AssemblyError.damaged(["ZBOOK"])) {
      try clone.requireStaying(["ZBOOK"], in: result, roots: roots)
    }
    #expect(throws: AssemblyError.damaged(["ZBOOK"])) {
      try clone.requireStaying(["ZBOOK"], in: result, roots: [:])
    }
    try connection.queue.close()
  }
}
