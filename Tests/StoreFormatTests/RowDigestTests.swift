import GRDB
import StoreFormat
import SystemPackage
import TestSupport
import Testing

@Suite(.scratchFolder) struct RowDigestTests {
  private func digest(_ values: String, _ setup: [String] = []) throws -> RowDigest {
    try DatabaseQueue().writeWithoutTransaction { db in
      for statement in setup { try db.execute(sql: statement) }
      return try RowDigest(of: values, in: db)
    }
  }

  @Test func `the order of rows does not matter`() throws {
    let one = try digest("VALUES (1, 'a', x'00'), (2, 'b', NULL), (3, NULL, 2.5)")
    let other = try digest("VALUES (3, NULL, 2.5), (1, 'a', x'00'), (2, 'b', NULL)")
    #expect(one == other)
    #expect(one.rows == 3)
    var merged = try digest("VALUES (1, 'a', x'00')")
    merged.merge(try digest("VALUES (3, NULL, 2.5), (2, 'b', NULL)"))
    #expect(merged == one)
  }

  @Test(
    arguments: [
      "VALUES (1, 'a'), (2, 'c')", "VALUES (1, 'b'), (2, 'a')", "VALUES (1, 'a')",
      "VALUES (1, 'a'), (2, 'b'), (2, 'b')", "VALUES (1, 'a'), (2, x'62')",
      "VALUES (1, 'a'), ('2', 'b')", "VALUES (1, 'a'), (2, 'b' || char(0))",
      "VALUES ('a', 1), ('b', 2)", "VALUES (1, 'a'), (2, NULL)", "VALUES (1, 'a'), (2.5, 'b')",
    ])
  func `any change shows`(values: String) throws {
    #expect(try digest(values).sum != digest("VALUES (1, 'a'), (2, 'b')").sum)
  }

  @Test func `the values of one row cannot trade places`() throws {
    #expect(try digest("VALUES (1, 2)").sum != digest("VALUES (2, 1)").sum)
    #expect(try digest("VALUES (1, 2), (2, 1)").sum != digest("VALUES (1, 1), (2, 2)").sum)
    #expect(try digest("VALUES (NULL, '')").sum != digest("VALUES ('', NULL)").sum)
  }

  @Test func `texts that differ in one place only differ`() throws {
    let base = String(repeating: "x", count: 40)
    var seen: Set<UInt64> = [try digest("VALUES ('\(base)')").sum]
    for place in 0..<40 {
      var text = Array(base)
      text[place] = "y"
      seen.insert(try digest("VALUES ('\(String(text))')").sum)
    }
    #expect(seen.count == 41)
  }

  @Test func `a whole number is the same whichever way a column keeps it`() throws {
    let setup = ["CREATE TABLE t (a FLOAT, b DECIMAL)", "INSERT INTO t VALUES (5, 5.0)"]
    #expect(try digest("SELECT * FROM t", setup).sum == digest("VALUES (5, 5)").sum)
    #expect(try digest("VALUES (5.0)").sum == digest("VALUES (5)").sum)
    #expect(try digest("VALUES (-0.0)").sum == digest("VALUES (0)").sum)
    #expect(try digest("VALUES (9e99)").sum != digest("VALUES (9223372036854775807)").sum)
  }

  @Test func `progress hears of every row once`() throws {
    var heard: Int64 = 0
    let digest = try DatabaseQueue().writeWithoutTransaction { db in
      try RowDigest(
        of: """
          WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
          SELECT i FROM n
          """, in: db
      ) { heard += $0 }
    }
    #expect(heard == 10_000 && digest.rows == 10_000)
  }

  @Test(arguments: [1, 3])
  func `a table that is read by several threads has the digest of its rows`(
    threads: Int
  ) throws {
    let path = ScratchFolder.current.appending("table.sqlite")
    let connection = try StoreConnection.scratch(path, cacheBytes: 1 << 20)
    try connection.perform { db in
      try db.execute(
        sql: "CREATE TABLE \"a b\" (k INTEGER PRIMARY KEY, n FLOAT, t VARCHAR, b BLOB)")
      try db.execute(
        sql: """
          WITH RECURSIVE i(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM i WHERE n < 20000)
          INSERT INTO "a b" SELECT n * n - 90000000, n / 7.0, iif(n % 5, 'text ' || n, NULL),
            randomblob(n % 9000 / 100 * (n % 7)) FROM i
          """)
      let expected = try RowDigest(of: "SELECT * FROM \"a b\"", in: db)
      #expect(expected.rows == 20000)
      let found = try RowDigest(ofTable: "a b", of: path, in: db, threads: threads)
      #expect(found == expected)
      try db.execute(sql: "UPDATE \"a b\" SET t = 'other' WHERE k = 123 * 123 - 90000000")
      #expect(try RowDigest(ofTable: "a b", of: path, in: db, threads: threads) != expected)
      try db.execute(sql: "DELETE FROM \"a b\"")
      #expect(try RowDigest(ofTable: "a b", of: path, in: db, threads: threads) == RowDigest())
      try db.execute(
        sql: "INSERT INTO \"a b\" (k) VALUES (-9223372036854775808), (9223372036854775807)")
      #expect(
        try RowDigest(ofTable: "a b", of: path, in: db, threads: threads)
          == RowDigest(of: "SELECT * FROM \"a b\"", in: db))
    }
  }
}
