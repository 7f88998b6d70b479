public import SystemPackage

/// What a check of several stores found, for people, for programs and for servers that run tests.
public struct CheckReport: Sendable {
  /// The version of the JSON, which rises when a field changes its meaning or goes.
  public static let version = 1

  /// How many stores there are of each kind; each is of one of the first four.
  public struct Summary: Hashable, Sendable, Encodable {
    /// All stores, and places where there should be one.
    public var stores = 0
    /// Those that have the target's model.
    public var current = 0
    /// Those that need a migration and can be migrated, or were.
    public var migratable = 0
    /// Those that cannot be migrated, or were migrated wrongly.
    public var impossible = 0
    /// Those that could not be read, or not be checked for another reason.
    public var failed = 0
    /// Those that can be migrated, or were, with something lost.
    public var withLosses = 0
  }

  /// The paths of the models to migrate to.
  public let target: [FilePath]
  /// Whether each store that needs it was migrated.
  public let migratesCopies: Bool
  /// What was found, in the order in which it was looked for.
  public let findings: [StoreCheck.Finding]
  /// What lies in the folders besides.
  public let passedOver: [StoreSearch.PassedOver]
  /// The comparison of the model with its released versions; nil where none was made.
  public var releasedVersions: VersionLock.Report?
  /// Changes that would make the migration of the one store possible; nil if not requested.
  public var suggestion: MigrationSuggestion?
  /// Whether released versions that are not as they were fail the check.
  public var guardsVersions = false

  /// Takes what a check found.
  public init(
    _ findings: [StoreCheck.Finding], by check: StoreCheck, in search: StoreSearch
  ) {
    self.findings = findings
    target = check.migration.target
    migratesCopies = check.migratesCopies
    passedOver = search.passedOver
  }

  /// The highest exit status of all stores and of released versions that are not as they were.
  public var exitStatus: Int32 {
    let broken = hasBrokenVersions ? ExitStatus.impossible.rawValue : 0
    return max(findings.map(\.exitStatus).max() ?? 0, broken)
  }

  /// Whether released versions are guarded and not as they were.
  var hasBrokenVersions: Bool { guardsVersions && releasedVersions?.isBroken == true }

  /// The seconds that all stores took together.
  public var seconds: Double { findings.map(\.seconds).reduce(0, +) }

  /// How many stores there are of each kind.
  public var summary: Summary {
    var summary = Summary()
    summary.stores = findings.count
    for finding in findings {
      switch finding.verdict {
      case .current: summary.current += 1
      case .migratable: summary.migratable += 1
      case .impossible: summary.impossible += 1
      case .failed: summary.failed += 1
      }
      if finding.isPossible, !finding.losses.isEmpty { summary.withLosses += 1 }
    }
    return summary
  }

  /// What was found, in one sentence.
  public var verdict: String {
    let summary = summary
    let done = migratesCopies ? "migrated and verified" : "can be migrated"
    let wrong = findings.count { $0.verdict == .impossible && $0.trial != nil }
    let parts = [
      (summary.current, "already has this model", "already have this model"),
      (
        summary.migratable, migratesCopies ? "was \(done)" : done,
        migratesCopies ? "were \(done)" : done
      ),
      (summary.impossible - wrong, "cannot be migrated", "cannot be migrated"),
      (wrong, "was migrated wrongly", "were migrated wrongly"),
      (summary.failed, "could not be checked", "could not be checked"),
    ].filter { $0.0 > 0 }.map { "\($0.0) \($0.0 == 1 ? $0.1 : $0.2)" }
    let losing =
      summary.withLosses == 0
      ? "" : "; \(CountText(summary.withLosses, "loses data", "lose data"))"
    return "\(CountText(summary.stores, "store")): \(parts.joined(separator: ", "))\(losing)."
  }

  /// What was passed over, one sentence for each reason, with the first paths.
  public var passedOverLines: [String] { passedOverTexts.map { "passed over: \($0)" } }

  /// The same without the words of a heading.
  var passedOverTexts: [String] {
    StoreSearch.PassedOver.Reason.allCases.compactMap { reason in
      let paths = passedOver.filter { $0.reason == reason }.map { "\($0.path)" }
      guard !paths.isEmpty else { return nil }
      return "\(reason.text(count: paths.count)): \(ListText(paths, most: 3))"
    }
  }
}

extension StoreSearch.PassedOver.Reason {
  /// Files of this kind, with their number.
  package func text(count: Int) -> String {
    let text =
      switch self {
      case .noStore: CountText(count, "file that is no store", "files that are no stores")
      case .otherDatabase:
        CountText(
          count, "SQLite database without Core Data's tables",
          "SQLite databases without Core Data's tables")
      case .looseLog: CountText(count, "log without its store", "logs without their stores")
      case .link: CountText(count, "symbolic link")
      case .special: CountText(count, "pipe, socket or device", "pipes, sockets or devices")
      case .hidden: CountText(count, "hidden file or folder", "hidden files and folders")
      case .workFile: CountText(count, "work file of a migration", "work files of migrations")
      case .keptStore:
        CountText(count, "old store that Godwit keeps", "old stores that Godwit keeps")
      case .model: CountText(count, "model", "models")
      }
    return "\(text)"
  }
}

extension StoreCheck.Finding {
  /// The kinds of findings.
  enum Verdict { case current, migratable, impossible, failed }

  var verdict: Verdict {
    if isPossible { return isNeeded == true ? .migratable : .current }
    // What was found out before it failed makes the difference.
    let isRefused = exitStatus == ExitStatus.impossible.rawValue
    return isRefused || (trial != nil && exitStatus == ExitStatus.damaged.rawValue)
      ? .impossible : .failed
  }
}

extension CheckReport: Encodable {
  private enum CodingKeys: CodingKey {
    case version, godwit, target, isMigrated, exitStatus, seconds, summary, stores, passedOver
    case releasedVersions, suggestion
  }

  private struct Passed: Encodable {
    var path: String
    var reason: String
  }

  /// Encodes the output of `godwit check --json` (docs/schemas/check.schema.json).
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(Self.version, forKey: .version)
    try container.encode(ToolProcess.version, forKey: .godwit)
    try container.encode(target.map(\.string), forKey: .target)
    try container.encode(migratesCopies, forKey: .isMigrated)
    try container.encode(exitStatus, forKey: .exitStatus)
    try container.encode(seconds, forKey: .seconds)
    try container.encode(summary, forKey: .summary)
    try container.encode(findings, forKey: .stores)
    try container.encode(
      passedOver.map { Passed(path: $0.path.string, reason: $0.reason.rawValue) },
      forKey: .passedOver)
    try container.encodeIfPresent(releasedVersions, forKey: .releasedVersions)
    try container.encodeIfPresent(suggestion, forKey: .suggestion)
  }
}
