import Mapping
import MigrationCoordinator
import Planning
import SystemPackage
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
    return lines + core.notJudged.map { "not compared: \($0)" }
  }

  /// The route that was assumed, what it removes, and what is unusual but not a difference.
  public var notes: [String] {
    let copies = "both stores have the same version and are compared as copies"
    let isUnread = core.rows == 0 && core.total > 0
    let way = route.isEmpty ? (isUnread ? [] : [copies]) : route.map(\.sentence)
    return way + core.removed.map { "\(reason($0)): \($0.sentence)" } + remarks
  }

  /// Why the new store has no place for something.
  private func reason(_ removal: VerificationReport.Removal) -> String {
    if removal.what == .strays { return "dropped with consent" }
    guard removal.what == .entity, let name = self.way.configuration else {
      return "removed with the old version"
    }
    return "not in the configuration \(name)"
  }

  /// What is unusual but not a difference.
  var remarks: [String] {
    let history =
      "the persistent history of \(old) is missing: use \(choice: .history(.drop)) if it was "
      + "dropped"
    return way.notes + core.notes + [CountText.wideMasks(core.wideMasks)].compactMap(\.self)
      + (core.lacksHistory ? [history] : [])
  }

  /// The assumption if it is unknown how the new store was made.
  private var assumption: String {
    route.allSatisfy(\.mappings.isEmpty)
      ? "by inference" : "by the mapping models that were found"
  }

  private var exception: String {
    core.hasDroppedHistory ? ", without the persistent history of \(old)" : ""
  }

  /// The verdict in one sentence.
  public var verdict: String {
    if core.total > 0 {
      let kinds = core.counts.sorted { $0.key.rawValue < $1.key.rawValue }
        .map { "\(GroupedText($0.value)) \($0.key.rawValue)" }
      let what =
        "\(CountText(core.total, "difference")) in \(CountText(core.rows, "row")) "
        + "(\(kinds.joined(separator: ", ")))"
      return leavesWayOpen
        ? "\(new) is not the result of \(old) \(assumption): \(what). No record next to it states "
          + "how it was made: \(WayAdvice(way.open).phrase); \(option: .inferOnly) compares it by "
          + "inference alone."
        : "\(new) is not the expected result of \(old): \(what)."
    }
    return core.notJudged.isEmpty
      ? "\(new): \(CountText(core.rows, "row")) as expected\(exception)."
      : "\(new): no difference in \(CountText(core.rows, "row")), but not everything could be "
        + "compared."
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
    case .rowExtra, .pairExtra, .tableExtra, .columnExtra, .indexExtra: "not expected"
    case .rowLost: "belongs to no entity of the old model, so it was left out"
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
    case .table: "table \(name) with \(CountText(count, "row")), which is not part of the model"
    case .rows: "\(CountText(count, "row")) of \(name)"
    case .strays: "\(CountText(count, "row")) of \(name) without a known entity or key"
    case .history:
      "\(CountText(count, "row")) of persistent history (\(name)), as "
        + "`\(choice: .history(.drop))` does"
    }
  }
}

/// How a verification knows by which way the new store was made.
struct VerifiedWay: Sendable {
  /// The steps that are judged; empty if both stores are of one version.
  private(set) var steps: [MigrationRoute.Step] = []
  /// The record of the route.
  private(set) var record: FilePath?
  /// Whether a record or the caller defines it.
  private(set) var isKnown = true
  /// The choices that may have been made, where it is not known.
  private(set) var open: [MigrationChoice] = []
  /// Remarks on it.
  private(set) var notes: [String] = []
  /// The configuration of the new store; nil where it has all entities.
  private(set) var configuration: String?

  /// The way of a store that cannot be opened.
  init() {}

  init(_ inputs: VerificationInputs, of stores: VerificationStores) {
    let found = stores.record.found
    steps = inputs.steps
    configuration = stores.request.migration.configuration
    record = found?.file
    isKnown = stores.request.namesWay || found != nil
    open = isKnown ? [] : inputs.occasions
    // Who names the models has the way found as a migration finds it.
    if stores.request.namesPlaces, open.isEmpty { isKnown = true }
    let choices = stores.request.migration.choicesAsTyped
    if let record {
      let with = choices.isEmpty ? "" : ", with \(choices.joined(separator: " "))"
      notes.append("\(record) states how the new store was made\(with)")
    }
    if !stores.unknownChoices.isEmpty {
      notes.append(
        "the record has choices that this version does not know: "
          + stores.unknownChoices.joined(separator: " "))
    }
    for file in stores.record.foreign {
      notes.append("\(file) describes another migration, and was ignored")
    }
    for defect in inputs.repaired {
      notes.append("changed before the migration, as requested: \(StoreMigration.Defect(defect))")
    }
    guard let salvaged = stores.salvage.found else { return }
    notes.append("the old store is damaged, and only its readable part was compared")
    notes += salvaged.lossSentences
  }
}

/// The options to name if it is unknown how a store was made.
struct WayAdvice {
  private let choices: [MigrationChoice]

  /// Takes the choices that the old store makes relevant.
  init(_ choices: [MigrationChoice] = []) { self.choices = choices }

  /// The advice, as the last part of a sentence.
  var phrase: String {
    let ways = [
      "\(option: .mapping) and the mapping model",
      "\(option: .models) and the bundle whose versions it used",
    ]
    let chosen =
      choices.isEmpty
      ? []
      : [
        "the choice "
          + "(\(choices.map { "\(choice: $0)" }.joined(separator: ", ")))"
      ]
    let all = ways + chosen
    return "name \(all.dropLast().joined(separator: ", ")) or \(all[all.count - 1])"
  }
}

extension MigrationFailure {
  /// Why the new store cannot have come from the old one by the way that is known.
  init(
    _ error: VerificationError, of stores: StoreVerification, record: VerificationRecord?,
    request: VerificationRequest?
  ) {
    guard case .notInferable(let places) = error else { preconditionFailure("\(error)") }
    let start =
      "\(stores.new) cannot have come from \(stores.old) by inference "
      + "(\(places.joined(separator: ", ")))"
    if let record = record?.found {
      self.init(.impossible, "\(start), although \(record.file) states it.")
    } else if request?.namesWay == true {
      self.init(
        .impossible,
        "\(start): name the mapping model with \(option: .mapping), or with \(option: .models) the "
          + "bundle whose versions it used.")
    } else {
      self.init(
        .usage,
        "\(start), and no record next to it states how it was made: \(WayAdvice().phrase).")
    }
  }

  /// Why no way is known on which the new store can have come from the old one.
  init(
    _ error: MigrationError, of stores: StoreVerification, record: VerificationRecord?,
    request: VerificationRequest?
  ) {
    guard case .routeMissing = error, record?.found == nil, request?.namesWay == false else {
      self.init(error)
      return
    }
    self.init(
      .usage,
      MigrationFailure(error).sentences + [
        "No record next to \(stores.new) states how it was made: \(WayAdvice().phrase)."
      ])
  }

  /// Why the way that a record states cannot be gone again.
  init(_ error: StatedWayError, of stores: StoreVerification, record: VerificationRecord?) {
    let file = record?.found.map { "\($0.file)" } ?? "the record"
    let sentence =
      switch error {
      case .versionMissing(let names):
        "\(stores.new) was migrated through \(names.first ?? "a version without a name"), as "
          + "\(file) states, and the model of that version was not found: name its bundle with "
          + "\(option: .models)."
      case .mappingMissing(let path):
        "\(stores.new) was made with \(path), as \(file) states, and that file does not exist or "
          + "cannot be read: name the mapping model with \(option: .mapping)."
      case .mappingChanged(let path):
        "\(stores.new) was made with \(path), as \(file) states, and that file has changed since: "
          + "name its earlier form with \(option: .mapping)."
      }
    self.init(.usage, sentence)
  }
}
