import Foundation
import GRDB
import StoreFormat
import SystemCalls
import SystemPackage
import TestSupport
import Testing

@Suite(.scratchFolder) struct StoreHeaderTests {
  private var path: FilePath { ScratchFolder.current.appending("Some.sqlite") }

  private func problem(_ bytes: [UInt8]) throws -> StoreError.Problem? {
    try Files.writeFileAtomically(bytes, to: path)
    return problem()
  }

  private func problem() -> StoreError.Problem? {
    do throws(StoreError) {
      _ = try StoreHeader(of: path)
      return nil
    } catch {
      return error.problem
    }
  }

  private func realBytes() throws -> [UInt8] {
    let connection = try StoreConnection.writable(path)
    try connection.run { db in
      try db.execute(sql: "CREATE TABLE t (a); INSERT INTO t VALUES (zeroblob(20000))")
    }
    try connection.queue.close()
    return try Files.readFile(path, limit: 1 << 20)
  }

  @Test func `a file that is encrypted behind a plain header is told so`() throws {
    var bytes = try realBytes()
    // What SQLCipher leaves plain says how many bytes of each page are reserved.
    bytes[20] = 80
    var random = SeededRandom(seed: 7)
    for index in 32..<bytes.count { bytes[index] = UInt8.random(in: 0...255, using: &random) }
    #expect(try problem(bytes) == .encrypted)
    // Damage without reserved bytes is damage.
    bytes[20] = 0
    #expect(try problem(bytes) != .encrypted)
  }

  @Test func `a file that is no store is told by what it is`() throws {
    #expect(problem() == .notFound)
    #expect(try problem([]) == .empty)
    #expect(try problem(Array("hello".utf8)) == .text)
    #expect(try problem(Array("Grüße".utf8)) == .text)
    #expect(try problem([0xC3]) == .unrecognized)
    #expect(try problem((0..<512).map { UInt8(truncatingIfNeeded: $0 &* 73) }) == .unrecognized)
    #expect(
      try problem(Array("<?xml version=\"1.0\"?>\n<!DOCTYPE database SYSTEM \"x\">".utf8))
        == .xmlStore)
    #expect(
      try problem(Array("SQLite format 3\0".utf8)) == .truncated(expected: 100, actual: 16))
    try Files.remove(path)
    try Files.createDirectory(path)
    #expect(problem() == .isFolder)
  }

  @Test(.timeLimit(.minutes(15))) func `a pipe is refused without waiting for a writer`() throws {
    let made = path.withPlatformString { mkfifo($0, 0o600) }
    #expect(made == 0)
    #expect(problem() == .unrecognized)
  }

  @Test func `any header is read within bounds, or is an error`() throws {
    let whole = try realBytes()
    var random = SeededRandom(seed: 5)
    var (read, refused) = (0, 0)
    for number in 0..<1500 {
      var bytes = whole
      for _ in 0...number % 4 {
        bytes[Int.random(in: 16..<100, using: &random)] = .random(in: 0 ... .max, using: &random)
      }
      if number % 3 == 0 { bytes.removeLast(Int.random(in: 0...bytes.count, using: &random)) }
      try Files.writeFileAtomically(bytes, to: path)
      do throws(StoreError) {
        let header = try StoreHeader(of: path)
        #expect((512...65_536).contains(header.pageSize))
        #expect(header.pageSize & (header.pageSize - 1) == 0)
        read += 1
      } catch {
        #expect(error.store == path)
        refused += 1
      }
    }
    #expect(read > 100 && refused > 100, "\(read) read, \(refused) refused")
  }

  @Test func `a real header is read`() throws {
    let bytes = try realBytes()
    let header = try StoreHeader(of: path)
    #expect(header.pageSize == 4096)
    #expect(Int(header.pageCount) * 4096 == bytes.count)
    #expect(!header.usesWAL)
    #expect(header.textEncoding == 1)
  }

  @Test func `a file that lost its end is told with both sizes`() throws {
    let bytes = try realBytes()
    #expect(
      try problem(Array(bytes.prefix(4096)))
        == .truncated(expected: Int64(bytes.count), actual: 4096))
  }

  @Test func `a page size that cannot be is damage`() throws {
    var bytes = try realBytes()
    for size in [[0, 0], [0, 1], [1, 1], [0x30, 0]] as [[UInt8]] {
      bytes.replaceSubrange(16..<18, with: size)
      let found = try problem(bytes)
      #expect(
        found == (size == [0, 1] ? .truncated(expected: 65536 * 6, actual: 24576) : .damaged))
    }
  }

  @Test func `no damage to a header traps`() throws {
    let bytes = try realBytes()
    var random = SeededRandom(seed: 4)
    for _ in 0..<300 {
      var damaged = bytes
      for _ in 0..<Int.random(in: 1...8, using: &random) {
        damaged[Int.random(in: 16..<100, using: &random)] = UInt8.random(
          in: 0...255, using: &random)
      }
      _ = try problem(Array(damaged.prefix(Int.random(in: 1...bytes.count, using: &random))))
    }
  }

  @Test func `an SQLite file without Core Data is told so`() throws {
    _ = try realBytes()
    let error = #expect(throws: StoreError.self) { try StoreReader(immutable: path) }
    #expect(error?.problem == .notCoreData)
  }

  @Test func `a path with signs that mean something in an address is opened`() throws {
    let folder = ScratchFolder.current.appending("a?b#c%20d")
    try Files.createDirectory(folder)
    let connection = try StoreConnection.writable(folder.appending("x.sqlite"))
    try connection.run { try $0.execute(sql: "CREATE TABLE t (a)") }
    try connection.queue.close()
    #expect(try Files.listDirectory(folder).map(\.string) == ["x.sqlite"])
  }
}
