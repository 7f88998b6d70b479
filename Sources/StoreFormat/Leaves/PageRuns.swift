import Foundation
import SystemCalls

/// Pages of an unchanging file, read in runs into memory of their own.
final class PageRuns {
  let sizes: PageSizes
  /// How many whole pages the file has.
  let pageCount: UInt32
  private let file: SourceFile
  private let memory: UnsafeMutableRawPointer
  private let most: Int
  private var first: UInt32 = 0
  private var count: UInt32 = 0

  init(_ file: SourceFile, sizes: PageSizes, bytes: Int = 256 << 10) {
    (self.file, self.sizes) = (file, sizes)
    pageCount = UInt32(clamping: file.byteCount / Int64(sizes.page))
    most = max(1, Int(min(Int64(bytes), file.byteCount)) / sizes.page)
    memory = .zeros(most * sizes.page + RecordFields.padding)
  }

  deinit { free(memory) }

  /// A page, valid until another one is requested.
  ///
  /// - Parameter run: how many pages from this one on are worth reading.
  @inline(__always)
  func page(_ number: UInt32, run: Int = 1) throws(UnsoundPage) -> UnsafeRawPointer {
    let place = number &- first
    if place < count { return UnsafeRawPointer(memory + Int(place) * sizes.page) }
    return try read(number, run: run)
  }

  private func read(_ number: UInt32, run: Int) throws(UnsoundPage) -> UnsafeRawPointer {
    guard number > 0, number <= pageCount else { throw UnsoundPage() }
    let wanted = max(1, min(run, most, Int(pageCount - number) + 1))
    let room = UnsafeMutableRawBufferPointer(start: memory, count: wanted * sizes.page)
    count = 0
    guard let found = try? file.read(room, at: Int64(number - 1) * Int64(sizes.page)),
      found == room.count
    else { throw UnsoundPage() }
    (first, count) = (number, UInt32(wanted))
    return UnsafeRawPointer(memory)
  }

  /// How many pages from one on are worth reading at once, where others of a list follow it.
  static func length(of pages: [UInt32], from place: Int) -> Int {
    let first = pages[place]
    var last = first
    for page in pages[(place + 1)...] {
      // What lies between belongs to long values as a rule; a larger hole is not worth it.
      guard page > last, page - last <= 8, page - first < 64 else { break }
      last = page
    }
    return Int(last - first) + 1
  }
}

extension UnsafeMutableRawPointer {
  /// Memory for `free` that is zero throughout; untouched parts take no memory.
  static func zeros(_ count: Int) -> UnsafeMutableRawPointer {
    guard let memory = calloc(1, count) else { preconditionFailure("no memory is left") }
    return memory
  }
}

/// Fields of the header of a page in memory.
extension UnsafeRawPointer {
  @inline(__always)
  func short(_ offset: Int) -> Int {
    Int(UInt16(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt16.self)))
  }

  @inline(__always)
  func long(_ offset: Int) -> UInt32 {
    UInt32(bigEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self))
  }
}
