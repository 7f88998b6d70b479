import Foundation
import GRDB
import StoreFormat
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@Suite(.scratchFolder) struct StoreDiagnosisTests {
  @Test(arguments: [0xFFFE, 0x0FFF, 0x0001, 0x0FFA, 0x7000] as [Int])
  func `a cell that lies nowhere is found in its table, wherever it points`(place: Int) throws {
    let path = ScratchFolder.current.appending("Some.sqlite")
    let made = try StoreConnection.writable(path)
    try made.run { db in
      try db.execute(sql: "CREATE TABLE whole (x TEXT); CREATE TABLE hurt (x TEXT)")
      for table in ["whole", "hurt"] {
        try db.execute(
          sql: """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50)
            INSERT INTO \(table) SELECT 'row ' || i FROM n
            """)
      }
    }
    try made.queue.close()
    let url = URL(filePath: path.string)
    var bytes = try Data(contentsOf: url)
    // The third page is the only leaf of the second table.
    bytes.replaceSubrange(8192 + 8..<8192 + 10, with: [UInt8(place >> 8), UInt8(place & 255)])
    try bytes.write(to: url)
    // The memory behind a page decides how far SQLite gets.
    for _ in 0..<20 {
      let connection = try StoreConnection.immutable(path)
      let findings = try StoreDiagnosis(connection).findings()
      #expect(findings.contains { $0.table == "hurt" })
      #expect(!findings.contains { $0.table == "whole" })
      try connection.queue.close()
    }
  }

  @Test func `a value whose second page is not known is found in a store with a pointer map`()
    throws
  {
    let path = ScratchFolder.current.appending("Some.sqlite")
    let made = try StoreConnection.writable(path)
    try made.run { db in
      try db.execute(sql: "PRAGMA page_size = 4096; PRAGMA auto_vacuum = FULL; VACUUM")
      try db.execute(sql: "CREATE TABLE hurt (x BLOB); INSERT INTO hurt VALUES (zeroblob(12000))")
    }
    try made.queue.close()
    let url = URL(filePath: path.string)
    var bytes = try Data(contentsOf: url)
    // The chain goes from page 4 to page 5; the number of the next page is the first of a page.
    #expect(bytes[12288..<12292].elementsEqual([0, 0, 0, 5]))
    bytes.replaceSubrange(12288..<12292, with: [0, 0, 0, 0])
    try bytes.write(to: url)
    let connection = try StoreConnection.immutable(path)
    #expect(try StoreDiagnosis(connection).findings().contains { $0.table == "hurt" })
    try connection.queue.close()
  }
}

/// A large file is checked in parts, and small ones whole: both find the same.
@Suite(.scratchFolder) struct IntegrityCheckTests {
  private func make(rows: Int) throws -> FilePath {
    let path = ScratchFolder.current.appending("Some.sqlite")
    let connection = try StoreConnection.scratch(path, cacheBytes: 8 << 20)
    try connection.run { db in
      for table in ["one", "two", "three"] {
        try db.execute(
          sql: """
            CREATE TABLE \(table) (id INTEGER PRIMARY KEY, x TEXT, y BLOB);
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
            INSERT INTO \(table) SELECT i, 'row ' || i, zeroblob(900) FROM n;
            CREATE INDEX \(table)_x ON \(table) (x);
            """)
      }
    }
    try connection.queue.close()
    return path
  }

  private static let damages = [
    // An index that knows nothing of a row, a free page that is none, a row number that falls.
    """
    PRAGMA writable_schema = ON;
    DELETE FROM sqlite_schema WHERE name = 'two_x';
    PRAGMA writable_schema = RESET;
    """,
    "stale", "page",
  ]

  private func harm(_ path: FilePath, _ damage: String) throws {
    let connection = try StoreConnection.scratch(path, cacheBytes: 8 << 20)
    let root = try connection.run { db in
      switch damage {
      case "stale":
        try db.execute(
          sql: """
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = replace(sql, '(x)', '(x) WHERE id > 1')
            WHERE name = 'three_x';
            PRAGMA writable_schema = RESET;
            INSERT OR REPLACE INTO three VALUES (1, 'other', NULL);
            PRAGMA writable_schema = ON;
            UPDATE sqlite_schema SET sql = replace(sql, ' WHERE id > 1', '')
            WHERE name = 'three_x';
            """)
      case "page": break
      default: try db.execute(sql: damage)
      }
      return try Int.fetchOne(db, sql: "SELECT rootpage FROM sqlite_schema WHERE name = 'one'")
    }
    try connection.queue.close()
    guard damage == "page", let root else { return }
    let url = URL(filePath: path.string)
    var bytes = try Data(contentsOf: url)
    let place = (root - 1) * 4096 + 8
    let leaf = bytes[place..<place + 4].reduce(0) { $0 << 8 | Int($1) }
    bytes[(leaf - 1) * 4096] = 0x77
    try bytes.write(to: url)
  }

  @Test(arguments: [200, 16_000], damages) func `what is wrong is found, in parts or whole`(
    rows: Int, damage: String
  ) throws {
    let path = try make(rows: rows)
    let isLarge = try Files.fileStatus(path).size >= 32 << 20
    #expect(isLarge == (rows > 1000))
    #expect(try IntegrityCheck(path).lines().isEmpty)
    try harm(path, damage)
    let lines = try IntegrityCheck(path, threads: 3).lines()
    #expect(!lines.isEmpty)
    // How far SQLite gets on a page that is none depends on what it looks at first.
    if damage != "page" {
      let connection = try StoreConnection.immutable(path)
      let whole = try connection.run { try String.fetchAll($0, sql: "PRAGMA integrity_check(100)") }
        .flatMap { $0.split(separator: "\n").map(String.init) }
        .filter { $0 != "ok" && !$0.hasPrefix("***") }
      #expect(Set(lines) == Set(whole))
    }
    #expect(Set(lines).count == lines.count)
  }

  @Test func `a check that is stopped ends at once, and reads no more`() throws {
    let path = try make(rows: 16_000)
    let check = try IntegrityCheck(path)
    check.stop()
    try Files.remove(path)
    #expect(try check.lines().isEmpty)
  }
}
