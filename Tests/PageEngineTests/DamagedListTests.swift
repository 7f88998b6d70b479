import Foundation
import SystemPackage
import TestSupport
import Testing

@testable import PageEngine

/// What the readers of a worker's lists make of bytes that no worker wrote.
@Suite(.scratchFolder, .timeLimit(.minutes(15))) struct DamagedListTests {
  private func file(_ bytes: [UInt8], _ name: String = "list") throws -> FileDescriptor {
    let file = try FileDescriptor.open(
      ScratchFolder.current.appending(name), .readWrite, options: [.create, .truncate],
      permissions: .ownerReadWrite)
    try file.writeAll(toAbsoluteOffset: 0, bytes)
    return file
  }

  private func section(_ bytes: [UInt8]) -> Section {
    Section(offset: 0, bytes: Int64(bytes.count), count: 1)
  }

  private func result(_ name: String = "result") throws -> (PageFile, PagePool, PointerMap) {
    let file = PageFile(try file([], name))
    return (file, PagePool(holes: [], end: 3), PointerMap(file))
  }

  private func random(_ seed: UInt64, _ count: Int) -> [UInt8] {
    var random = SeededRandom(seed: seed)
    return (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
  }

  private func little(_ number: UInt32) -> [UInt8] { withUnsafeBytes(of: number) { Array($0) } }

  // MARK: Sections

  @Test(arguments: [
    Section(offset: 0, bytes: 24, count: 1), Section(offset: 0, bytes: 17, count: 1),
    Section(offset: -8, bytes: 16, count: 1), Section(offset: 0, bytes: -16, count: 1),
    Section(offset: 1 << 62, bytes: 16, count: 1), Section(offset: 0, bytes: .max, count: .max),
    Section(offset: .max, bytes: .max, count: 1), Section(offset: 8, bytes: 16, count: 1),
  ])
  func `a section that its file does not hold is an error`(section: Section) throws {
    let list = try file(Array(repeating: 1, count: 20))
    #expect(throws: PageError.self) {
      let reader = SectionReader(descriptor: list, sections: [section])
      while try reader.next(16) != nil {}
    }
    #expect(throws: PageError.self) {
      let reader = SectionReader(descriptor: list, sections: [section])
      while try reader.nextChunk(of: IntegerEntry.self) != nil {}
    }
    try list.close()
  }

  @Test(arguments: [#"{"first":0,"count":1}"#, #"{"first":4294967295,"count":1}"#, "{}"])
  func `an extent that no file has is not read`(text: String) throws {
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(Extent.self, from: Data(text.utf8))
    }
    let good = Extent(first: 3, count: 256)
    #expect(try JSONDecoder().decode(Extent.self, from: JSONEncoder().encode(good)) == good)
  }

  @Test func `an empty list has no entries`() throws {
    let list = try file([])
    #expect(try SectionReader(descriptor: list, sections: []).next(8) == nil)
    #expect(try SectionReader(descriptor: list, sections: [section([])]).nextLeaf() == nil)
    #expect(try IntegerMerge([]).next() == nil)
    #expect(
      try IntegerMerge([IntegerRun(SectionReader(descriptor: list, sections: [section([])]))])
        .next() == nil)
    let merge = try KeyMerge(
      readers: [SectionReader(descriptor: list, sections: [section([])])], descending: [false],
      isUnique: true)
    #expect(try merge.next() == nil)
    try list.close()
  }

  // MARK: Keys

  /// The keys of a few values, in the form in which runs hold them.
  private func run() throws -> [UInt8] {
    let encoder = KeyEncoder()
    var bytes: [UInt8] = []
    let scratch = UnsafeMutableRawPointer.allocate(byteCount: 16, alignment: 8)
    defer { scratch.deallocate() }
    for number in [-5, 0, 70_000] as [Int64] {
      encoder.begin()
      encoder.add(Field(value: number, scratch: scratch), descending: false)
      encoder.add(Field(real: Double(number) / 3, scratch: scratch), descending: true)
      encoder.end(row: number)
      bytes += little(UInt32(encoder.bytes.count)) + encoder.bytes
    }
    return bytes
  }

  private func merged(_ bytes: [UInt8]) throws -> Int {
    let list = try file(bytes)
    defer { try? list.close() }
    let merge = try KeyMerge(
      readers: [SectionReader(descriptor: list, sections: [section(bytes)])],
      descending: [false, true], isUnique: true)
    var count = 0
    while let record = try merge.next() { count += record.isEmpty ? 0 : 1 }
    return count
  }

  @Test func `any changed byte of a run of keys is an error or a record`() throws {
    let whole = try run()
    #expect(try merged(whole) == 3)
    var refused = 0
    for at in whole.indices {
      for value in [0, 1, 2, 0x7f, 0x80, 0xfe, 0xff] as [UInt8] where value != whole[at] {
        var bytes = whole
        bytes[at] = value
        do { _ = try merged(bytes) } catch {
          #expect(error is PageError, "\(error)")
          refused += 1
        }
      }
    }
    #expect(refused > whole.count)
    for length in 1..<whole.count where ![26, 52].contains(length) {
      do {
        _ = try merged(Array(whole[..<length]))
      } catch {
        refused += 1
        #expect(error is PageError, "\(error)")
      }
    }
  }

  @Test(arguments: [0xffff_ffff, 0x7fff_ffff, 1 << 21] as [UInt32])
  func `a key of a length that none has takes no memory`(length: UInt32) throws {
    #expect(throws: PageError.self) { try merged(little(length) + [1, 2, 3]) }
  }

  @Test(arguments: [[0x7f, 0xf0], [0xff, 0xf8], [0x00, 0x0f], [0x00, 0x00]] as [[UInt8]])
  func `a key of a number that is no integer is no key`(first: [UInt8]) throws {
    // The tag of a number, eight bytes that order it, two of its rest, then the row's and a flag.
    let key = [2] + first + Array(repeating: 1, count: 6) + [0x80, 0]
    var bytes = little(UInt32(key.count + 9)) + key + Array(repeating: 0, count: 9)
    bytes[4 + 1] |= 0x80
    let list = try file(bytes)
    let merge = try KeyMerge(
      readers: [SectionReader(descriptor: list, sections: [section(bytes)])], descending: [false],
      isUnique: false)
    let infinite = first[0] & 0x7f == 0x7f
    var count = 0
    do {
      while try merge.next() != nil { count += 1 }
      #expect(!infinite)
    } catch {
      #expect(infinite && error.problem == .endOfFile)
    }
    try list.close()
  }

  @Test(arguments: 0..<40 as Range<UInt64>)
  func `random runs are errors, or end`(seed: UInt64) throws {
    let bytes = random(seed, Int(seed) * 7)
    do { _ = try merged(bytes) } catch { #expect(error is PageError, "\(error)") }
    let whole = random(seed, Int(seed) * 16)
    let list = try file(whole)
    let merge = try IntegerMerge(
      [IntegerRun(SectionReader(descriptor: list, sections: [section(whole)]), rowOffset: .max)])
    var count = 0
    while try merge.next() != nil { count += 1 }
    #expect(count == Int(seed))
    try list.close()
  }

  @Test func `spans up to the last key have an end`() throws {
    let spans = [KeySpan(first: .max - 1, last: .max)]
    let bytes = spans.withUnsafeBytes { Array($0) }
    let list = try file(bytes)
    var filter = try KeyFilter(SectionReader(descriptor: list, sections: [section(bytes)]))
    #expect(try filter.contains(KeySpan(first: .max - 1, last: .max)))
    var other = try KeyFilter(SectionReader(descriptor: list, sections: [section(bytes)]))
    #expect(try !other.contains(KeySpan(first: 0, last: .max)))
    try list.close()
  }

  // MARK: Pages of the result

  @Test(arguments: [0, 1, 2, 822, 262_145 + 4] as [UInt32], [0, 3, 6, 0xffff_ffff] as [UInt32])
  func `the pointer map takes no page of its own`(page: UInt32, kind: UInt32) throws {
    let (_, _, pointers) = try result()
    let bytes = little(page) + little(kind) + little(7)
    let list = try file(bytes)
    let isGood = page > 2 && page != 822 && kind == 3
    do {
      try pointers.set(SectionReader(descriptor: list, sections: [section(bytes)]))
      #expect(isGood)
    } catch {
      #expect(!isGood && error.problem == .miswritten(page: page))
    }
    try list.close()
  }

  @Test(
    arguments: [
      [5, 0], [5, 40], [5, 4096], [5, 0xffff_ffff], [0, 0], [0xffff_ffff, 0], [],
    ] as [[UInt32]])
  func `a list of an index's leaves that no worker wrote is an error`(head: [UInt32]) throws {
    let (pages, pool, pointers) = try result()
    let bytes = head.flatMap(little) + [1, 2, 3]
    let list = try file(bytes)
    let stitcher = TableStitcher(file: pages, pool: pool, pointers: pointers)
    #expect(throws: PageError.self) {
      try stitcher.stitch(
        index: 3, moved: SectionReader(descriptor: list, sections: [section(bytes)]))
    }
    try list.close()
  }

  @Test(arguments: 0..<300 as Range<UInt64>)
  func `pages of the result that changed are an error, or are taken`(seed: UInt64) throws {
    let (pages, pool, pointers) = try result()
    var random = SeededRandom(seed: seed)
    var page = self.random(seed, 4096)
    page[0] = seed % 2 == 0 ? 13 : 10
    // Few cells, so that some can be read.
    page[3] = 0
    page[4] = UInt8.random(in: 0...9, using: &random)
    if seed % 3 == 0 { page.replaceSubrange(8..<26, with: (0..<18).map { _ in 15 }) }
    try page.withUnsafeBytes { raw throws in
      if let base = raw.baseAddress { try pages.write(page: 5, from: base) }
    }
    let entry = [LeafEntry(page: 5, lastKey: 9)]
    let bytes = entry.withUnsafeBytes { Array($0) }
    let list = try file(bytes)
    let stitcher = TableStitcher(file: pages, pool: pool, pointers: pointers)
    let lists = RunFile(try file([], "renumbered"))
    do {
      try stitcher.renumber(
        SectionReader(descriptor: list, sections: [section(bytes)]), adding: .max,
        into: EntryCollector(file: lists, entrySize: MemoryLayout<LeafEntry>.stride))
    } catch {
      #expect(Self.faults.contains(error.problem), "\(error)")
    }
    do {
      var entries = entry.makeIterator()
      try stitcher.stitch(root: 4) { entries.next() }
    } catch {
      #expect(Self.faults.contains(error.problem), "\(error)")
    }
    try list.close()
  }

  private static let faults: [PageError.Problem] = [
    .miswritten(page: 0), .miswritten(page: 4), .miswritten(page: 5), .keysOutOfOrder,
  ]

  @Test func `leaves whose keys do not rise are an error`() throws {
    let (pages, pool, pointers) = try result()
    let stitcher = TableStitcher(file: pages, pool: pool, pointers: pointers)
    var leaves = [(5, 9), (6, 9)].map { LeafEntry(page: $0, lastKey: $1) }.makeIterator()
    #expect(throws: PageError(.keysOutOfOrder)) {
      try stitcher.stitch(root: 4) { leaves.next() }
    }
  }

  @Test func `nobody is given extents that a cut log of claims had`() throws {
    let log = try FileDescriptor.open(
      ScratchFolder.current.appending("claims"), .readWrite, options: [.create, .append],
      permissions: .ownerReadWrite)
    try log.closeAfter {
      let first = ClaimLog(descriptor: log, firstPage: 10)
      let extents = [try first.nextExtent(), try first.nextExtent(), try first.nextExtent()]
      #expect(extents.map(\.first) == [10, 266, 522])
      #expect(first.taken == [Extent(first: 10, count: 768)])
      try log.resize(to: 1)
      try ClaimLog.lengthen(log, firstPage: 10, to: 778)
      #expect(try ClaimLog(descriptor: log, firstPage: 10).nextExtent().first == 778)
      // A log that is long enough stays as it is.
      try ClaimLog.lengthen(log, firstPage: 10, to: 11)
      #expect(try ClaimLog(descriptor: log, firstPage: 10).nextExtent().first == 1034)
    }
    #expect(throws: PageError(.fileFull)) { try ClaimLog.extent(index: .max >> 9, firstPage: 10) }
    #expect(throws: PageError(.fileFull)) { try ClaimLog.extent(index: .max, firstPage: 10) }
    #expect(throws: PageError(.fileFull)) { try ClaimLog.extent(index: -1, firstPage: 10) }
    #expect(throws: PageError(.fileFull)) { try ClaimLog.extent(index: 0, firstPage: .max) }
  }

  @Test(arguments: [nil, 8193, 12_287, 12_288, 300 * 4096 + 17, 301 * 4096])
  func `pages agree with their checksums unless a bit of one changes`(place: Int?) throws {
    let folder = ScratchFolder.current
    func make(_ name: String) throws -> FileDescriptor {
      try FileDescriptor.open(
        folder.appending(name), .readWrite, options: [.create, .truncate],
        permissions: .ownerReadWrite)
    }
    let (pages, list) = (try make("pages"), try make("list"))
    let sums = PageSums(RunFile(list))
    let writer = ExtentWriter(
      file: PageFile(pages), source: PagePool(holes: [], end: 3),
      pointers: PointerMap(PageFile(pages)), sums: sums)
    for number in 0..<300 {
      let (_, memory) = try writer.reserve()
      memory.storeBytes(of: UInt64(number), as: UInt64.self)
    }
    // A page of an extent that is in the file already.
    var page = [UInt8](repeating: 7, count: 4096)
    try writer.write(3, bytes: page)
    _ = try writer.finish()
    let lists = try sums.finish()
    #expect(lists.rewritten.count == 1)
    #expect(try PageSums.agree(lists, shard: list, with: pages))
    guard let place else {
      try pages.resize(to: 4096 * 100)
      #expect(throws: PageError.self) { try PageSums.agree(lists, shard: list, with: pages) }
      return
    }
    page = [0]
    try page.withUnsafeMutableBytes { byte in
      _ = try pages.read(fromAbsoluteOffset: Int64(place), into: byte)
      byte[0] ^= 1 << UInt8(place % 8)
      _ = try pages.write(toAbsoluteOffset: Int64(place), UnsafeRawBufferPointer(byte))
    }
    #expect(try !PageSums.agree(lists, shard: list, with: pages))
  }

  @Test(arguments: [0, 1, 99, 4095])
  func `an empty store that is cut is none`(count: Int) {
    #expect(Skeleton(Array(repeating: 1, count: count)) == nil)
  }

  @Test func `a file of another form is no empty store`() {
    #expect(Skeleton(Array(repeating: 1, count: 4096)) == nil)
  }

  // MARK: Numbers

  @Test func `a number never ends past its limit`() {
    for length in 0...12 {
      let bytes = [UInt8](repeating: 0xff, count: 16)
      bytes.withUnsafeBytes { raw in
        guard let base = raw.baseAddress else { return }
        let found = Bytes.varint(base, offset: 0, limit: length)
        #expect((found == nil) == (length < 9))
        #expect(found.map(\.value) == (length < 9 ? nil : .max))
        #expect(Bytes.varint(base, offset: length, limit: length) == nil)
        #expect(Bytes.varint(base, offset: length + 1, limit: length) == nil)
      }
    }
  }

  @Test(arguments: [0, 127, 128, 1 << 21, 1 << 56 - 1, 1 << 56, 1 << 63, .max] as [UInt64])
  func `a number is read as it was written`(value: UInt64) {
    var bytes = [UInt8](repeating: 0, count: 9)
    bytes.withUnsafeMutableBytes { raw in
      guard let base = raw.baseAddress else { return }
      let size = Bytes.putVarint(value, at: base)
      #expect(size == Bytes.varintSize(value))
      let found = Bytes.varint(UnsafeRawPointer(base), offset: 0, limit: size)
      #expect(found?.value == value && found?.end == size)
      #expect(Bytes.varint(UnsafeRawPointer(base), offset: 0, limit: size - 1) == nil)
    }
  }
}
