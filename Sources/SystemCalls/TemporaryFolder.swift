import Foundation
import Synchronization
package import SystemPackage

/// A folder that is removed with the object, with all that is in it; accessible to this user only.
package final class TemporaryFolder: Sendable {
  /// The path of the folder.
  package let path: FilePath

  private let isMoved = Mutex(false)

  /// No program makes folders as deep as this here.
  private static let maximumDepth = 16

  /// Creates the folder among the system's temporary files.
  package init() throws(SystemCallError) {
    path = FilePath(NSTemporaryDirectory()).appending("godwit-\(UUID().uuidString)")
    guard try Files.createDirectory(path, mode: .ownerReadWriteExecute) else {
      throw SystemCallError(operation: .createDirectory, path: path, errno: .fileExists)
    }
  }

  /// Creates the folder next to a file or folder that does not exist yet.
  package init(beside output: FilePath) throws(SystemCallError) {
    let folder = try Files.resolved(Files.parent(of: output))
    path = folder.appending(".godwit-\(UUID().uuidString)")
    guard try Files.createDirectory(path) else {
      throw SystemCallError(operation: .createDirectory, path: path, errno: .fileExists)
    }
  }

  /// Creates a folder of this name in another one, which belongs to this user alone.
  package init(named name: FilePath.Component, in folder: FilePath) throws(SystemCallError) {
    path = folder.appending(name)
    guard try Files.createDirectory(path, mode: .ownerReadWriteExecute) else {
      throw SystemCallError(operation: .createDirectory, path: path, errno: .fileExists)
    }
  }

  deinit { if !isMoved.withLock({ $0 }) { Self.remove(path, depth: 0) } }

  /// Gives the folder its final name and keeps it.
  ///
  /// - Throws: `SystemCallError`, with `.fileExists` where the name is taken.
  package func move(to output: FilePath) throws(SystemCallError) {
    try Files.renameNoReplace(path, to: output)
    isMoved.withLock { $0 = true }
    try Files.syncDirectory(Files.parent(of: output))
  }

  /// Removes a folder of this user's with all that is in it; what links lead to stays.
  static func remove(_ folder: FilePath) { remove(folder, depth: 0) }

  /// Removes a folder with all that is in it; what links lead to stays.
  ///
  /// Only this user can write here, so all of it was made by this process and its workers. What
  /// cannot be removed lies where the system removes it in time.
  private static func remove(_ folder: FilePath, depth: Int) {
    for name in (try? Files.listDirectory(folder)) ?? [] {
      let path = folder.appending(name)
      let kind = try? Files.fileStatusIfPresent(path, followLinks: false)?.kind
      if kind == .directory, depth < maximumDepth {
        remove(path, depth: depth + 1)
      } else {
        _ = try? Files.remove(path)
      }
    }
    _ = try? Files.removeDirectory(folder)
  }
}
