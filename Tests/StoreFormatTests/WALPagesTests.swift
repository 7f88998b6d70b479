import GRDB
import StoreFormat
import SystemCalls
import SystemPackage
import TestSupport
import Testing

/// Every test compares with what SQLite makes of copies of the same files.
@Suite(.scratchFolder) struct WALPagesTests {
  private var folder: FilePath { ScratchFolder.current }
  private var live: FilePath { folder.appending("live.sqlite") }
  private var store: FilePath { folder.appending("store.sqlite") }
  private var pages: FilePath { folder.appending("store.pages") }

  private func wal(_ store: FilePath) -> FilePath { FilePath("\(store)-wal") }

  private func bytes(_ path: FilePath) throws -> [UInt8] {
    try Files.readFile(path, limit: 1 << 30)
  }

  /// Takes the files of the store that is open as they are, as a crash would leave them.
  private func crash() throws {
    for (from, to) in [(live, store), (wal(live), wal(store))] {
      try Files.remove(to)
      try Files.cloneOrCopy(from: from, to: to)
    }
  }

  /// The main file once SQLite has brought the log into it; nil where it opens no such store.
  private func folded() throws -> [UInt8]? {
    let copy = folder.appending("folded.sqlite")
    for suffix in ["", "-wal", "-shm"] { try Files.remove(FilePath("\(copy)\(suffix)")) }
    try Files.cloneOrCopy(from: store, to: copy)
    try Files.cloneOrCopy(from: wal(store), to: wal(copy))
    guard let connection = try? StoreConnection.writable(copy) else { return nil }
    try connection.run { db in
      let answer = try Row.fetchOne(db, sql: "PRAGMA wal_checkpoint(TRUNCATE)")
      #expect(answer?[0] == 0)
    }
    let result = try bytes(copy)
    try connection.queue.close()
    return result
  }

  private func contents(_ file: SourceFile) throws -> [UInt8] {
    var result = [UInt8](repeating: 1, count: Int(file.byteCount))
    let count = try result.withUnsafeMutableBytes { try file.read($0, at: 0) }
    #expect(count == result.count)
    return result
  }

  /// Whether the store is read as SQLite reads it; what the log came to.
  @discardableResult
  private func compare(_ what: Comment? = nil) throws -> WALPages.Outcome {
    let before = (try bytes(store), try bytes(wal(store)))
    let outcome = try WALPages.write(of: store, to: pages)
    #expect(try Files.fileStatusIfPresent(pages) != nil || outcome != .written)
    let expected = try folded()
    if outcome == .unfit { return outcome }
    let found = try contents(SourceFile(outcome == .written ? pages : store))
    #expect(found == expected, what)
    #expect(try bytes(store) == before.0)
    #expect(try bytes(wal(store)) == before.1)
    return outcome
  }

  /// A store whose log holds three transactions of several frames.
  private func makeThree(pageSize: Int = 4096) throws {
    let queue = try DatabaseQueue(path: live.string)
    try queue.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA page_size = \(pageSize); PRAGMA journal_mode = WAL")
      try db.execute(sql: "PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (a, b)")
      for value in 1...3 {
        try db.execute(
          sql: """
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
            INSERT INTO t SELECT ?, zeroblob(? * 100) FROM n
            """, arguments: [value, value])
        if value == 1 { try db.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)") }
      }
      try db.execute(sql: "UPDATE t SET a = a + 10 WHERE a = 2")
    }
    try crash()
    try queue.close()
  }

  private func count(_ sql: String, in path: FilePath) throws -> Int64? {
    try StoreConnection.immutable(path).run { try Int64.fetchOne($0, sql: sql) }
  }

  // MARK: Whole logs

  @Test(arguments: [512, 1024, 4096, 65_536]) func `a log is read with its store`(
    pageSize: Int
  ) throws {
    try makeThree(pageSize: pageSize)
    #expect(try compare() == .written)
    #expect(try count("SELECT count(*) FROM t WHERE a = 12", in: pages) == 40)
    #expect(try count("SELECT count(*) FROM t", in: pages) == 120)
    #expect(try StoreHeader(ofSource: pages).pageSize == pageSize)
    #expect(try StoreHeader(ofSource: pages).pageCount >= StoreHeader(of: store).pageCount)
    #expect(try Files.fileStatus(pages).size < Files.fileStatus(wal(store)).size + 256)
  }

  @Test func `other databases may be attached, sorted and written beside it`() throws {
    try makeThree()
    try compare()
    let answer = try StoreConnection.immutable(pages).run { db in
      try db.execute(sql: "PRAGMA temp_store = FILE; PRAGMA cache_size = 5")
      try db.execute(sql: "CREATE TEMP TABLE s AS SELECT * FROM t ORDER BY b, a DESC")
      return try Int64.fetchOne(db, sql: "SELECT count(DISTINCT a) FROM temp.s")
    }
    #expect(answer == 3)
    let other = try StoreConnection.scratch(folder.appending("other.sqlite"), cacheBytes: 1 << 20)
    try other.run { db in
      try db.execute(sql: "ATTACH ? AS src", arguments: [StoreConnection.uri(reading: pages)])
      try db.execute(sql: "CREATE TABLE t AS SELECT * FROM src.t")
      #expect(try Int64.fetchOne(db, sql: "SELECT count(*) FROM main.t") == 120)
      #expect(throws: DatabaseError.self) { try db.execute(sql: "DELETE FROM src.t") }
    }
  }

  @Test func `a copy has everything and keeps no log`() throws {
    try makeThree()
    try compare()
    let copy = folder.appending("copy.sqlite")
    try SourceFile.copy(pages, to: copy)
    var expected = try #require(try folded())
    (expected[18], expected[19]) = (1, 1)
    #expect(try bytes(copy) == expected)
  }

  @Test func `any part is read as it is`() throws {
    try makeThree(pageSize: 512)
    try compare()
    let file = try SourceFile(pages)
    let whole = try contents(file)
    var random = SeededRandom(seed: 3)
    for _ in 0..<2000 {
      let offset = Int.random(in: 0...whole.count + 600, using: &random)
      let length = Int.random(in: 0...4000, using: &random)
      var part = [UInt8](repeating: 9, count: length)
      let count = try part.withUnsafeMutableBytes { try file.read($0, at: Int64(offset)) }
      let end = min(whole.count, offset + length)
      #expect(count == max(0, end - offset))
      #expect(offset >= end || part[..<count] == whole[offset..<end])
    }
  }

  @Test func `a copy of the pages is no store`() throws {
    try makeThree()
    try compare()
    let copy = folder.appending("copied.pages")
    try Files.cloneOrCopy(from: pages, to: copy)
    #expect(try SourceFile(copy).byteCount == Files.fileStatus(copy).size)
    #expect(throws: StoreError.self) { try StoreHeader(ofSource: copy) }
    // Nor are they one where a user names them.
    #expect(throws: StoreError.self) { try StoreHeader(of: pages) }
  }

  @Test func `pages that were cut off are no pages any more`() throws {
    try makeThree()
    try compare()
    let whole = try bytes(pages)
    let file = try Files.open(pages, mode: .readWrite)
    for size in [0, 40, 60, whole.count / 2, whole.count - 1] {
      try file.resize(to: Int64(size))
      do {
        let found = try SourceFile(pages)
        #expect(found.byteCount == size)
      } catch {
        #expect(error.errno == .ioError)
      }
    }
    try file.close()
  }

  // MARK: Faults

  /// The log with every checksum made anew, in the byte order that its magic number names.
  private func summed(_ log: [UInt8], magic: UInt8, pageSize: Int) -> [UInt8] {
    var result = log
    result[3] = magic
    var (one, two): (UInt32, UInt32) = (0, 0)
    func word(_ at: Int) -> UInt32 {
      let four = result[at..<at + 4]
      return (magic & 1 == 1 ? Array(four) : four.reversed()).reduce(0) { $0 << 8 | UInt32($1) }
    }
    func add(_ range: Range<Int>) {
      for at in stride(from: range.lowerBound, to: range.upperBound, by: 8) {
        one = one &+ word(at) &+ two
        two = two &+ word(at + 4) &+ one
      }
    }
    func put(_ at: Int) {
      for (place, sum) in [(at, one), (at + 4, two)] {
        for byte in 0..<4 {
          result[place + byte] = UInt8(truncatingIfNeeded: sum >> (24 - 8 * byte))
        }
      }
    }
    add(0..<24)
    put(24)
    for frame in stride(from: 32, through: result.count - 24 - pageSize, by: 24 + pageSize) {
      add(frame..<frame + 8)
      add(frame + 24..<frame + 24 + pageSize)
      put(frame + 16)
    }
    return result
  }

  @Test(arguments: [0x82, 0x83] as [UInt8]) func `checksums are of either byte order`(
    magic: UInt8
  ) throws {
    try makeThree()
    let log = summed(try bytes(wal(store)), magic: magic, pageSize: 4096)
    try Files.writeFileAtomically(log, to: wal(store))
    #expect(try compare() == .written)
    #expect(try count("SELECT count(*) FROM t", in: pages) == 120)
  }

  @Test func `a log with a fault counts up to the last commit before it`() throws {
    try makeThree(pageSize: 512)
    let whole = try bytes(wal(store))
    let frames = (whole.count - 32) / 536
    var found: Set<Int64> = []
    for frame in 0..<frames {
      let start = 32 + frame * 536
      // The page's number, the size at a commit, the salts, the checksum, the page.
      let offsets = [0, 3, 7, 8, 15, 16, 23, 24, 400]
      for offset in [offsets[frame % 9], offsets[(frame + 4) % 9]] {
        var log = whole
        log[start + offset] ^= 0x10
        try Files.writeFileAtomically(log, to: wal(store))
        let outcome = try compare("byte \(offset) of frame \(frame)")
        #expect(outcome == .written || outcome == .nothing)
        found.insert(
          try count("SELECT count(*) FROM t", in: outcome == .written ? pages : store) ?? -1)
      }
    }
    #expect(found == [40, 80, 120])
  }

  @Test func `a log that ends early counts up to its last commit`() throws {
    try makeThree(pageSize: 512)
    let whole = try bytes(wal(store))
    var random = SeededRandom(seed: 4)
    var outcomes: Set<WALPages.Outcome> = []
    let others = (0..<40).map { _ in Int.random(in: 0..<whole.count, using: &random) }
    for size in [0, 1, 31, 32, 33, 32 + 535, 32 + 536] + others {
      try Files.writeFileAtomically(whole.prefix(size), to: wal(store))
      outcomes.insert(try compare("\(size) bytes"))
    }
    #expect(outcomes == [.nothing, .written])
  }

  @Test func `a log whose header is no good counts for nothing`() throws {
    try makeThree()
    let whole = try bytes(wal(store))
    for offset in 0..<32 {
      var log = whole
      log[offset] ^= 0x10
      try Files.writeFileAtomically(log, to: wal(store))
      #expect(try compare("byte \(offset)") == .nothing)
    }
  }

  @Test func `a log of another version or page size is left to SQLite`() throws {
    try makeThree()
    let whole = try bytes(wal(store))
    var log = whole
    log[7] ^= 1
    try Files.writeFileAtomically(summed(log, magic: 0x82, pageSize: 4096), to: wal(store))
    #expect(try WALPages.write(of: store, to: pages) == .unfit)
    log = whole
    (log[10], log[11]) = (8, 0)
    try Files.writeFileAtomically(summed(log, magic: 0x82, pageSize: 2048), to: wal(store))
    #expect(try WALPages.write(of: store, to: pages) == .unfit)
    #expect(try Files.fileStatusIfPresent(pages) == nil)
  }

  @Test func `a log that makes a store far larger than its pages is left to SQLite`() throws {
    try makeThree()
    let whole = try bytes(wal(store))
    let last = whole.count - 4096 - 24
    for (size, expected) in [(100, WALPages.Outcome.written), (1 << 22, .unfit)] {
      var log = whole
      for byte in 0..<4 { log[last + 4 + byte] = UInt8(size >> (24 - 8 * byte) & 0xFF) }
      log = summed(log, magic: 0x82, pageSize: 4096)
      try Files.writeFileAtomically(log, to: wal(store))
      #expect(try WALPages.write(of: store, to: pages) == expected)
    }
  }

  @Test func `frames of no commit do not count`() throws {
    let queue = try DatabaseQueue(path: live.string)
    try queue.writeWithoutTransaction { db in
      try db.execute(sql: "PRAGMA journal_mode = WAL; CREATE TABLE t (a)")
      try db.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE); PRAGMA cache_size = 2; BEGIN")
      for _ in 0..<50 { try db.execute(sql: "INSERT INTO t VALUES (randomblob(3000))") }
      try crash()
      #expect(try Files.fileStatus(wal(store)).size > 4096)
      #expect(try compare() == .nothing)
      try db.execute(sql: "COMMIT; BEGIN")
      for _ in 0..<50 { try db.execute(sql: "UPDATE t SET a = randomblob(3000)") }
      try crash()
      try db.execute(sql: "ROLLBACK")
    }
    #expect(try compare() == .written)
    try queue.close()
  }

  // MARK: Random logs

  @Test(arguments: 0..<12) func `a random log is read as SQLite reads it`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let size = [512, 1024, 4096, 65_536][Int(seed % 4)]
    let queue = try DatabaseQueue(path: live.string)
    var outcomes: Set<WALPages.Outcome> = []
    try queue.writeWithoutTransaction { db in
      try db.execute(
        sql: """
          PRAGMA page_size = \(size); PRAGMA auto_vacuum = \(seed % 3); PRAGMA journal_mode = WAL;
          PRAGMA wal_autocheckpoint = \(seed % 2 == 0 ? 0 : 20); PRAGMA cache_size = 4;
          CREATE TABLE t (a INTEGER PRIMARY KEY, b); CREATE INDEX i ON t (b)
          """)
      for round in 0..<12 {
        for _ in 0..<Int.random(in: 1...3, using: &random) {
          try db.execute(sql: Self.change(&random))
        }
        // What lies there amid a transaction that has outgrown its cache.
        let isOpen = Bool.random(using: &random)
        if isOpen { try db.execute(sql: "BEGIN; \(Self.change(&random))") }
        try crash()
        outcomes.insert(try compare("seed \(seed), round \(round)"))
        if isOpen { try db.execute(sql: Bool.random(using: &random) ? "COMMIT" : "ROLLBACK") }
        if Int.random(in: 0..<4, using: &random) == 0 {
          let kind = ["PASSIVE", "RESTART", "TRUNCATE"].randomElement(using: &random) ?? ""
          _ = try Row.fetchOne(db, sql: "PRAGMA wal_checkpoint(\(kind))")
        }
      }
    }
    #expect(outcomes.contains(.written))
    try queue.close()
  }

  private static func change(_ random: inout SeededRandom) -> String {
    let rows = Int.random(in: 1...120, using: &random)
    let bytes = Int.random(in: 0...3000, using: &random)
    switch Int.random(in: 0..<8, using: &random) {
    case 0: return "DELETE FROM t WHERE a % \(Int.random(in: 1...4, using: &random)) = 0"
    case 1: return "UPDATE t SET b = randomblob(\(bytes)) WHERE a % 7 = 1"
    case 2: return "PRAGMA incremental_vacuum(\(rows))"
    case 3: return "DROP TABLE IF EXISTS u; CREATE TABLE u AS SELECT b FROM t"
    case 4: return "DELETE FROM t WHERE a > \(rows)"
    default:
      return """
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(rows))
        INSERT INTO t (b) SELECT randomblob(\(bytes)) FROM n
        """
    }
  }
}
