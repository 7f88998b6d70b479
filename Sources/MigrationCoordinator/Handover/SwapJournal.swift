import Foundation
import Planning
import SystemCalls
import SystemPackage

/// Remembers that a result is about to leave the work folder, so that what a kill leaves is known
/// for what it is.
///
/// Between the two steps of a swap the new store bears the name under which the old one will be
/// kept.
struct SwapJournal {
  private let path: FilePath
  private let destination: FilePath

  init(_ paths: MigrationPaths) {
    path = paths.swapJournal
    destination = paths.destination
  }

  private struct Entry: ResumableFile {
    static let formatVersion = 1

    var name: String
    var device: UInt64
    var inode: UInt64
    /// Whether the name is the one that the store keeps.
    var isLast: Bool
  }

  /// Notes that a result gets a name: the last one, or the one from which it will be exchanged.
  func begin(_ result: FilePath, named name: FilePath, isLast: Bool = false) throws {
    let status = try Files.fileStatus(result)
    let entry = Entry(
      name: name.string, device: status.device, inode: status.inode, isLast: isLast)
    try Files.writeFileAtomically(Array(JSONEncoder().encode(VersionedFile(entry))), to: path)
  }

  /// Whether the file at a path is a result that has got its last name.
  func isFinished(_ result: FilePath) throws -> Bool {
    guard let entry = try entry(), entry.isLast else { return false }
    return try isThere(entry, at: result)
  }

  /// Removes a new store that was named and never exchanged; the old one is in its place then.
  func recover() throws {
    if let entry = try entry(), !entry.isLast, isOwnName(entry.name),
      try isThere(entry, at: FilePath(entry.name))
    {
      try Files.removeRegularFile(FilePath(entry.name))
    }
    try Files.removeRegularFile(path)
  }

  /// The entry; nil where there is none that can be read.
  ///
  /// - Throws: `workFolderForeign` where another version of Godwit has left one.
  private func entry() throws -> Entry? {
    guard try Files.fileStatusIfPresent(path, followLinks: false)?.kind == .file else {
      return nil
    }
    let bytes = try Files.readFile(path, limit: 1 << 16)
    do {
      return try JSONDecoder().decode(VersionedFile<Entry>.self, from: Data(bytes)).content
    } catch let error as OtherFormatVersion {
      // Whether a store bears a name that is not its last, only that version can tell.
      throw MigrationError.workFolderForeign(
        Files.parent(of: path), .otherFormat(error.found ?? 0))
    } catch is DecodingError {
      return nil
    }
  }

  /// Whether a new store may have that name before the swap: a journal may say anything.
  private func isOwnName(_ name: String) -> Bool {
    name.hasPrefix("\(destination).before-")
      && Files.parent(of: FilePath(name)) == Files.parent(of: destination)
  }

  private func isThere(_ entry: Entry, at path: FilePath) throws -> Bool {
    let status = try Files.fileStatusIfPresent(path, followLinks: false)
    return status?.kind == .file && status?.device == entry.device
      && status?.inode == entry.inode
  }
}
