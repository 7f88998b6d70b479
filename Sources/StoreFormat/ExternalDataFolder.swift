package import SystemCalls
package import SystemPackage

/// The folder of a store's external binary data, one file for each value.
package enum ExternalDataFolder {
  /// The length of a file's name, which is a UUID (docs/store-format.md, "External binary data").
  package static let nameLength = 36

  /// Removes the files and folders of a support folder that Godwit created, the folders only if
  /// nothing else is in them.
  ///
  /// Links are neither removed nor followed.
  package static func remove(support: FilePath) throws(SystemCallError) {
    let data = support.appending("_EXTERNAL_DATA")
    guard try Files.fileStatusIfPresent(support, followLinks: false)?.kind == .directory else {
      return
    }
    if try Files.fileStatusIfPresent(data, followLinks: false)?.kind == .directory {
      for name in try Files.listDirectory(data) where name.string.utf8.count == nameLength {
        try Files.removeRegularFile(data.appending(name))
      }
      try Files.removeDirectory(data)
    }
    try Files.removeDirectory(support)
  }
}
