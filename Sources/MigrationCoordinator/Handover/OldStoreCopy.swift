import Planning
import Schema
import StoreFormat
import StoreNames
import Survey
import SystemCalls
package import SystemPackage

// (1) The store and what is kept of it are only read.
// (2) The output has its name once it is whole and on the disk; its external files are there
// before.

extension StoreUpkeep {
  /// Writes a store that was kept, the latest one or a certain one, to another file, with its
  /// external files.
  ///
  /// - Returns: the name that it is kept under, and the path of the output.
  /// - Throws: `PlaceError.outputExists`, `keptMissing` or `keptChanged`; `StoreError` as
  ///   `editOutdated` where an edit cannot be undone any more, `inUse`, or `companionName`.
  package func copyOld(
    _ wanted: FilePath? = nil, to path: FilePath
  ) throws -> (kept: FilePath, output: FilePath) {
    let output = try Files.resolvedFolder(of: path)
    try CompanionName.requireFree(output, besides: [store])
    return try withWorkspace { _ in
      for suffix in StoreFile.suffixes {
        let found = FilePath("\(output)\(suffix)")
        guard try Files.fileStatusIfPresent(found, followLinks: false) == nil else {
          throw PlaceError.outputExists(found)
        }
      }
      let entry = try entry(wanted: wanted)
      let old = kept.path(of: entry)
      try kept.requireThere(entry)
      let isUndo = KeptName.isUndo(old)
      let folder = try TemporaryFolder(beside: output)
      let copy = folder.path.appending("old.sqlite")
      if isUndo { try copyUndone(by: old, to: copy) } else { try copyKept(old, to: copy) }
      try bringExternalFiles(of: isUndo ? store : old, namedBy: copy, to: output)
      try Files.syncFile(copy)
      try Files.renameNoReplace(copy, to: output)
      try Files.syncDirectory(Files.parent(of: output))
      return (old, output)
    }
  }

  /// Copies a store that is kept as a whole.
  private func copyKept(_ old: FilePath, to copy: FilePath) throws {
    for suffix in StoreFile.changeSuffixes {
      let log = try Files.fileStatusIfPresent(FilePath("\(old)\(suffix)"), followLinks: false)
      guard log?.size ?? 0 == 0 else { throw PlaceError.keptChanged(old) }
    }
    let lock = try RegionLock.ofStore(old, kind: .shared)
    try withExtendedLifetime(lock) {
      try Files.cloneOrCopy(from: old, to: copy)
      try Files.setModified(copy, from: old)
    }
  }

  /// Copies the store that was edited, and has SQLite undo the edit in the copy.
  private func copyUndone(by undo: FilePath, to copy: FilePath) throws {
    guard let journal = try RollbackJournal(undo), let note = UndoNote(journal) else {
      throw PlaceError.keptChanged(undo)
    }
    let lock = try RegionLock.ofStore(store, kind: .shared)
    try withExtendedLifetime(lock) {
      // Before, since it takes long to copy what is of no use, and after, since it takes long.
      try requireLeft(note, by: journal, undo)
      try Files.cloneOrCopy(from: store, to: copy)
      try requireLeft(note, by: journal, undo)
    }
    try Files.cloneOrCopy(from: undo, to: RollbackJournal.path(of: copy))
    try StoreEdit.undo(copy)
    try Files.setModified(copy, to: note.before.modified)
  }

  private func requireLeft(
    _ note: UndoNote, by journal: RollbackJournal, _ undo: FilePath
  ) throws {
    guard try note.isLeft(in: store, by: journal) else {
      throw StoreError(problem: .editOutdated(of: store), store: undo)
    }
  }

  /// Gives the output the external files that it names.
  private func bringExternalFiles(
    of old: FilePath, namedBy copy: FilePath, to output: FilePath
  ) throws {
    let files = OldExternalFiles(store: old)
    guard let missing = try files.missing(for: output) else {
      throw PlaceError.outputExists(OldExternalFiles.folder(of: output))
    }
    if missing.isEmpty { return }
    let named = try OldExternalFiles(store: copy).named()
    try files.keep(missing.filter { named.contains($0.string) }, for: output)
  }
}
