import GRDB
import StoreFormat
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@Suite(.scratchFolder) struct TreeSizeTests {
  private var path: FilePath { ScratchFolder.current.appending("Some.sqlite") }

  /// Makes a table of so many rows with an index; the roots of both, and the pages of the latter.
  private func make(rows: Int, bytes: Int) throws -> (table: UInt32, index: UInt32, pages: Int64) {
    let connection = try StoreConnection.writable(path)
    let found = try connection.run { db in
      try db.execute(sql: "CREATE TABLE t (Z_PK INTEGER PRIMARY KEY, x BLOB)")
      try db.execute(
        sql: """
          WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
          INSERT INTO t SELECT i, randomblob(?) FROM n WHERE i <= ?
          """, arguments: [max(rows, 1), bytes, rows])
      let before = try Int64.fetchOne(db, sql: "PRAGMA page_count") ?? 0
      try db.execute(sql: "CREATE INDEX i ON t (x)")
      let after = try Int64.fetchOne(db, sql: "PRAGMA page_count") ?? 0
      let roots = try UInt32.fetchAll(
        db, sql: "SELECT rootpage FROM sqlite_schema ORDER BY name DESC")
      return (roots[0], roots[1], after - before)
    }
    try connection.queue.close()
    return found
  }

  private func pages(root: UInt32) throws -> Int64? {
    TreeSize(file: try SourceFile(path), pageSize: 4096, root: root).pages
  }

  @Test(arguments: [(0, 10), (5, 10), (3_000, 10), (200_000, 16), (20_000, 700)])
  func `the pages of an index are estimated within a tenth`(rows: Int, bytes: Int) throws {
    let made = try make(rows: rows, bytes: bytes)
    let found = Double(try #require(try pages(root: made.index)))
    #expect(abs(found - Double(made.pages)) <= 1 + Double(made.pages) / 10)
    // Without overflow pages a table has about the size of its only index.
    if bytes < 700 { #expect(try pages(root: made.table) ?? 0 <= made.pages * 2) }
  }

  @Test func `what is no page of a b-tree has no size`() throws {
    _ = try make(rows: 10, bytes: 10)
    #expect(try pages(root: 0) == nil)
    #expect(try pages(root: .max) == nil)
  }

  @Test func `damaged pages give no more than the file has, and circles end`() throws {
    let made = try make(rows: 60_000, bytes: 20)
    let bytes = try Files.readFile(path, limit: 1 << 30)
    let most = Int64(bytes.count / 4096)
    var random = SeededRandom(seed: 5)
    for _ in 0..<300 {
      var damaged = bytes
      let start = (Int(made.index) - 1) * 4096
      for _ in 0..<Int.random(in: 1...20, using: &random) {
        let place = Int.random(in: start..<start + 4096, using: &random)
        damaged[place] = UInt8.random(in: 0...255, using: &random)
      }
      try Files.writeFileAtomically(damaged, to: path)
      let found = try pages(root: made.index)
      #expect(found.map { (1...most).contains($0) } ?? true)
    }
    // Each cell of the root leads to the root.
    var circle = bytes
    let start = (Int(made.index) - 1) * 4096
    for cell in 0..<Int(circle[start + 4]) {
      let pointer = start + 12 + 2 * cell
      let offset = start + Int(circle[pointer]) << 8 + Int(circle[pointer + 1])
      circle.replaceSubrange(
        offset..<offset + 4, with: withUnsafeBytes(of: made.index.bigEndian) { Array($0) })
    }
    try Files.writeFileAtomically(circle, to: path)
    #expect(try pages(root: made.index) == nil)
  }
}
