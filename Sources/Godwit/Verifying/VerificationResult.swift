import Planning
public import SystemPackage
import Verification

extension StoreVerification {
  /// One difference between the new store and what the old one should have become.
  public struct Difference: Hashable, Sendable, Encodable, CustomStringConvertible {
    /// The kind: `rowMissing`, `value`, `reference` and so on (docs/reference/verification.md).
    public var kind: String
    /// The table or the file.
    public var table: String?
    /// The primary key of the row, or the two keys of a pair.
    public var key: String?
    /// The column, or the name of another part.
    public var column: String?
    /// What should be there, nil for nothing.
    public var expected: String?
    /// What is there, nil for nothing.
    public var actual: String?
    /// The difference on one line.
    public let description: String

    private enum CodingKeys: CodingKey { case kind, table, key, column, expected, actual }

    fileprivate init(_ core: Verification.Difference) {
      kind = core.kind.rawValue
      (table, key, column) = (core.table, core.key, core.column)
      (expected, actual, description) = (core.expected, core.actual, core.sentence)
    }
  }

  /// Something that the new version has no place for.
  public struct Removal: Hashable, Sendable, Encodable {
    /// Its kind: `entity`, `attribute`, `relationship`, `table`, `rows` or `history`.
    public var what: String
    /// `Entity`, `Entity.property`, or the name of the table.
    public var name: String
    /// How many objects, values, references or rows.
    public var count: Int64

    fileprivate init(_ core: VerificationReport.Removal) {
      (what, name, count) = (core.what.rawValue, core.name, core.count)
    }
  }

  /// One step of the route that the comparison assumes.
  public struct Step: Hashable, Sendable, Encodable {
    /// The names of the version before the step.
    public var from: [String]
    /// The names of the version after the step.
    public var to: [String]
    /// The paths of the mapping models; empty if the step is inferred.
    public var mappings: [String]

    fileprivate init(_ core: MigrationRoute.Step) {
      (from, to) = (core.source.labels, core.destination.labels)
      mappings = core.mappings.map(\.name)
    }

    /// The versions and the mapping models of the step, as a note.
    var sentence: String {
      let by = mappings.isEmpty ? "by inference" : "by \(mappings.joined(separator: ", then "))"
      return "compared \(by)\(VersionSpan(Array(from.prefix(1)), Array(to.prefix(1))))"
    }
  }

  /// The findings of a verification.
  public struct Report: Sendable {
    /// The store before the migration.
    public let old: FilePath
    /// The store after the migration.
    public let new: FilePath
    /// The steps that the comparison assumes; empty if both stores are of one version.
    public let route: [Step]
    /// The record of how the new store was made; nil if no record is about both stores.
    public var record: FilePath? { way.record }
    /// Whether it is known how the new store was made: by a record or by the caller.
    public var knowsWay: Bool { way.isKnown }
    let core: VerificationReport
    let way: VerifiedWay

    init(old: FilePath, new: FilePath, core: VerificationReport, way: VerifiedWay) {
      (self.old, self.new, self.core, self.way) = (old, new, core, way)
      route = way.steps.map { Step($0) }
    }

    /// Whether everything was compared and nothing differs.
    public var isAlike: Bool { core.isAlike }
    /// How many rows and pairs were compared.
    public var rows: Int64 { core.rows }
    /// The first differences, up to the limit.
    public var differences: [Difference] { core.differences.map { Difference($0) } }
    /// The number of all differences, by kind.
    public var counts: [String: Int64] {
      Dictionary(core.counts.map { ($0.key.rawValue, $0.value) }, uniquingKeysWith: +)
    }
    /// What could not be compared, in words.
    public var notJudged: [String] { core.notJudged }
    /// What the new version has no place for.
    public var removed: [Removal] { core.removed.map { Removal($0) } }
    /// The verdict as an error, for callers that accept no difference.
    ///
    /// It is a usage error where another way may explain the differences, and none was named.
    public var failure: MigrationFailure {
      leavesWayOpen
        ? MigrationFailure(.usage, kind: .storesDiffer, verdict)
        : MigrationFailure(.damaged, kind: .storesDiffer, verdict)
    }

    /// Whether another way than the one that was assumed may have made everything that differs.
    var leavesWayOpen: Bool {
      !knowsWay && !route.isEmpty && core.total > 0
        && core.counts.keys.allSatisfy(\.dependsOnWay)
    }
  }
}

extension StoreVerification.Report: Encodable {
  private enum CodingKeys: CodingKey {
    case version, old, new, isAlike, route, rows, differences, total, counts, notPrinted, notJudged
    case removed, notes, record, knowsWay
  }

  /// Encodes the output of `godwit verify --json` (docs/schemas/verify.schema.json).
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(1, forKey: .version)
    try container.encode(old.string, forKey: .old)
    try container.encode(new.string, forKey: .new)
    try container.encode(isAlike, forKey: .isAlike)
    try container.encode(route, forKey: .route)
    try container.encode(rows, forKey: .rows)
    try container.encode(differences, forKey: .differences)
    try container.encode(core.total, forKey: .total)
    try container.encode(counts, forKey: .counts)
    let hidden = core.hidden.map { ($0.kind.rawValue, $0.count) }
    try container.encode(
      Dictionary(hidden, uniquingKeysWith: +), forKey: .notPrinted)
    try container.encode(notJudged, forKey: .notJudged)
    try container.encode(removed, forKey: .removed)
    try container.encode(remarks, forKey: .notes)
    try container.encodeIfPresent(record?.string, forKey: .record)
    try container.encode(knowsWay, forKey: .knowsWay)
  }
}

extension Verification.Difference.Kind {
  /// Whether a mapping model, a version between or a choice can be why something differs.
  fileprivate var dependsOnWay: Bool {
    switch self {
    case .rowMissing, .rowExtra, .rowLost, .value, .entityNumber, .saveCount, .reference,
      .referenceEntity, .order, .pairMissing, .pairExtra, .highestKey, .journalMode,
      .externalFileMissing, .externalFile:
      true
    default: false
    }
  }
}
