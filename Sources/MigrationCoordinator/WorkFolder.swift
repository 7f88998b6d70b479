import Foundation
import MigrationStatus
import Planning
import StoreFormat
import StoreNames
import SystemCalls
package import SystemPackage

// (1) Godwit works only in folders that it made and marked; a folder without the mark is left alone
// unless nothing is in it yet.
// (2) Nothing is removed but regular files whose names Godwit gives, one by one, and folders with
// nothing in them. Links are never followed.
// (3) The mark goes last, so that what a kill leaves is still known for what it is.

/// A folder that Godwit created for one migration.
struct WorkFolder {
  let path: FilePath

  /// The contents of `godwit.json`, which declares that the folder is Godwit's, and its purpose.
  struct Mark: Codable, Hashable {
    static let format = 1

    var format = Mark.format
    /// Identifies this folder.
    var id: UUID
    var store: String
    var destination: String
    /// Whether the parent folder was created along with it, and is removed with it.
    var madeParent: Bool
  }

  /// The mark, nil if there is none or it is damaged.
  ///
  /// - Throws: `PlaceError.workFolderForeign`, for the mark of another version of Godwit.
  func mark() throws -> Mark? {
    let file = WorkFile.mark.path(in: path)
    let status = try Files.fileStatusIfPresent(file, followLinks: false)
    let limit = 1 << 16
    guard let status, status.kind == .file, status.size <= limit else { return nil }
    let bytes = Data(try Files.readFile(file, limit: limit))
    if let mark = try? JSONDecoder().decode(Mark.self, from: bytes), mark.format == Mark.format {
      return mark
    }
    guard let other = try? JSONDecoder().decode(Format.self, from: bytes) else { return nil }
    throw PlaceError.workFolderForeign(path, .otherFormat(other.format))
  }

  /// What the marks of all versions have in common.
  private struct Format: Decodable { var format: Int }

  /// Checks that Godwit created the folder, or that it contains at most its lock.
  ///
  /// - Throws: `PlaceError.workFolderForeign`.
  func requireOwn() throws {
    let status = try Files.fileStatus(path, followLinks: false)
    switch status.kind {
    case .directory: break
    case .symbolicLink: throw PlaceError.workFolderForeign(path, .link)
    case .file, .other: throw PlaceError.workFolderForeign(path, .noFolder)
    }
    // In a folder that all users can write to, such as /tmp, any user may have made it, with its
    // mark and journal.
    let around = try Files.fileStatus(Files.parent(of: path))
    guard [Processes.user, around.owner].contains(status.owner) else {
      throw PlaceError.workFolderForeign(path, .otherOwner)
    }
    if try mark() != nil { return }
    let foreign = try Files.listDirectory(path).filter { !WorkFile.precedesMark($0) }
    if let first = foreign.first {
      throw PlaceError.workFolderForeign(path, .unmarked(holds: first.string))
    }
  }

  /// The mark of the folder, which is written if there is none.
  ///
  /// - Precondition: the caller holds the lock of the folder.
  /// - Throws: `PlaceError.workFolderForeign`, if the folder is of another destination.
  func takeOver(for paths: MigrationPaths, store: FilePath, madeParent: Bool) throws -> Mark {
    guard let mark = try mark() else {
      let mark = Mark(
        id: UUID(), store: store.string, destination: paths.destination.string,
        madeParent: madeParent)
      // The folder's own name is not synced either; what is in the folder comes after the mark.
      try Files.writeFileAtomically(
        Array(JSONEncoder().encode(mark)), to: paths.mark, syncsName: false)
      return mark
    }
    guard mark.destination == paths.destination.string else {
      throw PlaceError.workFolderForeign(path, .otherDestination(mark.destination))
    }
    return mark
  }

  /// Removes all files and folders of a migration except the mark and the lock.
  ///
  /// - Returns: entries that remain because their names are not Godwit's.
  @discardableResult
  func clear(keeping: Set<FilePath> = []) throws -> [FilePath] {
    var left: [FilePath] = []
    for name in try Files.listDirectory(path) {
      let entry = path.appending(name)
      if keeping.contains(entry) { continue }
      switch WorkFile(name) {
      case .mark, .lock: break
      case .stageFolder: left += try WorkFolder(path: entry).remove()
      case .stageSupport:
        try ExternalDataFolder.remove(support: entry)
        if try Files.fileStatusIfPresent(entry, followLinks: false) != nil { left.append(entry) }
      case nil: left.append(entry)
      case _?: if try !Files.removeRegularFile(entry) { left.append(entry) }
      }
    }
    return left
  }

  /// Removes the folder with everything that Godwit created in it.
  ///
  /// - Returns: entries that remain because Godwit did not create them; then the folder and its
  ///   mark remain too.
  @discardableResult
  func remove() throws -> [FilePath] {
    guard let status = try Files.fileStatusIfPresent(path, followLinks: false) else { return [] }
    guard status.kind == .directory else { return [path] }
    let mark = try mark()
    // The journal goes last: after a kill it identifies what is left.
    let journal = WorkFile.swapJournal.path(in: path)
    let left = try clear(keeping: [journal])
    try Files.removeRegularFile(journal)
    guard left.isEmpty else { return left }
    try StatusPlace(of: path).remove()
    for name in try Files.listDirectory(path) {
      guard let file = WorkFile(name), [.mark, .lock].contains(file) else { continue }
      try Files.removeRegularFile(path.appending(name))
    }
    try Files.removeDirectory(path)
    if mark?.madeParent == true { try Files.removeDirectory(Files.parent(of: path)) }
    return []
  }
}

extension VersionedFile {
  /// The content of a file in a work folder; nil where it is missing or damaged.
  ///
  /// - Throws: `PlaceError.workFolderForeign`, for a file of another version, which alone knows its
  ///   meaning.
  package static func content(at path: FilePath, limit: Int) throws -> Content? {
    guard try Files.fileStatusIfPresent(path, followLinks: false)?.kind == .file else {
      return nil
    }
    let bytes = try Files.readFile(path, limit: limit)
    do {
      return try Self(sealed: bytes).content
    } catch let error as OtherFormatVersion {
      throw PlaceError.workFolderForeign(
        Files.parent(of: path), .otherFormat(error.found ?? 0))
    } catch is DecodingError {
      return nil
    }
  }
}

/// Why Godwit does not work in a folder.
package enum WorkFolderFault: Hashable, Sendable {
  /// The path is that of a file.
  case noFolder
  /// The path is a symbolic link.
  case link
  /// It belongs to another user.
  case otherOwner
  /// It has no mark of Godwit's and contains this entry.
  case unmarked(holds: String)
  /// Another version of Godwit created it, whose format has this number.
  case otherFormat(Int)
  /// It belongs to the migration to this destination.
  case otherDestination(String)
}
