import Godwit
import MigrationCoordinator
import Planning
import StoreVerification
import SystemPackage

/// What a verification found, in lines for people.
struct VerificationText {
  let lines: [String]
  let notes: [String]
  let verdict: String

  init(old: FilePath, new: FilePath, _ outcome: VerificationOutcome) {
    let report = outcome.report
    var lines = report.differences.map(\.sentence)
    let hidden = report.total - Int64(report.differences.count)
    if hidden > 0 {
      let kinds = report.hidden.map { "\($0.count) \($0.kind.rawValue)" }
      lines.append("… and \(hidden) more: \(kinds.joined(separator: ", ")).")
    }
    lines += report.notJudged.map { "not judged: \($0)" }
    self.lines = lines
    let way =
      outcome.steps.isEmpty
      ? ["both stores are of one version, and compared as copies"] : outcome.steps.map(\.sentence)
    notes =
      way + report.removed.map { "removed with the old version: \($0.sentence)" } + report.notes
    if report.total > 0 {
      let kinds = report.counts.sorted { $0.key.rawValue < $1.key.rawValue }
        .map { "\($0.value) \($0.key.rawValue)" }
      verdict =
        "\(new) is not what \(old) should have become: \(report.total) differences in "
        + "\(report.rows) rows (\(kinds.joined(separator: ", ")))."
    } else if !report.notJudged.isEmpty {
      verdict = "\(new): no difference in \(report.rows) rows, but not everything could be judged."
    } else {
      verdict = "\(new): \(report.rows) rows as they should be."
    }
  }
}

extension VerificationReport {
  /// The differences that are not among those kept, by kind.
  var hidden: [(kind: Difference.Kind, count: Int64)] {
    let kept = Dictionary(grouping: differences, by: \.kind).mapValues { Int64($0.count) }
    return counts.map { ($0.key, $0.value - (kept[$0.key] ?? 0)) }.filter { $0.1 > 0 }
      .sorted { $0.0.rawValue < $1.0.rawValue }
  }
}

extension Difference {
  var sentence: String {
    let place = [table, key, column].compactMap(\.self).joined(separator: " ")
    let what =
      switch (expected, actual) {
      case (let expected?, let actual?): "\(actual) instead of \(expected)"
      case (let expected?, nil): "missing: \(expected)"
      case (nil, let actual?): actual
      case (nil, nil): words
      }
    return "\(kind.rawValue): \(place.isEmpty ? "" : "\(place): ")\(what)"
  }

  private var words: String {
    switch kind {
    case .rowMissing, .pairMissing, .tableMissing, .columnMissing, .indexMissing: "missing"
    case .rowExtra, .pairExtra, .tableExtra, .columnExtra, .indexExtra: "one too many"
    case .rowLost: "belongs to no entity of the old model, so it was left behind"
    default: "differs"
    }
  }
}

extension VerificationReport.Removal {
  var sentence: String {
    switch what {
    case .entity: "\(count) objects of \(name)"
    case .attribute: "\(count) values of \(name)"
    case .relationship: "\(count) references of \(name)"
    case .table: "table \(name) with \(count) rows, which is none of the model's"
    case .rows: "\(count) rows of \(name)"
    }
  }
}

extension MigrationRoute.Step {
  fileprivate var sentence: String {
    let by =
      mappings.isEmpty ? "by inference" : "by \(mappings.map(\.name).joined(separator: ", then "))"
    let versions = [source.names, destination.names].map { $0.first ?? "a version without a name" }
    return "judged \(by) from \(versions[0]) to \(versions[1])"
  }
}

/// What a verification found, as JSON.
struct VerificationDocument: Encodable {
  struct Step: Encodable {
    var from: [String]
    var to: [String]
    var mappings: [String]
  }

  struct Entry: Encodable {
    var kind: String
    var table: String?
    var key: String?
    var column: String?
    var expected: String?
    var actual: String?
  }

  struct Removal: Encodable {
    var what: String
    var name: String
    var count: Int64
  }

  var old: String
  var new: String
  var isAlike: Bool
  var route: [Step]
  var rows: Int64
  var differences: [Entry]
  var total: Int64
  var counts: [String: Int64]
  var notPrinted: [String: Int64]
  var notJudged: [String]
  var removed: [Removal]
  var notes: [String]

  init(old: FilePath, new: FilePath, _ outcome: VerificationOutcome) {
    let report = outcome.report
    self.old = old.string
    self.new = new.string
    isAlike = report.isAlike
    route = outcome.steps.map {
      Step(from: $0.source.names, to: $0.destination.names, mappings: $0.mappings.map(\.name))
    }
    rows = report.rows
    differences = report.differences.map {
      Entry(
        kind: $0.kind.rawValue, table: $0.table, key: $0.key, column: $0.column,
        expected: $0.expected, actual: $0.actual)
    }
    total = report.total
    counts = Dictionary(uniqueKeysWithValues: report.counts.map { ($0.key.rawValue, $0.value) })
    notPrinted = Dictionary(
      uniqueKeysWithValues: report.hidden.map { ($0.kind.rawValue, $0.count) })
    notJudged = report.notJudged
    removed = report.removed.map { Removal(what: $0.what.rawValue, name: $0.name, count: $0.count) }
    notes = report.notes
  }
}
