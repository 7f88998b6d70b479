import Foundation
import GRDB
import StoreFormat
import SystemPackage
import TestSupport
import Testing

@Suite(.scratchFolder) struct PageOwnershipTests {
  private var path: FilePath { ScratchFolder.current.appending("Some.sqlite") }

  /// Makes two tables with an index each and long values, and free pages; their roots.
  private func make() throws -> [String: UInt32] {
    let connection = try StoreConnection.scratch(path, cacheBytes: 1 << 20)
    let roots = try connection.run { db in
      for table in ["one", "two", "gone"] {
        try db.execute(
          sql: """
            CREATE TABLE \(table) (id INTEGER PRIMARY KEY, x TEXT, y BLOB);
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
            INSERT INTO \(table) SELECT i, 'row ' || i, CASE i % 500 WHEN 0 THEN zeroblob(20000) END
            FROM n;
            CREATE INDEX \(table)_x ON \(table) (x);
            """)
      }
      try db.execute(sql: "DROP TABLE gone")
      let rows = try Row.fetchAll(db, sql: "SELECT name, rootpage FROM sqlite_schema")
      return Dictionary(
        rows.map { (row: Row) -> (String, UInt32) in (row[0], row[1]) },
        uniquingKeysWith: { first, _ in first })
    }
    try connection.queue.close()
    return roots
  }

  private func change(_ body: (inout Data) -> Void) throws {
    let url = URL(filePath: path.string)
    var bytes = try Data(contentsOf: url)
    body(&bytes)
    try bytes.write(to: url)
  }

  /// What is found of the free pages and of each tree but those of `two`.
  private func owned(_ roots: [String: UInt32]) throws -> Bool {
    let pages = try PageOwnership(path)
    return try pages.ownsFreePages()
      && pages.ownsTree(root: roots["one"] ?? 0, isIndex: false)
      && pages.ownsTree(root: roots["one_x"] ?? 0, isIndex: true)
  }

  @Test func `pages of a sound file are their owners'`() throws {
    let roots = try make()
    #expect(try owned(roots))
    let pages = try PageOwnership(path)
    #expect(try pages.ownsTree(root: roots["two"] ?? 0, isIndex: false))
    #expect(try pages.ownsTree(root: roots["two_x"] ?? 0, isIndex: true))
    // Once is enough.
    #expect(try !pages.ownsTree(root: roots["two"] ?? 0, isIndex: false))
  }

  @Test(arguments: ["free", "trunk", "count", "child", "rightmost", "overflow", "map", "type"])
  func `a page that is another's as well is found`(damage: String) throws {
    let roots = try make()
    try change { bytes in
      func number(_ place: Int) -> Int { bytes[place..<place + 4].reduce(0) { $0 << 8 | Int($1) } }
      func set(_ value: Int, at place: Int) {
        for shift in 0..<4 { bytes[place + shift] = UInt8(value >> (24 - 8 * shift) & 255) }
      }
      func start(_ page: Int) -> Int { (page - 1) * 4096 }
      let (one, two) = (start(Int(roots["one"] ?? 0)), start(Int(roots["two"] ?? 0)))
      // A leaf of the table that stays.
      let foreign = number(two + 8)
      let trunk = start(number(32))
      switch damage {
      case "free": set(foreign, at: trunk + 8)
      case "trunk": set(foreign, at: 32)
      case "count": set(number(36) - 1, at: 36)
      case "rightmost": set(foreign, at: one + 8)
      case "child": set(foreign, at: one + (Int(bytes[one + 12]) << 8 | Int(bytes[one + 13])))
      case "type": bytes[one] = 2
      case "map": bytes[4096 + 5 * (one / 4096 + 1 - 3)] = 2
      default:
        // The first page of a chain, which its map names, is another one's.
        let pages = stride(from: 4096, to: 4096 + 4095, by: 5)
        guard let entry = pages.first(where: { bytes[$0] == 4 }) else { return }
        let page = (entry - 4096) / 5 + 3
        set(foreign, at: start(number(4096 + 5 * (page - 3) + 1)))
      }
    }
    #expect(try !owned(roots))
  }
}
