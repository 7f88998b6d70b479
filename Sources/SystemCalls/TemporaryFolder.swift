import Foundation
package import SystemPackage

/// A folder that is removed with the object, with all that is in it; accessible to this user only.
package final class TemporaryFolder: Sendable {
  /// The path of the folder.
  package let path: FilePath

  /// No program makes folders as deep as this here.
  private static let maximumDepth = 16

  /// Creates the folder among the system's temporary files.
  package init() throws(SystemCallError) {
    path = FilePath(NSTemporaryDirectory()).appending("godwit-\(UUID().uuidString)")
    guard try Files.createDirectory(path, mode: .ownerReadWriteExecute) else {
      throw SystemCallError(operation: .createDirectory, path: path, errno: .fileExists)
    }
  }

  deinit { Self.remove(path, depth: 0) }

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
