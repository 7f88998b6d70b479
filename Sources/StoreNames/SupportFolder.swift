package import SystemPackage

/// The folder with the external binary files of a store, next to it: `/data/.Shop_SUPPORT`.
package enum SupportFolder {
  private static let suffix = "_SUPPORT"
  private static let partExtension = "godwit-part"

  /// The folder in it that has the files.
  package static let data: FilePath.Component = "_EXTERNAL_DATA"

  /// The path of the folder of a store.
  ///
  /// The store that an edit has changed, and the file by which it is undone, have the same.
  package static func path(of path: FilePath) -> FilePath {
    let store = KeptName.edited(by: path) ?? path
    let stem = store.lastComponent?.stem ?? ""
    return store.removingLastComponent().appending(".\(stem)\(suffix)")
  }

  /// The name without extension of the stores to which a folder of this name belongs; nil for any
  /// other name.
  package static func stem(of name: String) -> String? {
    guard name.hasPrefix("."), name.hasSuffix(suffix), name.utf8.count > suffix.utf8.count + 1
    else { return nil }
    return String(name.dropFirst().dropLast(suffix.count))
  }

  /// Where a file is made that gets its own name once it is complete.
  package static func unfinished(_ file: FilePath) -> FilePath {
    FilePath("\(file).\(partExtension)")
  }

  /// The name of the file that is not complete under this one; nil for any other name.
  package static func name(ofUnfinished name: FilePath.Component) -> FilePath.Component? {
    name.extension == partExtension ? FilePath.Component(name.stem) : nil
  }
}
