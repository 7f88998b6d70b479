import Foundation
import Planning
import Schema
import StoreFormat
import StoreNames
import Survey
import SystemCalls
import SystemPackage

// (1) The store's name always leads to a whole store: the old one, or the verified new one. The old
// one has its second name, on the disk, before the new one takes its first.
// (2) There is no journal. Whatever a kill leaves is known for what it is under the lock of the
// store: a file of the name that a new store or the list has before it takes its place, a second
// name of the store itself, an entry of the list without its file.
//
//     written [STORE.godwit-new] -> listed [list] -> kept [link] -> swapped [rename]

/// Exchanges a small finished store with the old one, which is kept.
struct InstantSwap {
  let store: FilePath
  let fingerprint: SourceFingerprint
  /// The exclusive lock of the store, where it is held already.
  var lock: RegionLock?

  init(store: FilePath, fingerprint: SourceFingerprint) {
    (self.store, self.fingerprint) = (store, fingerprint)
  }

  /// Swaps a copy of `result`, which may lie on another file system, with the store.
  ///
  /// - Returns: the path under which the old store is kept, and what failed once the new one was in
  ///   its place.
  func swap(_ result: FilePath) throws -> (kept: FilePath, notes: [HandoverNote]) {
    let folding = LogFolding(store: store, fingerprint: fingerprint)
    let lock = try folding.lock(held: lock)
    return try withExtendedLifetime(lock) {
      try folding.fold()
      let status = try Files.fileStatus(store)
      // A journal would have to record which name counts.
      guard status.links == 1 else { throw Workspace.NeedsFolder() }
      let kept = try KeptStores(of: store).freeName(.before)
      let made = Files.temporary(for: StoreCompanion.new.path(of: store))
      let file = try Files.open(
        made, mode: .readWrite, options: [.create, .exclusiveCreate, .noFollow],
        permissions: .ownerReadWrite)
      return try file.closeAfter {
        var notes: [HandoverNote] = []
        do {
          // Its lock shows others that it is not abandoned.
          _ = try FileLock.holds(file, path: made)
          guard
            let new = try RegionLock.acquireExclusive(
              file, path: made, bytes: SourceAccess.lockBytes)
          else { throw StoreError(problem: .inUse, store: made) }
          try write(result, to: file, at: made)
          FaultPoint.instantWritten.reached()
          try keep(kept, status)
          FaultPoint.instantKept.reached()
          notes = try NameExchange(
            store: store, old: lock, new: new, oldName: kept, newName: made, keepsNew: false
          ).exchange(reached: .instantSwapped)
        } catch {
          _ = try? Files.remove(made)  // the failure that counts is the first
          _ = try? Self.removeUnfinished(of: store, among: [])
          throw error
        }
        let folder = Files.parent(of: store)
        HandoverNote.collect(.notSynced, at: folder, in: &notes) {
          try Files.syncDirectory(folder)
        }
        return (kept, notes)
      }
    }
  }

  private func write(_ result: FilePath, to file: FileDescriptor, at path: FilePath) throws {
    let source = try Files.open(result, mode: .readOnly)
    _ = try source.closeAfter { try Files.copyBytes(source, target: file, path: path) { _ in } }
    try Files.copyAttributes(from: store, to: path)
    try Files.syncFile(file)
  }

  private func keep(_ kept: FilePath, _ status: FileStatus) throws {
    // Both names are synced at once: if only one is on disk, the number of names shows it.
    try KeptStores(of: store).note(
      .init(
        name: kept.lastComponent?.string ?? "", bytes: status.size, modified: status.modified,
        checksum: KeptStores.checksum(of: store), time: Date().timeIntervalSince1970),
      syncsName: false)
    FaultPoint.instantListed.reached()
    do throws(SystemCallError) {
      try Files.link(from: store, to: kept)
    } catch {
      // The old store has to be copied to be kept.
      if error.refusesLink { throw Workspace.NeedsFolder() }
      throw error
    }
    try Files.syncDirectory(Files.parent(of: store))
  }

  // MARK: What kills leave

  /// Removes what a run left that was killed before the new store had its place.
  ///
  /// - Precondition: this process keeps everybody else from the store.
  static func removeUnfinished(of store: FilePath, shared: SharedWork?) throws {
    let folder = Files.parent(of: store)
    let names = try shared?.leftovers(in: folder) ?? Files.listDirectory(folder)
    try removeUnfinished(of: store, among: names)
  }

  private static func removeUnfinished(
    of store: FilePath, among names: [FilePath.Component]
  ) throws {
    let folder = Files.parent(of: store)
    let own = store.lastComponent?.string ?? ""
    let made = [StoreCompanion.new, .keptList].map { own + $0.rawValue }
    for name in names {
      guard let whole = WorkFile.withoutTemporarySuffix(name.string[...]),
        made.contains(String(whole))
      else { continue }
      try removeAbandoned(folder.appending(name))
    }
    let list = KeptStores(of: store)
    let status = try Files.fileStatus(store)
    // A store with external files has a journal.
    let entries = try list.entries().filter { $0.externalFiles.isEmpty && !$0.madeSupport }
    var kept = entries.map { list.path(of: $0) }
    if status.links > 1 {
      // A power cut may have left the second name without its entry.
      kept += try Files.listDirectory(folder).filter {
        KeptStores.kind(of: $0, beside: store) == .before
      }.map { folder.appending($0) }
    }
    for path in Set(kept) where !KeptName.isUndo(path) {
      let found = try Files.fileStatusIfPresent(path, followLinks: false)
      if let found, found.kind != .file || !found.isSameFile(as: status) { continue }
      if found != nil {
        try Files.remove(path)
        try Files.syncDirectory(folder)
      } else if let entry = entries.first(where: { list.path(of: $0) == path }),
        try !list.isUnfinished(entry)
      {
        // The file was moved, or removed by the user.
        continue
      }
      try list.forget(path)
    }
  }

  /// Removes a file that never got its place, unless its process is at work.
  private static func removeAbandoned(_ path: FilePath) throws {
    guard try Files.fileStatusIfPresent(path, followLinks: false)?.kind == .file else { return }
    let file = try Files.open(path, mode: .readWrite, options: .noFollow)
    try file.closeAfter {
      if try FileLock.holds(file, path: path) { try Files.remove(path) }
    }
  }
}
