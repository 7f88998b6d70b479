import Godwit

/// What a check of several stores found, as a table: a row for each store, and below it a line for
/// each obstacle, loss and other remark.
struct CheckTable {
  private let rows: [[String]]
  private let remarks: [[String]]

  /// - Parameter settlesDefects: whether something is done about defects in every step.
  init(_ report: CheckReport, settlesDefects: Bool) {
    let done = report.migratesCopies ? "migrated" : "possible"
    rows =
      [["store", "from", "to", "needed", done, "losses", "time"]]
      + report.findings.map { finding in
        [
          TerminalText.escaped(finding.store), Self.version(finding.from),
          Self.version(finding.to), Self.answer(finding.isNeeded),
          report.migratesCopies && finding.isPossible && finding.trial == nil
            ? "-" : Self.answer(finding.isPossible),
          finding.losses.isEmpty ? "-" : "\(finding.losses.count)",
          Self.time(finding.seconds),
        ]
      }
    remarks =
      [[]]
      + report.findings.map {
        ($0.reasons + $0.notes(settlesDefects: settlesDefects)).map { TerminalText.escaped($0) }
      }
  }

  /// The lines of the table, its head first.
  var lines: [String] {
    let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return zip(rows, remarks).flatMap { row, remarks in
      // Nothing follows the last cell.
      let cells = zip(row, widths).dropLast().map { cell, width in
        cell + String(repeating: " ", count: width - cell.count)
      }
      return [(cells + row.suffix(1)).joined(separator: "  ")] + remarks.map { "  \($0)" }
    }
  }

  private static func version(_ names: [String]) -> String {
    names.isEmpty ? "-" : TerminalText.escaped(VersionText(names).description)
  }

  private static func answer(_ answer: Bool?) -> String { answer.map { $0 ? "yes" : "no" } ?? "-" }

  /// Seconds with two places.
  private static func time(_ seconds: Double) -> String {
    let hundredths = Int((min(max(seconds, 0), 1e9) * 100).rounded(.up))
    let rest = hundredths % 100
    return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest) s"
  }
}
