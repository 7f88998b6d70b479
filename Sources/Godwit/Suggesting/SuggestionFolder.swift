import Foundation
import SystemCalls
public import SystemPackage

/// The folder for a suggestion: `rename.patch`, `mapping.json` and `migrate.sh`, as far as there is
/// something to write.
public struct SuggestionFolder: Sendable {
  private let folder: FilePath
  private static let shell = "#!/bin/sh\n# godwit check --suggest\n"

  /// Names the folder, which is made once there is something to write.
  public init(_ folder: FilePath) { self.folder = folder }

  /// Writes a suggestion over an earlier one.
  ///
  /// - Returns: the files that were written.
  /// - Throws: `MigrationFailure`, if the folder cannot be made, or a file cannot be written or is
  ///   none of an earlier suggestion.
  public func write(_ suggestion: MigrationSuggestion) throws(MigrationFailure) -> [FilePath] {
    var written: [FilePath] = []
    func write(
      _ name: FilePath.Component, _ text: String, isEarlier: @escaping @Sendable ([UInt8]) -> Bool
    ) throws(MigrationFailure) {
      let path = folder.appending(name)
      let file = try OutputFile(path, besides: [], noun: "suggestion", isEarlier: isEarlier)
      try file.write(text, as: "the store is checked, but the suggestion")
      written.append(path)
    }
    if suggestion.isEmpty { return [] }
    try MappingModelFile.makeFolder(folder)
    if let patch = suggestion.patch {
      try write("rename.patch", patch) { $0.starts(with: "--- ".utf8) }
    }
    if let mapping = suggestion.mapping {
      try write("mapping.json", mapping) { bytes in
        String(decoding: bytes.prefix(200), as: UTF8.self).contains("godwit mapping model")
      }
    }
    let patching = suggestion.patch == nil ? "" : "# After the change of rename.patch:\n"
    let missing =
      suggestion.trial.isPossible
      ? "" : "# This is not enough: a mapping model is needed as well.\n"
    let command = "\(MigrationSuggestion.text(suggestion.command))\n"
    try write("migrate.sh", Self.shell + missing + patching + command) {
      $0.starts(with: Self.shell.utf8)
    }
    return written
  }
}
