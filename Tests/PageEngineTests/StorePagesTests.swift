import Foundation
import GRDB
import SystemPackage
import TestSupport
import Testing

@testable import PageEngine

@Suite(.scratchFolder) struct StorePagesTests {
  /// Builds by SQL and by pages, and expects the same bytes of both.
  private func compare(_ tables: [TestTable], pieces: Int = 3) throws {
    let store = BuiltStore(folder: ScratchFolder.current, tables: tables, pieces: pieces)
    try store.makeBySQL()
    try store.makeByPages()
    #expect(try store.integrity(store.pages) == ["ok"])
    let isSame = try store.vacuumed(store.pages) == store.vacuumed(store.sql)
    #expect(isSame)
    try useBySQLite(store)
  }

  /// SQLite can do to the product whatever it does to stores of its own.
  private func useBySQLite(_ store: BuiltStore) throws {
    let queue = try DatabaseQueue(path: store.pages.string)
    try queue.writeWithoutTransaction { db in
      for table in store.tables {
        let column = table.columns[0].name
        try db.execute(sql: "UPDATE \(table.name) SET \(column) = \(column) WHERE Z_PK % 3 = 0")
        try db.execute(sql: "DELETE FROM \(table.name) WHERE Z_PK % 2 = 0")
        try db.execute(
          sql: "INSERT INTO \(table.name) (\(column)) VALUES (zeroblob(9000)), (NULL), (7)")
      }
      #expect(try String.fetchAll(db, sql: "PRAGMA integrity_check") == ["ok"])
      try db.execute(sql: "PRAGMA incremental_vacuum")
      #expect(try String.fetchAll(db, sql: "PRAGMA integrity_check") == ["ok"])
      try db.execute(sql: "DROP TABLE \(store.tables[0].name)")
      try db.execute(sql: "CREATE TABLE ZNEW (Z_PK INTEGER PRIMARY KEY, ZA)")
      #expect(try String.fetchAll(db, sql: "PRAGMA integrity_check") == ["ok"])
      try db.execute(sql: "VACUUM")
      #expect(try String.fetchAll(db, sql: "PRAGMA integrity_check") == ["ok"])
    }
    try queue.close()
  }

  private let columns = [
    ("ZI", "INTEGER"), ("ZF", "FLOAT"), ("ZT", "TIMESTAMP"), ("ZD", "DECIMAL"),
    ("ZS", "VARCHAR"), ("ZB", "BLOB"),
  ]

  @Test func `empty tables stay empty`() throws {
    var empty = TestTable(name: "ZA", columns: columns)
    empty.indexes = [TestIndex(name: "IA", columns: [0], descending: [false], isInteger: true)]
    try compare([empty, TestTable(name: "ZB", columns: columns)])
  }

  @Test(arguments: [0, 1, 1_016, 1_017, 5_000] as [UInt32])
  func `retired pages are free, and never written`(retired: UInt32) throws {
    let holes = [Extent(first: 40, count: 2), Extent(first: 10_000, count: 20)]
    let free = FreePages(holes: holes, retired: [Extent(first: 100, count: retired)], end: 10_020)
    let end = retired > 0 ? 99 + retired : 39 + 2
    var leaves: [UInt32] = []
    try free.forEachLeaf { leaves.append($0) }
    #expect(free.trunks.allSatisfy { $0 < 42 || $0 > end })
    #expect(Set(leaves + free.trunks).count == free.count)
    #expect(leaves.count + free.trunks.count == free.count)
    #expect(leaves.count <= free.trunks.count * FreePages.perTrunk)
    #expect(Set(100..<100 + retired).subtracting(leaves).allSatisfy(PageGeometry.isReserved))
    #expect((leaves + free.trunks).allSatisfy { $0 <= free.pageCount })
  }

  @Test(arguments: [1, 2, 3, 20, 5000])
  func `tables of any number of rows are those of SQL`(count: Int) throws {
    var table = TestTable(name: "ZA", columns: columns)
    table.indexes = [
      TestIndex(name: "IA", columns: [0], descending: [false], isInteger: true),
      TestIndex(name: "IB", columns: [1, 4], descending: [true, false]),
    ]
    for row in 0..<count {
      table.rows.append(
        (
          Int64(row * 2 + 1),
          [
            row % 7 == 0 ? .null : .integer(Int64(row % 50)), .real(Double(row % 9) / 2),
            .real(Double(row)), .integer(Int64(row)), .text("row \(row % 11)"), .null,
          ]
        ))
    }
    try compare([table])
  }

  @Test func `payloads of every length around a boundary are those of SQL`() throws {
    var table = TestTable(name: "ZA", columns: [("ZB", "BLOB"), ("ZI", "INTEGER")])
    table.indexes = [
      TestIndex(name: "IB", columns: [0], descending: [false]),
      TestIndex(name: "ID", columns: [0, 1], descending: [true, true]),
    ]
    let edges = [0, 57, 120, 489, 1002, 4040, 4061, 4092, 8100, 8150, 8184, 12_276, 300_000]
    var key: Int64 = -40
    for edge in edges {
      for length in max(0, edge - 22)...edge + 22 {
        table.rows.append(
          (
            key,
            [
              .blob((0..<length).map { UInt8(truncatingIfNeeded: $0 &* 31 + length) }),
              .integer(key),
            ]
          ))
        key += 1
      }
    }
    try compare([table], pieces: 2)
    try compareAgain([table])
  }

  /// The same in one piece, so that chains cross the extents of one writer.
  private func compareAgain(_ tables: [TestTable]) throws {
    let folder = ScratchFolder.current.appending("again")
    try FileManager.default.createDirectory(
      atPath: folder.string, withIntermediateDirectories: true)
    let store = BuiltStore(folder: folder, tables: tables, pieces: 1)
    try store.makeBySQL()
    try store.makeByPages()
    #expect(try store.integrity(store.pages) == ["ok"])
    let isSame = try store.vacuumed(store.pages) == store.vacuumed(store.sql)
    #expect(isSame)
  }

  @Test func `keys and numbers at their limits are those of SQL`() throws {
    var table = TestTable(name: "ZA", columns: columns)
    table.indexes = [
      TestIndex(name: "II", columns: [0], descending: [false]),
      TestIndex(name: "IR", columns: [1], descending: [true]),
      TestIndex(name: "IT", columns: [2, 0], descending: [false, true]),
    ]
    let integers: [Int64] = [
      .min, .min + 1, -140_737_488_355_329, -140_737_488_355_328, -2_147_483_649, -8_388_609,
      -8_388_608, -32_769, -129, -128, -1, 0, 1, 2, 127, 128, 32_767, 32_768, 8_388_607,
      8_388_608, 2_147_483_647, 2_147_483_648, 140_737_488_355_327, 140_737_488_355_328,
      9_007_199_254_740_993, .max - 1, .max,
    ]
    let reals: [Double] = [
      -0.0, 0, 1, -1, 0.5, .leastNonzeroMagnitude, 1e300, -1e300, .infinity, -.infinity,
      9.007199254740993e15,
      9.223372036854775807e18, -9.223372036854775808e18, 140_737_488_355_328, 2_147_483_648,
    ]
    for (index, key) in integers.enumerated() {
      let real = reals[index % reals.count]
      table.rows.append(
        (
          key,
          [.integer(key), .integer(key), .real(real), .real(real), .text("\u{1}é"), .blob([0, 0])]
        ))
    }
    for (index, real) in reals.enumerated() {
      let key = Int64(1_000_000 + index)
      table.rows.append(
        (key, [.real(real), .real(real), .real(real), .null, .text(""), .blob([])]))
    }
    table.rows.sort { $0.key < $1.key }
    try compare([table], pieces: 4)
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func `random tables are those of SQL`(seed: UInt64) throws {
    var random = RandomTables(seed: seed)
    try compare(random.tables(), pieces: Int.random(in: 1...7, using: &random.generator))
  }
}
