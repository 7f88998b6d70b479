import Planning
import StoreFormat
import Survey
import SystemCalls
import SystemPackage

/// The moment at which a new file takes the name of a store; all other processes are kept from both
/// files.
///
/// A process that opens the old file just before waits for its lock. Once it has the lock, SQLite
/// writes its changes to logs next to the name by which it was opened. The new file has that name
/// by then, and the next process that opens it would bring the changes of the old file into it. So
/// the old file gets the name back before its lock ends.
struct NameExchange {
  let store: FilePath
  /// The exclusive lock of the old file.
  let old: RegionLock
  /// The exclusive lock of the new file.
  let new: RegionLock
  /// Another name of the old file, which it gives up to get the store's back; nil where the file
  /// system gives a file only one.
  let oldName: FilePath?
  /// The name of the new file until then.
  let newName: FilePath
  /// Whether the new file has to stay where it does not become the store.
  let keepsNew: Bool

  /// How many tenths of a second to wait for a process that has opened the wrong file; many apps
  /// wait as long for a lock.
  private static let patience = 50

  /// Gives the new file the name, unless a process has opened the old one for writing in time.
  ///
  /// - Returns: what failed once the new file had the name for good.
  /// - Throws: `StoreError` with `openForWriting`, and whatever the renaming does. The old file has
  ///   the name then.
  func exchange(reached point: FaultPoint) throws -> [HandoverNote] {
    // A process that is found only after the rename means a way back, which a kill can prevent.
    try SourceAccess.requireNoWriters(of: store, holding: old)
    let oldFile = try old.status
    do {
      try Files.rename(newName, to: store)
    } catch {
      // Some network file systems report a failure after they have done the rename.
      guard (try? new.status.isSameFile(as: Files.fileStatus(store))) == true else { throw error }
    }
    point.reached()
    let writers = writers(of: oldFile)
    if writers.isEmpty { return [] }
    guard hasGivenBack() else {
      // An old file without any name has no other reader.
      var notes: [HandoverNote] = []
      HandoverNote.collect(.notRemoved, at: FilePath("\(store) (deleted)"), in: &notes) {
        try retire(old, keepsContent: oldName != nil)
      }
      return notes
    }
    try retire(new, keepsContent: keepsNew)
    throw StoreError(problem: .openForWriting(by: writers), store: store)
  }

  /// The other processes that have the old file open for writing.
  private func writers(of oldFile: FileStatus) -> [Int32] {
    if old.isOnlyOpening { return [] }
    // So Linux shows a name that its file has lost to another one.
    return Processes.writers(of: FilePath("\(store) (deleted)"), being: oldFile)
  }

  /// Gives the old file its name again; whether it has it.
  private func hasGivenBack() -> Bool {
    guard let oldName else { return false }
    do {
      if keepsNew { try Files.link(from: store, to: newName) }
      try Files.rename(oldName, to: store)
      try Files.syncDirectory(Files.parent(of: store))
    } catch {
      return (try? old.status.isSameFile(as: Files.fileStatus(store))) == true
    }
    return true
  }

  /// Waits until those have given up who have opened a file that has lost the store's name.
  ///
  /// After that SQLite finds no database in it, unless its content is needed.
  private func retire(_ file: RegionLock, keepsContent: Bool) throws {
    for _ in 0..<Self.patience where !file.isOnlyOpening {
      Processes.sleep(microseconds: 100_000)
    }
    if !keepsContent { try file.clearStart() }
  }
}
