import Mapping
import SystemCalls
package import SystemPackage

/// The files that one command reads and writes: none may be another one.
///
/// A file may have several paths: by links, hard links and folders that are links.
package struct DistinctFiles {
  /// The purpose of a file.
  package enum Use: Hashable, Sendable {
    case store, output, hold, report, receipt, page, junit, sarif, summary

    fileprivate var noun: String {
      switch self {
      case .store: "the store"
      case .output: "the new store"
      case .hold: "the file that holds the migration"
      case .report: "a report"
      case .receipt: "a receipt"
      case .page: "the page"
      case .junit: "the JUnit file"
      case .sarif: "the SARIF file"
      case .summary: "the summary"
      }
    }
  }

  private var places: [FilePath: Use] = [:]
  private var identities: [FileStatus.Identity: Use] = [:]

  package init() {}

  /// Adds a file, which need not exist; several may have the same use.
  ///
  /// - Throws: `MigrationFailure`, if it has another use as well.
  package mutating func add(_ path: FilePath?, as use: Use) throws(MigrationFailure) {
    guard let path else { return }
    let status = try? Files.fileStatusIfPresent(path)
    // Standard error may get several reports.
    if status?.kind == .other { return }
    if let status, let earlier = identities.updateValue(use, forKey: status.identity) {
      try Self.require(earlier, same: use, path)
    }
    // Where there is no folder, the file cannot be written, which its own check reports.
    let place = (try? Files.resolvedFolder(of: path)) ?? path
    if let earlier = places.updateValue(use, forKey: place) {
      try Self.require(earlier, same: use, path)
    }
  }

  private static func require(
    _ earlier: Use, same use: Use, _ path: FilePath
  ) throws(MigrationFailure) {
    guard earlier != use else { return }
    let sentence =
      switch (earlier, use) {
      case (.store, .output):
        "\(path) is the store itself: leave \(option: .output) out to replace it."
      case (.store, .hold), (.output, .hold):
        "\(path) is the store itself: name another file to hold the migration."
      default:
        "\(path) is both \(earlier.noun) and \(use.noun): name another file for one of them."
      }
    throw MigrationFailure(.usage, sentence)
  }
}

extension StoreMigration {
  /// Checks that the files of the migration, and those for its reports, are different ones.
  ///
  /// - Throws: `MigrationFailure`.
  package func requireDistinctFiles(
    reports: [FilePath] = [], receipts: [FilePath] = []
  ) throws(MigrationFailure) {
    var files = DistinctFiles()
    try files.add(store, as: .store)
    try files.add(output, as: .output)
    for path in [pauseFile, handover.swapFile] { try files.add(path, as: .hold) }
    for path in reports { try files.add(path, as: .report) }
    for path in receipts { try files.add(path, as: .receipt) }
  }
}
