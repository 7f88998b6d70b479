import StoreFormat

/// The pages of an empty store, as SQLite made it, into which b-trees are put.
package struct Skeleton {
  private let bytes: [UInt8]
  /// The pages that SQLite made, its own page of the pointer map included.
  package let pageCount: UInt32

  /// Takes a database with 4096 bytes a page, incremental vacuum and no free pages.
  package init?(_ bytes: [UInt8]) {
    guard bytes.count >= PageGeometry.pageSize else { return nil }
    let pageCount: UInt32? = bytes.withUnsafeBytes { buffer in
      guard let base = buffer.baseAddress else { return nil }
      let pageCount = Bytes.get32(base + HeaderField.pageCount)
      let isFitting =
        Bytes.get16(base + HeaderField.pageSize) == PageGeometry.pageSize
        && Bytes.get32(base + HeaderField.freePages) == 0
        && Bytes.get32(base + HeaderField.largestRoot) != 0
        && base.load(fromByteOffset: HeaderField.reservedBytes, as: UInt8.self) == 0
        && Int64(pageCount) * Int64(PageGeometry.pageSize) == buffer.count
      return isFitting ? pageCount : nil
    }
    guard let pageCount else { return nil }
    self.pageCount = pageCount
    self.bytes = bytes
  }

  /// The page that is written last.
  package var firstPage: FirstPage { FirstPage(Array(bytes[..<PageGeometry.pageSize])) }

  /// Copies all pages but the first and those of the pointer map to the same places of a file, and
  /// their entries with them.
  package func copy(to file: PageFile, pointers: PointerMap) throws(PageError) {
    guard pageCount > 2 else { return }
    for number in 3...pageCount where !PageGeometry.isReserved(number) {
      let entry = Int(PageGeometry.mapOffset(number))
      guard let kind = PagePointer(rawValue: bytes[entry]) else {
        throw PageError(.miswritten(page: number))
      }
      let parent = bytes[entry + 1..<entry + 5].reduce(0) { $0 << 8 | UInt32($1) }
      try pointers.set(number, kind: kind, parent: parent)
    }
    var (start, all) = (UInt32(3), pageCount + 1)
    while start < all {
      var end = start
      while end < all, !PageGeometry.isReserved(end) { end += 1 }
      try write(start..<end, to: file)
      start = end + 1
    }
  }

  private func write(_ pages: Range<UInt32>, to file: PageFile) throws(PageError) {
    let offset = PageGeometry.offset(page: pages.lowerBound)
    let end = PageGeometry.offset(page: pages.upperBound)
    let outcome = bytes.withUnsafeBytes { buffer in
      Result { () throws(PageError) in
        try file.write(
          UnsafeRawBufferPointer(rebasing: buffer[Int(offset)..<Int(end)]), at: offset)
      }
    }
    try outcome.get()
  }
}

/// The first page of a store, with its kind and length.
package struct FirstPage: Hashable, Codable, Sendable {
  private var bytes: [UInt8]

  fileprivate init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// Writes the page with the final counts.
  package func write(
    to result: PageFile, pageCount: UInt32, firstTrunk: UInt32, freePages: UInt32
  ) throws(PageError) {
    let page = UnsafeMutableRawPointer.allocate(
      byteCount: PageGeometry.pageSize, alignment: 16)
    defer { page.deallocate() }
    guard bytes.count == PageGeometry.pageSize else { throw PageError(.miswritten(page: 1)) }
    page.copyMemory(from: bytes, byteCount: bytes.count)
    // The page count counts only where it was written together with the change counter.
    let counter = Bytes.get32(page + HeaderField.changeCounter) &+ 1
    Bytes.put32(counter, at: page + HeaderField.changeCounter)
    Bytes.put32(pageCount, at: page + HeaderField.pageCount)
    Bytes.put32(firstTrunk, at: page + HeaderField.firstFreeTrunk)
    Bytes.put32(freePages, at: page + HeaderField.freePages)
    Bytes.put32(counter, at: page + HeaderField.validForCounter)
    try result.write(page: 1, from: page)
  }
}

/// Which pages of an assembled store are free, and how long the store is.
package struct FreePages {
  /// The leaves that one trunk lists: its last six places stay empty, as SQLite itself leaves them.
  static let perTrunk = PageGeometry.pageSize / 4 - 8

  /// The pages of the finished store, by which its file is cut.
  package let pageCount: UInt32
  /// The free pages among them, trunks included: bytes 36-39 of the header.
  package let count: Int
  /// The pages that list the others.
  let trunks: [UInt32]
  private let holes: [Extent]
  private let retired: [Extent]

  /// Cuts unused pages off the end; the holes before it are free, and so are retired pages, which
  /// nothing is written to.
  package init(holes: [Extent], retired: [Extent], end: UInt32) {
    var last = end - 1
    var ranges = holes.filter { $0.count > 0 }.sorted { $0.first < $1.first }
    while true {
      if PageGeometry.isReserved(last) {
        last -= 1
      } else if let range = ranges.last, range.first <= last, range.first + range.count > last {
        last = range.first - 1
        ranges.removeLast()
      } else {
        break
      }
    }
    var count = Pages(of: ranges).reduce(0) { count, _ in count + 1 }
    count += Pages(of: retired).reduce(0) { count, _ in count + 1 }
    var trunks: [UInt32] = []
    var writable = Pages(of: ranges)
    while trunks.count * (Self.perTrunk + 1) < count {
      if let page = writable.next() {
        trunks.append(page)
      } else {
        last += 1
        while PageGeometry.isReserved(last) { last += 1 }
        trunks.append(last)
        count += 1
      }
    }
    (pageCount, self.count, self.trunks) = (last, count, trunks)
    (self.holes, self.retired) = (ranges, retired)
  }

  /// Visits the pages that are not trunks.
  func forEachLeaf(_ body: (UInt32) throws(PageError) -> Void) throws(PageError) {
    var pages = Pages(of: holes)
    for _ in trunks.indices { _ = pages.next() }
    while let page = pages.next() { try body(page) }
    for page in Pages(of: retired) { try body(page) }
  }

  /// The pages of extents that may be used.
  ///
  /// A chain of lazy collections would take one line, but building its types at first use takes 0.3
  /// ms.
  private struct Pages: Sequence, IteratorProtocol {
    private var extents: ArraySlice<Extent>
    private var pages: Range<UInt32> = 0..<0

    init(of extents: [Extent]) { self.extents = extents[...] }

    mutating func next() -> UInt32? {
      while true {
        while let page = pages.popFirst() {
          if !PageGeometry.isReserved(page) { return page }
        }
        guard let extent = extents.popFirst() else { return nil }
        pages = extent.first..<extent.first + extent.count
      }
    }
  }
}
