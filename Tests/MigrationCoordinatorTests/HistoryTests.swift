import Foundation
import GRDB
import Mapping
import ModelFiles
import ObjectModel
import Planning
import StoreFormat
import Survey
import Synchronization
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// Migrations of stores that keep persistent history.
@Suite(.scratchFolder) struct HistoryTests {
  private static let before = make {
    try ManagedObjectModel(
      Entity("Album", [.preserved("code"), .optional("gone"), .preserved("title")]),
      Entity("Moment", [.optional("name")]),
      Entity("Photo", [.optional("name"), .optional("size", .integer32)]))
  }

  /// `Aisle` comes first and `Moment` goes, so that numbers change.
  private static let after = make {
    try ManagedObjectModel(
      Entity("Aisle", [.optional("name")]),
      Entity("Album", [.preserved("author"), .preserved("code"), .preserved("title")]),
      Entity("Photo", [.optional("name"), .optional("note"), .optional("size", .integer32)]))
  }

  private static func make(_ body: () throws -> ManagedObjectModel) -> ManagedObjectModel {
    do { return try body() } catch { preconditionFailure("the models of the tests are sound") }
  }

  private func given(
    _ more: String = "", from before: ManagedObjectModel = Self.before,
    to after: ManagedObjectModel = Self.after
  ) throws -> GivenMigration {
    let given = try GivenMigration(from: before, to: after)
    let connection = try StoreConnection.writable(given.store)
    try connection.run { db in
      try db.execute(sql: Self.tables)
      try db.execute(sql: Self.rows)
      try db.execute(sql: more)
    }
    try connection.queue.close()
    return given
  }

  /// The tables as in a store whose entities preserve two attributes.
  private static let tables = """
    CREATE TABLE ACHANGE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER,
      ZCHANGETYPE INTEGER, ZENTITY INTEGER, ZENTITYPK INTEGER, ZTRANSACTIONID INTEGER,
      ZCOLUMNS BLOB, ZTOMBSTONE0 BLOB, ZTOMBSTONE1 BLOB);
    CREATE TABLE ATRANSACTION (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER,
      ZAUTHORTS INTEGER, ZBUNDLEIDTS INTEGER, ZCONTEXTNAMETS INTEGER, ZPROCESSIDTS INTEGER,
      ZTIMESTAMP FLOAT, ZAUTHOR VARCHAR, ZBUNDLEID VARCHAR, ZCONTEXTNAME VARCHAR,
      ZPROCESSID VARCHAR, ZQUERYGEN BLOB);
    CREATE TABLE ATRANSACTIONSTRING (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER,
      ZNAME VARCHAR);
    INSERT INTO Z_PRIMARYKEY VALUES
      (16001, 'CHANGE', 0, 90), (16002, 'TRANSACTION', 0, 7), (16003, 'TRANSACTIONSTRING', 0, 4);
    """

  /// Changes of Album (1), Moment (2) and Photo (3).
  ///
  /// Bits of Photo: name, size; of Album: code, gone, title.
  private static let rows = """
    INSERT INTO ATRANSACTIONSTRING VALUES (1, 16003, NULL, 'app');
    INSERT INTO ATRANSACTION (Z_PK, Z_ENT, ZAUTHORTS, ZTIMESTAMP)
      VALUES (3, 16002, 1, 7e8), (5, 16002, NULL, 7e8 + 1.5);
    INSERT INTO ACHANGE VALUES
      (10, 16001, NULL, 0, 3, 1, 3, NULL, NULL, NULL),
      (11, 16001, NULL, 1, 3, 1, 3, X'40', NULL, NULL),
      (12, 16001, NULL, 1, 1, 8, 3, X'E0', NULL, NULL),
      (13, 16001, NULL, 2, 1, 9, 5, NULL, 'c', 'An album'),
      (14, 16001, NULL, 1, 2, 4, 5, X'80', NULL, NULL);
    """

  private func cells(_ sql: String, in store: FilePath) throws -> [[DatabaseValue]] {
    let reader = try StoreReader(immutable: store)
    return try reader.connection.run { db in
      try Row.fetchAll(db, sql: sql).map { Array($0.databaseValues) }
    }
  }

  @Test(arguments: [EngineName.sql, .pages])
  func `changes follow their entities, and transactions stay`(engine: EngineName) async throws {
    let given = try given()
    var request = given.request()
    request.engine = engine
    let report = try await given.run(request)
    #expect(report.engine == engine)
    let changes = try cells(
      """
      SELECT Z_PK, ZENTITY, ZENTITYPK, ZCHANGETYPE, ZTRANSACTIONID, hex(ZCOLUMNS), ZTOMBSTONE0,
        ZTOMBSTONE1, ZTOMBSTONE2 FROM ACHANGE ORDER BY 1
      """, in: given.store)
    func row(_ values: (any DatabaseValueConvertible)?...) -> [DatabaseValue] {
      values.map { $0?.databaseValue ?? .null }
    }
    #expect(
      changes == [
        row(10, 3, 1, 0, 3, "", nil, nil, nil),
        // name, note, size
        row(11, 3, 1, 1, 3, "20", nil, nil, nil),
        // author, code, title
        row(12, 2, 8, 1, 3, "60", nil, nil, nil),
        row(13, 2, 9, 2, 5, "", nil, "c", "An album"),
      ])
    let transactions = try cells(
      """
      SELECT t.Z_PK, t.ZTIMESTAMP, s.ZNAME LIKE 'Godwit % { ' || ? || ' }' FROM ATRANSACTION AS t
      LEFT JOIN ATRANSACTIONSTRING AS s ON s.Z_PK = t.ZAUTHORTS ORDER BY 1
      """.replacing("?", with: "'\(try Self.after.versionHashes().digest)'"), in: given.store)
    #expect(transactions.map { $0[0] } == [3, 5, 8].map { Int64($0).databaseValue })
    #expect(transactions.map { $0[2] } == [0.databaseValue, .null, 1.databaseValue])
    let maxima = try cells(
      "SELECT Z_ENT, Z_NAME, Z_MAX FROM Z_PRIMARYKEY WHERE Z_ENT > 100", in: given.store)
    #expect(
      maxima == [
        row(16001, "CHANGE", 90), row(16002, "TRANSACTION", 8), row(16003, "TRANSACTIONSTRING", 6),
      ])
    let account = try #require(report.accounts.first?.history)
    #expect(account.removed == ["Moment": 1])
    #expect(account.tables.map(\.rowsIn) == [5, 2, 1])
    #expect(account.tables.map(\.rowsOut) == [4, 2, 1])
  }

  @Test(
    arguments: [EngineName.sql, .pages, .clone],
    [
      ("ACHANGE", "(Z_PK, Z_ENT, ZENTITY, ZTRANSACTIONID) VALUES (20, 16001, 77, 5)", 4),
      ("ATRANSACTION", "(Z_PK, Z_ENT) VALUES (20, 'x')", 3),
      ("ATRANSACTIONSTRING", "(Z_PK, Z_ENT, ZNAME) VALUES (20, NULL, 'x')", 3),
    ])
  func `rows of history of no known entity go only if that is allowed`(
    engine: EngineName, place: (table: String, row: String, rows: Int)
  ) async throws {
    let given = try given("INSERT INTO \(place.table) \(place.row)")
    let before = try Files.readFile(given.store, limit: 1 << 30)
    var request = given.request()
    request.engine = engine
    await #expect {
      try await given.run(request)
    } throws: { error in
      guard case MigrationError.losses(_, let refusal) = error else { return false }
      return refusal.refused.map(\.name) == [Loss.historyName]
        && refusal.refused.map(\.count) == [1]
    }
    #expect(try Files.readFile(given.store, limit: 1 << 30) == before)
    request.lossConsent = .some([Loss.historyName])
    _ = try await given.run(request)
    #expect(
      try cells("SELECT count(*) FROM \(place.table)", in: given.store)
        == [[place.rows.databaseValue]])
  }

  @Test(arguments: [EngineName.sql, .pages])
  func `history is emptied where nobody wants it, and its keys go on`(
    engine: EngineName
  ) async throws {
    let given = try given()
    var request = given.request()
    request.engine = engine
    request.history = .drop
    let report = try await given.run(request)
    #expect(report.losses.filter { $0.cause == .history }.map(\.count) == [5])
    #expect(
      try cells(
        "SELECT (SELECT count(*) FROM ACHANGE), (SELECT max(Z_PK) FROM ATRANSACTION)",
        in: given.store) == [[0.databaseValue, 8.databaseValue]])
  }

  @Test(
    arguments: [EngineName.sql, .pages],
    [
      ("ACHANGE", "ZTRANSACTIONID", 4), ("ATRANSACTION", "ZAUTHORTS", 3),
      ("ATRANSACTIONSTRING", "ZNAME", 3),
    ])
  func `an index that knows of no row hides none`(
    engine: EngineName, place: (table: String, column: String, rows: Int)
  ) async throws {
    let given = try given(Self.emptyIndex(of: place.table, column: place.column))
    let count = "SELECT count(*) FROM \(place.table)"
    #expect(try cells(count, in: given.store) == [[0.databaseValue]])
    var request = given.request()
    request.engine = engine
    request.sourceCheck = .off
    _ = try await given.run(request)
    #expect(try cells(count, in: given.store) == [[place.rows.databaseValue]])
  }

  @Test(arguments: [EngineName.sql, .pages])
  func `a store too large to be checked beforehand is whole or refused`(
    engine: EngineName
  ) async throws {
    let given = try given(
      Self.emptyIndex(of: "ACHANGE", column: "ZTRANSACTIONID")
        + "UPDATE ZPHOTO SET ZNAME = printf('%5000000d', 0) "
        + "WHERE Z_PK = (SELECT min(Z_PK) FROM ZPHOTO);")
    let before = try given.bytes(given.store)
    var request = given.request()
    request.engine = engine
    do {
      _ = try await given.run(request)
      #expect(
        try cells("SELECT count(*) FROM ACHANGE", in: given.store) == [[4.databaseValue]])
    } catch is SourceDamage {
      #expect(try given.bytes(given.store) == before)
    }
  }

  /// Puts an index that has no entries over a table.
  private static func emptyIndex(of table: String, column: String) -> String {
    """
    CREATE INDEX Z_DAMAGED ON \(table) (\(column));
    CREATE TABLE bare (a);
    CREATE INDEX empty ON bare (a);
    PRAGMA writable_schema = ON;
    UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'empty')
      WHERE name = 'Z_DAMAGED';
    """
  }

  /// Of `Place` nobody knows the bits, since one of its attributes has elements.
  private static func withComposite(_ more: [Attribute]) -> ManagedObjectModel {
    make {
      var point = Attribute.optional("point", .composite)
      point.elements = [.optional("x", .double), .optional("y", .double)]
      return try ManagedObjectModel(
        Entity("Album", [.preserved("code")]), Entity("Note", [.optional("text")] + more),
        Entity("Place", [.optional("name"), point] + more))
    }
  }

  @Test(arguments: [EngineName.sql, .pages])
  func `changes that name more than is known are counted, and a resumed run knows them too`(
    engine: EngineName
  ) async throws {
    // The bits of notes are known; rows that SQLite has to make count as all others do.
    let given = try given(
      """
      DELETE FROM ACHANGE;
      INSERT INTO ACHANGE (Z_PK, Z_ENT, Z_OPT, ZCHANGETYPE, ZENTITY, ZENTITYPK, ZTRANSACTIONID,
        ZCOLUMNS) VALUES
        (10, 16001, NULL, 1, 3, 1, 3, X'80'), (11, 16001, 'odd', 1, 3, 2, 3, X'40'),
        (12, 16001, 'odd', 1, 3, 2, 3, X'00'), (13, 16001, NULL, 1, 3, 2, 3, NULL),
        (14, 16001, NULL, 0, 3, 3, 3, NULL), (15, 16001, NULL, 1, 2, 1, 3, X'80'),
        (16, 'odd', 'odd', 1, 3, 4, 3, X'C0'), (17, 16001, 'odd', 1, 1, 4, 3, X'80');
      """, from: Self.withComposite([]), to: Self.withComposite([.optional("more")]))
    var request = given.request(rangeRows: 2)
    request.engine = engine
    let orders = Mutex(0)
    let launcher = FaultyLauncher { document, _ in
      guard document.order.pieces.contains(where: { $0.destinationTable == "ACHANGE" }) else {
        return nil
      }
      orders.withLock { $0 += 1 }
      if orders.withLock({ $0 == 2 }) { throw CancellationError() }
      return nil
    }
    await #expect(throws: MigrationError.self) { try await given.run(request, launcher) }
    let report = try await given.run(request)
    #expect(report.resumed)
    #expect(report.accounts.map(\.history?.wideMasks) == [["Place": 3]])
    #expect(
      try cells("SELECT Z_PK, hex(ZCOLUMNS) FROM ACHANGE WHERE ZENTITY = 3", in: given.store)
        .map { "\($0[0]) \($0[1])" }
        == ["10 \"E0\"", "11 \"E0\"", "12 \"00\"", "13 \"\"", "14 \"\"", "16 \"E0\""])
  }

  @Test func `history beside a model of another version is refused, or dropped`() async throws {
    let given = try given()
    let other = try ModelArchive.encode(Self.after).bytes
    let connection = try StoreConnection.writable(given.store)
    try connection.run { db in
      try db.execute(
        sql: "UPDATE Z_MODELCACHE SET Z_CONTENT = ?", arguments: [Data(try Deflate.deflate(other))])
    }
    try connection.queue.close()
    let own = given.folder.appending("Old.mom")
    try Files.writeFileAtomically(ModelArchive.encode(Self.before).bytes, to: own)
    var request = given.request()
    request.models = [own]
    await #expect {
      try await given.run(request)
    } throws: { error in
      guard case MigrationError.unsupported(_, let found, _) = error else { return false }
      return found == [.historyOfOtherModel]
    }
    request.history = .drop
    _ = try await given.run(request)
    #expect(try cells("SELECT count(*) FROM ACHANGE", in: given.store) == [[0.databaseValue]])
  }

  @Test func `tables of history without a row stay as they are`() async throws {
    let given = try given(
      """
      DELETE FROM ACHANGE; DELETE FROM ATRANSACTION; DELETE FROM ATRANSACTIONSTRING;
      DELETE FROM Z_PRIMARYKEY WHERE Z_ENT > 16000;
      """)
    _ = try await given.run(given.request())
    #expect(
      try cells(
        """
        SELECT (SELECT count(*) FROM ACHANGE), (SELECT count(*) FROM ATRANSACTION),
          (SELECT count(*) FROM Z_PRIMARYKEY WHERE Z_ENT > 16000)
        """, in: given.store) == [[0.databaseValue, 0.databaseValue, 0.databaseValue]])
  }

  /// The versions that an album becomes, and the tombstones of a deleted one: `c` was its code, `An
  /// album` its title.
  private static let renamings: [([[Attribute]], [String?])] = [
    ([[.preserved("key", was: "code"), .preserved("title")]], ["c", "An album"]),
    ([[.preserved("code"), .preserved("a", was: "title")]], ["An album", "c"]),
    ([[.preserved("note", was: "code"), .preserved("code", was: "title")]], ["An album", "c"]),
    ([[.optional("code"), .preserved("title")]], ["An album", "An album"]),
    (
      [
        [.preserved("z", was: "code"), .preserved("title")],
        [.preserved("z"), .preserved("alpha"), .preserved("title")],
      ], [nil, "An album", "c"]
    ),
  ]

  @Test(arguments: renamings, [EngineName.sql, .pages, .clone, .edit])
  func `tombstones follow attributes that have other names`(
    renaming: (versions: [[Attribute]], tombstones: [String?]), engine: EngineName
  ) async throws {
    func model(_ attributes: [Attribute]) throws -> ManagedObjectModel {
      try ManagedObjectModel(
        Entity("Album", attributes), Entity("Moment", [.optional("name")]),
        Entity("Photo", [.optional("name"), .optional("size", .integer32)]))
    }
    let models = try renaming.versions.map(model)
    let given = try given(
      from: model([.preserved("code"), .preserved("title")]), to: #require(models.last))
    var request = given.request()
    if models.count > 1 {
      let own = try model([.preserved("code"), .preserved("title")])
      request.target = [try given.bundle(of: [own] + models)]
      request.isProgressive = true
    }
    request.engine = engine
    _ = try await given.run(request)
    let columns = renaming.tombstones.indices.map { "ZTOMBSTONE\($0)" }
    let found = try cells(
      "SELECT \(columns.joined(separator: ", ")) FROM ACHANGE WHERE Z_PK = 13", in: given.store)
    #expect(found == [renaming.tombstones.map { $0?.databaseValue ?? .null }])
  }
}

extension Attribute {
  /// A text that outlives its object in the history.
  fileprivate static func preserved(_ name: String, was: String? = nil) -> Attribute {
    var attribute = optional(name, was: was)
    attribute.preservesValueAfterDeletion = true
    return attribute
  }
}
