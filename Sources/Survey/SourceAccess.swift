import GRDB
import Planning
import StoreFormat
import Synchronization
import SystemCalls
package import SystemPackage

// (1) The source store, its `-wal` and its `-shm` are never written, and nothing is made beside
// them.
// (2) What is read has every committed change: a `-wal` with anything in it is copied and folded
// in.
// (3) A source that changes while it is copied is copied again.

/// A store as workers may read it: nobody writes it, and its `-wal` holds nothing.
package final class SourceAccess: Sendable {
  /// The file to read: the store itself, or a copy of it.
  package let readable: FilePath
  package let fingerprint: SourceFingerprint
  /// Whether the store itself keeps a write-ahead log; a copy of it does not.
  package let usesWAL: Bool
  /// Keeps a copy for as long as it may be read.
  private let copy: TemporaryFolder?
  /// Keeps writers of the older journal modes away while the store itself is read.
  private let lock: Mutex<RegionLock?>

  private init(
    readable: FilePath, copy: TemporaryFolder?, fingerprint: SourceFingerprint, usesWAL: Bool,
    lock: RegionLock?
  ) {
    self.readable = readable
    self.copy = copy
    self.fingerprint = fingerprint
    self.usesWAL = usesWAL
    self.lock = Mutex(lock)
  }

  /// Lets writers at the store again; nothing is read from it any more.
  package func release() { lock.withLock { $0 = nil } }

  /// The bytes that SQLite's locks lie on ("Database File Format", section 1.3).
  package static let lockBytes: Range<Int64> = 0x4000_0000..<0x4000_0200
  private static let sharedLockBytes: Range<Int64> = 0x4000_0002..<0x4000_0200

  /// Opens a store for reading; a copy goes to a temporary folder if one is needed.
  ///
  /// What belongs to a store lies beside the file itself, also where a link leads to it.
  package static func open(_ store: FilePath) throws -> SourceAccess {
    _ = try StoreHeader(of: store)
    var folder: TemporaryFolder?
    func snapshot() throws -> FilePath {
      let made = try folder ?? TemporaryFolder()
      folder = made
      return made.path.appending("source.sqlite")
    }
    return try open(try Files.resolved(store), folder: { folder }, snapshot: snapshot)
  }

  /// Opens a store, named without links, for reading.
  ///
  /// - Parameter snapshot: where a copy goes if one is needed; its folder exists then.
  package static func open(
    _ store: FilePath, snapshot: () throws -> FilePath
  ) throws -> SourceAccess {
    try open(store, folder: { nil }, snapshot: snapshot)
  }

  private static func open(
    _ store: FilePath, folder: () -> TemporaryFolder?, snapshot: () throws -> FilePath
  ) throws -> SourceAccess {
    let usesWAL = try StoreHeader(of: store).usesWAL
    for _ in 0..<5 {
      guard let lock = try RegionLock.acquire(store, kind: .shared, bytes: sharedLockBytes) else {
        throw StoreError(problem: .inUse, store: store)
      }
      let before = try SourceFingerprint(of: store)
      if !before.hasLog {
        return SourceAccess(
          readable: store, copy: nil, fingerprint: before, usesWAL: usesWAL, lock: lock)
      }
      let copy = try snapshot()
      try self.copy(store, to: copy, fingerprint: before)
      // Only an unchanged source makes a copy whose parts belong together.
      guard try SourceFingerprint(of: store) == before else { continue }
      try fold(copy)
      return SourceAccess(
        readable: copy, copy: folder(), fingerprint: before, usesWAL: usesWAL, lock: nil)
    }
    throw StoreError(problem: .inUse, store: store)
  }

  private static func copy(
    _ store: FilePath, to copy: FilePath, fingerprint: SourceFingerprint
  ) throws {
    for suffix in ["", "-wal", "-journal", "-shm"] {
      try Files.remove(FilePath(copy.string + suffix))
    }
    try Files.cloneOrCopy(from: store, to: copy)
    if fingerprint.walBytes > 0 {
      try Files.cloneOrCopy(
        from: FilePath(store.string + "-wal"), to: FilePath(copy.string + "-wal"))
    }
    if fingerprint.journalBytes > 0 {
      try Files.cloneOrCopy(
        from: FilePath(store.string + "-journal"), to: FilePath(copy.string + "-journal"))
    }
  }

  /// Brings the log of a copy into its main file.
  private static func fold(_ copy: FilePath) throws {
    let connection = try StoreConnection.writable(copy)
    try connection.run { db in
      // Opening has rolled a hot journal back; a log that cannot be folded in answers busy.
      let answer = try Row.fetchOne(db, sql: "PRAGMA wal_checkpoint(TRUNCATE)")
      if let answer, let busy = Int64.fromDatabaseValue(answer[0]), busy != 0 {
        throw StoreError(problem: .inUse, store: copy)
      }
      _ = try String.fetchOne(db, sql: "PRAGMA journal_mode = DELETE")
    }
    do { try connection.queue.close() } catch { throw connection.failure(error: error) }
  }
}

/// By what a source is known again: any write to it changes one of these.
package struct SourceFingerprint: Hashable, Codable, Sendable {
  package var device: UInt64
  package var inode: UInt64
  package var bytes: Int64
  /// Nanoseconds since 1970.
  package var modified: Int64
  package var changeCounter: UInt32
  package var walBytes: Int64
  /// The header of the log, whose salts change with every restart of the log.
  package var walHeader: [UInt8]
  package var walModified: Int64
  package var journalBytes: Int64

  /// Whether changes lie beside the main file.
  package var hasLog: Bool { walBytes > 0 || journalBytes > 0 }

  package init(of store: FilePath) throws {
    let status = try Files.fileStatus(store)
    device = status.device
    inode = status.inode
    bytes = status.size
    modified = status.modified
    changeCounter = try StoreHeader(of: store).changeCounter
    let wal = FilePath(store.string + "-wal")
    let walStatus = try Files.fileStatusIfPresent(wal)
    walBytes = walStatus?.size ?? 0
    walModified = walBytes > 0 ? walStatus?.modified ?? 0 : 0
    walHeader = walBytes > 0 ? try Self.head(of: wal) : []
    journalBytes = try Files.fileStatusIfPresent(FilePath(store.string + "-journal"))?.size ?? 0
  }

  private static func head(of path: FilePath) throws -> [UInt8] {
    let file = try Files.open(path, mode: .readOnly)
    return try file.closeAfter {
      var bytes = [UInt8](repeating: 0, count: 32)
      let count = try bytes.withUnsafeMutableBytes { try file.read(into: $0) }
      return Array(bytes.prefix(count))
    }
  }
}
