import Foundation
import SystemCalls
import SystemPackage

/// Remembers a swap that has begun, so that what a kill in its midst leaves is known for what it
/// is.
///
/// Between its two steps the new store bears the name under which the old one will be kept.
struct SwapJournal {
  let path: FilePath

  private struct Entry: Codable {
    var kept: String
    var device: UInt64
    var inode: UInt64
  }

  func begin(_ result: FilePath, named kept: FilePath) throws {
    let status = try Files.fileStatus(result)
    let entry = Entry(kept: kept.string, device: status.device, inode: status.inode)
    try Files.writeFileAtomically(Array(JSONEncoder().encode(entry)), to: path)
  }

  /// Removes a new store that was named and never exchanged; the old one is in its place then.
  func recover() throws {
    guard try Files.fileStatusIfPresent(path) != nil else { return }
    let bytes = try Files.readFile(path, limit: 1 << 16)
    if let entry = try? JSONDecoder().decode(Entry.self, from: Data(bytes)),
      let status = try Files.fileStatusIfPresent(FilePath(entry.kept)),
      status.device == entry.device, status.inode == entry.inode
    {
      try Files.remove(FilePath(entry.kept))
    }
    try Files.remove(path)
  }
}
