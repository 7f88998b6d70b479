import Foundation
import GRDB
import SystemPackage
import TestSupport
import Testing

@testable import PageEngine

/// Whether encoded keys have the order of SQLite, and runs that of the keys.
@Suite(.scratchFolder) struct KeySorterTests {
  // MARK: The order of SQLite

  /// Values of all types, those that lie close to each other above all.
  private static func value(_ random: inout SeededRandom) -> Value {
    let words = [
      "", "a", "a\0", "a\0b", "ab", "é", "zz", "\u{1}", String(repeating: "a", count: 30),
    ]
    let near: [Int64] = [
      0, 1, -1, 1 << 53, 1 << 53 + 1, 1 << 53 - 1, 1 << 62, 1 << 62 + 511, .max, .max - 512, .min,
    ]
    let number = near[Int.random(in: 0..<near.count, using: &random)]
    switch Int.random(in: 0..<8, using: &random) {
    case 0: return .null
    case 1: return .integer(number)
    case 2: return .integer(Int64.random(in: .min ... .max, using: &random))
    case 3: return .real(Double(number))
    case 4: return .real(Double(bitPattern: UInt64.random(in: 0..<0x7ff0 << 48, using: &random)))
    case 5: return .real(-Double(Int.random(in: 1...1000, using: &random)) / 8)
    case 6: return .text(words[Int.random(in: 0..<words.count, using: &random)])
    default:
      let count = Int.random(in: 0...3, using: &random)
      return .blob((0..<count).map { _ in UInt8.random(in: 0...2, using: &random) })
    }
  }

  @Test(arguments: 0..<12 as Range<UInt64>)
  func `keys are in the order of SQLite, and give their values back`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let width = Int.random(in: 1...3, using: &random)
    let descending = (0..<width).map { _ in Bool.random(using: &random) }
    let rows = (0..<400).map { row in
      (key: Int64(row * 7 - 900), values: (0..<width).map { _ in Self.value(&random) })
    }
    let columns = (0..<width).map { "c\($0)" }
    var table = TestTable(name: "t", columns: columns.map { ($0, "BLOB") })
    table.rows = rows
    let queue = try DatabaseQueue()
    let sorted = try queue.write { db in
      try db.execute(
        sql: "CREATE TABLE t (k INTEGER PRIMARY KEY, \(columns.joined(separator: ",")))")
      for row in rows {
        // A text that is bound as one would end before its first zero.
        let places = row.values.map { value in
          if case .text = value { "CAST(? AS TEXT)" } else { "?" }
        }
        let values = row.values.map { value in
          if case .text(let text) = value { Value.blob(Array(text.utf8)) } else { value }
        }
        try db.execute(
          sql: "INSERT INTO t VALUES (?, \(places.joined(separator: ",")))",
          arguments: StatementArguments([row.key.databaseValue] + values.map(\.database)))
      }
      let order = zip(columns, descending).map { "\($0)\($1 ? " DESC" : "")" }
      return try Int64.fetchAll(
        db, sql: "SELECT k FROM t ORDER BY \(order.joined(separator: ",")), k")
    }
    var keys: [(row: Int64, key: [UInt8])] = []
    let encoder = KeyEncoder()
    let decoder = KeyDecoder(descending: descending)
    for row in rows {
      try TestRow.withFields(row.values, table) { fields in
        encoder.begin()
        for column in 0..<width {
          encoder.add(fields[column + 1], descending: descending[column])
        }
        encoder.end(row: row.key)
        keys.append((row.key, [UInt8](encoder.bytes)))
        let record = try #require(decoder.record(encoder.bytes))
        let scratch = UnsafeMutableRawPointer.allocate(byteCount: 8, alignment: 8)
        defer { scratch.deallocate() }
        let expected =
          (0..<width).map { fields[$0 + 1] } + [Field(value: row.key, scratch: scratch)]
        #expect(Self.record(expected) == [UInt8](record))
      }
    }
    keys.sort { a, b in a.key.lexicographicallyPrecedes(b.key) }
    let place = zip(keys.map(\.row), sorted).enumerated().first { $1.0 != $1.1 }?.offset
    #expect(place == nil && keys.count == sorted.count)
  }

  /// The record of a few short values.
  private static func record(_ fields: [Field]) -> [UInt8] {
    var bytes = [UInt8(fields.count + 1)] + fields.map { UInt8($0.type) }
    for field in fields {
      bytes += UnsafeRawBufferPointer(start: field.body, count: field.size)
    }
    return bytes
  }

  // MARK: Runs

  /// How keys are spread that are hard to sort in one way or another.
  enum Spread: CaseIterable, Sendable {
    case random, rising, falling, equalHeads, longEqualHeads, fewHeads, lengths, oneByOne

    func key(_ index: Int, _ random: inout SeededRandom) -> [UInt8] {
      let row = withUnsafeBytes(of: UInt64(index).bigEndian) { [UInt8]($0) }
      func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
      }
      switch self {
      case .random: return [4] + bytes(16) + row
      case .rising: return [2] + row
      case .falling: return [2] + row.map { ~$0 } + row
      case .equalHeads: return Array(repeating: 3, count: 20) + bytes(2) + row
      case .longEqualHeads:
        return Array(repeating: 7, count: 8 * (index % 40)) + bytes(1) + row
      case .fewHeads: return [UInt8(index % 3)] + Array(repeating: 9, count: 11) + row.reversed()
      case .lengths: return [3] + Array(repeating: 0, count: index % 30) + row
      case .oneByOne: return [2] + bytes(1) + Array(repeating: 0, count: 6) + bytes(1) + row
      }
    }
  }

  @Test(arguments: Spread.allCases, [3000, 20_000, 1 << 20])
  func `runs are sorted, and hold every key`(spread: Spread, capacity: Int) throws {
    let file = try FileDescriptor.open(
      ScratchFolder.current.appending("runs"), .readWrite, options: [.create, .truncate],
      permissions: .ownerReadWrite)
    defer { try? file.close() }
    var random = SeededRandom(seed: 5)
    let sorter = KeySorter(file: RunFile(file), capacity: capacity, scratch: SortScratch())
    let keys = (0..<2000).map { spread.key($0, &random) }
    for key in keys { try key.withUnsafeBytes { raw in try sorter.add(raw) } }
    try sorter.flush()
    var found: [[UInt8]] = []
    for run in sorter.runs {
      var last: [UInt8] = []
      let reader = SectionReader(descriptor: file, sections: [run])
      var count: Int64 = 0
      while let length = try reader.next(4)?.loadUnaligned(as: UInt32.self) {
        let start = try #require(try reader.next(Int(length)))
        let key = [UInt8](UnsafeRawBufferPointer(start: start, count: Int(length)))
        #expect(last.lexicographicallyPrecedes(key))
        last = key
        found.append(key)
        count += 1
      }
      #expect(count == run.count)
    }
    #expect(capacity < 1 << 20 || sorter.runs.count == 1)
    #expect(
      found.sorted { $0.lexicographicallyPrecedes($1) }
        == keys.sorted { $0.lexicographicallyPrecedes($1) })
  }

  @Test func `a key that is longer than the memory is a run of its own`() throws {
    let file = try FileDescriptor.open(
      ScratchFolder.current.appending("runs"), .readWrite, options: [.create, .truncate],
      permissions: .ownerReadWrite)
    defer { try? file.close() }
    let sorter = KeySorter(file: RunFile(file), capacity: 4096, scratch: SortScratch())
    for count in [10, 300_000, 10] {
      let key = [UInt8](repeating: 1, count: count)
      try key.withUnsafeBytes { raw in try sorter.add(raw) }
    }
    try sorter.flush()
    #expect(sorter.runs.map(\.bytes).reduce(0, +) == 300_020 + 12)
  }
}
