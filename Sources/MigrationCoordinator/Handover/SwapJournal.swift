import Foundation
import Planning
import SystemCalls
import SystemPackage

/// Records that a result is about to leave the work folder, so that its file is recognized after a
/// kill.
///
/// Between the two steps of a swap the new store has the path under which the old one will be kept.
struct SwapJournal {
  private let path: FilePath
  private let destination: FilePath

  init(_ paths: MigrationPaths) {
    path = paths.swapJournal
    destination = paths.destination
  }

  /// The recorded path, and the file that gets it.
  private struct Entry: ResumableFile {
    static let formatVersion = 1

    var name: String
    var device: UInt64
    var inode: UInt64
    /// Whether the path is the result's final one.
    var isLast: Bool
  }

  /// Records that a result gets a path: its final one, or the one from which it will be exchanged.
  func begin(_ result: FilePath, named name: FilePath, isLast: Bool = false) throws {
    let status = try Files.fileStatus(result)
    let entry = Entry(
      name: name.string, device: status.device, inode: status.inode, isLast: isLast)
    try Files.writeFileAtomically(Array(JSONEncoder().encode(VersionedFile(entry))), to: path)
  }

  /// Whether the file at a path is a result that has reached its final place.
  func isFinished(_ result: FilePath) throws -> Bool {
    guard let entry = try entry(), entry.isLast else { return false }
    return try isThere(entry, at: result)
  }

  /// Removes a new store that was named and never exchanged: the old one is still in its place.
  func recover() throws {
    if let entry = try entry(), !entry.isLast, isOwnName(entry.name),
      try isThere(entry, at: FilePath(entry.name))
    {
      try Files.removeRegularFile(FilePath(entry.name))
    }
    try Files.removeRegularFile(path)
  }

  /// The entry, nil if there is none or it is damaged.
  ///
  /// - Throws: `MigrationError.workFolderForeign`, for a journal of another version of Godwit.
  private func entry() throws -> Entry? {
    guard try Files.fileStatusIfPresent(path, followLinks: false)?.kind == .file else {
      return nil
    }
    let bytes = try Files.readFile(path, limit: 1 << 16)
    do {
      return try JSONDecoder().decode(VersionedFile<Entry>.self, from: Data(bytes)).content
    } catch let error as OtherFormatVersion {
      // Only that version knows whether a new store still has a path that is not its final one.
      throw MigrationError.workFolderForeign(
        Files.parent(of: path), .otherFormat(error.found ?? 0))
    } catch is DecodingError {
      return nil
    }
  }

  /// Whether a new store may have that path before the exchange: the journal itself is not trusted.
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
