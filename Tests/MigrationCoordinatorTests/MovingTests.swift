import Expressions
import Foundation
import GRDB
import KeyedArchives
import ObjectModel
import Planning
import StoreFormat
import Survey
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// What a mapping leaves alone is moved by pages, and must be what SQL makes of it.
@Suite(.scratchFolder) struct MovingTests {
  private static func model(
    _ more: Attribute..., ofBook: [Attribute] = []
  ) -> ManagedObjectModel {
    do {
      return try ManagedObjectModel(
        Entity(
          "Book", [.mandatory("title"), .optional("cover", .binary)] + ofBook,
          [
            .toOne("author", "Person", inverse: "books"), .toMany("tags", "Tag", inverse: "books"),
          ]),
        Entity("Person", [.optional("name")], [.toMany("books", "Book", inverse: "author")]),
        Entity("Tag", [.optional("word")] + more, [.toMany("books", "Book", inverse: "tags")]))
    } catch { preconditionFailure("\(error)") }
  }

  private func given(
    _ change: String = "",
    to target: ManagedObjectModel = model(.mandatory("color", default: .string("red")))
  ) throws -> GivenMigration {
    let given = try GivenMigration(from: Self.model(), to: target, rows: 9_000)
    let connection = try StoreConnection.writable(given.store)
    try connection.run { try $0.execute(sql: change) }
    try connection.queue.close()
    return given
  }

  @Test(arguments: [nil, 700]) func `tables that are left alone are moved`(
    rangeRows: Int64?
  ) async throws {
    #expect(
      try await given().moved(rangeRows: rangeRows) == ["ZBOOK", "ZPERSON", "Z_1TAGS"])
  }

  @Test func `the plan that is shown is the one that runs`() async throws {
    let given = try given()
    var request = given.request(
      workers: 2, rangeRows: 700, output: given.folder.appending("new.sqlite"))
    request.engine = .pages
    let target = try TargetModel(paths: [given.target], configuration: nil)
    let shown = try MigrationPreview.with(request, target: target) { preview in
      #expect(preview.engine?.name == .pages)
      return try #require(preview.plan).workOrders
    }
    let moved = shown.flatMap(\.pieces).flatMap(\.movedIndexes)
    #expect(Set(moved).count == moved.count)
    #expect(moved.contains("sqlite_autoindex_Z_1TAGS_1"))
    let report = try await given.run(request)
    #expect(shown.map(\.partition) == report.workOrders.map(\.partition))
    #expect(shown.map(\.rows) == report.workOrders.map(\.rows))
  }

  @Test func `gaps, chains and keys of any size are moved`() async throws {
    let given = try given(
      """
      DELETE FROM ZBOOK WHERE Z_PK % 3 = 0;
      UPDATE ZBOOK SET ZCOVER = randomblob(20 * Z_PK) WHERE Z_PK % 50 = 1;
      UPDATE ZBOOK SET ZTITLE = 'x' WHERE Z_PK % 7 = 1;
      UPDATE ZBOOK SET Z_PK = 9223372036854775807 WHERE Z_PK = 4;
      DELETE FROM Z_1TAGS WHERE rowid % 5 = 0;
      """)
    #expect(try await given.moved() == ["ZBOOK", "ZPERSON", "Z_1TAGS"])
  }

  @Test func `metadata of any size have their room`() async throws {
    let given = try given()
    let connection = try StoreConnection.writable(given.store)
    try connection.run { db in
      let reader = try StoreReader(immutable: given.store)
      var metadata = try reader.metadata()
      metadata.plist["notes"] = .data(Array(repeating: 7, count: 6 << 20))
      try db.execute(
        sql: "UPDATE Z_METADATA SET Z_PLIST = ?", arguments: [Data(metadata.encoded)])
    }
    try connection.queue.close()
    #expect(try await given.moved() == ["ZBOOK", "ZPERSON", "Z_1TAGS"])
  }

  @Test func `rows from before a column was added are made again`() async throws {
    let given = try given(
      """
      ALTER TABLE ZPERSON DROP COLUMN ZNAME;
      ALTER TABLE ZPERSON ADD COLUMN ZNAME VARCHAR;
      """)
    #expect(try await given.moved().isEmpty)
  }

  @Test func `integers that were spelled out are made again`() async throws {
    let given = try given(
      "ALTER TABLE ZPERSON ADD COLUMN ZMORE INTEGER; ALTER TABLE ZPERSON DROP COLUMN ZMORE")
    #expect(try await given.moved().isEmpty)
  }

  private static let staleIndex = """
    DROP INDEX ZBOOK_ZAUTHOR_INDEX;
    CREATE INDEX ZBOOK_ZAUTHOR_INDEX ON ZBOOK (ZAUTHOR) WHERE Z_PK > 10;
    PRAGMA writable_schema = ON;
    UPDATE sqlite_schema SET sql = 'CREATE INDEX ZBOOK_ZAUTHOR_INDEX ON ZBOOK (ZAUTHOR)'
      WHERE name = 'ZBOOK_ZAUTHOR_INDEX';
    """

  @Test func `an index that lacks a row is made again where nobody checks the source`()
    async throws
  {
    let given = try given(Self.staleIndex)
    #expect(try await given.moved { $0.sourceCheck = .off }.isEmpty)
  }

  @Test(arguments: ["NULL", "77", "'x'"])
  func `an index that leads to a row of no known entity is made again, and is no damage`(
    number: String
  ) async throws {
    let given = try given(
      "UPDATE ZBOOK SET Z_ENT = \(number) WHERE Z_PK = 1",
      to: Self.model(ofBook: [.mandatory("color", default: .string("red"))]))
    let moved = try await given.moved { $0.lossConsent = .all }
    #expect(moved.isEmpty)
  }

  @Test(arguments: [EngineName.sql, .pages])
  func `an index that lacks rows is damage, with its table and its keys`(
    engine: EngineName
  ) async throws {
    let given = try given(Self.staleIndex)
    var request = given.request(workers: 2, output: given.folder.appending("new.sqlite"))
    request.engine = engine
    let error = await #expect(throws: SourceDamage.self) { try await given.run(request) }
    #expect(error?.findings.first?.table == "ZBOOK")
    #expect(error?.findings.first?.text.contains("row 1 ") == true)
    #expect(try Files.fileStatusIfPresent(given.folder.appending("new.sqlite")) == nil)
  }

  @Test(arguments: [EngineName.sql, .pages])
  func `rows that no index knows are migrated`(engine: EngineName) async throws {
    // The one index of a table with one entity, without any of its rows.
    let given = try given(
      """
      DROP INDEX ZBOOK_ZAUTHOR_INDEX;
      CREATE INDEX ZBOOK_ZAUTHOR_INDEX ON ZBOOK (ZAUTHOR) WHERE Z_PK > 1000000;
      PRAGMA writable_schema = ON;
      UPDATE sqlite_schema SET sql = 'CREATE INDEX ZBOOK_ZAUTHOR_INDEX ON ZBOOK (ZAUTHOR)'
        WHERE name = 'ZBOOK_ZAUTHOR_INDEX';
      """)
    var request = given.request(workers: 2, output: given.folder.appending("new.sqlite"))
    request.engine = engine
    request.sourceCheck = .off
    let report = try await given.run(request)
    let books = try StoreReader(immutable: given.store).rowCount(of: "ZBOOK", by: .rows)
    #expect(books > 0)
    #expect(report.accounts.first?.rows["Book"] == books)
  }

  @Test(
    arguments: [
      "DROP TABLE Z_1TAGS", "ALTER TABLE ZPERSON RENAME TO OTHER",
      "ALTER TABLE ZTAG RENAME TO o; CREATE VIEW ZTAG AS SELECT * FROM o",
      "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET name = 'ztag' WHERE name = 'ZTAG'",
    ])
  func `a table that the model asks for and is not there is damage`(change: String) async throws {
    let given = try given(change)
    let error = await #expect(throws: StoreError.self) { try await given.run(given.request()) }
    guard case .tablesMissing(let names)? = error?.problem else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(names.count == 1)
  }

  @Test(arguments: [EngineName.sql, .pages])
  func `a table whose rows are not kept by Z_PK is damage`(engine: EngineName) async throws {
    let given = try given(
      """
      PRAGMA writable_schema = ON;
      UPDATE sqlite_schema SET sql = replace(sql, 'PRIMARY KEY', '') WHERE name = 'ZTAG'
      """)
    var request = given.request()
    request.engine = engine
    let error = await #expect(throws: StoreError.self) { try await given.run(request) }
    #expect(error?.problem == .keysMissing(["ZTAG"]))
  }

  @Test(arguments: [EngineName.sql, .pages], ["VARCHAR", "TEXT"])
  func `a table whose entity numbers are texts is damage, and loses no row unseen`(
    engine: EngineName, type: String
  ) async throws {
    let given = try given(
      """
      CREATE TABLE other AS SELECT * FROM ZTAG;
      PRAGMA writable_schema = ON;
      UPDATE sqlite_schema SET sql = replace(sql, 'Z_ENT INTEGER', 'Z_ENT \(type)')
        WHERE name = 'ZTAG';
      PRAGMA writable_schema = RESET;
      DELETE FROM ZTAG;
      INSERT INTO ZTAG SELECT * FROM other;
      DROP TABLE other
      """)
    var request = given.request()
    request.engine = engine
    let error = await #expect(throws: StoreError.self) { try await given.run(request) }
    #expect(error?.problem == .numbersAsTexts(["ZTAG"]))
  }

  @Test(
    arguments: [
      "INSERT INTO Z_METADATA SELECT 7, Z_UUID, Z_PLIST FROM Z_METADATA",
      "UPDATE Z_METADATA SET Z_UUID = CAST(Z_UUID AS BLOB)",
    ])
  func `two rows of metadata, or a UUID that is no text, are damage`(change: String) async throws {
    let given = try given(change)
    let error = await #expect(throws: StoreError.self) { try await given.run(given.request()) }
    #expect(error?.problem == .metadataUnreadable)
  }
}

extension GivenMigration {
  private func vacuumed(_ path: FilePath) throws -> [UInt8] {
    let copy = FilePath("\(path).vacuumed")
    let connection = try StoreConnection.writable(path)
    try connection.run { db in
      // When each migration was.
      if try db.tableExists("ATRANSACTION") {
        try db.execute(
          sql: """
            UPDATE ATRANSACTION SET ZTIMESTAMP = 0
            WHERE Z_PK = (SELECT max(Z_PK) FROM ATRANSACTION)
            """)
      }
      #expect(try String.fetchAll(db, sql: "PRAGMA integrity_check") == ["ok"])
      try db.execute(sql: "VACUUM INTO ?", arguments: [copy.string])
    }
    return try Files.readFile(copy, limit: 1 << 30)
  }

  /// Migrates by both engines, compares the results, and tells which tables were moved.
  func moved(
    rangeRows: Int64? = nil, _ change: (inout MigrationRequest) -> Void = { _ in }
  ) async throws -> [String] {
    var results: [[UInt8]] = []
    var accounts: [[StageAccounts]] = []
    var moved: [String] = []
    for engine in [EngineName.sql, .pages] {
      let output = folder.appending("\(engine).sqlite")
      var request = request(workers: 2, rangeRows: rangeRows, output: output)
      request.engine = engine
      change(&request)
      let report = try await run(request)
      moved = report.movedTables
      accounts.append(report.accounts)
      results.append(try vacuumed(output))
    }
    let isAlike = results[0] == results[1]
    #expect(isAlike)
    #expect(accounts[0] == accounts[1])
    return moved
  }
}
