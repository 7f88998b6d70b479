import Foundation
import Planning
import Schema
import StoreFormat
import StoreNames
import SystemCalls
package import SystemPackage

// (1) Only a store that is in the list, under its name, with its size and checksum and without a
// log, is one that Godwit kept: anything else of such a name is somebody's own. Its time counts
// where the checksum does not cover every write.
// (2) The list names a store before it is kept, and forgets it after it is gone.

/// The list of the old stores that are kept next to a store: `Shop.sqlite.godwit-kept.json`.
struct KeptStores {
  let store: FilePath

  init(of store: FilePath) { self.store = store }

  /// A store that was kept.
  struct Entry: Hashable, Codable {
    /// Its name next to the store.
    var name: String
    var bytes: Int64
    /// Nanoseconds since 1970.
    var modified: Int64
    /// The checksum of its bytes (`KeptStores.checksum`); nil in lists of earlier versions.
    var checksum: UInt64?
    /// Seconds since 1970 at which it gave up the store's name.
    var time: Double
    /// The external files that are there for it.
    var externalFiles: [String] = []
    /// Whether the folder of these files was made for it.
    var madeSupport = false
    /// Whether it is being let go.
    var isLeaving = false
    /// True if a later migration has discarded its old store: this one is not the last old store.
    var precedesDiscard: Bool? = nil
  }

  /// All entries.
  struct List: ResumableFile, Hashable {
    static let formatVersion = 1

    var stores: [Entry] = []
  }

  var path: FilePath { StoreCompanion.keptList.path(of: store) }

  /// The path of a kept store.
  func path(of entry: Entry) -> FilePath {
    Files.parent(of: store).appending(entry.name)
  }

  /// The entries; empty where there is no list.
  ///
  /// - Throws: `outputExists` where something else has the name, or where it cannot be read.
  func entries() throws -> [Entry] {
    guard let status = try Files.fileStatusIfPresent(path, followLinks: false) else { return [] }
    let isList = status.kind == .file && status.size < 1 << 26
    let bytes = try isList ? Files.readFile(path, limit: 1 << 26) : []
    guard isList, let list = try? VersionedFile<List>(sealed: bytes).content else {
      throw PlaceError.keptListUnreadable(path)
    }
    if list.stores.isEmpty { return [] }
    guard let owner = Self.owner(of: list) else { throw PlaceError.keptListUnreadable(path) }
    return owner.utf8.elementsEqual((store.lastComponent?.string ?? "").utf8)
      ? list.stores : try renamed(list, from: owner)
  }

  /// The one store whose kept stores are in a list; nil where names are of several or of none.
  private static func owner(of list: List) -> String? {
    let owners = Set(
      list.stores.map { entry in
        FilePath.Component(entry.name).flatMap { KeptName($0.string)?.store }
      })
    return owners.count == 1 ? owners.first ?? nil : nil
  }

  /// The entries of a list that was renamed together with the store and its kept stores.
  ///
  /// - Throws: `keptRenamed` where a kept store or an external file is not there by its new name.
  private func renamed(_ list: List, from owner: String) throws -> [Entry] {
    try list.stores.map { entry in
      var found = entry
      guard var name = KeptName(entry.name) else { return entry }
      name.store = store.lastComponent?.string ?? ""
      found.name = name.text
      if found.isLeaving { return found }
      let own = path(of: found)
      let folder = OldExternalFiles.folder(of: own)
      let missing = try ([own] + found.externalFiles.map { folder.appending($0) })
        .first { try Files.fileStatusIfPresent($0, followLinks: false) == nil }
      if let missing { throw PlaceError.keptRenamed(list: path, from: owner, missing: missing) }
      return found
    }
  }

  /// Removes lists that a kill left unfinished; no other process may write one meanwhile.
  func removeUnfinished(shared: SharedWork? = nil) throws {
    let whole = path.lastComponent?.string ?? ""
    let folder = Files.parent(of: path)
    for name in try shared?.leftovers(in: folder) ?? Files.listDirectory(folder)
    where WorkFile.withoutTemporarySuffix(name.string[...]) == whole[...] {
      try Files.removeRegularFile(Files.parent(of: path).appending(name))
    }
  }

  /// Whether the file of an entry is there as it was kept, or is at another path.
  func isThere(_ entry: Entry, at other: FilePath? = nil) throws -> Bool {
    let path = other ?? path(of: entry)
    let status = try Files.fileStatusIfPresent(path, followLinks: false)
    guard let status, status.kind == .file, status.size == entry.bytes, try !Self.hasLog(path)
    else { return false }
    let hasTime = status.modified == entry.modified
    guard let checksum = entry.checksum else { return hasTime }
    guard try hasTime || Self.showsWrites(path, bytes: entry.bytes) else { return false }
    return try checksum == Self.checksum(of: path)
  }

  /// Whether an entry without its file is of a run that was killed before it kept the store, which
  /// then has its own name still.
  func isUnfinished(_ entry: Entry) throws -> Bool {
    try !KeptName.isUndo(path(of: entry)) && isThere(entry, at: store)
  }

  /// Whether changes of a store are next to it, in a log that is not empty.
  private static func hasLog(_ path: FilePath) throws -> Bool {
    try !KeptName.isUndo(path)
      && StoreFile.changeSuffixes.contains { suffix in
        try Files.fileStatusIfPresent(FilePath("\(path)\(suffix)"), followLinks: false)
          .map { $0.kind != .file || $0.size > 0 } ?? false
      }
  }

  /// Whether the checksum alone shows any write by SQLite, whatever the time of the file: a copy
  /// may have another time.
  private static func showsWrites(_ path: FilePath, bytes: Int64) throws -> Bool {
    if bytes <= mostBytesSummed { return true }
    // With a write-ahead log, SQLite may leave the change counter of the header as it is.
    return try !KeptName.isUndo(path) && !StoreHeader(reading: path).usesWAL
  }

  /// Checks that the file of an entry is there as it was kept.
  ///
  /// - Throws: `PlaceError.keptMissing` or `keptChanged`.
  func requireThere(_ entry: Entry) throws {
    if try isThere(entry) { return }
    let path = path(of: entry)
    guard try Files.fileStatusIfPresent(path, followLinks: false) == nil else {
      throw PlaceError.keptChanged(path)
    }
    let folder = Files.parent(of: store)
    let found = try Files.listDirectory(folder).map { folder.appending($0) }
      .first { try isThere(entry, at: $0) }
    throw PlaceError.keptMissing(path, found: found)
  }

  /// A file with the name of a kept store that the list does not have; nil where there is none.
  func unlisted(_ kind: KeptStoreKind) throws -> FilePath? {
    let listed = Set(try entries().map(\.name))
    return try Files.listDirectory(Files.parent(of: store))
      .filter { Self.kind(of: $0, beside: store) == kind && !listed.contains($0.string) }
      .max { $0.string < $1.string }.map { Files.parent(of: store).appending($0) }
  }

  /// Up to this size every byte of a store counts.
  private static let mostBytesSummed: Int64 = 256 << 20
  /// Of a larger store this many bytes count, at the start of each part of `partBytes`.
  private static let sampleBytes = 1 << 20
  private static let partBytes: Int64 = 64 << 20

  /// The checksum of a store's bytes; of a large store that of samples, the header among them.
  ///
  /// A write by SQLite changes the header, but for stores with a write-ahead log.
  static func checksum(of path: FilePath) throws -> UInt64 {
    let bytes = try Files.fileStatus(path).size
    if bytes <= mostBytesSummed { return try Checksum.of(file: path) }
    let file = try Files.open(path, mode: .readOnly, options: .noFollow)
    return try file.closeAfter {
      let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: sampleBytes, alignment: 16)
      defer { buffer.deallocate() }
      var sum: UInt64 = 0
      for start in stride(from: Int64(0), to: bytes, by: Int64.Stride(partBytes)) {
        let count = try file.readAll(into: buffer, at: start)
        sum = Checksum.of(UnsafeRawBufferPointer(rebasing: buffer[..<count]), seed: sum)
      }
      return sum
    }
  }

  /// Adds an entry, or replaces the one of that name.
  ///
  /// - Parameter syncsName: false if the caller syncs the folder of the store later.
  func note(_ entry: Entry, syncsName: Bool = true) throws {
    try write(entries().filter { $0.name != entry.name } + [entry], syncsName: syncsName)
  }

  /// Drops the entry of a store that is kept no more.
  func forget(_ kept: FilePath) throws {
    let found = try entries()
    let left = found.filter { path(of: $0) != kept }
    if left.count < found.count { try write(left) }
  }

  /// Records that a migration has discarded its old store, in the entries of older ones.
  ///
  /// Without entries there is nothing to confuse with that store. A list that cannot be read allows
  /// no rollback, and must not keep the migration from its end.
  func noteDiscard() throws {
    guard let found = try? entries(), found.contains(where: { $0.precedesDiscard != true }) else {
      return
    }
    try write(
      found.map { entry in
        var entry = entry
        entry.precedesDiscard = true
        return entry
      })
  }

  /// Removes what is there for a kept store that is gone, and its entry.
  func release(_ name: String) throws {
    let found = try entries()
    guard let entry = found.first(where: { $0.name == name }) else { return }
    if KeptName.isUndo(path(of: entry)) { return try forget(path(of: entry)) }
    let own = path(of: entry)
    let folder = OldExternalFiles.folder(of: own)
    let others = found.filter {
      $0.name != name && OldExternalFiles.folder(of: path(of: $0)) == folder
    }
    let files = OldExternalFiles(store: own)
    // The owner of a file that is not in the list is unknown.
    if folder != OldExternalFiles.folder(of: store), try !files.isShared(but: others.map(\.name)) {
      let needed = Set(others.flatMap(\.externalFiles))
      try files.remove(entry.externalFiles.filter { !needed.contains($0) })
      if others.isEmpty { try OldExternalFiles.removeEmptyFolders(of: own) }
    }
    try forget(own)
  }

  private func write(_ entries: [Entry], syncsName: Bool = true) throws {
    guard !entries.isEmpty else {
      if try Files.removeRegularFile(path) { try Files.syncDirectory(Files.parent(of: path)) }
      return
    }
    // Who may read the store may know what is kept of it.
    let mode = try Files.fileStatusIfPresent(store)?.mode ?? 0o600
    try Files.writeFileAtomically(
      VersionedFile(List(stores: entries)).sealed(), to: path,
      mode: FilePermissions(rawValue: CInterop.Mode(mode & 0o666 | 0o600)), syncsName: syncsName)
  }

  // MARK: Names

  /// A free name for a store that is kept now: `STORE.before-TIME`, with a number if it is taken.
  ///
  /// - Parameter isTaken: whether a name that nothing has can be used for another reason.
  func freeName(_ kind: KeptStoreKind, isTaken: (FilePath) throws -> Bool = { _ in false }) throws
    -> FilePath
  {
    try freeName(kind, isUndo: false, isTaken: isTaken)
  }

  /// A free name for the journal of an edit: `STORE.before-TIME.undo`.
  func freeUndoName() throws -> FilePath {
    try freeName(.before, isUndo: true) { _ in false }
  }

  private func freeName(
    _ kind: KeptStoreKind, isUndo: Bool, isTaken: (FilePath) throws -> Bool
  ) throws -> FilePath {
    var name = KeptName(
      store: store.lastComponent?.string ?? "", kind: kind, time: Self.timestamp(), isUndo: isUndo)
    let folder = store.removingLastComponent()
    while try Self.isOccupied(folder.appending(name.text))
      || isTaken(folder.appending(name.text))
    {
      name.number += 1
    }
    return folder.appending(name.text)
  }

  /// Whether anything has the name, or one that SQLite would take for a part of it.
  static func isOccupied(_ store: FilePath) throws -> Bool {
    try StoreFile.suffixes.contains { suffix in
      try Files.fileStatusIfPresent(FilePath("\(store)\(suffix)"), followLinks: false) != nil
    }
  }

  /// Whether the name is one of those above.
  static func isName(_ name: FilePath.Component, of store: FilePath) -> Bool {
    kind(of: name, beside: store) != nil
  }

  /// What a store of that name is, if Godwit gives it.
  static func kind(of name: FilePath.Component, beside store: FilePath) -> KeptStoreKind? {
    let own = store.lastComponent?.string ?? ""
    guard let kept = KeptName(name.string), kept.store.utf8.elementsEqual(own.utf8) else {
      return nil
    }
    return kept.kind
  }

  /// The present time in UTC, such as `20261231-235959`.
  private static func timestamp() -> String {
    let seconds = WallClock.now() / 1_000_000_000
    // A formatter takes a tenth of a millisecond to make, which a fleet of small stores notices.
    var days = seconds / 86_400 + 719_468
    let era = days / 146_097
    days -= era * 146_097
    let year = (days - days / 1460 + days / 36_524 - days / 146_096) / 365
    let day = days - (365 * year + year / 4 - year / 100)
    let month = (5 * day + 2) / 153
    let isNextYear = month >= 10
    let time = seconds % 86_400
    func two(_ number: Int64) -> String { number < 10 ? "0\(number)" : "\(number)" }
    return "\(year + era * 400 + (isNextYear ? 1 : 0))\(two(isNextYear ? month - 9 : month + 3))"
      + "\(two(day - (153 * month + 2) / 5 + 1))-"
      + "\(two(time / 3600))\(two(time / 60 % 60))\(two(time % 60))"
  }
}

extension KeptName {
  /// Whether the name of a kept store is that of an undo file, with only the pages that an edit
  /// changed.
  package static func isUndo(_ kept: FilePath) -> Bool {
    kept.lastComponent.flatMap { KeptName($0.string) }?.isUndo == true
  }

  /// Whether a name is that of a kept store next to the list of kept stores that belongs to it.
  ///
  /// - Parameter names: the names in the same folder.
  package static func isKept(_ name: String, beside names: Set<String>) -> Bool {
    KeptName(name).map { names.contains($0.store + StoreCompanion.keptList.rawValue) } ?? false
  }

  /// The store next to which Godwit keeps this one; nil where it is no kept store.
  package static func owner(of path: FilePath) throws -> FilePath? {
    guard let kept = path.lastComponent.flatMap({ KeptName($0.string) }) else { return nil }
    let owner = Files.parent(of: path).appending(kept.store)
    return try Files.fileStatusIfPresent(KeptStores(of: owner).path, followLinks: false) == nil
      ? nil : owner
  }

  /// Whether a name is that of a store kept before a migration of another one, next to it.
  package static func isOlder(_ kept: FilePath, than store: FilePath) -> Bool {
    guard let name = kept.lastComponent, Files.parent(of: kept) == Files.parent(of: store) else {
      return false
    }
    return KeptStores.kind(of: name, beside: store) == .before
  }
}
