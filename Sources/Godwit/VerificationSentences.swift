import Verification

extension StoreVerification.Report {
  /// The differences and what could not be compared, one line each.
  public var lines: [String] {
    var lines = core.differences.map(\.sentence)
    let hidden = core.total - Int64(core.differences.count)
    if hidden > 0 {
      let kinds = core.hidden.map { "\($0.count) \($0.kind.rawValue)" }
      lines.append("… and \(hidden) more: \(kinds.joined(separator: ", ")).")
    }
    return lines + core.notJudged.map { "not judged: \($0)" }
  }

  /// The route that was assumed, what it removes, and what is unusual but not a difference.
  public var notes: [String] {
    let way =
      route.isEmpty
      ? ["both stores are of one version, and compared as copies"] : route.map(\.sentence)
    return way + core.removed.map { "removed with the old version: \($0.sentence)" } + remarks
  }

  /// What is unusual but not a difference.
  var remarks: [String] {
    let history =
      "nothing is left of the persistent history of \(old): --history drop says that it was dropped"
    return core.notes + [CountText.wideMasks(core.wideMasks)].compactMap(\.self)
      + (core.lacksHistory ? [history] : [])
  }

  private var exception: String {
    core.hasDroppedHistory ? ", without the persistent history of \(old)" : ""
  }

  /// The verdict in one sentence.
  public var verdict: String {
    if core.total > 0 {
      let kinds = core.counts.sorted { $0.key.rawValue < $1.key.rawValue }
        .map { "\(GroupedText($0.value)) \($0.key.rawValue)" }
      return "\(new) is not what \(old) should have become: "
        + "\(CountText(core.total, "difference")) in \(CountText(core.rows, "row")) (\(kinds.joined(separator: ", ")))."
    }
    return core.notJudged.isEmpty
      ? "\(new): \(CountText(core.rows, "row as it", "rows as they")) should be\(exception)."
      : "\(new): no difference in \(CountText(core.rows, "row")), but not everything could be judged."
  }
}

extension VerificationReport {
  /// Whether the old store had a history, which was dropped as expected.
  var hasDroppedHistory: Bool { removed.contains { $0.what == .history } }

  /// The number of differences beyond those kept, by kind.
  var hidden: [(kind: Difference.Kind, count: Int64)] {
    let kept = Dictionary(grouping: differences, by: \.kind).mapValues { Int64($0.count) }
    return counts.map { ($0.key, $0.value - (kept[$0.key] ?? 0)) }.filter { $0.1 > 0 }
      .sorted { $0.0.rawValue < $1.0.rawValue }
  }
}

extension Difference {
  /// The place and what is wrong there.
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
  /// What has no place, and how many of it.
  var sentence: String {
    switch what {
    case .entity: "\(CountText(count, "object")) of \(name)"
    case .attribute: "\(CountText(count, "value")) of \(name)"
    case .relationship: "\(CountText(count, "reference")) of \(name)"
    case .table: "table \(name) with \(CountText(count, "row")), which is none of the model's"
    case .rows: "\(CountText(count, "row")) of \(name)"
    case .history:
      "\(CountText(count, "row")) of persistent history (\(name)), as `--history drop` does"
    }
  }
}
