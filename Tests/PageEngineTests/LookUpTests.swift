import Foundation
import GRDB
import SystemPackage
import TestSupport
import Testing

@testable import PageEngine

/// Whether lists, maps and parts of sorted runs have what was put into them.
@Suite(.scratchFolder) struct LookUpTests {
  private func withFile<Result>(
    _ name: String, _ body: (FileDescriptor) throws -> Result
  ) throws -> Result {
    let file = try FileDescriptor.open(
      ScratchFolder.current.appending(name), .readWrite, options: [.create, .truncate],
      permissions: .ownerReadWrite)
    return try file.closeAfter { try body(file) }
  }

  private func entries(_ sections: [(FileDescriptor, Section)]) throws -> [IntegerEntry] {
    let merge = try IntegerMerge(
      sections.map { IntegerRun(SectionReader([$0], bufferBytes: 256)) })
    var found: [IntegerEntry] = []
    while let entry = try merge.next() { found.append(entry) }
    return found
  }

  @Test(arguments: [1, 2, 7, 1 << 40] as [UInt64], [0, 1, 40, 5000])
  func `parts of integers have every entry once, and those alike together`(
    spread: UInt64, count: Int
  ) throws {
    try withFile("runs") { file in
      let sorter = IntegerSorter(file: RunFile(file), capacity: 300, scratch: SortScratch())
      var random = SeededRandom(seed: UInt64(count))
      for row in 0..<count {
        try sorter.add(
          IntegerEntry(high: UInt64.random(in: 0..<spread, using: &random), low: UInt64(row)))
      }
      try sorter.flush()
      let runs = sorter.runs.map { (file, $0) }
      let whole = try entries(runs)
      #expect(whole.count == count)
      for wanted in [1, 2, 3, 8] {
        let parts = try IntegerSplit(runs).parts(wanted).map { try entries($0) }
        #expect(parts.flatMap(\.self) == whole)
        #expect(parts.count <= wanted)
        if count == 5000 && spread > 100 { #expect(parts.count == wanted) }
        for (one, next) in zip(parts, parts.dropFirst()) {
          #expect(one.count > 1 && next.count > 1)
          #expect(one.last?.high != next.first?.high)
        }
      }
    }
  }

  @Test(arguments: [16, 100, 1 << 16], [1, 5, 1000] as [Int64])
  func `rows are numbered by key within their owners`(memory: Int, owners: Int64) throws {
    try withFile("scratch") { scratch in
      try withFile("list") { file in
        let list = RunFile(file)
        let numbering = OwnerNumbering(scratch: scratch, list: list, bytes: memory * 32)
        var random = SeededRandom(seed: UInt64(owners))
        var expected: [Int64: Int64] = [:]
        var counts: [Int64: Int64] = [:]
        var key: Int64 = -3000
        while key < 3000 {
          key += Int64.random(in: 1...3, using: &random)
          let owner = Int64.random(in: 0..<owners, using: &random) - 2
          try numbering.add(owner: owner, key: key)
          counts[owner, default: 0] += 1
          expected[key] = 2048 + 1024 * ((counts[owner] ?? 0) - 1)
        }
        let runs = try numbering.finish(first: 2048, step: 1024)
        for first in [Int64.min, -2999, 0, 17, 2999, .max] {
          let reader = try NumberReader(file, runs: runs, from: first, bytes: 1 << 12)
          for key in max(first, -3010)...max(first, 3010) {
            let found = try reader.number(of: key)
            #expect(found == expected[key])
            #expect(try reader.number(of: key) == found)
          }
        }
      }
    }
  }

  @Test func `the owner of several rows may be anything`() {
    var count = OwnerCount()
    let bytes = UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 8)
    defer { bytes.deallocate() }
    func text(_ text: String) -> Field {
      bytes.copyMemory(from: Array(text.utf8), byteCount: text.utf8.count)
      return Field(type: UInt64(text.utf8.count) * 2 + 13, body: UnsafeRawPointer(bytes))
    }
    func number(_ number: Int64) -> Field { Field(value: number, scratch: bytes + 32) }
    #expect(count.add(.null) == 1)
    #expect(count.add(number(1)) == 1)
    #expect(count.add(number(1)) == 2)
    #expect(count.add(number(300)) == 1)
    #expect(count.add(text("ab")) == 1)
    #expect(count.add(text("ab")) == 2)
    #expect(count.add(text("abc")) == 1)
    #expect(count.add(number(300)) == 1)
  }

  /// A table of one column, which holds entity numbers, and its root page.
  private func table(
    _ rows: [(key: Int64, values: [Value])]
  ) throws -> (file: FileDescriptor, form: TableForm) {
    let given = BuiltStore(
      folder: ScratchFolder.current,
      tables: [TestTable(name: "t", columns: [("n", "INTEGER")], rows: rows)])
    try given.makeBySQL()
    let queue = try given.open(given.sql)
    let root = try queue.read { db in
      try UInt32.fetchOne(db, sql: "SELECT rootpage FROM sqlite_schema WHERE name = 't'")
    }
    try queue.close()
    let file = try FileDescriptor.open(given.sql, .readOnly)
    let pages = try file.seek(offset: 0, from: .end) / 4096
    return (
      file,
      TableForm(
        pageSize: 4096, pageCount: UInt32(pages), root: try #require(root), places: [-1, 1],
        isReal: [false, false], keyPlace: 0)
    )
  }

  @Test(arguments: [1, 3, 4095, 70_000] as [Int64])
  func `a map has the entity of every row, whoever wrote it`(distance: Int64) throws {
    var random = SeededRandom(seed: UInt64(distance))
    var rows: [(key: Int64, values: [Value])] = []
    var key: Int64 = -50
    for row in 0..<2000 {
      let number: Value =
        switch row % 6 {
        case 0: .null
        case 1: .text("odd")
        default: .integer(Int64(row % 6) * 100)
        }
      rows.append((key, [number]))
      key += Int64.random(in: 1...distance, using: &random)
    }
    let (table, form) = try table(rows)
    defer { try? table.close() }
    let last = rows[rows.count - 1].key
    try withFile("map") { file in
      let list = RunFile(file)
      _ = try list.reserve(13)
      let map = EntityMap(
        first: -50, section: try list.reserve(last + 51), numbers: [200, 300, 400])
      let middle = last / 2 - 20
      for (first, end) in [(middle + 1, last), (-50, middle)] {
        let cursor = TableCursor(file: PageFile(table), form: form, width: 2)
        try cursor.seek(first)
        try map.write(cursor, to: end, in: file)
      }
      let reader = EntityReader(map, in: file, bytes: 1 << 16)
      let lookUp = EntityLookUp(reader, list: [(200, 7), (400, 9)])
      for (place, row) in rows.enumerated() {
        switch (try lookUp.answer(row.key), place % 6) {
        case (.unknown, 1), (.number(7), 2), (.number(9), 4): break
        case (.none, 0), (.none, 3), (.none, 5): break
        default: Issue.record("row \(place)")
        }
        if place > 0, row.key - rows[place - 1].key > 1 {
          #expect(try reader.byte(of: row.key - 1) == 0)
        }
      }
      for outside in [Int64.min, -51, last + 1, .max] {
        #expect(try reader.byte(of: outside) == 0)
      }
    }
  }
}
