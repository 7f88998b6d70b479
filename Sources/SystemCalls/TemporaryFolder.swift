import Foundation
package import SystemPackage

/// A folder that is removed with the object, accessible to this user only.
package final class TemporaryFolder: Sendable {
  /// The path of the folder.
  package let path: FilePath

  /// Creates the folder among the system's temporary files.
  package init() throws(SystemCallError) {
    path = FilePath(NSTemporaryDirectory()).appending("godwit-\(UUID().uuidString)")
    guard try Files.createDirectory(path, mode: .ownerReadWriteExecute) else {
      throw SystemCallError(operation: .createDirectory, path: path, errno: .fileExists)
    }
  }

  deinit {
    // Only this user can write here, so all files are of this process. What cannot be removed lies
    // where the system removes it in time.
    for name in (try? Files.listDirectory(path)) ?? [] {
      _ = try? Files.removeRegularFile(path.appending(name))
    }
    _ = try? Files.removeDirectory(path)
  }
}
