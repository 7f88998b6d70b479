import SystemCalls
public import SystemPackage

/// A summary of a check in Markdown, as servers show it next to a job.
public struct CheckSummary: Sendable {
  /// The text.
  public let text: String

  /// How every summary begins.
  static let mark = "<!-- godwit check -->"
  /// The most bytes of a summary; GitHub takes no more than 1 MiB of all of a step.
  private static let limit = 900 << 10

  /// Makes the summary of a report.
  public init(_ report: CheckReport, _ annotations: [CheckReport.Annotation]) {
    var lines = [Self.mark, "### godwit check: \(Self.escaped(report.verdict))", ""]
    lines += [
      "| store | from | to | needed | \(report.migratesCopies ? "migrated" : "possible") | losses |",
      "|---|---|---|---|---|---|",
    ]
    lines += report.findings.map { finding in
      let cells = [
        finding.store, Self.version(finding.from), Self.version(finding.to),
        finding.isNeeded.map { $0 ? "yes" : "no" } ?? "-",
        finding.verdict == .current ? "current" : finding.isPossible ? "✅" : "❌",
        finding.losses.isEmpty ? "" : "\(finding.losses.count)",
      ]
      return "| \(cells.map(Self.escaped).joined(separator: " | ")) |"
    }
    if !annotations.isEmpty {
      lines += ["", "| | place | what was found |", "|---|---|---|"]
      lines += annotations.map { annotation in
        let sign = annotation.level == .error ? "❌" : "⚠️"
        let place = annotation.place.map { "\($0.file):\($0.line)" } ?? ""
        return "| \(sign) | \(Self.escaped(place)) | \(Self.escaped(annotation.text)) |"
      }
    }
    if let versions = report.releasedVersions, versions.problems.isEmpty {
      lines += ["", versions.lines.map(Self.escaped).joined(separator: " ")]
    }
    text = Self.shortened(lines)
  }

  /// Appends the summary to the file of a job, such as `$GITHUB_STEP_SUMMARY`.
  ///
  /// - Throws: `MigrationFailure`, if it cannot be written.
  public func append(to file: FilePath) throws(MigrationFailure) {
    do {
      let descriptor = try FileDescriptor.open(
        file, .writeOnly, options: [.append, .create, .closeOnExec],
        permissions: [.ownerReadWrite, .groupRead, .otherRead])
      try descriptor.closeAfter { _ = try descriptor.writeAll(Array(text.utf8)) }
    } catch {
      throw MigrationFailure(
        .cannotWrite,
        "the stores are checked, but the summary of that cannot be written to \(file): \(error).")
    }
  }

  private static func version(_ names: [String]) -> String {
    names.isEmpty ? "-" : VersionText(names).description
  }

  /// As many whole lines as there is room for.
  private static func shortened(_ lines: [String]) -> String {
    var text = ""
    for line in lines {
      guard text.utf8.count + line.utf8.count < limit else { return text + "\nAnd more.\n" }
      text += "\(line)\n"
    }
    return text
  }

  /// A text on one line that Markdown and HTML show as it is.
  static func escaped(_ text: String) -> String {
    var result = ""
    for character in TerminalText.escaped(text) {
      switch character {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "|", "\\", "`", "*", "_", "[", "]", "#", "~", "!", "@": result += "\\\(character)"
      default: result.append(character)
      }
    }
    return result
  }
}

/// The file for a summary in Markdown.
public struct CheckSummaryFile: Sendable {
  private let file: OutputFile

  /// Checks, before anything else is done, that the file can be written and replaces nothing but an
  /// earlier one.
  ///
  /// - Parameters:
  ///   - path: the file.
  ///   - stores: the stores whose own files are not replaced.
  /// - Throws: `MigrationFailure`, if it cannot.
  public init(_ path: FilePath, besides stores: [FilePath]) throws(MigrationFailure) {
    file = try OutputFile(path, besides: stores, noun: "summary") { bytes in
      bytes.starts(with: CheckSummary.mark.utf8)
    }
  }

  /// Writes a summary, atomically.
  ///
  /// - Throws: `MigrationFailure`, if it cannot be written.
  public func write(_ summary: CheckSummary) throws(MigrationFailure) {
    try file.write(summary.text, as: "the stores are checked, but the summary of that")
  }
}
