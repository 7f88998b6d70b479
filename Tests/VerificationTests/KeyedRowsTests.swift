import GRDB
import StoreFormat
import SystemPackage
import TestSupport
import Testing

@testable import Verification

@Suite(.scratchFolder) struct KeyedRowsTests {
  private func store(_ statements: String) throws -> RawStore {
    let path = ScratchFolder.current.appending("Rows.sqlite")
    let connection = try StoreConnection.scratch(path, cacheBytes: 1 << 20)
    try connection.run { try $0.execute(sql: statements) }
    try connection.queue.close()
    return try RawStore(reading: path)
  }

  /// The key, the entity and whether the row has a long value, of all rows.
  private func rows(
    _ store: RawStore, keys: ClosedRange<Int64> = .min ... .max, leavesLong: Bool = true
  ) throws -> [String] {
    let rows = try KeyedRows(
      store, table: "t", columns: ["Z_PK", "Z_ENT", "a"], keys: keys, leavesLong: leavesLong)
    var result: [String] = []
    while try rows.step() {
      let value = rows.hasLong ? "long" : "\(rows.row.value(column: 2))"
      result.append("\(rows.key ?? -1) \(rows.entity ?? -1) \(value)")
    }
    return result
  }

  private static let long = "hex(zeroblob(\(LongValues.mostBytes)))"

  @Test func `a row with a long value is one of its place, wherever it is`() throws {
    let store = try store(
      """
      CREATE TABLE t (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, a);
      INSERT INTO t VALUES (-5, 1, \(Self.long)), (1, 1, 1), (2, NULL, \(Self.long)),
        (3, 2, zeroblob(900000)), (7, 2, 7), (9223372036854775807, 1, \(Self.long));
      """)
    let all = ["-5 1 long", "1 1 1", "2 -1 long", "3 2 long", "7 2 7"]
    #expect(try rows(store) == all + ["9223372036854775807 1 long"])
    #expect(try rows(store, keys: 2...3) == ["2 -1 long", "3 2 long"])
    #expect(try rows(store, keys: 1...2) == ["1 1 1", "2 -1 long"])
    #expect(try rows(store, keys: 4...6) == [])
    #expect(try rows(store, leavesLong: false).count == 6)
  }

  @Test func `a value of the most bytes is held`() throws {
    let text = "substr(\(Self.long), 1, \(LongValues.mostBytes))"
    let store = try store(
      """
      CREATE TABLE t (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, a);
      INSERT INTO t VALUES (1, 1, \(text)), (2, 1, \(text) || '1');
      """)
    let found = try rows(store)
    #expect(found.count == 2 && found[0] != "1 1 long" && found[1] == "2 1 long")
  }

  @Test(arguments: ["", "CREATE INDEX i ON t (Z_PK);"])
  func `rows that are kept by another key are all there`(index: String) throws {
    let store = try store(
      """
      CREATE TABLE t (Z_PK INT, Z_ENT INTEGER, a); \(index)
      INSERT INTO t VALUES (9, 1, \(Self.long)), (1, 1, 1), (5, 1, \(Self.long)), (2, 1, 2);
      """)
    let found = try rows(store).map { $0.prefix(6) }
    #expect(found == ["1 1 1", "2 1 2", "5 1 \"0", "9 1 \"0"])
  }
}
