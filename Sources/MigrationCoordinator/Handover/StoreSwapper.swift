import Foundation
import GRDB
import Planning
import StoreFormat
import StoreNames
import Survey
import SystemCalls
import SystemPackage

// (1) The store's name always leads to a whole store: the old one, or the verified new one.
// (2) The old store has a second name before the new one takes its first; the new one never has any
// other name that is not in the work folder.
// (3) Only an unchanged store that no other process has open is swapped.
// (4) What fails before the new store has its name leaves the old one alone with its name. What
// fails later is a note: the new store is in its place.
//
//     made -> noted [journal] -> kept [link, or copy] -> swapped [rename] -> done [journal removed]

/// Exchanges a finished store with the old one.
struct StoreSwapper {
  let store: FilePath
  let fingerprint: SourceFingerprint
  /// The name under which the old store is kept; nil where it is not.
  let kept: FilePath?
  /// The external files that no store names once the old store is gone.
  var obsolete: [String] = []
  /// The kept store that takes the place, where it is one.
  var restored: KeptStores.Entry? = nil
  let journal: SwapJournal
  /// A name in the work folder, or next to the store, from which others are derived.
  let scratch: FilePath
  /// What the old store is called until it has the name under which it is kept, or is gone.
  private var spareName: FilePath { WorkFile.ResultSuffix.kept.path(of: scratch) }
  /// Called once the store's log is in its main file, with what the store is then.
  var logFolded: ((SourceFingerprint) throws -> Void)? = nil
  /// The exclusive lock of the store, where it is held already.
  var lock: RegionLock? = nil
  /// The exclusive lock of what takes its place, where it is held already.
  var newLock: RegionLock? = nil

  /// Swaps `result`, which lies on the same file system, with the store.
  ///
  /// - Returns: what failed once the new store was in its place.
  /// - Throws: `PlaceError.storeReserved` among others, before anything has another name.
  func swap(_ result: FilePath) throws -> [HandoverNote] {
    guard try !Files.isReservedForOwner(store) else { throw PlaceError.storeReserved(store) }
    let folding = LogFolding(store: store, fingerprint: fingerprint)
    let lock = try folding.lock(held: self.lock)
    return try withExtendedLifetime(lock) {
      try folding.fold()
      if fingerprint.hasLog { try logFolded?(SourceFingerprint(of: store)) }
      let notes: [HandoverNote]
      do {
        notes = try NameExchange(
          store: store, old: lock, new: newLock ?? RegionLock.ofStore(result),
          oldName: nameOld(besides: result), newName: result,
          keepsNew: restored != nil
        ).exchange(reached: .coordinatorSwapped)
      } catch {
        // What cannot be undone now is undone by the next run, which finds the journal.
        _ = try? journal.recover()
        throw error
      }
      return notes + cleanUp()
    }
  }

  /// Does everything up to the rename that counts.
  ///
  /// - Returns: another name of the old store, where the file system gives it one.
  private func nameOld(besides result: FilePath) throws -> FilePath? {
    let status = try Files.fileStatus(store)
    var replaced = SwapJournal.Replaced(
      store: .init(status), keptFile: .init(status), obsolete: obsolete)
    let old = OldExternalFiles(store: store)
    var links: [FilePath.Component] = []
    let canLink = try Self.canLink(
      store, probing: WorkFile.ResultSuffix.link.path(of: scratch))
    var copy: FilePath?
    if let kept {
      guard let missing = try old.missing(for: kept) else {
        throw PlaceError.outputExists(OldExternalFiles.folder(of: kept))
      }
      links = missing
      copy = canLink ? nil : try self.copy()
      if let copy { replaced.keptFile = .init(try Files.fileStatus(copy)) }
      replaced.kept = kept.lastComponent?.string
      replaced.links = links.map(\.string)
      replaced.makesSupport =
        try Files.fileStatusIfPresent(SupportFolder.path(of: kept), followLinks: false) == nil
    }
    let returning = try returningFiles(from: result)
    try journal.begin(
      .init(
        result: .init(try Files.fileStatus(result)), replaced: replaced,
        restored: restored.map { .init(name: $0.name, links: returning.map(\.string)) }))
    FaultPoint.coordinatorJournaled.reached()
    try OldExternalFiles(store: result).keep(returning, for: store)
    if let kept {
      try old.keep(links, for: kept)
      // Both names are synced at once: of one without the other the journal knows.
      try KeptStores(of: store).note(
        .init(
          name: kept.lastComponent?.string ?? "", bytes: status.size, modified: status.modified,
          checksum: KeptStores.checksum(of: store), time: Date().timeIntervalSince1970,
          externalFiles: old.names().map(\.string),
          madeSupport: replaced.makesSupport), syncsName: false)
      if let copy {
        try Files.renameNoReplace(copy, to: kept)
      } else {
        try Files.link(from: store, to: kept)
      }
      try Files.syncDirectory(Files.parent(of: kept))
      FaultPoint.coordinatorKept.reached()
    } else if canLink {
      try Files.removeRegularFile(spareName)
      try Files.link(from: store, to: spareName)
      return spareName
    }
    return canLink ? kept : nil
  }

  /// Has the new name on the disk, and removes what only the old store named.
  private func cleanUp() -> [HandoverNote] {
    var notes: [HandoverNote] = []
    let folder = Files.parent(of: store)
    HandoverNote.collect(.notSynced, at: folder, in: &notes) {
      try Files.syncDirectory(folder)
    }
    HandoverNote.collect(.notRemoved, at: spareName, in: &notes) {
      try Files.removeRegularFile(spareName)
    }
    // What only the old store names goes once it cannot come back.
    if notes.isEmpty {
      HandoverNote.collect(.notRemoved, at: OldExternalFiles.folder(of: store), in: &notes) {
        // That of a rollback stays until the rollback is recorded.
        try journal.recover(isSynced: true, keepsJournal: restored != nil)
      }
    }
    return notes
  }

  /// The external files of a kept store that have to come back with it.
  private func returningFiles(from kept: FilePath) throws -> [FilePath.Component] {
    guard let restored else { return [] }
    guard let missing = try OldExternalFiles(store: kept).missing(for: store) else {
      throw PlaceError.outputExists(OldExternalFiles.folder(of: store))
    }
    return missing.filter { restored.externalFiles.contains($0.string) }
  }

  /// Copies a store that cannot have a second name.
  private func copy() throws -> FilePath {
    let copy = spareName
    try Files.removeRegularFile(copy)
    let before = try Files.fileStatus(store)
    try Files.cloneOrCopy(from: store, to: copy)
    try Files.setModified(copy, from: store)
    try Files.syncFile(copy)
    guard try Files.fileStatus(store) == before else {
      throw StoreError(problem: .changedDuringMigration, store: store)
    }
    return copy
  }

  /// Whether a file can get a second name, found out by giving it one.
  static func canLink(_ file: FilePath, probing name: FilePath) throws -> Bool {
    try Files.removeRegularFile(name)
    do throws(SystemCallError) {
      try Files.link(from: file, to: name)
    } catch {
      if error.refusesLink { return false }
      throw error
    }
    try Files.remove(name)
    return true
  }
}
