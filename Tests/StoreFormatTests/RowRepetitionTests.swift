import GRDB
import StoreFormat
import TestSupport
import Testing

/// Whether rows that agree are always noticed, as SQLite groups them.
struct RowRepetitionTests {
  private func isPossible(_ sql: String, rows: Int64 = 10) throws -> Bool {
    try DatabaseQueue().read { db in try RowRepetition.isPossible(in: sql, rows: rows, db: db) }
  }

  @Test(
    arguments: [
      "VALUES (1), (2), (1)", "VALUES (1), (1.0)", "VALUES (0), (-0.0)", "VALUES ('a'), ('a')",
      "VALUES (x'00'), (x'00')", "VALUES (1, 'a'), (2, 'a'), (1.0, 'a')", "VALUES (NULL), (NULL)",
      "VALUES (9007199254740992), (9007199254740992.0)", "VALUES (''), ('')",
    ])
  func `values that are equal to SQLite are noticed`(sql: String) throws {
    #expect(try isPossible(sql))
  }

  @Test(
    arguments: [
      "VALUES (1), (2)", "VALUES ('1'), (1)", "VALUES ('a'), (x'61')", "VALUES (''), (x'')",
      "VALUES ('a'), ('A')", "VALUES (1, 2), (2, 1)", "VALUES ('ab', 'c'), ('a', 'bc')",
      "VALUES (9007199254740993), (9007199254740992.0)", "SELECT 1 WHERE 0",
      "VALUES (NULL, 1), (1, NULL)",
    ])
  func `values that differ are told apart`(sql: String) throws {
    #expect(try !isPossible(sql))
  }

  @Test(arguments: [1, 1_000_000] as [Int64])
  func `many rows are told apart, and one that comes back is noticed`(rows: Int64) throws {
    // More rows than were expected have their bits taken, and are counted.
    let numbers = """
      WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
      SELECT i * 7919, 'row ' || i FROM n
      """
    #expect(try !isPossible(numbers, rows: rows))
    #expect(try isPossible(numbers + " UNION ALL VALUES (7919 * 31415, 'row 31415')", rows: rows))
  }
}
