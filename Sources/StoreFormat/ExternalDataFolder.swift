package import SystemCalls
package import SystemPackage

/// The folder in which Core Data keeps a store's external binary data, one file for each value.
package enum ExternalDataFolder {
  /// The length of a file's name, which is a UUID (docs/store-format.md, "External binary data").
  package static let nameLength = 36

  /// Removes a support folder that Godwit made: its external files, and the folders themselves if
  /// nothing else is in them.
  ///
  /// Links are left alone and never followed.
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
