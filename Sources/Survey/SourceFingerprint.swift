import StoreFormat
import SystemCalls
package import SystemPackage

/// By what a source is known again: any write to it changes one of these.
package struct SourceFingerprint: Hashable, Codable, Sendable {
  /// The number of the file system.
  package var device: UInt64
  /// The number of the main file in its file system.
  package var inode: UInt64
  /// The size of the main file.
  package var bytes: Int64
  /// Nanoseconds since 1970.
  package var modified: Int64
  /// The change counter of the main file's header.
  package var changeCounter: UInt32
  /// The size of the log; 0 where there is none.
  package var walBytes: Int64
  /// The header of the log, whose salts change with every restart of the log.
  package var walHeader: [UInt8]
  /// When the log was last written, in nanoseconds since 1970.
  package var walModified: Int64
  /// 0 where the journal holds nothing to roll back.
  package var journalBytes: Int64

  /// Whether there are changes next to the main file.
  package var hasLog: Bool { walBytes > 0 || journalBytes > 0 }

  /// Reads the fingerprint of a store as it is now.
  ///
  /// - Throws: `SystemCallError` where a file cannot be read; `StoreError` where a header is none.
  package init(of store: FilePath) throws {
    let status = try Files.fileStatus(store)
    device = status.device
    inode = status.inode
    bytes = status.size
    modified = status.modified
    changeCounter = try StoreHeader(reading: store).changeCounter
    let wal = FilePath(store.string + "-wal")
    let walStatus = try Files.fileStatusIfPresent(wal)
    walBytes = walStatus?.size ?? 0
    walModified = walBytes > 0 ? walStatus?.modified ?? 0 : 0
    walHeader = walBytes > 0 ? try Files.readHead(wal, count: 32) : []
    journalBytes = try StoreLogs.journalBytes(of: store)
  }

  /// The fingerprint, once no write can follow that bears the time of the last one: the clocks of
  /// files tick some hundred times a second, on some file systems once in two seconds.
  static func settled(of store: FilePath) throws -> SourceFingerprint {
    for _ in 0..<3 {
      let found = try SourceFingerprint(of: store)
      let last = max(found.modified, found.walModified)
      let tick: Int64 = last % 1_000_000_000 == 0 ? 2_000_000_000 : 20_000_000
      let (age, overflow) = WallClock.now().subtractingReportingOverflow(last)
      guard !overflow, (0..<tick).contains(age) else { return found }
      Processes.sleep(microseconds: UInt32((tick - age) / 1000 + 1))
    }
    // The next comparison sees a program that writes without a pause.
    return try SourceFingerprint(of: store)
  }

  /// Whether the main file is the same, whatever is next to it.
  ///
  /// The number of the file system is not compared: after a restart of the system it may be another
  /// one, such as for Btrfs, NFS and overlays.
  func hasSameMainFile(as other: SourceFingerprint) -> Bool {
    (inode, bytes, modified, changeCounter)
      == (other.inode, other.bytes, other.modified, other.changeCounter)
  }

  /// Whether the main file and what is next to it are the same.
  package static func == (one: SourceFingerprint, other: SourceFingerprint) -> Bool {
    one.hasSameMainFile(as: other)
      && (one.walBytes, one.walHeader, one.walModified, one.journalBytes)
        == (other.walBytes, other.walHeader, other.walModified, other.journalBytes)
  }

  /// Hashes what distinguishes most stores.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(inode)
    hasher.combine(modified)
  }
}

/// The files that SQLite keeps next to a store.
package enum StoreLogs {
  /// The bytes of a store's journal; 0 where it holds nothing to roll back: an empty one, and one
  /// whose header is zeroed, as `journal_mode = PERSIST` leaves it.
  package static func journalBytes(of store: FilePath) throws -> Int64 {
    let journal = FilePath(store.string + "-journal")
    guard let size = try Files.fileStatusIfPresent(journal)?.size, size > 0 else { return 0 }
    return try Files.readHead(journal, count: 1).first ?? 0 == 0 ? 0 : size
  }
}
