import Foundation
import Mapping
import Pages
public import SystemPackage

/// A page of what a check of several stores found: which store can be brought from which version to
/// the target's.
///
/// ```swift
/// let file = try CheckReportPage("check.html", besides: search.entries.map(\.path))
/// try file.write(report)
/// ```
public struct CheckReportPage: Sendable {
  private let file: OutputFile

  /// Checks, before anything else is done, that the page can be written and replaces nothing but an
  /// earlier one.
  ///
  /// - Parameters:
  ///   - path: the file.
  ///   - stores: the stores whose own files are not replaced.
  /// - Throws: `MigrationFailure`, if it cannot, or its name does not end in `.html`.
  public init(_ path: FilePath, besides stores: [FilePath]) throws(MigrationFailure) {
    guard MigrationReportFile.isPage(path) else {
      throw MigrationFailure(
        .usage,
        "\(path) does not end in .html: rename it; \(option: .json) prints the same for programs.")
    }
    file = try OutputFile(path, besides: stores, isEarlier: MigrationReportFile.isReport)
  }

  /// Writes the page, atomically.
  ///
  /// - Throws: `MigrationFailure`, if it cannot be written.
  public func write(_ report: CheckReport) throws(MigrationFailure) {
    try file.write(report.page, as: "the stores are checked, but the page of that")
  }
}

extension CheckReport {
  /// The report as a page of HTML that needs no other file.
  var page: String {
    Page(
      generator: ToolProcess.version,
      title: "Stores for \(target.map(\.string).joined(separator: ", "))",
      outcome: outcome, isGood: exitStatus == 0,
      subtitle: verdict, sections: [matrix, released, remarks, left].compactMap(\.self)
    ).html
  }

  private var outcome: String {
    switch ExitStatus(rawValue: exitStatus) {
    case .done: break
    case .impossible: return "not possible"
    case .damaged: return "damaged"
    case .notFound: return "not found"
    case .interrupted: return "interrupted"
    default: return "failed"
    }
    return findings.allSatisfy(\.losses.isEmpty) ? "possible" : "possible, with losses"
  }

  /// Stores by versions: a mark where a store is, and one where it gets.
  private var matrix: Page.Section {
    var section = Page.Section("Stores and versions")
    let versions = versions
    let headings: [Page.Cell] =
      [.init("store")] + versions.map { .init($0, .quiet) }
      + [.init("losses", .number), .init("time", .number)]
    section.table = Page.Table(
      headings,
      findings.map { finding in
        [Page.Cell(finding.store, .name)]
          + versions.map { finding.cell(of: $0, target: targetName) }
          + [
            .init(finding.losses.isEmpty ? "" : "\(finding.losses.count)", .number),
            .init(SecondsText(finding.seconds).description, .number),
          ]
      })
    section.lines = [
      Markup(
        "● is the version of a store, → the version to which it can be "
          + "migrated\(migratesCopies ? ", as tested on a copy" : ""); ✓ it already has; ✗ it "
          + "cannot be migrated there, or cannot be read.")
    ]
    return section
  }

  /// All versions that stores have, in the order of their names, and then the one that they get.
  private var versions: [String] {
    var names = Set(findings.compactMap(\.place))
    names.remove(targetName)
    return names.sorted { $0.compare($1, options: .numeric) == .orderedAscending } + [targetName]
  }

  /// The name of the version that stores get, as far as one needs it.
  private var targetName: String { findings.lazy.compactMap(\.toText).first ?? "target" }

  /// Obstacles and losses, store by store.
  private var remarks: Page.Section? {
    let told = findings.map { ($0.store, $0.reasons + $0.notes(settlesDefects: false)) }
      .filter { !$0.1.isEmpty }
    guard !told.isEmpty else { return nil }
    var section = Page.Section("Obstacles, losses and notes")
    section.table = Page.Table(
      [.init("store"), .init("remark", .sentence)],
      told.flatMap { store, lines in
        lines.enumerated().map { [Page.Cell($0 == 0 ? store : ""), .init($1, .sentence)] }
      }, isStacked: true)
    return section
  }

  /// What became of the released versions of the model.
  private var released: Page.Section? {
    guard let releasedVersions else { return nil }
    var section = Page.Section("Released versions")
    section.badge =
      releasedVersions.problems.isEmpty
      ? .init("unchanged", .good) : .init("changed", hasBrokenVersions ? .bad : .held)
    section.lines = releasedVersions.lines.map { Markup($0) }
    return section
  }

  private var left: Page.Section? {
    guard !passedOverTexts.isEmpty else { return nil }
    var section = Page.Section("Passed over")
    section.lines = passedOverTexts.map { Markup($0) }
    return section
  }
}

extension StoreCheck.Finding {
  fileprivate var fromText: String? { from.isEmpty ? nil : VersionText(from).description }
  fileprivate var toText: String? { to.isEmpty ? nil : VersionText(to).description }

  /// Whether it has the target's model, so that no name of its version was looked for.
  private var isCurrent: Bool { isPossible && isNeeded != true }

  /// The version in whose column the store stands; nil where it has the target's model, or could
  /// not be read.
  fileprivate var place: String? {
    if isCurrent { return nil }
    return fromText ?? (isNeeded == true ? "unknown" : nil)
  }

  fileprivate func cell(of version: String, target: String) -> Page.Cell {
    if version == target {
      if isCurrent { return .init("✓", .good) }
      return isPossible ? .init("→", .good) : .init("✗", .bad)
    }
    return version == place ? .init("●", .quiet) : .init("")
  }
}
