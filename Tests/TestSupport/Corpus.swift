import Foundation
package import SystemPackage
package import Testing

/// The folder of real Core Data files, which lies outside the repository.
package enum Corpus {
  /// `GODWIT_CORPUS`, else `../shared/corpus` beside the repository; nil where neither exists.
  package static let folder: FilePath? = {
    let named = ProcessInfo.processInfo.environment["GODWIT_CORPUS"].map { FilePath($0) }
    let repository = FilePath(#filePath).removingLastComponent().removingLastComponent()
      .removingLastComponent()
    let folder = named ?? repository.appending("../shared/corpus")
    return FileManager.default.fileExists(atPath: folder.string) ? folder : nil
  }()

  /// The path of a file of the corpus; traps without one, so ask in tests that need the corpus.
  package static func path(_ relative: String) -> FilePath {
    guard let folder else { preconditionFailure("the test lacks the trait .needsCorpus") }
    return folder.appending(relative)
  }

  /// The bytes of a file of the corpus.
  package static func bytes(_ relative: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: URL(filePath: path(relative).string)))
  }

  /// Folders of cases, good and bad, each with an outcome of its own.
  private static let cases = ["attack/", "field/"]

  /// The sorted relative paths of all files whose name ends so, but for those of cases; empty
  /// without a corpus.
  package static func files(endingIn suffix: String) -> [String] {
    guard let folder, let names = FileManager.default.enumerator(atPath: folder.string) else {
      return []
    }
    return names.compactMap { $0 as? String }
      .filter { name in name.hasSuffix(suffix) && !cases.contains { name.hasPrefix($0) } }
      .sorted()
  }

  /// Copies a store with its `-wal` into a folder, and returns the copy's path.
  package static func copyStore(_ relative: String, to folder: FilePath) throws -> FilePath {
    let source = path(relative)
    guard let name = source.lastComponent else { preconditionFailure("a store has a name") }
    let copy = folder.appending(name)
    for suffix in ["", "-wal"]
    where suffix.isEmpty || FileManager.default.fileExists(atPath: source.string + suffix) {
      try FileManager.default.copyItem(
        atPath: source.string + suffix, toPath: copy.string + suffix)
      // The corpus is read-only, and so is a copy that keeps its permissions.
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o644], ofItemAtPath: copy.string + suffix)
    }
    return copy
  }
}

extension Trait where Self == ConditionTrait {
  /// Skips, and says so, where the corpus is not on this machine.
  package static var needsCorpus: Self {
    .enabled(if: Corpus.folder != nil, "the corpus folder is missing: set GODWIT_CORPUS")
  }
}
