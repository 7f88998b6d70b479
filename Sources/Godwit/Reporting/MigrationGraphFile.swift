public import Foundation
import Mapping
import Pages
import Planning
public import SystemPackage

/// The file for a picture of a plan: its tables in their partitions, and what joins them.
///
/// ```swift
/// let file = try MigrationGraphFile("plan.svg", of: migration)
/// try file.write(try await migration.prepare())
/// ```
public struct MigrationGraphFile: Sendable {
  private let file: OutputFile
  private let isDrawn: Bool

  /// Checks that the picture can be written and replaces nothing but an earlier one.
  ///
  /// - Parameters:
  ///   - path: the file, which ends in `.svg`, or in `.dot` for the language of Graphviz.
  ///   - migration: the migration whose files are not replaced.
  /// - Throws: `MigrationFailure`, if it does neither, or cannot be written.
  public init(_ path: FilePath, of migration: StoreMigration) throws(MigrationFailure) {
    let kind = path.extension?.lowercased()
    guard kind == "svg" || kind == "dot" else {
      throw MigrationFailure(.usage, "\(path) ends neither in .svg nor in .dot: rename it.")
    }
    isDrawn = kind == "svg"
    file = try OutputFile(
      path, besides: [migration.store, migration.output].compactMap(\.self)
    ) { bytes in
      let text = String(decoding: bytes.prefix(128), as: UTF8.self)
      return text.hasPrefix(GraphPicture.fileBeginning) || text.hasPrefix(GraphPicture.dotBeginning)
    }
  }

  /// Checks that the picture can be written and replaces nothing but an earlier one.
  ///
  /// - Throws: `MigrationFailure`, as for a path.
  public init(_ file: URL, of migration: StoreMigration) throws(MigrationFailure) {
    try self.init(FilePath(file), of: migration)
  }

  /// Writes the picture of the first stage.
  ///
  /// - Throws: `MigrationFailure`, if there is nothing to draw, or it cannot be written.
  public func write(_ preparation: StoreMigration.Preparation) throws(MigrationFailure) {
    guard let plan = preparation.plan else {
      let reason =
        preparation.isNeeded
        ? "it runs object by object, and divides no tables"
        : "no migration is needed"
      throw MigrationFailure(
        .usage, "there is no plan to draw, since \(reason): leave \(option: .graph) out.")
    }
    let graph = PartitionGraph(plan)
    let text: String
    if isDrawn {
      guard let picture = graph.picture else {
        throw MigrationFailure(
          .usage,
          "\(CountText(graph.tables.count, "table")) are too many for a picture: name a file that "
            + "ends in .dot.")
      }
      text = picture.file
    } else {
      text = graph.dot
    }
    try file.write(text, as: "the picture")
  }
}
