import Foundation
import Synchronization
import SystemCalls
import SystemPackage

/// Checks that the two files of an environment are as LMDB wrote them.
///
/// They are checked before each transaction, by reading and not through the map. Changes between
/// the check and the end of the transaction, some microseconds, are not seen.
final class FileGuard: Sendable {
  private let data: FileDescriptor
  private let lock: FileDescriptor
  private let pages: LMDBPages
  private let lockHead: LockHead
  private let isLost = Atomic<Bool>(false)

  /// Opens both files, nil if LMDB must not open them.
  ///
  /// The lock file is closed after the environment only, whose locks that would drop.
  init?(path: FilePath) {
    guard let data = Self.open(path) else { return nil }
    guard let lock = Self.open(FilePath("\(path)-lock")) else {
      try? data.close()  // was only read
      return nil
    }
    guard let pages = LMDBPages(data), let head = LockHead(lock) else {
      for file in [data, lock] { try? file.close() }  // as above
      return nil
    }
    (self.data, self.lock, self.pages, lockHead) = (data, lock, pages, head)
    guard isSound else { return nil }
  }

  deinit {
    try? data.close()  // was only read
    try? lock.close()
  }

  private static func open(_ path: FilePath) -> FileDescriptor? {
    try? FileDescriptor.open(path, .readOnly, options: [.nonBlocking, .closeOnExec])
  }

  /// Whether LMDB may read its files; once false, it stays false.
  var isSound: Bool {
    if isLost.load(ordering: .relaxed) { return false }
    let meta = try? pages.read { meta in
      try pages.check(meta)
      return meta
    }
    // A commit is in its pages a moment before it is in the lock file.
    let isSound = meta.map { meta in
      (0..<4).contains { attempt in
        if attempt > 0 { Processes.sleep(microseconds: 1_000) }
        return lockHead.allows(LockHead(lock), last: meta.transaction)
      }
    }
    if isSound != true { isLost.store(true, ordering: .relaxed) }
    return isSound == true
  }
}

/// What the library believes of its lock file without a look of its own ("struct MDB_txninfo").
private struct LockHead: Sendable {
  /// Magic number and format, and the kinds of the two locks, which never change.
  private let fixed: [UInt64]
  private let transaction: UInt64
  private let readers: UInt64
  private let size: Int64

  // The lock of the readers follows magic number and format; the one of the writers begins a line
  // of the processor's cache, and so do the readers.
  private static let lockSize = MemoryLayout<pthread_mutex_t>.size
  private static let writerLock = (8 + lockSize + 16 + 63) / 64 * 64
  private static let firstReader = writerLock + 64
  private static let readerSize = 64
  /// Where a lock names its kind.
  private static let kind = 16

  init?(_ file: FileDescriptor) {
    guard let bytes = LMDBPages.read(file, at: 0, count: Self.firstReader),
      let size = try? Files.fileStatus(of: file).size,
      size >= Int64(Self.firstReader + Self.readerSize)
    else { return nil }
    let kinds = [8, Self.writerLock].map { bytes.number(at: $0 + Self.kind, bytes: 4) }
    fixed = [bytes.number(at: 0, bytes: 8)] + kinds
    transaction = bytes.number(at: 8 + Self.lockSize, bytes: 8)
    readers = bytes.number(at: 16 + Self.lockSize, bytes: 4)
    self.size = size
  }

  /// Whether a later look shows a file that the library may work with, by the number of the last
  /// commit.
  func allows(_ now: LockHead?, last: UInt64) -> Bool {
    guard let now, now.fixed == fixed, now.size >= size,
      Int64(Self.firstReader) + Int64(now.readers) * Int64(Self.readerSize) <= now.size
    else { return false }
    let distance =
      now.transaction > last ? now.transaction - last : last - now.transaction
    return distance <= 16
  }
}
