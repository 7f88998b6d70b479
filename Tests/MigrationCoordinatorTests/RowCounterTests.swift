import GRDB
import MigrationEngine
import RowPrograms
import StoreFormat
import SystemPackage
import TestSupport
import Testing

@testable import MigrationCoordinator

/// Counts of rows in parts, on several connections, against those of one pass.
@Suite(.scratchFolder) struct RowCounterTests {
  private var path: FilePath { ScratchFolder.current.appending("Some.sqlite") }

  private func make(_ change: String = "") throws -> StoreReader {
    let connection = try StoreConnection.writable(path)
    try connection.run { db in
      try db.execute(
        sql: """
          CREATE TABLE Z_METADATA (x); CREATE TABLE Z_PRIMARYKEY (x);
          CREATE TABLE ZITEM (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZN INTEGER,
            ZWORD VARCHAR);
          CREATE INDEX ZITEM_ZN ON ZITEM (ZN);
          CREATE TABLE Z_1TAGS (Z_1ITEMS INTEGER, Z_2TAGS INTEGER, PRIMARY KEY (Z_1ITEMS, Z_2TAGS));
          WITH RECURSIVE i(i) AS (SELECT -4000 UNION ALL SELECT i + 1 FROM i WHERE i < 4000)
            INSERT INTO ZITEM SELECT CASE WHEN abs(i) < 3000 THEN i ELSE i * 2000000000000000 END,
              1 + (i % 7 = 0), 1, CASE WHEN i % 11 <> 0 THEN i % 13 END, 'word ' || i FROM i;
          INSERT INTO ZITEM VALUES (-9223372036854775808, 1, 1, 3, ''),
            (9223372036854775807, 1, 1, 3, '');
          INSERT INTO Z_1TAGS SELECT Z_PK, n FROM ZITEM, (SELECT 1 AS n UNION SELECT 2)
            WHERE Z_PK % 3 = 0;
          \(change)
          """)
    }
    try connection.queue.close()
    return try StoreReader(immutable: path)
  }

  private static let items = RowCounter.Keys(table: "ZITEM")
  private static let questions: [RowCounter.Question] =
    [
      "1", "0", "s.ZN > 5", "s.ZN IS NULL AND s.Z_ENT = 2", "s.ZWORD LIKE '%7'",
      "typeof(s.ZN) <> 'integer'", "s.Z_PK < 0", "s.Z_PK = 9223372036854775807",
      "NOT EXISTS (SELECT 1 FROM ZITEM AS t WHERE t.Z_PK = s.ZN)",
      "godwit_dropped('ZITEM', s.Z_PK)",
    ].map { RowCounter.Question(from: "ZITEM AS s NOT INDEXED", test: $0, parts: items) } + [
      .init(
        from: "ZITEM AS s NOT INDEXED",
        test: "s.rowid IN (SELECT row FROM (SELECT s.rowid AS row, count(*) OVER "
          + "(PARTITION BY s.ZN) AS n FROM ZITEM AS s) WHERE n > 600)"),
      // An index has all that is asked.
      .init(from: "ZITEM AS s", test: "s.ZN > 7", parts: items),
      .init(
        from: "Z_1TAGS AS s NOT INDEXED", test: "s.Z_2TAGS = 2 AND s.Z_1ITEMS < 0",
        parts: .init(table: "Z_1TAGS", column: "rowid")),
    ]

  private func counts(
    _ reader: StoreReader, readers: Int, dropped: RowKeys, of questions: [RowCounter.Question]
  ) throws -> [Int64] {
    let prepare = { (db: Database) in RowKeyReader(dropped).install(in: db) }
    try reader.connection.run(prepare)
    var counter = RowCounter(
      reader, tables: try TableDivision(reader, sharedFrom: 0, readers: readers), prepare: prepare)
    for question in questions { counter.ask(question) }
    try counter.count()
    return questions.map { counter.answer($0) }
  }

  @Test func `parts count the same as one pass`() throws {
    let reader = try make()
    let dropped = try RowKeys()
    let writer = RowKeyWriter(dropped)
    for key in [Int64.min, -2000, 5, 6, 70, .max] { try writer.add(key, table: "ZITEM") }
    try writer.finish()
    let one = try counts(reader, readers: 1, dropped: dropped, of: Self.questions)
    #expect(one[0] == 8003 && one[1] == 0 && one[9] == 6)
    #expect(one.count { $0 > 0 } == one.count - 1)
    for (question, count) in zip(Self.questions, one) {
      let sql = "SELECT count(*) FROM \(question.from) WHERE \(question.test)"
      #expect(try reader.number(sql: sql) == count, "\(question.test)")
    }
    for readers in [2, 8] {
      #expect(try counts(reader, readers: readers, dropped: dropped, of: Self.questions) == one)
    }
  }

  @Test func `what one part cannot be asked is an error of all`() throws {
    let reader = try make()
    let keys = try RowKeys()
    let question = RowCounter.Question(
      from: "ZITEM AS s NOT INDEXED",
      // The lowest number has no absolute value.
      test: "abs(CASE WHEN s.Z_PK IN (77, 2500) THEN -9223372036854775808 ELSE 1 END) = 1",
      parts: Self.items)
    for readers in [1, 2, 8] {
      let error = #expect(throws: StoreError.self) {
        try counts(reader, readers: readers, dropped: keys, of: [question])
      }
      #expect("\(error.map(\.cause.debugDescription) ?? "")".contains("integer overflow"))
    }
  }
}
