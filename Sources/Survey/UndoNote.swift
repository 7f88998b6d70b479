import Planning
package import StoreFormat
import StoreNames
import SystemCalls
package import SystemPackage

/// What an edit of a store was, at the end of the journal that undoes it.
package struct UndoNote: ResumableFile, Hashable {
  /// The version of the note.
  package static let formatVersion = 1

  /// The identity of a store.
  package struct State: Hashable, Codable, Sendable {
    /// The size of its main file.
    package var bytes: Int64
    /// The change counter of its header.
    package var counter: UInt32
    /// The time of its last change, in nanoseconds since 1970.
    package var modified: Int64
    /// The checksum of its version hashes.
    package var model: String

    /// Takes what is known of a store.
    package init(bytes: Int64, counter: UInt32, modified: Int64, model: String) {
      (self.bytes, self.counter, self.modified, self.model) = (bytes, counter, modified, model)
    }
  }

  /// The version of Godwit that made the edit.
  package var godwit: String
  /// The store's identifier, `Z_UUID`.
  package var uuid: String
  /// The store before the edit and after it.
  package var before, after: State
  /// The checksum of the pages that took the place of others (`RollbackJournal`).
  package var pagesAfter: UInt64
  /// The external files that the new store does not name.
  package var obsolete: [String]

  /// Takes what is known of an edit.
  package init(
    godwit: String, uuid: String, before: State, after: State, pagesAfter: UInt64,
    obsolete: [String]
  ) {
    (self.godwit, self.uuid, self.before, self.after) = (godwit, uuid, before, after)
    (self.pagesAfter, self.obsolete) = (pagesAfter, obsolete)
  }

  /// The note of a journal; nil where it has none.
  package init?(_ journal: RollbackJournal) {
    guard let found = try? VersionedFile<UndoNote>(sealed: journal.note).content else {
      return nil
    }
    self = found
  }

  /// Whether a store is as the edit has left it, whose journal that is.
  ///
  /// - Throws: `SystemCallError` and `StoreError` where it cannot be read.
  package func isLeft(in store: FilePath, by journal: RollbackJournal) throws -> Bool {
    let now = try SourceFingerprint(of: store)
    // A copy may have another time. Without a write-ahead log, each write raises the counter.
    return try now.bytes == after.bytes
      && (now.modified == after.modified || !StoreHeader(reading: store).usesWAL)
      && now.changeCounter == after.counter && !now.hasLog
      && journal.checksum(ofPagesIn: store) == pagesAfter
  }
}

/// The journal of an edit under the name that it has in the end, as the store that it would give
/// back.
struct UndoneStore {
  /// The store that was edited.
  let store: FilePath
  private let path: FilePath
  private let journal: RollbackJournal
  private let note: UndoNote

  /// Opens it; nil where a file is none.
  init?(_ path: FilePath) throws {
    guard let store = KeptName.edited(by: path), let journal = try RollbackJournal(path),
      let note = UndoNote(journal)
    else { return nil }
    (self.path, self.store, self.journal, self.note) = (path, store, journal, note)
  }

  /// Writes the pages of the old store that the new one has others of, to be read over that.
  ///
  /// - Throws: `StoreError` with `editOutdated`, where the store is not as the edit has left it.
  func writePages(to target: FilePath) throws {
    guard try note.isLeft(in: store, by: journal) else {
      throw StoreError(problem: .editOutdated(of: store), store: path)
    }
    try PageEdit.make(of: store, undoing: journal, at: target)
  }
}
