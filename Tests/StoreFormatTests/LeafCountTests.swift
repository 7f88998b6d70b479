import GRDB
import StoreFormat
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@Suite(.scratchFolder) struct LeafCountTests {
  private var path: FilePath { ScratchFolder.current.appending("Some.sqlite") }

  /// Makes a file of these statements; the root pages by name.
  private func make(_ sql: String, pageSize: Int = 4096) throws -> [String: UInt32] {
    let connection = try StoreConnection.scratch(path, cacheBytes: 1 << 20, pageSize: pageSize)
    let roots = try connection.run { db in
      try db.execute(sql: sql)
      return try Row.fetchAll(db, sql: "SELECT name, rootpage FROM sqlite_schema")
        .map { (String.fromDatabaseValue($0[0]) ?? "", UInt32.fromDatabaseValue($0[1]) ?? 0) }
    }
    try connection.queue.close()
    return Dictionary(uniqueKeysWithValues: roots)
  }

  private func rows(root: UInt32?, pageSize: Int = 4096) throws -> Int64? {
    let (file, root) = (try SourceFile(path), try #require(root))
    let count = LeafCount(file: file, pageSize: pageSize).rows(root: root)
    let shared = LeafCount(file: file, pageSize: pageSize, leastToShare: 0).rows(root: root)
    // In a circle it is by chance which pages are looked at before there are no more.
    #expect(shared == count || count == nil || shared == nil)
    return count
  }

  private func filled(_ rows: Int, bytes: Int) -> String {
    """
    CREATE TABLE t (k INTEGER PRIMARY KEY, x BLOB);
    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
      INSERT INTO t SELECT i, randomblob(\(bytes)) FROM n WHERE i > 0;
    """
  }

  @Test(
    arguments: [(0, 4), (1, 4), (70_000, 4), (3_000, 900), (50, 90_000)], [512, 4096, 65_536])
  func `rows are counted as SQLite counts them`(_ table: (Int, Int), pageSize: Int) throws {
    let roots = try make(filled(table.0, bytes: table.1), pageSize: pageSize)
    #expect(try rows(root: roots["t"], pageSize: pageSize) == Int64(table.0))
  }

  @Test(arguments: [0, Int64.max]) func `several tables are counted, each by itself`(
    leastToShare: Int64
  ) throws {
    let roots = try make(
      (1...40).map { number in
        filled(number * 50, bytes: 30).replacing(" t ", with: " t\(number) ")
      }.joined() + "CREATE INDEX i ON t9 (x);")
    let wanted = (1...40).compactMap { roots["t\($0)"] } + [roots["i"] ?? 0, 0]
    let file = try SourceFile(path)
    let counts = LeafCount(file: file, pageSize: 4096, leastToShare: leastToShare)
      .rows(roots: wanted)
    #expect(counts == (1...40).map { Int64($0 * 50) } + [nil, nil])
  }

  @Test func `what was deleted is not counted, and pages between that are half empty are`() throws {
    let roots = try make(
      filled(50_000, bytes: 40) + "DELETE FROM t WHERE k % 7 > 1 OR k BETWEEN 9000 AND 20000;")
    let connection = try StoreConnection.immutable(path)
    let left = try connection.run { try Int64.fetchOne($0, sql: "SELECT count(*) FROM t") }
    #expect(try rows(root: roots["t"]) == left)
  }

  @Test func `a tree of keys is none of rows, and no page is none`() throws {
    let roots = try make(
      filled(9_000, bytes: 9) + "CREATE INDEX i ON t (x);"
        + "CREATE TABLE w (k TEXT PRIMARY KEY) WITHOUT ROWID;")
    #expect(try rows(root: roots["t"]) == 9_000)
    for root in [roots["i"], roots["w"], 0, .max] { #expect(try rows(root: root) == nil) }
  }

  @Test func `rows that only the log has are counted`() throws {
    let queue = try DatabaseQueue(path: path.string)
    let pages = ScratchFolder.current.appending("pages")
    let root = try queue.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0")
      try db.execute(sql: filled(3_000, bytes: 90) + "PRAGMA wal_checkpoint(TRUNCATE);")
      try db.execute(sql: "INSERT INTO t SELECT k + 9000, x FROM t; DELETE FROM t WHERE k < 40;")
      #expect(try WALPages.write(of: path, to: pages) == .written)
      return try UInt32.fetchOne(db, sql: "SELECT rootpage FROM sqlite_schema")
    }
    let whole = LeafCount(file: try SourceFile(pages), pageSize: 4096)
    #expect(whole.rows(root: try #require(root)) == 6_000 - 39)
    #expect(try rows(root: root) == 3_000)
  }

  @Test func `pages that lead in circles end`() throws {
    let root = try #require(try make(filled(90_000, bytes: 20))["t"])
    let bytes = try Files.readFile(path, limit: 1 << 30)
    let start = (Int(root) - 1) * 4096
    var random = SeededRandom(seed: 7)
    for changes in 0..<200 {
      var damaged = bytes
      // The last child is the root itself, unless that is changed as well.
      damaged.replaceSubrange(start + 8..<start + 12, with: root.bigEndianBytes)
      for _ in 0..<changes % 9 {
        damaged[Int.random(in: start..<start + 4096, using: &random)] = .random(
          in: 0...255, using: &random)
      }
      try Files.writeFileAtomically(damaged, to: path)
      let found = try rows(root: root)
      #expect(found == nil || changes > 0 && found ?? 0 <= Int64(bytes.count))
    }
  }
}

extension UInt32 {
  fileprivate var bigEndianBytes: [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: self >> $0) }
  }
}
