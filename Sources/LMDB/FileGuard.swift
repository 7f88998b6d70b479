import Synchronization
import SystemCalls
import SystemPackage

// LMDB reads its file through a map of memory and trusts what it finds there. A file that somebody
// has cut short ends the process by SIGBUS, and one that was overwritten by SIGABRT, or it damages
// memory. So the pages are looked at before each transaction, by reading and not through the map.
// What happens between that look and the end of the transaction, some microseconds, is not seen.

/// Tells whether the two files of an environment are still what LMDB made of them.
final class FileGuard: Sendable {
  private let data: FileDescriptor
  private let lock: FileDescriptor?
  private let lockHead: [UInt8]
  private let lockSize: Int64
  private let pageSize: Int
  private let isLost = Atomic<Bool>(false)

  /// Opens both files; the lock file is closed after the environment only, whose locks that would
  /// drop.
  init?(path: FilePath, usesLock: Bool) {
    guard let data = Self.open(path) else { return nil }
    // The field `md_pad` of the table of free pages.
    let pageSize = Int(Self.read(data, at: 0, count: 48)?.number(offset: 40, bytes: 4) ?? 0)
    guard (512...65_536).contains(pageSize) else {
      try? data.close()  // was only read
      return nil
    }
    let lock = usesLock ? Self.open(FilePath("\(path)-lock")) : nil
    self.data = data
    self.lock = lock
    self.pageSize = pageSize
    lockHead = lock.flatMap { Self.read($0, at: 0, count: Self.headSize) } ?? []
    lockSize = lock.flatMap { try? Files.fileStatus(of: $0).size } ?? 0
  }

  deinit {
    try? data.close()  // was only read
    try? lock?.close()
  }

  /// Magic number and format, which never change.
  private static let headSize = 8

  private static func open(_ path: FilePath) -> FileDescriptor? {
    try? FileDescriptor.open(path, .readOnly, options: [.nonBlocking, .closeOnExec])
  }

  /// So many bytes, or nil where there are fewer.
  private static func read(_ file: FileDescriptor, at offset: Int64, count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    let found = try? bytes.withUnsafeMutableBytes {
      try file.read(fromAbsoluteOffset: offset, into: $0)
    }
    return found == count ? bytes : nil
  }

  /// Whether LMDB may look at its files; once it may not, it may never again.
  var isSound: Bool {
    if isLost.load(ordering: .relaxed) { return false }
    let isSound = isLockSound && areDataSound
    if !isSound { isLost.store(true, ordering: .relaxed) }
    return isSound
  }

  private var isLockSound: Bool {
    guard let lock else { return true }
    guard let size = try? Files.fileStatus(of: lock).size, size >= lockSize else { return false }
    return Self.read(lock, at: 0, count: Self.headSize) == lockHead
  }

  // MARK: The pages

  /// The last state that was committed ("struct MDB_meta" of LMDB's mdb.c).
  private struct Meta {
    var transaction: UInt64
    var lastPage: UInt64
    /// Of the free pages, and of the tables.
    var roots: [UInt64]

    init?(page: [UInt8]) {
      guard page.number(offset: 16, bytes: 4) == 0xBEEF_C0DE,
        page.number(offset: 20, bytes: 4) == 1,
        page.number(offset: 10, bytes: 2) & 8 != 0
      else { return nil }
      roots = [page.number(offset: 80, bytes: 8), page.number(offset: 128, bytes: 8)]
      lastPage = page.number(offset: 136, bytes: 8)
      transaction = page.number(offset: 144, bytes: 8)
    }
  }

  private var areDataSound: Bool {
    // A writer may be at work: what looks odd in one of its moments is looked at again.
    for attempt in 0..<4 {
      if attempt > 0 { Processes.sleep(microseconds: 1_000) }
      guard let before = meta() else { continue }
      if isSound(before), meta()?.transaction != nil { return true }
      if let now = meta(), now.transaction == before.transaction, attempt > 1 { return false }
    }
    return false
  }

  private func meta() -> Meta? {
    guard let first = page(number: 0).flatMap({ Meta(page: $0) }),
      let second = page(number: 1).flatMap({ Meta(page: $0) })
    else { return nil }
    return first.transaction > second.transaction ? first : second
  }

  private func page(number: UInt64) -> [UInt8]? {
    let (offset, overflow) = Int64(clamping: number).multipliedReportingOverflow(
      by: Int64(pageSize))
    return overflow ? nil : Self.read(data, at: offset, count: pageSize)
  }

  private func isSound(_ meta: Meta) -> Bool {
    guard let size = try? Files.fileStatus(of: data).size,
      meta.lastPage < UInt64(clamping: size / Int64(pageSize))
    else { return false }
    // More are not looked at: each is read in a microsecond, and ten times a second.
    var left = 1_000
    return meta.roots.allSatisfy { isTreeSound(root: $0, meta: meta, depth: 0, left: &left) }
  }

  /// Whether all that a page and those below it say of themselves lies within the file.
  private func isTreeSound(root: UInt64, meta: Meta, depth: Int, left: inout Int) -> Bool {
    // No page at all.
    if root == .max { return true }
    guard left > 0 else { return depth > 0 }
    left -= 1
    guard depth < 16, root >= 2, root <= meta.lastPage, let page = page(number: root),
      page.number(offset: 0, bytes: 8) == root
    else { return false }
    let flags = page.number(offset: 10, bytes: 2) & ~0x10
    let (lower, upper) = (
      Int(page.number(offset: 12, bytes: 2)), Int(page.number(offset: 14, bytes: 2))
    )
    guard flags == 1 || flags == 2, lower >= 16, lower <= upper, upper <= pageSize else {
      return false
    }
    for slot in stride(from: 16, to: lower - 1, by: 2) {
      let node = Int(page.number(offset: slot, bytes: 2))
      guard node >= upper, node + 8 <= pageSize,
        let below = pages(below: node, in: page, isBranch: flags == 1)
      else { return false }
      for root in below where !isTreeSound(root: root, meta: meta, depth: depth + 1, left: &left) {
        return false
      }
    }
    return true
  }

  /// The pages that a node leads to; nil where it does not end within its page.
  private func pages(below node: Int, in page: [UInt8], isBranch: Bool) -> [UInt64]? {
    let (low, high) = (page.number(offset: node, bytes: 2), page.number(offset: node + 2, bytes: 2))
    let (flags, keySize) = (
      page.number(offset: node + 4, bytes: 2), page.number(offset: node + 6, bytes: 2)
    )
    let data = node + 8 + Int(keySize)
    guard data <= pageSize else { return nil }
    if isBranch { return [low | high << 16 | flags << 32] }
    // A value on pages of its own: free pages, or such as no record here has.
    if flags & 1 != 0 { return data + 8 <= pageSize ? [] : nil }
    let size = Int(low | high << 16)
    guard data + size <= pageSize else { return nil }
    // The root of a table of its own.
    if flags & 2 != 0 { return size >= 48 ? [page.number(offset: data + 40, bytes: 8)] : nil }
    return []
  }
}

extension [UInt8] {
  fileprivate func number(offset: Int, bytes: Int) -> UInt64 {
    guard offset >= 0, offset + bytes <= count else { return 0 }
    return self[offset..<offset + bytes].reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}
