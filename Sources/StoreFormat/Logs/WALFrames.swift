import SystemCalls
import SystemPackage

/// The header of a `-wal` ("WAL-mode File Format", section 4 of "Database File Format").
struct WALHeader: Equatable {
  static let size = 32
  static let frameHeaderSize = 24

  let pageSize: Int
  /// Whether the words that checksums add up are big-endian; the numbers of the file all are.
  let isBigEndian: Bool
  let salts: UInt64
  let checksum: WALChecksum

  /// Why a log is not read.
  enum Problem: Error {
    /// SQLite takes it for an empty one.
    case none
    /// SQLite opens no such store.
    case unknownVersion
  }

  init(_ bytes: UnsafeRawBufferPointer) throws(Problem) {
    guard bytes.count >= Self.size, let start = bytes.baseAddress else { throw .none }
    func number(_ offset: Int) -> UInt32 { WALChecksum.number(start + offset) }
    let magic = number(0)
    guard magic & 0xFFFF_FFFE == 0x377F_0682 else { throw .none }
    isBigEndian = magic & 1 == 1
    pageSize = Int(number(8))
    guard (512...65_536).contains(pageSize), pageSize & (pageSize - 1) == 0 else { throw .none }
    salts = UInt64(number(16)) << 32 | UInt64(number(20))
    var sum = WALChecksum()
    sum.add(start, count: 24, isBigEndian: isBigEndian)
    guard sum == WALChecksum(first: number(24), second: number(28)) else { throw .none }
    checksum = sum
    guard number(4) == 3_007_000 else { throw .unknownVersion }
  }
}

/// The checksum that runs through the frames of a `-wal`.
struct WALChecksum: Equatable {
  var first: UInt32 = 0
  var second: UInt32 = 0

  /// Adds bytes, eight at a time.
  mutating func add(_ start: UnsafeRawPointer, count: Int, isBigEndian: Bool) {
    var (first, second) = (first, second)
    for offset in stride(from: 0, to: count, by: 8) {
      let one = start.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
      let other = start.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
      first &+= (isBigEndian ? UInt32(bigEndian: one) : UInt32(littleEndian: one)) &+ second
      second &+= (isBigEndian ? UInt32(bigEndian: other) : UInt32(littleEndian: other)) &+ first
    }
    (self.first, self.second) = (first, second)
  }

  static func number(_ place: UnsafeRawPointer) -> UInt32 {
    UInt32(bigEndian: place.loadUnaligned(as: UInt32.self))
  }
}

/// The last frames of each page up to a commit: page numbers with the places of their frames.
///
/// It takes memory for the pages, not for the frames.
struct WALIndex {
  /// The pages that are kept in memory at most; a log with more of them is not read this way.
  static let mostPages = 1 << 20

  /// Page number and frame, of committed frames.
  private(set) var entries: [UInt64] = []
  /// The pages of the database after the last commit; 0 without one.
  private(set) var pageCount: UInt32 = 0
  /// The frames up to the last commit.
  private(set) var frames: UInt32 = 0
  private var pending: [UInt64] = []
  private var isFull = false
  private var compactAt = 1 << 16
  private var compactPendingAt = 1 << 16
  private var next: UInt32 = 0
  private let limit: Int

  init(limit: Int = Self.mostPages) { self.limit = limit }

  /// Takes the next frame; `size` is that of the database where it commits, else 0.
  ///
  /// Returns false where there are more pages than are kept.
  mutating func add(page: UInt32, size: UInt32) -> Bool {
    pending.append(UInt64(page) << 32 | UInt64(next))
    next += 1
    if pending.count >= compactPendingAt {
      Self.keepLast(&pending)
      isFull = isFull || pending.count > limit
      compactPendingAt = max(1 << 16, 2 * pending.count)
    }
    if size > 0 {
      entries += pending
      pending.removeAll(keepingCapacity: true)
      (pageCount, frames) = (size, next)
      if entries.count >= compactAt { compact() }
    }
    return !isFull && next < .max
  }

  private mutating func compact() {
    Self.keepLast(&entries)
    isFull = isFull || entries.count > limit
    compactAt = max(1 << 16, 2 * entries.count)
  }

  /// The entries by page, those of pages that the last commit has cut off left out; nil where they
  /// are too many.
  consuming func finished() -> [UInt64]? {
    compact()
    if isFull { return nil }
    let last = UInt64(pageCount)
    return entries.filter { $0 >> 32 <= last }
  }

  private static func keepLast(_ entries: inout [UInt64]) {
    entries.sort()
    var count = 0
    for index in entries.indices {
      let isLast = index + 1 == entries.count || entries[index + 1] >> 32 != entries[index] >> 32
      guard isLast else { continue }
      entries[count] = entries[index]
      count += 1
    }
    entries.removeLast(entries.count - count)
  }
}
