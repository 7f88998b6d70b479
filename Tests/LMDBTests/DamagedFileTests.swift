import Foundation
import LMDB
import SystemPackage
import TestSupport
import Testing

/// The library believes its files, and ends the process where they are not what it wrote.
@Suite(.scratchFolder) struct DamagedFileTests {
  private let path = ScratchFolder.current.appending("test.mdb")

  private func open(_ access: LMDBEnvironment.Access) throws -> LMDBEnvironment {
    try LMDBEnvironment(path: path, tables: ["few", "many"], access: access)
  }

  /// A file with pages of every kind: branches and leaves of a table and of the free pages.
  private func make() throws -> LMDBEnvironment {
    let environment = try open(.create(mapSize: 1 << 20))
    for round in 0..<6 as Range<UInt8> {
      try environment.write { transaction throws(LMDBError) in
        for key in 0..<60 as Range<UInt8> {
          let value = [UInt8](repeating: round, count: 300)
          try transaction.put(value, at: [key], in: environment.table(name: "many"))
        }
        try transaction.put([round], at: [1], in: environment.table(name: "few"))
      }
    }
    return environment
  }

  private func write(_ bytes: [UInt8], at offset: Int64, suffix: String = "") throws {
    let file = try FileDescriptor.open(
      FilePath(path.string + suffix), .readWrite, options: .closeOnExec)
    _ = try file.writeAll(toAbsoluteOffset: offset, bytes)
    try file.close()
  }

  /// The offset of the last state's page, of the root of a table, and of what is said of the table.
  private func places(_ bytes: [UInt8]) throws -> (meta: Int, few: Int, table: Int) {
    func number(_ at: Int, _ count: Int) -> Int {
      bytes[at..<(at + count)].reversed().reduce(0) { $0 << 8 | Int($1) }
    }
    let meta = number(144, 8) > number(4096 + 144, 8) ? 0 : 4096
    let main = number(meta + 128, 8) * 4096
    // The first of two nodes, by its key.
    let node = main + number(main + 16, 2)
    try #require(bytes[(node + 8)..<(node + 11)].elementsEqual("few".utf8))
    return (meta, number(node + 8 + 3 + 40, 8) * 4096, node + 8 + 3)
  }

  @Test func `what is damaged is neither read nor written`() throws {
    do { _ = try make() }
    let bytes = try [UInt8](Data(contentsOf: URL(filePath: path.string)))
    let (meta, few, table) = try places(bytes)
    let node = few + Int(bytes[few + 16]) + Int(bytes[few + 17]) << 8
    // The numbers of the first entry of free pages, the highest one first.
    func number(_ at: Int) -> Int { Int(bytes[at]) + Int(bytes[at + 1]) << 8 }
    var free = number(meta + 80) * 4096
    while bytes[free + 10] == 1 { free = number(free + number(free + 16)) * 4096 }
    let freeNumbers = free + number(free + 16) + 24
    let none = [UInt8](repeating: 0xff, count: 8)
    let damages: [(String, at: Int, [UInt8])] = [
      ("pages of no size", meta + 40, [0, 0, 0, 0]),
      ("a map of no size", meta + 32, [0, 0, 0, 0, 0, 0, 0, 0]),
      ("a map without an end", meta + 32, [0, 0, 0, 0, 0, 0, 0, 0x80]),
      ("a last page beyond the file", meta + 136, [0, 0, 1]),
      ("a transaction that never was", meta + 144, [1, 0, 0, 0, 0, 0, 0, 0xff]),
      ("a root beyond the file", meta + 128, [0xff, 0xff]),
      ("free pages that are in use", meta + 80, Array(bytes[(meta + 128)..<(meta + 136)])),
      ("a free page beyond the file", freeNumbers, [0xff, 0xff]),
      ("a value that is a table", node + 4, [2]),
      ("a value with values", node + 4, [4]),
      ("a value on other pages", node + 4, [1]),
      ("a value without an end", node, [0xff, 0xff, 0xff]),
      ("a key without an end", node + 6, [0xff, 0xff]),
      ("a page without nodes", few + 12, [16, 0]),
      ("a branch of one page", few + 10, [1]),
      ("a page with another number", few, [0xff]),
      ("tables, and no page of theirs", meta + 128, none),
      ("free pages that are nowhere", meta + 80, none),
      ("entries, and no page of theirs", table + 40, none),
    ]
    for (name, at, change) in damages {
      try Data(bytes).write(to: URL(filePath: path.string))
      _ = try open(.write)
      try write(change, at: Int64(at))
      #expect(throws: LMDBError.self, "\(name)") { _ = try open(.write) }
      // A reader does not look at free pages.
      let isOfWriters = ["free pages that are in use", "a free page beyond the file"].contains(name)
      if !isOfWriters, !name.hasPrefix("a last page") {
        #expect(throws: LMDBError.self, "\(name)") {
          _ = try LMDBReader(path: path).entries(of: ["few", "many"])
        }
      }
    }
  }

  @Test(arguments: [(0, 0), (56, 0xff), (50, 0xff), (24, 1), (80, 2)] as [(Int64, UInt8)])
  func `a lock file that is another one is looked at no more`(at: Int64, byte: UInt8) throws {
    let environment = try make()
    #expect(environment.isSound)
    try write([byte, byte], at: at, suffix: "-lock")
    #expect(!environment.isSound)
    #expect(throws: LMDBError(operation: .begin, path: path, problem: .truncated)) {
      try environment.write { _ throws(LMDBError) in }
    }
    // The lock of readers and writers is not asked for.
    #expect(try LMDBReader(path: path).entries(of: ["few"])["few"]?.count == 1)
  }

  @Test(arguments: [0, 1, 100, 150, nil] as [Int64?])
  func `a lock file that is cut short or gone is not opened`(size: Int64?) throws {
    do { _ = try make() }
    let lock = path.string + "-lock"
    if let size {
      try FileHandle(forWritingTo: URL(filePath: lock)).truncate(atOffset: UInt64(size))
    } else {
      try FileManager.default.removeItem(atPath: lock)
    }
    #expect(throws: LMDBError(operation: .open, path: path, problem: .truncated)) {
      _ = try open(.write)
    }
    #expect(try LMDBReader(path: path).entries(of: ["few"])["few"]?.count == 1)
  }

  @Test func `random damage ends no reader`() throws {
    do { _ = try make() }
    let bytes = try [UInt8](Data(contentsOf: URL(filePath: path.string)))
    var random = SeededRandom(seed: 12)
    var (read, refused) = (0, 0)
    for _ in 0..<1500 {
      var damaged = bytes
      for _ in 0..<Int.random(in: 1...8, using: &random) {
        let page = Int.random(in: 0..<(bytes.count / 4096), using: &random) * 4096
        // Most of what counts stands at the beginning of a page.
        let range = Bool.random(using: &random) ? 0..<160 : 0..<4096
        let at = page + Int.random(in: range, using: &random)
        damaged[at] = .random(in: 0 ... .max, using: &random)
      }
      try write(damaged, at: 0)
      do {
        _ = try LMDBReader(path: path).entries(of: ["few", "many"])
        read += 1
      } catch {
        refused += 1
      }
    }
    #expect(read > 50 && refused > 200, "\(read) read, \(refused) refused")
  }
}
