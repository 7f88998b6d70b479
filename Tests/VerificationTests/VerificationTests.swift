import ObjectModel
import Schema
import SystemPackage
import TestSupport
import Testing

@testable import Verification

@Suite(.scratchFolder) struct VerificationTests {
  @Test func `a store that is what it should be is alike`() throws {
    let report = try GivenStores().verify()
    #expect(report.differences == [])
    #expect(report.isAlike)
    #expect(report.rows == 8)
    #expect(
      report.removed == [
        .init(what: .attribute, name: "Book.gone", count: 1),
        .init(what: .attribute, name: "Comic.gone", count: 1),
      ])
  }

  @Test(arguments: [
    (
      "UPDATE ZBOOK SET ZTITLE = CAST(X'6100' || 'c' AS TEXT) WHERE Z_PK = 1", Difference.Kind.value
    ),
    ("UPDATE ZBOOK SET ZTITLE = 'a' WHERE Z_PK = 1", .value),
    ("UPDATE ZBOOK SET ZTITLE = CAST(X'65CC81' AS TEXT) WHERE Z_PK = 2", .value),
    ("UPDATE ZBOOK SET ZTITLE = CAST(ZTITLE AS BLOB) WHERE Z_PK = 2", .value),
    ("UPDATE ZBOOK SET ZTITLE = '' WHERE Z_PK = 10", .value),
    ("UPDATE ZBOOK SET ZLENGTH = 7.000000000000001 WHERE Z_PK = 1", .value),
    ("UPDATE ZBOOK SET ZLENGTH = NULL WHERE Z_PK = 2", .value),
    ("UPDATE ZBOOK SET ZPRICE = NULL WHERE Z_PK = 10", .value),
    ("UPDATE ZBOOK SET Z_ENT = 3 WHERE Z_PK = 1", .entityNumber),
    ("UPDATE ZBOOK SET Z_OPT = 5 WHERE Z_PK = 1", .saveCount),
    ("UPDATE ZBOOK SET ZWRITER = 2 WHERE Z_PK = 2", .reference),
    ("UPDATE ZBOOK SET Z_FOK_WRITER = 1024 WHERE Z_PK = 2", .order),
    ("UPDATE ZBOOK SET Z_FOK_WRITER = 2048 WHERE Z_PK = 2", .order),
    ("UPDATE ZBOOK SET Z_FOK_WRITER = NULL WHERE Z_PK = 1", .order),
    ("DELETE FROM ZWRITER WHERE Z_PK = 2", .rowMissing),
    ("INSERT INTO ZWRITER VALUES (3, 5, 1, NULL)", .rowExtra),
    ("INSERT INTO ZAISLE VALUES (1, 1, 1, NULL)", .rowExtra),
    ("DELETE FROM Z_2TAGS WHERE Z_2BOOKS = 10", .pairMissing),
    ("INSERT INTO Z_2TAGS VALUES (2, 3)", .pairExtra),
    ("UPDATE Z_PRIMARYKEY SET Z_MAX = 11 WHERE Z_NAME = 'Book'", .highestKey),
    ("UPDATE Z_PRIMARYKEY SET Z_NAME = 'Comics' WHERE Z_NAME = 'Comic'", .entityRow),
    ("DELETE FROM Z_PRIMARYKEY WHERE Z_NAME = 'Aisle'", .entityRow),
    ("UPDATE Z_METADATA SET Z_UUID = 'other'", .uuid),
    ("DELETE FROM Z_MODELCACHE", .modelCache),
    ("DROP INDEX ZBOOK_ZWRITER_INDEX", .indexMissing),
    ("CREATE INDEX more ON ZBOOK (ZTITLE)", .indexExtra),
    ("CREATE TABLE more (a)", .tableExtra),
    ("DROP TABLE ZAISLE", .tableMissing),
    ("CREATE TRIGGER more AFTER INSERT ON ZTAG BEGIN SELECT 1; END", .trigger),
    ("CREATE VIEW more AS SELECT 1", .view),
    ("ALTER TABLE ZTAG ADD COLUMN ZMORE INTEGER", .columnExtra),
    ("ALTER TABLE ZBOOK DROP COLUMN ZCOLOURS", .columnMissing),
    ("PRAGMA user_version = 3", .header),
    ("PRAGMA application_id = 3", .header),
    ("PRAGMA journal_mode = WAL", .journalMode),
  ])
  func `one change is one difference of its kind`(sql: String, kind: Difference.Kind) throws {
    let given = try GivenStores()
    try given.change(sql)
    #expect(try given.kinds() == [kind: 1], "\(sql)")
  }

  @Test(arguments: ["user_version", "application_id"])
  func `a number of the app that became 0 is a difference`(name: String) throws {
    let given = try GivenStores()
    try given.change("PRAGMA \(name) = 5", old: true)
    #expect(try given.kinds() == [.header: 1])
    try given.change("PRAGMA \(name) = 5")
    #expect(try given.kinds() == [:])
  }

  @Test(arguments: ["zeroblob(8999999)", "replace(hex(zeroblob(4500000)), '00', 'ä')"])
  func `long values are compared in parts, and a byte of them is found`(long: String) throws {
    let given = try GivenStores()
    // Two such rows follow each other, and one is the last.
    let change = "UPDATE ZBOOK SET ZTITLE = \(long) WHERE Z_PK IN (1, 2, 10)"
    try given.change(change, old: true)
    try given.change(change)
    #expect(try given.verify { $0.readsLeaves = false }.differences == [])
    let ending = "substr(ZTITLE, 1, length(ZTITLE) - 1) || 'z'"
    let type = long.hasPrefix("zeroblob") ? "BLOB" : "TEXT"
    try given.change(
      "UPDATE ZBOOK SET ZTITLE = CAST(\(ending) AS \(type)), ZPRICE = 1 WHERE Z_PK = 2")
    let report = try given.verify { $0.readsLeaves = false }
    #expect(report.counts == [.value: 2])
    #expect(report.differences.map(\.key) == ["2", "2"])
    try given.change("UPDATE ZBOOK SET ZTITLE = NULL, ZPRICE = 9.5 WHERE Z_PK = 2")
    #expect(try given.verify { $0.readsLeaves = false }.counts == [.value: 1])
  }

  @Test func `an index of another form is told with both forms`() throws {
    let given = try GivenStores()
    try given.change("DROP INDEX ZBOOK_ZWRITER_INDEX")
    try given.change("CREATE UNIQUE INDEX ZBOOK_ZWRITER_INDEX ON ZBOOK (ZTITLE)")
    let found = try #require(try given.verify().differences.first)
    #expect(found.kind == .indexForm)
    #expect(found.expected == "CREATE INDEX ZBOOK_ZWRITER_INDEX ON ZBOOK (ZWRITER)")
    #expect(found.actual == "CREATE UNIQUE INDEX ZBOOK_ZWRITER_INDEX ON ZBOOK (ZTITLE)")
  }

  @Test func `a difference has its place, and values that a terminal may show`() throws {
    let given = try GivenStores()
    try given.change("UPDATE ZBOOK SET ZTITLE = char(27) || '[2J' WHERE Z_PK = 2")
    #expect(
      try given.verify().differences == [
        Difference(
          .value, table: "ZBOOK", key: "2", column: "ZTITLE", expected: #""\u{e9}""#,
          actual: #""\u{1b}[2J""#)
      ])
  }

  @Test func `rows of no entity are named as lost`() throws {
    let given = try GivenStores()
    try given.change("INSERT INTO ZTAG VALUES (1, 77, 1, NULL), (2, NULL, 1, NULL)", old: true)
    let report = try given.verify()
    #expect(report.counts == [.rowLost: 2])
    #expect(report.differences.map(\.key) == ["1", "2"])
  }

  @Test func `the table of an entity that is gone has no place in the new store`() throws {
    let given = try GivenStores()
    let before = try ManagedObjectModel(entities: GivenStores.before.entities + [Entity("Zebra")])
    let table = "CREATE TABLE ZZEBRA (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER)"
    try given.change("\(table); INSERT INTO ZZEBRA VALUES (1, 5, 1)", old: true)
    func verify() throws -> VerificationReport {
      try given.verify { $0.steps[0].source = before }
    }
    #expect(try verify().differences == [])
    #expect(try verify().removed.contains(.init(what: .entity, name: "Zebra", count: 1)))
    try given.change("\(table); INSERT INTO ZZEBRA VALUES (1, 5, 1)")
    #expect(try verify().differences == [Difference(.tableExtra, table: "ZZEBRA")])
  }

  @Test func `a table of no model may be kept, and then is compared`() throws {
    let given = try GivenStores()
    try given.change("CREATE TABLE notes (text); INSERT INTO notes VALUES ('a')", old: true)
    #expect(try given.verify().removed.contains(.init(what: .table, name: "notes", count: 1)))
    try given.change("CREATE TABLE notes (text); INSERT INTO notes VALUES ('a')")
    let report = try given.verify()
    #expect(report.differences == [])
    #expect(!report.removed.contains { $0.name == "notes" })
    try given.change("UPDATE notes SET text = 'b'")
    #expect(try given.kinds() == [.value: 1])
  }

  @Test func `a table of no model is gone where the new model has one of its name`() throws {
    let given = try GivenStores()
    let table = try #require(StoreSchema(GivenStores.after).tables.first)
    try given.change(
      "\(table.createStatement); INSERT INTO ZAISLE VALUES (1, 9, 1, 'A')", old: true)
    let report = try given.verify()
    #expect(report.differences == [])
    #expect(report.removed.contains(.init(what: .table, name: "ZAISLE", count: 1)))
  }

  @Test func `rows of no entity are found whatever an index says`() throws {
    let given = try GivenStores()
    try given.change(
      """
      INSERT INTO ZBOOK (Z_PK, Z_ENT, Z_OPT) VALUES (11, 77, 1);
      CREATE TABLE bare (a); CREATE INDEX empty ON bare (a);
      PRAGMA writable_schema = ON;
      UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'empty')
        WHERE name = 'ZBOOK_Z_ENT_INDEX';
      """, old: true)
    #expect(try given.kinds() == [.rowLost: 1])
  }

  @Test func `what is not kept is counted by kind`() throws {
    let given = try GivenStores()
    try given.change("UPDATE ZBOOK SET ZTITLE = 'z'")
    try given.change("DELETE FROM Z_2TAGS")
    let report = try given.verify { $0.limit = 2 }
    #expect(report.differences.count == 2)
    #expect(report.total == 5)
    #expect(report.counts == [.value: 3, .pairMissing: 2])
  }

  @Test func `what cannot be judged keeps stores from being alike`() throws {
    let report = try GivenStores().verify { $0.unsupported = ["persistent history"] }
    #expect(report.total == 0)
    #expect(report.notJudged == ["persistent history"])
    #expect(!report.isAlike)
  }

  @Test func `a store that cannot be read at all is one difference`() throws {
    let given = try GivenStores()
    let file = try FileDescriptor.open(given.new, .writeOnly)
    try file.closeAfter {
      _ = try file.writeAll(toAbsoluteOffset: 100, [UInt8](repeating: 7, count: 900))
    }
    #expect(try given.kinds().keys.contains(.page))
  }

  @Test func `what lies beside the new store is named`() throws {
    let given = try GivenStores()
    let log = try FileDescriptor.open(
      FilePath("\(given.new)-journal"), .writeOnly, options: .create,
      permissions: .ownerReadWrite)
    try log.closeAfter { _ = try log.writeAll("left".utf8) }
    #expect(try given.kinds() == [.leftover: 1])
  }

  @Test func `two stores of one version are compared as copies`() throws {
    let given = try GivenStores()
    func verify() throws -> VerificationReport {
      try given.verify {
        $0.new = $0.old
        $0.steps = []
        $0.copyModel = GivenStores.before
      }
    }
    #expect(try verify().isAlike)
    let report = try given.verify {
      $0.steps = []
      $0.copyModel = GivenStores.before
    }
    #expect(report.counts[.tableExtra] == 2)
    #expect(report.counts[.versionHash] != nil)
  }

  @Test func `a chain of steps is judged step by step`() throws {
    let given = try GivenStores()
    let middle = try ManagedObjectModel(entities: GivenStores.before.entities + [Entity("Aisle")])
    func verify() throws -> VerificationReport {
      try given.verify { order in
        order.steps = [
          .init(source: GivenStores.before, destination: middle, mappings: []),
          .init(source: middle, destination: GivenStores.after, mappings: []),
        ]
      }
    }
    #expect(try verify().differences == [])
    try given.change("UPDATE ZBOOK SET Z_FOK_WRITER = 1024 WHERE Z_PK = 2")
    #expect(try verify().counts == [.order: 1])
  }
}
