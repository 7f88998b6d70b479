import GRDB
import Godwit
import Mapping
import Planning
import StoreFormat
import Survey
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// Migrations of stores with tables, views and triggers that no model knows of.
@Suite(.scratchFolder) struct ExtraTableTests {
  private func given(_ statements: String) throws -> GivenMigration {
    let given = try GivenMigration()
    let connection = try StoreConnection.writable(given.store)
    try connection.run { try $0.execute(sql: statements) }
    try connection.queue.close()
    return given
  }

  private static let tables = """
    CREATE TABLE "order" (id INTEGER PRIMARY KEY AUTOINCREMENT, note TEXT, twice AS (note || note));
    INSERT INTO "order" (id, note) VALUES (1, 'one'), (7, 'seven'), (9, NULL);
    DELETE FROM "order" WHERE id = 9;
    CREATE INDEX notes ON "order" (note);
    CREATE TABLE pairs (a, b, PRIMARY KEY (a, b)) WITHOUT ROWID;
    INSERT INTO pairs VALUES (1, 2), ('x', x'00');
    CREATE TABLE hidden (a);
    INSERT INTO hidden (rowid, a) VALUES (40, 1.5);
    CREATE TABLE empty (a);
    """

  private func refused(_ request: MigrationRequest, _ given: GivenMigration) async -> [ExtraEntry] {
    do {
      _ = try await given.run(request)
      return []
    } catch MigrationError.unsupported(_, _, let extras) {
      return extras
    } catch {
      Issue.record(error)
      return []
    }
  }

  @Test func `all that no model knows of is refused at once`() async throws {
    let given = try given(
      Self.tables + """
        CREATE VIEW seen AS SELECT * FROM pairs;
        CREATE TRIGGER heard AFTER INSERT ON pairs BEGIN SELECT 1; END;
        CREATE VIRTUAL TABLE place USING rtree (id, low, high);
        INSERT INTO place VALUES (1, 2, 3);
        """)
    let found = await refused(given.request(), given)
    #expect(Set(found.map(\.name)) == ["order", "pairs", "hidden", "seen", "heard", "place"])
    #expect(found.filter { $0.kind == .table }.map(\.rows).sorted() == [1, 2, 2])
    var request = given.request()
    request.extraTables = .keep
    #expect(Set(await refused(request, given).map(\.name)) == ["seen", "heard", "place"])
    request.extraTables = .drop
    request.failsOnLoss = true
    let forbidden = await #expect(throws: MigrationError.self) { try await given.run(request) }
    guard case .extrasForbidden(_, let lost)? = forbidden else {
      Issue.record("\(String(describing: forbidden))")
      return
    }
    #expect(Set(lost.map(\.name)) == ["order", "pairs", "hidden", "place"])
    request.failsOnLoss = false
    let report = try await given.run(request)
    #expect(Set(report.extraTables).isSuperset(of: ["order", "pairs", "hidden", "place", "empty"]))
    #expect(report.keptTables.isEmpty)
  }

  @Test func `a virtual table that cannot be read has the rows of its contents`() async throws {
    let given = try given(
      """
      CREATE TABLE words_content (id INTEGER PRIMARY KEY, c0);
      INSERT INTO words_content VALUES (1, 'a'), (2, 'b');
      CREATE TABLE words_data (id INTEGER PRIMARY KEY, block);
      INSERT INTO words_data VALUES (1, 'x'), (2, 'y'), (3, 'z');
      PRAGMA writable_schema = ON;
      INSERT INTO sqlite_schema VALUES
        ('table', 'words', 'words', 0, 'CREATE VIRTUAL TABLE words USING none (a)');
      PRAGMA writable_schema = OFF;
      """)
    var request = given.request()
    (request.extraTables, request.failsOnLoss) = (.drop, true)
    let forbidden = await #expect(throws: MigrationError.self) { try await given.run(request) }
    guard case .extrasForbidden(_, let lost)? = forbidden else {
      Issue.record("\(String(describing: forbidden))")
      return
    }
    #expect(lost.map(\.name) == ["words"] && lost.map(\.rows) == [2])
    request.failsOnLoss = false
    let output = given.folder.appending("New.sqlite")
    request.output = output
    #expect(try await given.run(request).extraTables.contains("words"))
    // The store is sound, whatever SQLite reports about the module that it lacks.
    var migration = StoreMigration(store: given.store, toMerged: [given.target])
    migration.choices.extraTables = .drop
    #expect(try await StoreVerification(of: output, madeBy: migration).run().isAlike)
  }

  @Test(arguments: [EngineName.sql, .pages])
  func `tables are copied whole, with their indexes`(engine: EngineName) async throws {
    let given = try given(Self.tables)
    var request = given.request()
    request.engine = engine
    request.extraTables = .keep
    let report = try await given.run(request)
    #expect(Set(report.keptTables) == ["order", "pairs", "hidden"])
    #expect(report.extraTables == ["empty"])
    let reader = try StoreReader(immutable: given.store)
    let found = try reader.connection.run { db in
      try String.fetchAll(
        db,
        sql: """
          SELECT group_concat(id || note || twice) FROM "order" NOT INDEXED
          UNION ALL SELECT group_concat(hex(a) || hex(b)) FROM pairs
          UNION ALL SELECT rowid || a FROM hidden
          UNION ALL SELECT group_concat(name || seq) FROM sqlite_sequence
          UNION ALL SELECT sql FROM sqlite_schema WHERE name = 'notes'
          """)
    }
    #expect(
      found == [
        "1oneoneone,7sevensevenseven", "3132,7800", "401.5", "order9",
        "CREATE INDEX notes ON \"order\" (note)",
      ])
  }

  @Test(arguments: [EngineName.sql, .pages])
  func `columns that no model knows of lose no value unasked`(engine: EngineName) async throws {
    let given = try given(
      """
      ALTER TABLE ZPERSON ADD COLUMN ZOWN; ALTER TABLE ZPERSON ADD COLUMN "ZEMPTY ";
      ALTER TABLE ZPERSON ADD COLUMN ZTWICE AS (Z_PK * 2);
      ALTER TABLE ZTAG ADD COLUMN ZALL DEFAULT 7;
      UPDATE ZPERSON SET ZOWN = 'mine' WHERE Z_PK = 1
      """)
    var request = given.request()
    request.engine = engine
    for choice in [ResultRules.ExtraTables.refuse, .keep] {
      request.extraTables = choice
      let found = await refused(request, given)
      #expect(found.map(\.name) == ["ZPERSON.ZTWICE", "ZPERSON.ZOWN", "ZTAG.ZALL"])
      #expect(found.map(\.kind) == [.generatedColumn, .column, .column])
      #expect(found.map(\.rows).prefix(2) == [0, 1])
    }
    request.extraTables = .drop
    let report = try await given.run(request)
    let tags = try #require(report.extraColumns?.last?.values)
    #expect(report.extraColumns?.map(\.name) == ["ZPERSON.ZOWN", "ZTAG.ZALL"])
    #expect(report.extraGeneratedColumns == ["ZPERSON.ZTWICE"])
    #expect(report.extraColumns?.first?.values == 1 && tags > 1)
  }

  @Test(arguments: [EngineName.sql, .pages])
  func `rows and values that are left out are losses by choice`(engine: EngineName) async throws {
    let given = try given(
      Self.tables
        + "ALTER TABLE ZPERSON ADD COLUMN ZOWN; UPDATE ZPERSON SET ZOWN = 'a' WHERE Z_PK < 3;")
    var request = given.request()
    request.engine = engine
    request.extraTables = .drop
    let report = try await given.run(request)
    #expect(!report.losses.contains { $0.cause == .outsideModel })
    let chosen = report.chosenLosses
    #expect(chosen.allSatisfy { $0.cause == .outsideModel })
    #expect(
      Set(chosen.map { "\($0.kind) \($0.name) \($0.count)" }) == [
        "row order 2", "row pairs 2", "row hidden 1", "attribute ZPERSON.ZOWN 2",
      ])
  }

  @Test func `views and triggers that are left behind are named`() async throws {
    let given = try given(
      """
      CREATE VIEW people AS SELECT ZNAME FROM ZPERSON;
      CREATE TRIGGER watch AFTER UPDATE ON ZPERSON BEGIN SELECT 1; END
      """)
    var request = given.request()
    #expect(await refused(request, given).map(\.name) == ["people", "watch"])
    request.extraTables = .drop
    let report = try await given.run(request)
    #expect(report.extraViews == ["people"])
    #expect(report.extraTriggers == ["watch"])
    let left = try StoreReader(immutable: given.store).number(
      sql: "SELECT count(*) FROM sqlite_schema WHERE name IN ('people', 'watch')")
    #expect(left == 0)
  }

  @Test(arguments: [EngineName.sql, .pages, .clone])
  func `indexes of the app's own are lost only by choice, those of Core Data are not looked for`(
    engine: EngineName
  ) async throws {
    let given = try given(
      """
      CREATE INDEX mine ON ZPERSON (ZNAME COLLATE NOCASE) WHERE Z_PK > 3;
      CREATE UNIQUE INDEX single ON ZTAG (Z_PK, Z_ENT);
      CREATE INDEX computed ON ZPERSON (lower(ZNAME));
      CREATE INDEX Z_Person_byOldName ON ZPERSON (ZNAME);
      CREATE INDEX ZPERSON_ZNAME_Z_OPT ON ZPERSON (ZNAME, Z_OPT);
      CREATE INDEX ZOLD_ZNAME_INDEX ON ZPERSON (ZNAME, Z_ENT);
      CREATE TABLE own (a); CREATE INDEX owns ON own (a)
      """)
    var request = given.request()
    request.engine = engine
    for choice in [ResultRules.ExtraTables.refuse, .keep] {
      request.extraTables = choice
      let found = await refused(request, given)
      #expect(found.map(\.name) == ["mine", "single", "computed"])
      #expect(found.allSatisfy { $0.kind == .index })
    }
    request.extraTables = .drop
    let report = try await given.run(request)
    #expect(report.extraIndexes == ["mine", "single", "computed"])
  }

  @Test(
    arguments: [
      ("CREATE TABLE zAdded (a); INSERT INTO zAdded VALUES (1)", nil, "Added"),
      (
        """
        CREATE TABLE own (a); INSERT INTO own VALUES (1);
        CREATE INDEX ZBOOK_zWriter_INDEX ON own (a)
        """, "ZBOOK_zWriter_INDEX", "Book"
      ),
    ] as [(String, String?, String)])
  func `a copied table whose name the new model needs is refused`(
    statements: String, index: String?, entity: String
  ) async throws {
    let given = try given(statements)
    var request = given.request()
    request.extraTables = .keep
    let found = await refused(request, given)
    let conflict = try #require(found.first?.conflict)
    #expect(found.count == 1 && conflict.index == index && conflict.entity == entity)
    request.extraTables = .drop
    #expect(try await given.run(request).outcome == .migrated)
  }

  @Test func `a table without a sequence is copied beside one that has one`() async throws {
    let given = try given(
      """
      CREATE TABLE gone (id INTEGER PRIMARY KEY AUTOINCREMENT);
      CREATE TABLE kept (id INTEGER PRIMARY KEY);
      INSERT INTO kept VALUES (5);
      """)
    var request = given.request()
    request.extraTables = .keep
    #expect(try await given.run(request).keptTables == ["kept"])
  }

  @Test func `a table that may hold entity numbers is not copied`() async throws {
    let given = try given("CREATE TABLE own (ZENTITY INTEGER); INSERT INTO own VALUES (1)")
    var request = given.request()
    request.extraTables = .keep
    #expect(await refused(request, given).map(\.numberColumn) == ["ZENTITY"])
  }
}
