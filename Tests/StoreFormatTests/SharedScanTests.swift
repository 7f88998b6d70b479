import GRDB
import StoreFormat
import Synchronization
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@Suite(.scratchFolder) struct SharedScanTests {
  private struct Wrong: Error, Equatable {
    var key: Int64
  }

  /// Ranges of which every tenth has no keys of its own but one.
  private static let ranges: [ClosedRange<Int64>] =
    [.min ... -1] + (0..<300).map { $0 * 10...$0 * 10 + 9 } + [3000...Int64.max]

  /// Takes what ranges tell of themselves, with some slower than others.
  private func taken(
    readers: Int, failing: Set<Int64> = [], untaken: Int64? = nil
  ) throws -> [Int64] {
    let scan = SharedScan(ranges: Self.ranges, readers: readers)
    var result: [Int64] = []
    try scan.read(with: Array(0..<scan.readers)) { _, keys, found in
      if keys.lowerBound % 70 == 0 { Processes.sleep(microseconds: 500) }
      if keys.lowerBound % 100 == 0 { return }
      try found(keys.lowerBound)
      if failing.contains(keys.lowerBound) { throw Wrong(key: keys.lowerBound) }
      try found(keys.upperBound)
    } take: { (key: Int64) in
      if key == untaken { throw Wrong(key: key) }
      result.append(key)
    }
    return result
  }

  @Test(arguments: [1, 2, 7, 400])
  func `what is found is taken in the order of keys, whoever is faster`(readers: Int) throws {
    let expected = Self.ranges.filter { $0.lowerBound % 100 != 0 }
      .flatMap { [$0.lowerBound, $0.upperBound] }
    #expect(try taken(readers: readers) == expected)
  }

  @Test(arguments: [1, 2, 7])
  func `the first error in the order of keys is thrown, whichever came first`(readers: Int) throws {
    // The first of them is slow, and one behind it is not.
    let failing: Set<Int64> = [350, 360, 1010, 2990]
    for _ in 0..<10 {
      #expect(throws: Wrong(key: 350)) { try taken(readers: readers, failing: failing) }
      #expect(throws: Wrong(key: 349)) {
        try taken(readers: readers, failing: failing, untaken: 349)
      }
      #expect(throws: Wrong(key: 350)) {
        try taken(readers: readers, failing: failing, untaken: 361)
      }
    }
  }

  private var path: FilePath { ScratchFolder.current.appending("Some.sqlite") }

  private func division(_ sql: String, least: Int64?) throws -> TableDivision {
    let connection = try StoreConnection.writable(path)
    try connection.run { db in
      try db.execute(
        sql: "CREATE TABLE Z_METADATA (x); CREATE TABLE Z_PRIMARYKEY (x);"
          + "CREATE TABLE t (Z_PK INTEGER PRIMARY KEY, x BLOB); \(sql)")
    }
    try connection.queue.close()
    return try TableDivision(StoreReader(immutable: path), sharedFrom: least, readers: 3)
  }

  @Test func `ranges have every key once, the lowest and the highest too`() throws {
    let tables = try division(
      """
      WITH RECURSIVE n(i) AS (SELECT -2000 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
        INSERT INTO t SELECT i * 4000000000000000, randomblob(60) FROM n;
      INSERT INTO t VALUES (-9223372036854775808, 1), (9223372036854775807, 2);
      """, least: 0)
    let scan = tables.scan(of: "t")
    #expect(scan.readers == 3)
    #expect(scan.ranges.count > 20)
    #expect(scan.ranges.first?.lowerBound == .min && scan.ranges.last?.upperBound == .max)
    for (one, next) in zip(scan.ranges, scan.ranges.dropFirst()) {
      #expect(one.upperBound + 1 == next.lowerBound)
    }
    var (rows, numbers) = (Int64(0), Set<Int>())
    let connections = try (0..<3).map { try ($0, tables.connection($0)) }
    try scan.read(with: connections) { reader, keys, found in
      let count = try reader.1.run { db in
        try Int64.fetchOne(
          db, sql: "SELECT count(*) FROM t WHERE Z_PK BETWEEN ? AND ?",
          arguments: [keys.lowerBound, keys.upperBound]) ?? 0
      }
      try found((reader.0, count))
    } take: { (found: (Int, Int64)) in
      numbers.insert(found.0)
      rows += found.1
    }
    #expect(rows == 4003)
    #expect(numbers.isSubset(of: [0, 1, 2]))
  }

  @Test func `a pass tells its table and how much of it is done`() throws {
    let tables = try division(
      """
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
        INSERT INTO t SELECT i, randomblob(60) FROM n
      """, least: 0)
    let scan = tables.scan(of: "t")
    let told = Mutex<[TableReading]>([])
    func pass() throws {
      try scan.read(with: Array(0..<scan.readers)) { _, _, _ in
      } take: { (_: Int) in
      }
    }
    let report = { @Sendable (reading: TableReading) in told.withLock { $0.append(reading) } }
    try TableReading.$report.withValue(report) { try pass() }
    let shares = told.withLock { $0.map(\.share) }
    #expect(told.withLock { Set($0.map(\.table)) } == ["t"])
    #expect(shares.count == scan.ranges.count && shares.max() == 1 && shares.allSatisfy { $0 > 0 })
    try pass()
    #expect(told.withLock(\.count) == scan.ranges.count)
  }

  @Test func `small tables, and what is none, are one range`() throws {
    let tables = try division("INSERT INTO t VALUES (1, zeroblob(100000))", least: nil)
    for name in ["t", "u"] {
      #expect(tables.scan(of: name).ranges == [.min ... .max])
      #expect(tables.scan(of: name).readers == 1)
    }
    #expect(
      try TableDivision(StoreReader(immutable: path), sharedFrom: 0).scan(of: "u").readers == 1)
  }
}
