public import SystemPackage

/// A file in the XML of JUnit, which servers that run tests show: one test case for each store.
///
/// ```swift
/// let file = try JUnitReportFile("check.xml", besides: search.entries.map(\.path))
/// try file.write(report)
/// ```
public struct JUnitReportFile: Sendable {
  private let file: OutputFile

  /// Checks, before anything else is done, that the file can be written and replaces nothing but an
  /// earlier one.
  ///
  /// - Parameters:
  ///   - path: the file.
  ///   - stores: the stores whose own files are not replaced.
  /// - Throws: `MigrationFailure`, if it cannot.
  public init(_ path: FilePath, besides stores: [FilePath]) throws(MigrationFailure) {
    file = try OutputFile(path, besides: stores) { bytes in
      let head = String(decoding: bytes.prefix(200), as: UTF8.self)
      return head.hasPrefix("<?xml") && head.contains(JUnitText.root)
    }
  }

  /// Writes a report, atomically.
  ///
  /// - Throws: `MigrationFailure`, if it cannot be written.
  public func write(_ report: CheckReport) throws(MigrationFailure) {
    try file.write(
      JUnitText(report).text, as: "the stores are checked, but the report of that")
  }
}

/// The XML of a report.
struct JUnitText {
  let text: String

  /// How every file begins that Godwit writes, after the declaration of XML.
  static let root = "<testsuites name=\"godwit check\""

  init(_ report: CheckReport) {
    let findings = report.findings
    let failures =
      findings.count { $0.problem == .failure } + (report.hasBrokenVersions ? 1 : 0)
    let errors = findings.count { $0.problem == .error }
    let tests = findings.count + (report.releasedVersions == nil ? 0 : 1)
    let counts =
      "tests=\"\(tests)\" failures=\"\(failures)\" errors=\"\(errors)\" skipped=\"0\" "
      + "time=\"\(Self.seconds(report.seconds))\""
    let suite = "godwit check to \(report.target.map(\.string).joined(separator: ", "))"
    var lines = [
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>", "\(Self.root) \(counts)>",
      "  <testsuite name=\"\(Self.attribute(suite))\" \(counts)>",
    ]
    for finding in findings { lines += Self.lines(finding) }
    if let versions = report.releasedVersions {
      lines += Self.lines(versions, isBroken: report.hasBrokenVersions)
    }
    lines += ["  </testsuite>", "</testsuites>", ""]
    text = lines.joined(separator: "\n")
  }

  private static func lines(
    _ versions: VersionLock.Report, isBroken: Bool
  ) -> [String] {
    let said = versions.lines.map(content).joined(separator: "\n")
    let message = versions.problems.first.map { attribute($0.sentence) } ?? ""
    return [
      "    <testcase classname=\"godwit.versions\" name=\"\(attribute(versions.model))\" "
        + "file=\"\(attribute(versions.model))\" time=\"0.000\">",
      isBroken
        ? "      <failure type=\"exit status 78\" message=\"\(message)\">\(said)</failure>"
        : "      <system-out>\(said)</system-out>",
      "    </testcase>",
    ]
  }

  private static func lines(_ finding: StoreCheck.Finding) -> [String] {
    let path = attribute(finding.store)
    var lines = [
      "    <testcase classname=\"godwit.check\" name=\"\(path)\" file=\"\(path)\" "
        + "time=\"\(seconds(finding.seconds))\">"
    ]
    if let problem = finding.problem {
      let reasons = finding.reasons.isEmpty ? ["needs a migration"] : finding.reasons
      lines.append(
        "      <\(problem.rawValue) type=\"exit status \(finding.exitStatus)\" "
          + "message=\"\(attribute(summary(reasons)))\">"
          + reasons.map(content).joined(separator: "\n") + "</\(problem.rawValue)>")
    }
    let said = finding.lines
    if !said.isEmpty {
      lines.append(
        "      <system-out>" + said.map(content).joined(separator: "\n") + "</system-out>")
    }
    return lines + ["    </testcase>"]
  }

  /// The first reason, with the sentence before it where that ends in a colon.
  private static func summary(_ reasons: [String]) -> String {
    reasons[0].hasSuffix(":") && reasons.count > 1
      ? "\(reasons[0]) \(reasons[1].trimmingPrefix { $0 == " " })" : reasons[0]
  }

  private static func seconds(_ seconds: Double) -> String {
    let thousandths = Int(min(max(seconds, 0), 1e9) * 1000)
    let rest = "\(thousandths % 1000)"
    return "\(thousandths / 1000)." + String(repeating: "0", count: 3 - rest.count) + rest
  }

  /// A text as the value of an attribute in double quotes.
  static func attribute(_ text: String) -> String { content(text) }

  /// A text on one line, as XML: a parser gives it back but for what XML 1.0 has no way to write,
  /// even by number, and what would control a terminal, which are given as Swift does (`\u{1B}`).
  static func content(_ text: String) -> String {
    var result = ""
    for scalar in TerminalText.escaped(text).unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "'": result += "&apos;"
      case "\u{FFFE}": result += "\\u{FFFE}"
      case "\u{FFFF}": result += "\\u{FFFF}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}

extension StoreCheck.Finding {
  /// The elements for a test that did not succeed in JUnit.
  fileprivate enum Problem: String {
    /// What was tested is not as it should be.
    case failure
    /// It could not be tested.
    case error
  }

  fileprivate var problem: Problem? {
    guard exitStatus != 0 else { return nil }
    return verdict == .failed ? .error : .failure
  }

  /// The output for a store that succeeded, and for one that did not, besides the reasons.
  fileprivate var lines: [String] {
    var lines: [String] = []
    if isNeeded == false {
      lines.append("already has this model")
    } else if !from.isEmpty || !to.isEmpty {
      lines.append(VersionSpan(from, to).whole)
    }
    if let trial {
      lines.append(
        "\(CountText(trial.rows, "row")) migrated"
          + (trial.isCompared ? ", and compared with the store" : "")
          + (trial.isTakenBack ? ", and taken back" : ""))
    }
    return lines + notes(settlesDefects: false)
  }
}
