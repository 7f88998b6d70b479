import Synchronization
import SystemCalls
import SystemPackage

/// The pointer map of a file, changed through a bounded number of its pages in memory.
///
/// It is a direct-mapped, write-back cache: map page `k` (page `2 + 820 k`) has its place in slot
/// `k % slots` and in no other. A page that another one displaces is written first, if it was
/// changed; nothing else is written before `flush`. Neighbouring map pages have different slots:
/// threads that each write pages in a row displace one another only where they are a multiple of
/// 820 MiB of the file apart, with the usual 256 slots (1 MiB).
package final class PointerMap: PointerMapping, @unchecked Sendable {
  // @unchecked: `pages`, `isDirty` and the bytes at `memory` change, and are used only in closures
  // of `lock`; the other properties are constants that are Sendable.
  private let lock = Mutex(())
  private let file: PageFile
  private let slots: Int
  private let memory: UnsafeMutableRawPointer
  /// The map page in each slot, 0 for none, which is no map page's number.
  private var pages: [UInt32]
  private var isDirty: [Bool]

  /// Takes the file, and how many pages of the map are kept in memory.
  package init(_ file: PageFile, pages count: Int = 256) {
    self.file = file
    slots = count
    memory = .allocate(byteCount: count * PageGeometry.pageSize, alignment: 16)
    pages = Array(repeating: 0, count: count)
    isDirty = Array(repeating: false, count: count)
  }

  deinit { memory.deallocate() }

  /// Sets an entry, and reads its page of the map first unless it is in memory.
  ///
  /// - Throws: `PageError`, as `miswritten` for a page that the map does not describe.
  package func set(_ page: UInt32, kind: PagePointer, parent: UInt32) throws(PageError) {
    try lock.withLock { (_) throws(PageError) in
      guard page > 2 else { throw PageError(.miswritten(page: page)) }
      let map = PageGeometry.mapPage(page)
      guard page != map else { throw PageError(.miswritten(page: page)) }
      let slot = Int(map / PageGeometry.group) % slots
      let base = memory + slot * PageGeometry.pageSize
      if pages[slot] != map {
        try write(slot)
        try load(map, base: base)
        pages[slot] = map
      }
      isDirty[slot] = true
      let entry = base + Int(page - map - 1) * 5
      entry.storeBytes(of: kind.rawValue, as: UInt8.self)
      Bytes.put32(parent, at: entry + 1)
    }
  }

  /// Adds the entries of a list.
  package func set(_ list: SectionReader) throws(PageError) {
    while let entry = try list.next(PointerList.Entry.size) {
      let entry = entry.loadUnaligned(as: PointerList.Entry.self)
      guard let kind = PagePointer(rawValue: UInt8(truncatingIfNeeded: entry.kind)) else {
        throw PageError(.miswritten(page: entry.page))
      }
      try set(entry.page, kind: kind, parent: entry.parent)
    }
  }

  /// Writes all that was changed, and forgets what was read.
  package func flush() throws(PageError) {
    try lock.withLock { (_) throws(PageError) in
      for slot in 0..<slots {
        try write(slot)
        pages[slot] = 0
      }
    }
  }

  private func write(_ slot: Int) throws(PageError) {
    guard isDirty[slot] else { return }
    isDirty[slot] = false
    try file.write(page: pages[slot], from: memory + slot * PageGeometry.pageSize)
  }

  /// A map page that the file does not reach yet is empty.
  private func load(_ map: UInt32, base: UnsafeMutableRawPointer) throws(PageError) {
    base.initializeMemory(as: UInt8.self, repeating: 0, count: PageGeometry.pageSize)
    _ = try file.readAll(
      UnsafeMutableRawBufferPointer(start: base, count: PageGeometry.pageSize),
      at: PageGeometry.offset(page: map))
  }
}

/// The pointer map entries of a worker's pages.
///
/// Several workers share a page of the map, so the coordinator writes it.
package final class PointerList: PointerMapping {
  struct Entry: BitwiseCopyable {
    static let size = MemoryLayout<Entry>.stride

    var page: UInt32
    var kind: UInt32
    var parent: UInt32
  }

  private let entries: EntryCollector

  /// Makes a list in a worker's file of runs.
  package init(_ file: RunFile) {
    entries = EntryCollector(file: file, entrySize: Entry.size)
  }

  /// Appends an entry to the list.
  package func set(_ page: UInt32, kind: PagePointer, parent: UInt32) throws(PageError) {
    try entries.add(Entry(page: page, kind: UInt32(kind.rawValue), parent: parent))
  }

  /// Where the list is in its file.
  package func finish() throws(PageError) -> [Section] {
    try entries.flush()
    return entries.sections
  }
}
