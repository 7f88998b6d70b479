import GRDB
import StoreFormat
import TestSupport
import Testing

struct RowDigestTests {
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
}
