import Foundation
package import SystemPackage

/// A folder for files that nobody needs when the value is gone, readable by this user alone.
package final class TemporaryFolder: Sendable {
  package let path: FilePath

  /// Makes the folder where the system keeps temporary files.
  package init() throws(SystemCallError) {
    path = FilePath(NSTemporaryDirectory()).appending("godwit-\(UUID().uuidString)")
    guard try Files.createDirectory(path, mode: .ownerReadWriteExecute) else {
      throw SystemCallError(operation: .createDirectory, path: path, errno: .fileExists)
    }
  }

  deinit {
    // Nobody else may write here, so all files are those of this process. What cannot be removed
    // lies where the system clears up by itself.
    for name in (try? Files.listDirectory(path)) ?? [] {
      _ = try? Files.removeRegularFile(path.appending(name))
    }
    _ = try? Files.removeDirectory(path)
  }
}
