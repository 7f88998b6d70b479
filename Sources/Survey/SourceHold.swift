import StoreFormat
import SystemCalls
import SystemPackage

/// Locks that SQLite respects, under which a store's main file stays as it is.
///
/// In the older journal modes a shared lock of the main file keeps writers from it. Where a log is
/// kept, writers append to it under no lock of the main file, and what keeps the log from being
/// brought into the main file is the lock of a reader that reads the main file alone: byte 123 of
/// the `-shm` ("WAL-mode File Format", section 2.3). While the main file is locked no process
/// removes the `-shm`. If there was none and is none, no process has opened the store.
struct SourceHold: Sendable {
  private let store: FilePath
  private let main: RegionLock
  private var log: RegionLock?
  private(set) var isExclusive = false

  private static let sharedLockBytes: Range<Int64> = 0x4000_0002..<0x4000_0200
  private static let mainFileReaderByte: Range<Int64> = 123..<124

  /// Takes the locks; throws `inUse` where a writer is in the way, for a moment of a few seconds
  /// where it brings its log into the main file.
  init(store: FilePath, isUpgradable: Bool) throws {
    self.store = store
    guard
      let main = try RegionLock.acquire(
        store, kind: .shared, bytes: Self.sharedLockBytes, isUpgradable: isUpgradable)
    else { throw StoreError(problem: .inUse, store: store) }
    self.main = main
    guard try StoreHeader(reading: store).usesWAL else { return }
    for attempt in 1...60 {
      guard try Self.hasIndex(store) else { return }
      log = try RegionLock.acquire(
        Self.index(of: store), kind: .shared, bytes: Self.mainFileReaderByte)
      if log != nil { return }
      Processes.sleep(microseconds: UInt32(min(attempt, 10)) * 10_000)
    }
    throw StoreError(problem: .inUse, store: store)
  }

  private static func index(of store: FilePath) -> FilePath { FilePath("\(store)-shm") }

  private static func hasIndex(_ store: FilePath) throws -> Bool {
    try Files.fileStatusIfPresent(index(of: store))?.kind == .file
  }

  /// Whether everything is locked that there is to lock.
  func isWhole() throws -> Bool {
    if log != nil { return true }
    return try !StoreHeader(reading: store).usesWAL || !Self.hasIndex(store)
  }

  /// Lets the log be brought into the main file.
  mutating func leaveLog() { log = nil }

  /// Locks everybody else out; false when somebody is in the way.
  mutating func lockOut() throws -> Bool {
    if isExclusive { return true }
    do {
      isExclusive = try main.makeExclusive(bytes: SourceAccess.lockBytes)
    } catch  where error.errno == .badFileDescriptor {
      // It was opened for reading, since this user may not write it; report which file that is.
      throw StoreError(problem: .notPermitted, store: store, cause: Errno.permissionDenied)
    }
    return isExclusive
  }

  /// The lock that keeps all others out.
  var exclusiveLock: RegionLock? { isExclusive ? main : nil }
}

/// A store's files as they are at one moment.
struct SourceState: Equatable {
  let fingerprint: SourceFingerprint
  let changed: Int64
  let usesWAL: Bool

  /// Reads the state as it is now.
  ///
  /// If `waits`, it first waits until any later write can be distinguished from earlier ones.
  init(of store: FilePath, waits: Bool = false) throws {
    usesWAL = try StoreHeader(reading: store).usesWAL
    fingerprint =
      waits ? try SourceFingerprint.settled(of: store) : try SourceFingerprint(of: store)
    changed = try Files.fileStatus(store).changed
  }

  init(fingerprint: SourceFingerprint, changed: Int64, usesWAL: Bool) {
    (self.fingerprint, self.changed, self.usesWAL) = (fingerprint, changed, usesWAL)
  }

  func hasSameMainFile(as other: SourceState) -> Bool {
    changed == other.changed && fingerprint.hasSameMainFile(as: other.fingerprint)
  }
}
