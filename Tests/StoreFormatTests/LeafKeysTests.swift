import GRDB
import SystemPackage
import TestSupport
import Testing

@testable import StoreFormat

/// Keys that are read from leaves are those that SQLite reads.
@Suite(.scratchFolder) struct LeafKeysTests {
  private var path: FilePath { ScratchFolder.current.appending("Some.sqlite") }

  private static let columns = "( Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, x BLOB )"

  /// A store with rows of some keys in `t`, some of which go on on other pages.
  private func store(_ table: String = "CREATE TABLE t \(columns)", rows: Int) throws {
    let connection = try StoreConnection.writable(path)
    try connection.run { db in
      try db.execute(
        sql: """
          CREATE TABLE Z_METADATA (x); CREATE TABLE Z_PRIMARYKEY (x); \(table);
          WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i <= \(rows))
            INSERT INTO t SELECT (i - 500) * 7000000000000, 1,
              zeroblob(CASE i % 50 WHEN 0 THEN 9000 ELSE 40 END) FROM n LIMIT \(rows)
          """)
    }
    try connection.queue.close()
  }

  /// The keys by leaves; nil where SQLite has to read them.
  private func read(readers: Int = 3) throws -> [Int64]? {
    let division = try TableDivision(
      StoreReader(immutable: path), sharedFrom: 0, readers: readers)
    var keys: [Int64] = []
    return try division.readKeys(ofTable: "t") { keys += $0 } ? keys : nil
  }

  @Test(arguments: [1, 3_000, 60_000])
  func `all keys are read, in their order`(rows: Int) throws {
    try store(rows: rows)
    let expected = try StoreReader(immutable: path).connection.run { db in
      try Int64.fetchAll(db, sql: "SELECT Z_PK FROM t ORDER BY Z_PK")
    }
    #expect(expected.count == rows)
    #expect(try read() == expected)
  }

  @Test(arguments: [
    "CREATE TABLE t (Z_PK INT PRIMARY KEY, Z_ENT INTEGER, x BLOB)",
    "CREATE TABLE t \(columns) WITHOUT ROWID",
  ])
  func `a table whose rows have other numbers is left to SQLite`(table: String) throws {
    try store(table, rows: 3_000)
    #expect(try read() == nil)
  }

  @Test func `a table with a damaged page is left to SQLite`() throws {
    try store(rows: 3_000)
    let root = try StoreReader(immutable: path).connection.run { db in
      try Int64.fetchOne(db, sql: "SELECT rootpage FROM sqlite_schema WHERE name = 't'")
    }
    let file = try FileDescriptor.open(path, .readWrite)
    try file.closeAfter {
      var child = [UInt8](repeating: 0, count: 4)
      let place = (try #require(root) - 1) * 4096 + 8
      let count = try child.withUnsafeMutableBytes {
        try file.read(fromAbsoluteOffset: place, into: $0)
      }
      #expect(count == 4)
      let last = child.reduce(Int64(0)) { $0 << 8 | Int64($1) }
      _ = try file.writeAll(toAbsoluteOffset: (last - 1) * 4096, [7])
    }
    #expect(try read() == nil)
  }
}
