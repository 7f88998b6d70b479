import Foundation
import GRDB
import SystemPackage
import TestSupport
import Testing

@testable import StoreFormat

/// What is shown to be sound is judged by SQLite's `integrity_check`, which has to find nothing.
@Suite(.scratchFolder) struct FileProofTests {
  private let path = ScratchFolder.current.appending("proved.sqlite")

  /// Writes tables as Core Data has them, with indexes of all kinds, long values and free pages.
  private func make(
    pageSize: Int, vacuum: Int, encoding: String = "UTF-8", more: String = ""
  ) throws {
    let connection = try StoreConnection.writable(path)
    try connection.queue.inDatabase { db in
      try db.execute(
        sql: "PRAGMA page_size = \(pageSize); PRAGMA auto_vacuum = \(vacuum); "
          + "PRAGMA encoding = '\(encoding)'")
      try db.execute(
        sql: """
          CREATE TABLE ZITEM (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER,
            ZOWNER INTEGER, ZWHEN TIMESTAMP, ZNAME VARCHAR, ZSIZE FLOAT, ZDATA BLOB);
          CREATE TABLE Z_1TAGS (Z_1A INTEGER, Z_2B INTEGER, PRIMARY KEY (Z_1A, Z_2B));
          CREATE TABLE gone (a);
          \(Self.numbers(600)) INSERT INTO gone SELECT zeroblob(900) FROM n;
          \(Self.numbers(900)) INSERT INTO ZITEM SELECT i * 2, 1, i % 3, iif(i % 9, i % 40, NULL),
            i * 977 % 501 / 4.0, iif(i % 5, 'name ' || (i * 31 % 700), NULL), i / 2.0,
            iif(i % 60 = 0, zeroblob(i * 20), iif(i % 3, x'0102', NULL)) FROM n;
          \(Self.numbers(900)) INSERT INTO Z_1TAGS SELECT i % 31, i FROM n;
          CREATE INDEX ZITEM_ZOWNER_INDEX ON ZITEM (ZOWNER);
          CREATE INDEX Z_Item_byName ON ZITEM (ZNAME COLLATE BINARY DESC, ZSIZE, Z_PK);
          CREATE INDEX Z_Item_byWhen ON ZITEM (ZWHEN);
          CREATE INDEX Z_Item_byData ON ZITEM (ZDATA);
          CREATE UNIQUE INDEX Z_Item_UNIQUE_size ON ZITEM (ZSIZE);
          CREATE INDEX Z_1TAGS_Z_2B_INDEX ON Z_1TAGS (Z_2B, Z_1A);
          DELETE FROM ZITEM WHERE Z_PK % 7 = 0;
          DROP TABLE gone;
          \(more)
          """)
    }
    try connection.queue.close()
  }

  private static func numbers(_ count: Int) -> String {
    "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))"
  }

  private func asked() -> [String]? { FileProof(path) { false }?.asked(threads: 2) }

  /// What SQLite finds in the whole file.
  private func found() throws -> [String] {
    do {
      let connection = try StoreConnection.immutable(path)
      return try connection.run { try IntegrityCheck.answers("PRAGMA integrity_check(5)", db: $0) }
    } catch {
      return ["\(error)"]
    }
  }

  private func change(_ sql: String) throws {
    let connection = try StoreConnection.writable(path)
    try connection.run { try $0.execute(sql: sql) }
    try connection.queue.close()
  }

  @Test(arguments: [512, 1024, 4096, 65536], [0, 1, 2])
  func `a sound file is shown to be one`(pageSize: Int, vacuum: Int) throws {
    try make(pageSize: pageSize, vacuum: vacuum)
    #expect(try found().isEmpty)
    #expect(asked() == ["sqlite_schema"])
    try change("VACUUM")
    #expect(asked() == ["sqlite_schema"])
    #expect(try IntegrityCheck(path).lines().isEmpty)
  }

  @Test(arguments: ["UTF-16le", "UTF-16be"])
  func `texts of two bytes a letter have the order that SQLite gives them`(
    encoding: String
  ) throws {
    try make(
      pageSize: 1024, vacuum: 2, encoding: encoding,
      more: "INSERT INTO ZITEM (Z_PK, ZNAME) VALUES (9001, 'é'), (9002, '\u{FF5E}'), "
        + "(9003, '\u{1F426}'), (9004, char(256));")
    #expect(try found().isEmpty)
    #expect(asked() == ["sqlite_schema"])
  }

  @Test(arguments: [
    ("CREATE TABLE w (a PRIMARY KEY) WITHOUT ROWID; INSERT INTO w VALUES (1), (2)", "w"),
    ("CREATE TABLE c (a CHECK (a > 0)); INSERT INTO c VALUES (1)", "c"),
    ("CREATE TABLE c (a, b AS (a + 1)); INSERT INTO c VALUES (1)", "c"),
    ("CREATE TABLE d (a, b DEFAULT 7); INSERT INTO d VALUES (1, 2)", "d"),
    ("CREATE TABLE e (a); CREATE INDEX ei ON e (a) WHERE a > 1; INSERT INTO e VALUES (2)", "e"),
    ("CREATE TABLE e (a); CREATE INDEX ei ON e (a + 1); INSERT INTO e VALUES (2)", "e"),
    ("CREATE TABLE e (a COLLATE NOCASE UNIQUE); INSERT INTO e VALUES ('a'), ('B')", "e"),
    ("CREATE TABLE s (a INTEGER) STRICT; INSERT INTO s VALUES (1)", "s"),
    ("CREATE VIRTUAL TABLE v USING rtree (id, a, b)", "v"),
  ])
  func `what only SQLite knows, SQLite is asked of`(sql: String, table: String) throws {
    try make(pageSize: 1024, vacuum: 2, more: sql + ";")
    #expect(try found().isEmpty)
    #expect(try #require(asked()).contains(table))
  }

  @Test(arguments: [
    "UPDATE t SET rootpage = (SELECT sum(rootpage) FROM t WHERE name LIKE 'Z_Item_byWhe_' "
      + "OR name LIKE 'ZITEM_ZOWNE%') - rootpage WHERE name LIKE 'Z_Item_byWhe_' "
      + "OR name LIKE 'ZITEM_ZOWNE%'",
    "UPDATE t SET sql = replace(sql, '(ZWHEN)', '(ZOWNER)') WHERE name = 'Z_Item_byWhen'",
    "UPDATE t SET sql = replace(sql, ' DESC', '') WHERE name = 'Z_Item_byName'",
    "UPDATE t SET sql = replace(sql, 'CREATE INDEX', 'CREATE UNIQUE INDEX') "
      + "WHERE name = 'ZITEM_ZOWNER_INDEX'",
    "UPDATE t SET sql = replace(sql, 'ZWHEN TIMESTAMP', 'ZWHEN VARCHAR') WHERE name = 'ZITEM'",
    "UPDATE t SET sql = replace(sql, 'ZNAME VARCHAR', 'ZNAME NOT NULL') WHERE name = 'ZITEM'",
    "DELETE FROM t WHERE name = 'Z_Item_byWhen'",
  ])
  func `what does not belong together is not taken as sound`(sql: String) throws {
    try make(pageSize: 1024, vacuum: 2)
    try change(
      "PRAGMA writable_schema = ON; \(sql.replacingOccurrences(of: " t ", with: " sqlite_schema "))"
    )
    #expect(try !found().isEmpty, "\(sql)")
    #expect(asked() == nil, "\(sql)")
    #expect(try !IntegrityCheck(path).lines().isEmpty)
  }

  @Test(arguments: ["ZOWNER = ZOWNER + 1", "ZSIZE = ZSIZE + 0.25", "ZNAME = NULL", "ZDATA = x''"])
  func `an entry of an index that is not the row's is found`(value: String) throws {
    try make(pageSize: 1024, vacuum: 2)
    // Rows change behind the back of the indexes, which come back afterwards.
    try change(
      """
      PRAGMA writable_schema = ON;
      CREATE TEMP TABLE kept AS SELECT * FROM sqlite_schema WHERE type = 'index';
      DELETE FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL;
      PRAGMA writable_schema = RESET;
      UPDATE ZITEM SET \(value) WHERE Z_PK = 604;
      PRAGMA writable_schema = ON;
      INSERT INTO sqlite_schema SELECT * FROM kept WHERE sql IS NOT NULL;
      """)
    #expect(try !found().isEmpty)
    #expect(asked() == nil)
  }

  @Test(arguments: [(1024, 2), (1024, 0), (4096, 2), (512, 1)])
  func `no damage of a byte or two is taken as sound that SQLite finds`(
    pageSize: Int, vacuum: Int
  ) throws {
    try make(pageSize: pageSize, vacuum: vacuum)
    let sound = try Data(contentsOf: URL(filePath: path.string))
    var random = SeededRandom(seed: UInt64(pageSize + vacuum))
    let pages = sound.count / pageSize
    var (refused, shown) = (0, 0)
    for number in 0..<120 {
      var bytes = sound
      // Half of them in headers and pointers, where structure is.
      let page = Int.random(in: 0..<pages, using: &random)
      let most = number % 2 == 0 ? min(40, pageSize) : pageSize
      let place = page * pageSize + Int.random(in: 0..<most, using: &random)
      for offset in place..<min(bytes.count, place + 1 + number % 3) {
        bytes[offset] = UInt8.random(in: 0...255, using: &random)
      }
      try bytes.write(to: URL(filePath: path.string))
      if asked() == nil {
        refused += 1
      } else {
        shown += 1
        #expect(try found().isEmpty, "\(number): bytes from \(place)")
      }
    }
    // Free bytes and those of values that no index has are nobody's to judge.
    #expect(refused > 30 && shown > 3, "\(refused), \(shown)")
  }

  @Test func `pages that change places, are lost or too many are not taken as sound`() throws {
    try make(pageSize: 1024, vacuum: 2)
    let sound = try Data(contentsOf: URL(filePath: path.string))
    let pages = sound.count / 1024
    func page(_ number: Int) -> Range<Int> { number * 1024..<(number + 1) * 1024 }
    var random = SeededRandom(seed: 3)
    for _ in 0..<60 {
      var bytes = sound
      let (one, other) = (
        Int.random(in: 2..<pages, using: &random), Int.random(in: 2..<pages, using: &random)
      )
      bytes.replaceSubrange(page(one), with: sound[page(other)])
      if Bool.random(using: &random) { bytes.replaceSubrange(page(other), with: sound[page(one)]) }
      try bytes.write(to: URL(filePath: path.string))
      if asked() != nil { #expect(try found().isEmpty, "\(one) \(other)") }
    }
    try (sound + Data(count: 1024)).write(to: URL(filePath: path.string))
    #expect(asked() == nil)
    try sound.dropLast(1024).write(to: URL(filePath: path.string))
    #expect(asked() == nil)
  }
}
