import Foundation
import GRDB
import ObjectModel
import Schema
import StoreFormat
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@testable import Verification

/// What is read of leaves is judged by what SQLite reads of them: both have to find the same.
@Suite(.scratchFolder) struct RowProofTests {
  /// Books enough for b-trees of several levels, every fiftieth with a value of several pages.
  private static func fill(_ given: GivenStores) throws {
    let numbers = """
      WITH RECURSIVE n (i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 2600)
      """
    let title = "iif(i % 50 = 0, hex(zeroblob(4000)) || i, iif(i % 7 = 0, NULL, 'title ' || i))"
    try given.change(
      """
      \(numbers) INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZPAGES, ZWRITER, ZTITLE, ZCOLOURS)
      SELECT i, 1 + i % 3 / 2, i % 5, i * 1000003 % 4294967296 - 2000000000,
        iif(i % 11, 1 + i % 2, NULL), \(title), iif(i % 3 = 2, i % 300, NULL) FROM n;
      \(numbers) INSERT INTO Z_1TAGS SELECT i, 3 FROM n;
      UPDATE Z_PRIMARYKEY SET Z_MAX = 2600 WHERE Z_NAME = 'Book';
      """, old: true)
    try given.change(
      """
      \(numbers) INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZLENGTH, ZPRICE, ZWRITER, ZTITLE, ZCOLOURS,
        Z_FOK_WRITER)
      SELECT i, 2 + i % 3 / 2, i % 5, i * 1000003 % 4294967296 - 2000000000, 9.5,
        iif(i % 11, 1 + i % 2, NULL), \(title), iif(i % 3 = 2, i % 300, NULL),
        iif(i % 11, 4096 + i, NULL) FROM n;
      \(numbers) INSERT INTO Z_2TAGS SELECT i, 3 FROM n ORDER BY -i;
      UPDATE Z_PRIMARYKEY SET Z_MAX = 2600 WHERE Z_NAME = 'Book';
      """)
  }

  private static func given() throws -> GivenStores {
    let given = try GivenStores()
    try fill(given)
    return given
  }

  /// Verifies by both ways, which have to say the same.
  @discardableResult
  private func report(
    _ given: GivenStores, change: (inout VerificationOrder) -> Void = { _ in },
    _ what: Comment? = nil
  ) throws -> VerificationReport {
    let report = try given.verify(change)
    let slow = try given.verify { order in
      change(&order)
      order.readsLeaves = false
    }
    #expect(report.differences == slow.differences, what)
    #expect(report.counts == slow.counts, what)
    #expect(report.rows == slow.rows, what)
    #expect(report.removed == slow.removed, what)
    return report
  }

  @Test func `all rows of a sound store are shown, those without a place as well`() throws {
    let given = try Self.given()
    #expect(try report(given).isAlike)
    var threads: Set<UInt> = []
    let run = try VerificationRun(order: try given.order) { _ in
      threads.insert(Processes.currentThread)
    }
    let step = try given.order.steps[0]
    let expected = try ExpectedSteps(
      order: try given.order, old: run.old, schema: try #require(run.source),
      affinity: run.affinity)
    let found = try StoreSchemaOf.after.found(in: run.catalog)
    let shown = try run.show(
      found, reading: try expected.reading(step), in: run.old, isCopy: false)
    #expect(shown.results["ZBOOK"]?.isWhole == true)
    #expect(shown.results["ZBOOK"]?.rows == 2504)
    #expect(shown.results["Z_2TAGS"]?.isWhole == true)
    #expect(shown.results["Z_2TAGS"]?.rows == 2503)
    #expect(shown.sound == ["ZBOOK", "ZWRITER", "ZTAG", "Z_1TAGS"])
    #expect(threads == [Processes.currentThread])
  }

  @Test(arguments: [
    ("UPDATE ZBOOK SET ZTITLE = 'title 1002x' WHERE Z_PK = 1002", Difference.Kind.value),
    ("UPDATE ZBOOK SET ZTITLE = NULL WHERE Z_PK = 1000", .value),
    ("UPDATE ZBOOK SET ZTITLE = '' WHERE Z_PK = 1002", .value),
    ("UPDATE ZBOOK SET ZTITLE = 'x' WHERE Z_PK = 1008", .value),
    ("UPDATE ZBOOK SET ZTITLE = ZTITLE || char(0) || 'x' WHERE Z_PK = 1002", .value),
    ("UPDATE ZBOOK SET ZTITLE = CAST(ZTITLE AS BLOB) WHERE Z_PK = 1002", .value),
    (
      "UPDATE ZBOOK SET ZTITLE = substr(ZTITLE, 1, 7000) || 'F' || substr(ZTITLE, 7002) "
        + "WHERE Z_PK = 1000", .value
    ),
    ("UPDATE ZBOOK SET ZLENGTH = ZLENGTH + 1 WHERE Z_PK = 1001", .value),
    ("UPDATE ZBOOK SET ZLENGTH = ZLENGTH + 0.0000002 WHERE Z_PK = 1001", .value),
    ("UPDATE ZBOOK SET ZLENGTH = x'01' WHERE Z_PK = 1001", .value),
    ("UPDATE ZBOOK SET ZPRICE = 9.500000000000002 WHERE Z_PK = 2600", .value),
    ("UPDATE ZBOOK SET ZPRICE = 9 WHERE Z_PK = 100", .value),
    ("UPDATE ZBOOK SET ZCOLOURS = ZCOLOURS + 1 WHERE Z_PK = 1001", .value),
    ("UPDATE ZBOOK SET ZCOLOURS = 1.5 WHERE Z_PK = 1001", .value),
    ("UPDATE ZBOOK SET Z_ENT = 5 - Z_ENT WHERE Z_PK = 1001", .entityNumber),
    ("UPDATE ZBOOK SET Z_OPT = 9 WHERE Z_PK = 1001", .saveCount),
    ("UPDATE ZBOOK SET ZWRITER = 3 - ZWRITER WHERE Z_PK = 2600", .reference),
    ("DELETE FROM ZBOOK WHERE Z_PK = 2600", .rowMissing),
    ("DELETE FROM ZBOOK WHERE Z_PK = 1001", .rowMissing),
    (
      "INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT, ZLENGTH, ZPRICE) VALUES (9999, 2, 1, 0, 9.5)",
      .rowExtra
    ),
    ("INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT) VALUES (-5, 2, 1)", .rowExtra),
    ("DELETE FROM Z_2TAGS WHERE Z_2BOOKS = 1001", .pairMissing),
    ("INSERT INTO Z_2TAGS VALUES (9999, 3)", .pairExtra),
    ("UPDATE Z_2TAGS SET Z_4TAGS = 2 WHERE Z_2BOOKS = 1001", .pairExtra),
  ])
  func `one change among many rows is found as SQLite finds it`(
    sql: String, kind: Difference.Kind
  ) throws {
    let given = try Self.given()
    try given.change(sql)
    let counts = try report(given, "\(sql)").counts
    #expect(counts[kind] == 1, "\(sql): \(counts)")
  }

  @Test func `two rows that exchange their values are two differences`() throws {
    let given = try Self.given()
    try given.change(
      """
      UPDATE ZBOOK SET ZTITLE = 'title ' || (2103 - Z_PK) WHERE Z_PK IN (1051, 1052)
      """)
    #expect(try report(given).counts == [.value: 2])
    try given.change("UPDATE Z_2TAGS SET Z_4TAGS = 4 WHERE Z_2BOOKS IN (1051, 1052)")
    #expect(try report(given).counts == [.value: 2, .pairExtra: 2, .pairMissing: 2])
  }

  @Test func `rows of the old store of no entity are found among many`() throws {
    let given = try Self.given()
    try given.change("UPDATE ZBOOK SET Z_ENT = 77 WHERE Z_PK = 1001", old: true)
    #expect(try report(given).counts == [.rowLost: 1, .rowExtra: 1])
    try given.change("UPDATE Z_1TAGS SET Z_3TAGS = NULL WHERE Z_1BOOKS = 1001", old: true)
    #expect(try report(given).counts == [.rowLost: 2, .rowExtra: 1, .pairExtra: 1])
  }

  @Test func `what the index of old pairs says counts as much as the pairs`() throws {
    let given = try Self.given()
    let connection = try StoreConnection.immutable(given.old)
    let root = try connection.run { db in
      try Int.fetchOne(
        db, sql: "SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_Z_1TAGS_1'")
    }
    try connection.queue.close()
    let sound = try Data(contentsOf: URL(filePath: given.old.string))
    let start = (try #require(root) - 1) * 4096
    let leaf = sound[start + 8..<start + 12].reduce(0) { $0 << 8 | Int($1) }
    for place in [(leaf - 1) * 4096, leaf * 4096 - 3, leaf * 4096 - 4] {
      var bytes = sound
      bytes[place] ^= 1
      try bytes.write(to: URL(filePath: given.old.string))
      func outcome(readsLeaves: Bool) -> [Difference.Kind: Int64]? {
        try? given.verify { $0.readsLeaves = readsLeaves }.counts
      }
      let counts = outcome(readsLeaves: true)
      #expect(counts == outcome(readsLeaves: false), "byte \(place)")
      #expect(counts?.isEmpty != true, "byte \(place)")
    }
  }

  @Test func `whole numbers beside reals are told apart by their column`() throws {
    let given = try Self.given()
    // A file may hold a real as a whole number in a column of reals only.
    try given.change("UPDATE ZBOOK SET ZCOLOURS = 1001 % 300 WHERE Z_PK = 1001", old: true)
    try given.change("UPDATE ZBOOK SET ZLENGTH = CAST(ZLENGTH AS INTEGER) WHERE Z_PK = 1001")
    #expect(try report(given).isAlike)
  }

  @Test func `copies are compared row by row as well`() throws {
    let given = try Self.given()
    let copy = given.folder.appending("Copy.sqlite")
    func verify() throws -> VerificationReport {
      try report(given) { order in
        order.new = .init(path: copy, readable: copy)
        order.steps = []
        order.copyModel = GivenStores.before
        order.hashes = (try? GivenStores.before.versionHashes()) ?? [:]
        order.versionIdentifiers = []
      }
    }
    func change(_ sql: String) throws {
      try? FileManager.default.removeItem(atPath: copy.string)
      try FileManager.default.copyItem(atPath: given.old.string, toPath: copy.string)
      let connection = try StoreConnection.writable(copy)
      try connection.run { try $0.execute(sql: sql) }
      try connection.queue.close()
    }
    try change("SELECT 1")
    #expect(try verify().counts == [:])
    try change("UPDATE ZBOOK SET ZTITLE = 'y' WHERE Z_PK = 1001")
    #expect(try verify().counts == [.value: 1])
    try change("DELETE FROM Z_1TAGS WHERE Z_1BOOKS = 1001")
    #expect(try verify().counts == [.pairMissing: 1])
    try change(
      "CREATE TABLE c AS SELECT * FROM Z_1TAGS; DELETE FROM Z_1TAGS; "
        + "INSERT INTO Z_1TAGS SELECT * FROM c ORDER BY -rowid; DROP TABLE c")
    #expect(try verify().counts == [:])
  }

  @Test func `damage anywhere is found as SQLite finds it`() throws {
    let given = try Self.given()
    let sound = try Data(contentsOf: URL(filePath: given.new.string))
    var generator = SeededRandom(seed: 7)
    for number in 0..<40 {
      var bytes = sound
      // The header and the schema are not what is read here.
      let place = Int.random(in: 4096..<bytes.count, using: &generator)
      bytes[place] = bytes[place] ^ UInt8.random(in: 1...255, using: &generator)
      try bytes.write(to: URL(filePath: given.new.string))
      let report = try given.verify()
      let slow = try given.verify { $0.readsLeaves = false }
      // SQLite reads pairs from the index of their table, and so finds what is wrong with it twice.
      func others(_ report: VerificationReport) -> [Difference] {
        report.differences.filter { $0.table != "Z_2TAGS" }
      }
      #expect(others(report) == others(slow), "\(number): byte \(place)")
      #expect(report.isAlike == slow.isAlike, "\(number): byte \(place)")
    }
  }
}

/// The schema of the new store.
private enum StoreSchemaOf {
  static var after: StoreSchema { get throws { try StoreSchema(GivenStores.after) } }
}
