import Foundation
package import SystemPackage

/// A folder for files that nobody needs when the value is gone, readable by this user alone.
package final class TemporaryFolder: Sendable {
  package let path: FilePath
  private let names: [FilePath.Component]

  /// Makes the folder where the system keeps temporary files.
  ///
  /// - Parameter databases: the names of the SQLite files that it will hold, which are all that is
  ///   removed with it.
  package init(databases: [FilePath.Component]) throws(SystemCallError) {
    path = FilePath(NSTemporaryDirectory()).appending("godwit-\(UUID().uuidString)")
    names = databases.flatMap { database in
      ["", "-wal", "-shm", "-journal"].compactMap { FilePath.Component(database.string + $0) }
    }
    guard try Files.createDirectory(path, mode: .ownerReadWriteExecute) else {
      throw SystemCallError(.createDirectory, path, .fileExists)
    }
  }

  deinit {
    // What cannot be removed lies where the system clears up by itself.
    for name in names { _ = try? Files.removeRegularFile(path.appending(name)) }
    _ = try? Files.removeDirectory(path)
  }
}
