package import SystemPackage

/// A file or folder of Godwit's next to a store, by what follows the name of the store.
package enum StoreCompanion: String, Hashable, Sendable, CaseIterable {
  /// The work folder, unless another place was requested.
  case work = ".godwit"
  /// The record of the last run.
  case record = ".godwit-status.json"
  /// The list of the old stores that are kept.
  case keptList = ".godwit-kept.json"
  /// A small new store until it takes the place of the old one.
  case new = ".godwit-new"
  /// The folder of a migration in stages with code between them.
  case stages = ".godwit-stages"
  /// A result that cannot be renamed from its work folder, whose identifier follows.
  case result = ".godwit-result-"
  /// A store while it is generated, and its support folder, before an identifier.
  case partial = ".partial-"

  /// Its path next to a store.
  package func path(of store: FilePath) -> FilePath { FilePath("\(store)\(rawValue)") }

  /// The path of the store next to which it is; nil for any other path.
  package func store(of path: FilePath) -> FilePath? {
    let name = path.lastComponent?.string ?? ""
    guard name.hasSuffix(rawValue), name.utf8.count > rawValue.utf8.count else { return nil }
    return FilePath(String(path.string.dropLast(rawValue.count)))
  }

  /// Whether a name may be that of a work folder in a requested place, such as
  /// `Shop.sqlite.godwit-1f2e3d4c`.
  package static func isRequestedWork(_ name: String) -> Bool {
    name.contains("\(Self.work.rawValue)-")
  }
}
