import Expressions
import GRDB
import Mapping
import ObjectModel
import Planning
import StoreFormat
import Survey
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// Migrations of stores that are mirrored with CloudKit.
@Suite(.scratchFolder) struct MirroringTests {
  private static let before = make {
    try ManagedObjectModel(
      Entity("Album", [.optional("title")], [.toMany("photos", "Photo", inverse: "album")]),
      Entity("Moment", [.optional("name")]),
      Entity(
        "Photo", [.optional("name"), .optional("size", .integer32)],
        [.toOne("album", "Album", inverse: "photos")]))
  }

  /// All numbers shift up, and the model only grows.
  private static let after = make {
    try ManagedObjectModel(
      Entity("Aisle", [.optional("name")]),
      Entity(
        "Album", [.optional("note"), .optional("title")],
        [.toMany("photos", "Photo", inverse: "album")]),
      Entity("Moment", [.optional("name"), .mandatory("place", default: .string("here"))]),
      Entity(
        "Photo", [.optional("name"), .optional("size", .integer32)],
        [.toOne("album", "Album", inverse: "photos")]))
  }

  /// `Moment` goes.
  private static let less = make {
    try ManagedObjectModel(
      Entity("Album", [.optional("title")], [.toMany("photos", "Photo", inverse: "album")]),
      Entity(
        "Photo", [.optional("name"), .optional("size", .integer32)],
        [.toOne("album", "Album", inverse: "photos")]))
  }

  private static func make(_ body: () throws -> ManagedObjectModel) -> ManagedObjectModel {
    do { return try body() } catch { preconditionFailure("the models of the tests are sound") }
  }

  private func given(
    from old: ManagedObjectModel = Self.before, to new: ManagedObjectModel = Self.after,
    _ more: String = ""
  ) throws -> GivenMigration {
    let given = try GivenMigration(from: old, to: new, isMirrored: true)
    let connection = try StoreConnection.writable(given.store)
    try connection.run { try $0.execute(sql: more) }
    try connection.queue.close()
    return given
  }

  private func carrying(_ given: GivenMigration, by engine: EngineName? = nil) -> MigrationRequest {
    var request = given.request(output: given.folder.appending("New.sqlite"))
    request.cloudKit = .carry
    request.engine = engine
    return request
  }

  private func cells(_ sql: String, in store: FilePath) throws -> [[DatabaseValue]] {
    let reader = try StoreReader(immutable: store)
    return try reader.connection.run { db in
      try Row.fetchAll(db, sql: sql).map { Array($0.databaseValues) }
    }
  }

  /// The obstacles that a migration names, as `place: obstacle`.
  private func refused(_ request: MigrationRequest, _ given: GivenMigration) async -> [String] {
    do {
      _ = try await given.run(request)
      return []
    } catch MigrationError.impossible(_, let refusals, _) {
      return refusals.map { refusal in
        let place = [refusal.entity, refusal.property].compactMap(\.self).joined(separator: ".")
        return "\(place): \(refusal.reason)"
      }.sorted()
    } catch {
      Issue.record(error)
      return []
    }
  }

  @Test func `a mirrored store is refused unless its mirroring is to be carried over`()
    async throws
  {
    let given = try given()
    var request = given.request()
    for choice in ResultRules.ExtraTables.allCases {
      request.extraTables = choice
      await #expect {
        try await given.run(request)
      } throws: { error in
        guard case MigrationError.unsupported(_, let features, let extras) = error else {
          return false
        }
        return features == [.cloudKitMirroring] && extras.isEmpty
      }
    }
  }

  @Test(arguments: [EngineName.sql, .pages])
  func `records lead to the same objects, and everything else stays`(
    engine: EngineName
  ) async throws {
    let given = try given(
      "CREATE TABLE ANSCKOTHER (a, b TEXT, PRIMARY KEY (a)) WITHOUT ROWID;"
        + "INSERT INTO ANSCKOTHER VALUES (1, 'x'), (x'00', NULL);"
        + "UPDATE ANSCKRECORDMETADATA SET ZENTITYID = NULL WHERE Z_PK = 7;")
    let request = carrying(given, by: engine)
    let report = try await given.run(request)
    #expect(report.engine == engine)
    let all = """
      SELECT Z_PK, Z_ENT, Z_OPT, ZENTITYID % 1, ZENTITYPK, ZLASTEXPORTEDTRANSACTIONNUMBER,
        ZNEEDSCLOUDDELETE, ZNEEDSLOCALDELETE, ZNEEDSUPLOAD, ZPENDINGEXPORTCHANGETYPENUMBER,
        ZPENDINGEXPORTTRANSACTIONNUMBER, ZENCODEDRECORDASSET, ZRECORDZONE, ZSYSTEMFIELDSASSET,
        ZCKRECORDNAME FROM ANSCKRECORDMETADATA ORDER BY 1
      """
    let same = [
      all, "SELECT * FROM ANSCKOTHER", "SELECT * FROM ANSCKEVENT",
      "SELECT * FROM ANSCKMETADATAENTRY",
      "SELECT * FROM ANSCKRECORDZONEMETADATA", "SELECT * FROM Z_PRIMARYKEY WHERE Z_ENT > 17000",
      "SELECT sql FROM sqlite_schema WHERE tbl_name LIKE 'ANSCK%' AND type IN ('table', 'index') ORDER BY name",
    ]
    for sql in same {
      let found = try cells(sql, in: given.folder.appending("New.sqlite"))
      #expect(try cells(sql, in: given.store) == found, "\(sql)")
      #expect(!found.isEmpty)
    }
    let names = """
      SELECT r.Z_PK, p.Z_NAME FROM ANSCKRECORDMETADATA AS r
      LEFT JOIN Z_PRIMARYKEY AS p ON p.Z_ENT = r.ZENTITYID ORDER BY 1
      """
    let led = try cells(names, in: given.store)
    #expect(try cells(names, in: given.folder.appending("New.sqlite")) == led)
    #expect(led.count == 240)
    let accounts = try #require(report.accounts.first?.mirroring)
    #expect(accounts.first { $0.table == "ANSCKRECORDMETADATA" }?.rowsOut == 240)
    #expect(report.extraTables.isEmpty && report.keptTables.isEmpty)
  }

  @Test(arguments: [EngineName.sql, .pages])
  func `records of an entity that goes need consent`(engine: EngineName) async throws {
    let given = try given(
      to: Self.less, "UPDATE ANSCKRECORDMETADATA SET ZENTITYID = 'text' WHERE Z_PK = 3")
    var request = carrying(given, by: engine)
    await #expect {
      try await given.run(request)
    } throws: { error in
      guard case MigrationError.losses(_, let refusal) = error else { return false }
      return refusal.refused.map(\.name).sorted() == ["cloudkit", "cloudkit.Moment"]
        && refusal.refused.map(\.count).reduce(0, +) >= 80
    }
    request.lossConsent = .some([Loss.cloudKitName])
    _ = try await given.run(request)
    let found = try cells(
      """
      SELECT p.Z_NAME, count(*) FROM ANSCKRECORDMETADATA AS r
      LEFT JOIN Z_PRIMARYKEY AS p ON p.Z_ENT = r.ZENTITYID GROUP BY 1 ORDER BY 1
      """, in: given.folder.appending("New.sqlite"))
    #expect(found.map { $0[0] } == ["Album".databaseValue, "Photo".databaseValue])
  }

  @Test func `what is not additive is refused, all at once`() async throws {
    let new = Self.make {
      try ManagedObjectModel(
        Entity(
          "Album", [.optional("heading", was: "title"), .optional("code")],
          [.toMany("photos", "Photo", inverse: "album", isOrdered: true)]),
        Entity("Instant", was: "Moment", [.optional("name")]),
        Entity(
          "Photo", [.optional("size", .double), .optional("name")],
          [.toOne("album", "Album", inverse: "photos")]))
    }
    let given = try given(to: new)
    #expect(
      await refused(carrying(given), given).map { $0.prefix { $0 != "(" } } == [
        "Album.photos: mirroring", "Album.title: mirroring", "Moment: mirroring",
        "Photo.size: mirroring",
      ])
  }

  @Test func `what mirroring relies on cannot be taken away`() async throws {
    let given = try given(
      """
      CREATE TABLE ANSCKX (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, ZENTITYNUM INTEGER,
        ZRECORDMETADATA INTEGER);
      INSERT INTO ANSCKX VALUES (1, 17003, NULL, 5), (2, 17003, 2, NULL);
      CREATE VIEW ANSCKSEEN AS SELECT 1;
      CREATE TRIGGER heard AFTER INSERT ON ANSCKX BEGIN SELECT 1; END;
      """)
    var request = carrying(given)
    request.extraTables = .drop
    request.history = .drop
    request.defectChoices.dangling = .nullify
    let found = await refused(request, given)
    #expect(
      found.map { $0.prefix { $0 != ":" } } == [
        "ANSCKSEEN", "ANSCKX.ZENTITYNUM", "CloudKit", "CloudKit", "heard",
      ])
  }

  @Test(arguments: [
    "ALTER TABLE ANSCKRECORDMETADATA RENAME COLUMN ZENTITYID TO ZENTITY",
    "CREATE INDEX part ON ANSCKRECORDMETADATA (Z_PK) WHERE ZENTITYID = 1",
    "ALTER TABLE ANSCKRECORDMETADATA ADD COLUMN twice AS (ZENTITYID * 2)",
    "ALTER TABLE ANSCKRECORDMETADATA ADD COLUMN low CHECK (ZENTITYID < 4)",
    "CREATE TABLE more AS SELECT * FROM ANSCKRECORDMETADATA; DROP TABLE ANSCKRECORDMETADATA;"
      + "ALTER TABLE more RENAME TO ANSCKRECORDMETADATA",
    "CREATE TABLE more (Z_PK INTEGER PRIMARY KEY, ZENTITYID, ZENTITYPK) WITHOUT ROWID;"
      + "DROP TABLE ANSCKRECORDMETADATA; ALTER TABLE more RENAME TO ANSCKRECORDMETADATA",
  ])
  func `record metadata of another form is refused`(statement: String) async throws {
    let given = try given(statement)
    #expect(
      await refused(carrying(given), given) == [
        "ANSCKRECORDMETADATA: mirroring(Mapping.MirroringObstacle.unknownForm)"
      ])
  }
}
