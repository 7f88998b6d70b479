import Foundation
import SystemPackage
import TestSupport
import Testing

@testable import PageEngine

/// Whether parts that are merged beside each other have every key once, those alike in one part.
@Suite(.scratchFolder) struct KeySplitTests {
  /// Keys of one integer, `spread` different ones, in runs of some hundred.
  private func runs(_ file: FileDescriptor, rows: Int, spread: Int64) throws -> [KeyRun] {
    let sorter = KeySorter(
      file: RunFile(file), capacity: 20_000, scratch: SortScratch(), chunkBytes: 200)
    let encoder = KeyEncoder()
    var random = SeededRandom(seed: UInt64(rows))
    let scratch = UnsafeMutableRawPointer.allocate(byteCount: 8, alignment: 8)
    defer { scratch.deallocate() }
    for row in 0..<rows {
      encoder.begin()
      let value = Int64.random(in: 0..<spread, using: &random)
      encoder.add(Field(value: value, scratch: scratch), descending: false)
      encoder.end(row: Int64(row))
      try sorter.add(encoder.bytes)
    }
    try sorter.flush()
    return zip(sorter.runs, sorter.marks).map { KeyRun(file: file, run: $0, marks: $1) }
  }

  private func records(_ sections: [(FileDescriptor, Section)]) throws -> [[UInt8]] {
    let read = ReadCount()
    let merge = try KeyMerge(
      readers: sections.map { SectionReader([$0], bufferBytes: 256, counted: read) },
      descending: [false], isUnique: false)
    var found: [[UInt8]] = []
    while let record = try merge.next() { found.append([UInt8](record)) }
    // Progress is told by these.
    #expect(read.bytes == sections.reduce(0) { $0 + $1.1.bytes })
    return found
  }

  @Test(arguments: [1, 2, 7, 1 << 40] as [Int64], [0, 1, 40, 5000])
  func `parts have every key once, in order, and those alike together`(
    spread: Int64, rows: Int
  ) throws {
    let file = try FileDescriptor.open(
      ScratchFolder.current.appending("runs"), .readWrite, options: [.create, .truncate],
      permissions: .ownerReadWrite)
    defer { try? file.close() }
    let runs = try runs(file, rows: rows, spread: spread)
    let whole = try records(try #require(try KeySplit(runs, columns: 1).parts(1).first))
    #expect(whole.count == rows)
    for wanted in [2, 3, 8] {
      let parts = try KeySplit(runs, columns: 1, leastMarks: 4).parts(wanted)
      let found = try parts.map { try records($0) }
      #expect(found.flatMap(\.self) == whole)
      #expect(parts.count <= wanted)
      if rows == 5000 && spread > 100 { #expect(parts.count == wanted) }
      guard parts.count > 1 else { continue }
      #expect(found.allSatisfy { $0.count > 1 })
      for (one, next) in zip(found, found.dropFirst()) {
        // Header, value and row: with values apart, the types and bytes before the row differ.
        #expect(Self.value(one[one.count - 1]) != Self.value(next[0]))
      }
    }
  }

  /// The type and the bytes of the first value of a record.
  private static func value(_ record: [UInt8]) -> [UInt8] {
    let size = Field.size(type: UInt64(record[1]))
    return [record[1]] + record[3..<3 + size]
  }
}
