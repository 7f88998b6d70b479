import Synchronization
import SystemCalls
package import SystemPackage

/// A part of a file with entries in a row.
package struct Section: Hashable, Codable, Sendable {
  /// The byte of the file at which the section begins.
  package var offset: Int64
  /// The bytes of the section.
  package var bytes: Int64
  /// The entries of the section; readers go by its bytes.
  package var count: Int64

  /// Takes a place as it is given: whether the file has it shows when it is read.
  package init(offset: Int64, bytes: Int64, count: Int64) {
    self.offset = offset
    self.bytes = bytes
    self.count = count
  }
}

/// A file that sections are appended to, and read from.
package final class RunFile {
  private let file: PageFile
  /// The byte after the last section.
  package private(set) var end: Int64 = 0

  /// The folder of the file, for others that only this process knows; nil where it has no name.
  package let folder: FilePath?

  /// Takes a file that is open for reading and writing, and empty.
  package init(_ descriptor: FileDescriptor) {
    file = PageFile(descriptor)
    folder = Files.path(of: descriptor).map(Files.parent(of:))
  }

  func append(_ bytes: UnsafeRawBufferPointer, count: Int64) throws(PageError) -> Section {
    try file.write(bytes, at: end)
    defer { end += Int64(bytes.count) }
    return Section(offset: end, bytes: Int64(bytes.count), count: count)
  }

  /// Makes a section of zeros, whose bytes others may write.
  package func reserve(_ bytes: Int64) throws -> Section {
    defer { end += bytes }
    try file.descriptor.resize(to: end + bytes)
    return Section(offset: end, bytes: bytes, count: bytes)
  }
}

/// Collects entries of one fixed size in the order in which they come.
package final class EntryCollector {
  private let file: RunFile
  private let buffer: UnsafeMutableRawBufferPointer
  private let size: Int
  private var used = 0
  /// Where the entries are, after `flush`; sections that touch are one.
  package private(set) var sections: [Section] = []

  /// Takes the size of an entry in bytes, and that of the buffer before the file.
  package init(file: RunFile, entrySize: Int, bufferBytes: Int = 1 << 16) {
    self.file = file
    size = entrySize
    buffer = .allocate(byteCount: bufferBytes / entrySize * entrySize, alignment: 16)
  }

  deinit { buffer.deallocate() }

  /// Adds an entry, whose size is that of the collector.
  @inline(__always)
  package func add<Entry: BitwiseCopyable>(_ entry: Entry) throws(PageError) {
    if used == buffer.count { try flush() }
    buffer.storeBytes(of: entry, toByteOffset: used, as: Entry.self)
    used += size
  }

  /// Writes the buffer to the file.
  package func flush() throws(PageError) {
    guard used > 0 else { return }
    let section = try file.append(
      UnsafeRawBufferPointer(rebasing: buffer[..<used]), count: Int64(used / size))
    used = 0
    if let last = sections.last, last.offset + last.bytes == section.offset {
      sections[sections.count - 1].bytes += section.bytes
      sections[sections.count - 1].count += section.count
    } else {
      sections.append(section)
    }
  }
}

/// Bytes that have been read, counted by all threads that read, for another that reports them.
package final class ReadCount: Sendable {
  private let count = Atomic<Int64>(0)

  package init() {}

  /// The bytes read so far.
  package var bytes: Int64 { count.load(ordering: .relaxed) }

  fileprivate func add(_ bytes: Int) { count.add(Int64(bytes), ordering: .relaxed) }
}

/// Reads sections of a file, one after the other, through a small buffer.
package final class SectionReader {
  private var file: PageFile?
  private var sections: ArraySlice<(FileDescriptor, Section)>
  private var offset: Int64 = 0
  private var left: Int64 = 0
  private var buffer: UnsafeMutableRawBufferPointer
  private var start = 0
  private var end = 0
  private let counted: ReadCount?

  /// Takes sections of one file, and the bytes to read at a time.
  package convenience init(
    descriptor: FileDescriptor, sections: [Section], bufferBytes: Int = 1 << 16
  ) {
    self.init(sections.map { (descriptor, $0) }, bufferBytes: bufferBytes)
  }

  /// Takes sections of several files, and what counts the bytes that are read.
  package init(
    _ sections: [(FileDescriptor, Section)], bufferBytes: Int = 1 << 16,
    counted: ReadCount? = nil
  ) {
    self.sections = sections[...]
    self.counted = counted
    buffer = .allocate(byteCount: max(64, bufferBytes), alignment: 16)
  }

  deinit { buffer.deallocate() }

  /// So many bytes, valid until the next call; nil at the end.
  @inline(__always)
  package func next(_ count: Int) throws(PageError) -> UnsafeRawPointer? {
    if end - start < count, try !fill(count: count) { return nil }
    guard let base = buffer.baseAddress else { return nil }
    defer { start += count }
    return UnsafeRawPointer(base + start)
  }

  /// The next leaf; nil at the end.
  package func nextLeaf() throws(PageError) -> LeafEntry? {
    try next(MemoryLayout<LeafEntry>.stride)?.loadUnaligned(as: LeafEntry.self)
  }

  /// As many whole entries as are at hand, at least one; nil at the end.
  package func nextChunk<Entry: BitwiseCopyable>(
    of type: Entry.Type
  ) throws(PageError) -> (UnsafePointer<Entry>, Int)? {
    let size = MemoryLayout<Entry>.stride
    if end - start < size, try !fill(count: size) { return nil }
    guard let base = buffer.baseAddress else { return nil }
    let count = (end - start) / size
    defer { start += count * size }
    return (UnsafeRawPointer(base + start).assumingMemoryBound(to: Entry.self), count)
  }

  private func fill(count: Int) throws(PageError) -> Bool {
    if count > buffer.count {
      let larger = UnsafeMutableRawBufferPointer.allocate(byteCount: count * 2, alignment: 16)
      larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[start..<end]))
      buffer.deallocate()
      buffer = larger
    } else if start > 0, let base = buffer.baseAddress {
      base.copyMemory(from: base + start, byteCount: end - start)
    }
    end -= start
    start = 0
    while end < count {
      if left == 0 {
        guard let (descriptor, section) = sections.popFirst() else {
          // Entries are whole, or the list was cut.
          guard end == 0 else { throw PageError(.endOfFile) }
          return false
        }
        guard section.offset >= 0, section.bytes >= 0 else { throw PageError(.endOfFile) }
        file = PageFile(descriptor)
        (offset, left) = (section.offset, section.bytes)
      }
      let size = Int(min(Int64(buffer.count - end), left))
      try file?.read(UnsafeMutableRawBufferPointer(rebasing: buffer[end..<end + size]), at: offset)
      counted?.add(size)
      offset += Int64(size)
      left -= Int64(size)
      end += size
    }
    return true
  }
}
