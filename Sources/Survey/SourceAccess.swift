import GRDB
import Planning
import StoreFormat
import Synchronization
import SystemCalls
package import SystemPackage

// (1) The source store, its `-wal` and its `-shm` are never written, and nothing is created beside
// them.
// (2) What is read has every committed change: a `-wal` with contents is copied and checkpointed.
// (3) A source that changes while it is copied is copied again.

/// A store, or a copy of it, that can be opened as immutable: it is not written, and its `-wal` is
/// empty.
package final class SourceAccess: Sendable {
  /// The file to read: the store itself, or a copy of it.
  package let readable: FilePath
  /// Identifies the contents of the store, by which changes are detected before the swap.
  package let fingerprint: SourceFingerprint
  /// Whether the store itself is in WAL mode; a copy is not.
  package let usesWAL: Bool
  /// Keeps the folder of the copy.
  private let copy: TemporaryFolder?
  /// Excludes writers in rollback journal modes while the store itself is read.
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

  /// Releases the lock on the store, which must not be read any more.
  package func release() { lock.withLock { $0 = nil } }

  /// The bytes on which SQLite's locks lie ("Database File Format", section 1.3).
  package static let lockBytes: Range<Int64> = 0x4000_0000..<0x4000_0200
  private static let sharedLockBytes: Range<Int64> = 0x4000_0002..<0x4000_0200

  /// Opens a store for reading; a copy that is needed goes to a temporary folder.
  ///
  /// Links are resolved first, because logs lie beside the file itself.
  ///
  /// - Throws: `StoreError`, also with `inUse` if the store keeps changing.
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

  /// Opens a store for reading.
  ///
  /// - Parameters:
  ///   - store: its path without links.
  ///   - snapshot: returns the path of a copy, in a folder that exists; called if one is needed.
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

  /// Checkpoints the log of a copy into its main file.
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

/// Identifies the contents of a store: every write changes one of the fields.
package struct SourceFingerprint: Hashable, Codable, Sendable {
  /// The device of the main file.
  package var device: UInt64
  /// The inode of the main file.
  package var inode: UInt64
  /// The size of the main file.
  package var bytes: Int64
  /// The modification time of the main file, in nanoseconds since 1970.
  package var modified: Int64
  /// The change counter in the header, which grows with each transaction outside WAL mode.
  package var changeCounter: UInt32
  /// The size of the `-wal`, 0 if there is none.
  package var walBytes: Int64
  /// The 32 bytes of the log's header, whose salts change with each restart of the log; empty
  /// without one.
  package var walHeader: [UInt8]
  /// The modification time of the `-wal`, in nanoseconds since 1970; 0 without one.
  package var walModified: Int64
  /// The size of the `-journal`, 0 if there is none.
  package var journalBytes: Int64

  /// Whether there are changes outside the main file.
  package var hasLog: Bool { walBytes > 0 || journalBytes > 0 }

  /// Reads the status of the files and the headers.
  ///
  /// - Throws: `StoreError` or `SystemCallError`.
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
