import GRDB
import StoreFormat
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@Suite(.scratchFolder) struct TableOutlineTests {
  private var path: FilePath { ScratchFolder.current.appending("Some.sqlite") }

  /// Makes a table `t` of so many rows and returns its root page.
  private func make(rows: Int, bytes: Int, pageSize: Int = 4096) throws -> UInt32 {
    let connection = try StoreConnection.writable(path)
    let root = try connection.run { db in
      try db.execute(sql: "PRAGMA page_size = \(pageSize)")
      try db.execute(sql: "CREATE TABLE t (Z_PK INTEGER PRIMARY KEY, x BLOB)")
      try db.execute(
        sql: """
          WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
          INSERT INTO t SELECT i * 3, zeroblob(?) FROM n WHERE i <= ?
          """, arguments: [max(rows, 1), bytes, rows])
      return try UInt32.fetchOne(
        db, sql: "SELECT rootpage FROM sqlite_schema WHERE name = 't'")
    }
    try connection.queue.close()
    return root ?? 0
  }

  private func outline(root: UInt32, pageSize: Int = 4096) throws -> TableOutline {
    TableOutline(file: try SourceFile(path), pageSize: pageSize, root: root)
  }

  @Test(arguments: [(0, 10), (5, 10), (1_000, 10), (100_000, 30), (3_000, 3_000), (20, 100_000)])
  func `rows and bytes of a table are estimated within a half`(rows: Int, bytes: Int) throws {
    let runs = try outline(root: make(rows: rows, bytes: bytes)).runs
    let found = runs.reduce(0) { $0 + $1.leaves * $1.sampleRows }
    #expect(abs(Double(found) - Double(rows)) <= Double(rows) * 0.5)
    let size = runs.reduce(0) { $0 + $1.leaves * $1.sampleBytes }
    let expected = Double(rows * (bytes + 8))
    #expect(Double(size) >= expected * 0.5 && Double(size) <= expected * 1.5 + 4096)
    #expect(runs.map(\.lastKey) == runs.map(\.lastKey).sorted())
    #expect(runs.last?.lastKey == .max)
  }

  @Test(arguments: [512, 65536]) func `pages of any size are read`(pageSize: Int) throws {
    let root = try make(rows: 50_000, bytes: 20, pageSize: pageSize)
    let runs = try outline(root: root, pageSize: pageSize).runs
    let found = runs.reduce(0) { $0 + $1.leaves * $1.sampleRows }
    #expect((25_000...75_000).contains(found))
  }

  @Test(arguments: [0, 1, 999_999, UInt32.max]) func `a page that is no table has no outline`(
    root: UInt32
  ) throws {
    _ = try make(rows: 10, bytes: 10)
    let runs = try outline(root: root).runs
    // The schema lies on page 1 and is a table itself.
    #expect(runs.count == (root == 1 ? 1 : 0))
  }

  @Test func `damaged pages give rising keys or nothing, and never trap`() throws {
    let root = try make(rows: 100_000, bytes: 30)
    let bytes = try Files.readFile(path, limit: 1 << 30)
    let start = (Int(root) - 1) * 4096
    var random = SeededRandom(seed: 11)
    for _ in 0..<400 {
      var damaged = bytes
      for _ in 0..<Int.random(in: 1...20, using: &random) {
        let range = Bool.random(using: &random) ? start..<start + 40 : start..<start + 4096
        damaged[Int.random(in: range, using: &random)] = UInt8.random(in: 0...255, using: &random)
      }
      try Files.writeFileAtomically(damaged, to: path)
      let runs = try outline(root: root).runs
      #expect(zip(runs, runs.dropFirst()).allSatisfy { $0.lastKey < $1.lastKey })
      #expect(runs.allSatisfy { $0.leaves > 0 && $0.sampleBytes >= 0 && $0.sampleRows >= 0 })
    }
  }

  @Test func `interior pages on top of each other do not add up to more than the file`() throws {
    // Each of 15 pages has 200 cells that all lead to the next one; the last is an empty leaf.
    var bytes = [UInt8](repeating: 0, count: 4096 * 16)
    for page in 1..<16 {
      let start = page * 4096
      bytes[start] = page == 15 ? 13 : 5
      if page == 15 { continue }
      bytes[start + 4] = 200
      bytes[start + 11] = UInt8(page + 2)
      for cell in 0..<200 {
        let offset = 1000 + cell * 8
        bytes[start + 12 + cell * 2] = UInt8(offset >> 8)
        bytes[start + 13 + cell * 2] = UInt8(offset & 255)
        bytes[start + offset + 3] = UInt8(page + 2)
        bytes[start + offset + 4] = 0x81
        bytes[start + offset + 5] = UInt8(cell & 127)
      }
    }
    try Files.writeFileAtomically(bytes, to: path)
    #expect(try outline(root: 2).runs.reduce(0) { $0 + $1.leaves } <= 16)
  }
}
