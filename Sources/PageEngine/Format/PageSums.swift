import SystemCalls
package import SystemPackage

/// The checksums of pages that a worker wrote, for a later run that takes them up.
package final class PageSums {
  /// A page and the checksum of its bytes, as far as four bytes hold it.
  package struct Entry: BitwiseCopyable {
    /// The number of the page.
    package var page: UInt32
    /// The lower half of its `Checksum`.
    package var sum: UInt32

    init(page: UInt32, bytes: UnsafeRawPointer) {
      self.page = page
      sum = UInt32(
        truncatingIfNeeded: Checksum.of(
          UnsafeRawBufferPointer(start: bytes, count: PageGeometry.pageSize)))
    }
  }

  /// Where the entries are.
  package struct Lists: Hashable, Codable, Sendable {
    /// Those of pages in the order in which they were written.
    package var written: [Section] = []
    /// Those of pages that were written once more; the last one of a page counts.
    package var rewritten: [Section] = []

    /// Makes lists without pages.
    package init() {}
  }

  private let written: EntryCollector
  private let rewritten: EntryCollector

  /// Keeps the entries in a file.
  package init(_ file: RunFile) {
    let size = MemoryLayout<Entry>.stride
    written = EntryCollector(file: file, entrySize: size)
    rewritten = EntryCollector(file: file, entrySize: size, bufferBytes: 1 << 12)
  }

  func add(_ page: UInt32, bytes: UnsafeRawPointer) throws(PageError) {
    try written.add(Entry(page: page, bytes: bytes))
  }

  func addAgain(_ page: UInt32, bytes: UnsafeRawPointer) throws(PageError) {
    try rewritten.add(Entry(page: page, bytes: bytes))
  }

  /// Writes what is left to the file; where the entries are.
  func finish() throws(PageError) -> Lists {
    try written.flush()
    try rewritten.flush()
    var lists = Lists()
    (lists.written, lists.rewritten) = (written.sections, rewritten.sections)
    return lists
  }

  /// Whether a file still has the pages that lists in a shard describe.
  ///
  /// - Throws: `PageError` where a file cannot be read, or has no such page.
  package static func agree(
    _ lists: Lists, shard: FileDescriptor, with pages: FileDescriptor
  ) throws(PageError) -> Bool {
    var latest: [UInt32: UInt32] = [:]
    let again = SectionReader(descriptor: shard, sections: lists.rewritten)
    while let (entries, count) = try again.nextChunk(of: Entry.self) {
      for index in 0..<count { latest[entries[index].page] = entries[index].sum }
    }
    let bytes: Int64
    do { bytes = try Files.fileStatus(of: pages).size } catch {
      throw PageError(.read(error.errno.rawValue), file: Files.path(of: pages))
    }
    let window = PageWindow(
      file: PageFile(pages), pageSize: PageGeometry.pageSize,
      pageCount: UInt32(clamping: bytes / Int64(PageGeometry.pageSize)))
    let reader = SectionReader(descriptor: shard, sections: lists.written)
    while let (entries, count) = try reader.nextChunk(of: Entry.self) {
      for index in 0..<count {
        let page = entries[index].page
        let found = Entry(page: page, bytes: try window.page(page))
        guard found.sum == latest[page] ?? entries[index].sum else { return false }
      }
    }
    return true
  }
}
