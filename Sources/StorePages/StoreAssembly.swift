package import SystemPackage

/// The pages of an empty store, as SQLite made it, into which b-trees are put.
package struct Skeleton {
  private let file: PageFile
  package let pageCount: UInt32

  /// Takes a file with 4096 bytes a page, incremental vacuum and no free pages.
  package init?(_ descriptor: FileDescriptor) throws(PageError) {
    file = PageFile(descriptor)
    let header = UnsafeMutableRawBufferPointer.allocate(byteCount: 100, alignment: 16)
    defer { header.deallocate() }
    try file.read(header, at: 0)
    guard let base = header.baseAddress else { return nil }
    pageCount = Bytes.get32(base + 28)
    let isFitting =
      Bytes.get16(base + 16) == PageGeometry.pageSize && Bytes.get32(base + 36) == 0
      && Bytes.get32(base + 52) != 0 && base.load(fromByteOffset: 20, as: UInt8.self) == 0
    if !isFitting { return nil }
  }

  /// Copies all pages but those of the pointer map to the same places, and their entries with them.
  package func copy(_ stitcher: TableStitcher) throws(PageError) {
    let page = UnsafeMutableRawPointer.allocate(
      byteCount: PageGeometry.pageSize, alignment: 16)
    defer { page.deallocate() }
    let entry = UnsafeMutableRawBufferPointer.allocate(byteCount: 5, alignment: 8)
    defer { entry.deallocate() }
    for number in 3...max(3, pageCount) where !PageGeometry.isReserved(number) {
      try file.read(page: number, page)
      try file.read(entry, at: PageGeometry.mapOffset(number))
      guard let base = entry.baseAddress,
        let kind = PagePointer(rawValue: base.load(as: UInt8.self))
      else { throw PageError(.damaged(page: number)) }
      try stitcher.place(page: number, page, kind: kind, parent: Bytes.get32(base + 1))
    }
  }

  /// Writes the first page with the final counts.
  package func writeFirstPage(
    to result: PageFile, pageCount: UInt32, firstTrunk: UInt32, freePages: UInt32
  ) throws(PageError) {
    let page = UnsafeMutableRawPointer.allocate(
      byteCount: PageGeometry.pageSize, alignment: 16)
    defer { page.deallocate() }
    try file.read(page: 1, page)
    // The page count counts only where it was written together with the change counter.
    let counter = Bytes.get32(page + 24) &+ 1
    Bytes.put32(counter, page + 24)
    Bytes.put32(pageCount, page + 28)
    Bytes.put32(firstTrunk, page + 32)
    Bytes.put32(freePages, page + 36)
    Bytes.put32(counter, page + 92)
    try result.write(page: 1, page)
  }
}

/// Which pages of an assembled store are free, and how long the store is.
package struct FreePages {
  package private(set) var pages: [UInt32] = []
  package private(set) var pageCount: UInt32

  /// Cuts unused pages off the end; the holes before it are free.
  package init(holes: [Extent], end: UInt32) {
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
    pageCount = last
    for range in ranges {
      for page in range.first..<range.first + range.count
      where page <= last && !PageGeometry.isReserved(page) { pages.append(page) }
    }
  }
}
