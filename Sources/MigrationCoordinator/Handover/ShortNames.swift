import MigrationStatus
import Planning
import StoreNames
import SystemCalls
import SystemPackage

extension MigrationRequest {
  /// Throws where the names that are made from those of the stores would be too long, temporary
  /// ones included.
  func requireShortNames() throws {
    var suffixes = [MigrationPaths.longestSuffix]
    if work != nil { suffixes.append(MigrationPaths.longestBesideDestination) }
    if output == nil { suffixes += KeptStores.longestSuffixes }
    let record = keepsRecord ? [OutcomeFile.longestSuffix] : []
    try Self.requireShort(destination, suffixes: suffixes + record)
  }

  private static func requireShort(_ path: FilePath, suffixes: [String]) throws {
    let most = 255 - (suffixes.map(\.utf8.count).max() ?? 0)
    guard (path.lastComponent?.string.utf8.count ?? 0) <= most else {
      throw PlaceError.nameTooLong(path, most: most)
    }
  }
}

extension KeptStores {
  /// The longest of what is put behind the name of a store.
  static let longestSuffixes = [
    ".before-20261231-235959.99-journal", ".before-20261231-235959.99.undo",
    StoreCompanion.keptList.rawValue + String(repeating: "0", count: Files.longestTemporarySuffix),
  ]
}

extension MigrationPaths {
  /// The longest of what is put behind the name of an output.
  static let longestSuffix = "-journal"
  /// The longest of what is put behind it where the work folder lies elsewhere.
  static let longestBesideDestination =
    "\(StoreCompanion.result.rawValue)00000000-0000-0000-0000-000000000000-journal"
}
