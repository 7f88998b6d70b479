import Planning
public import SystemPackage
import Verification

extension StoreVerification {
  /// One way in which a new store is not what the old one should have become.
  public struct Difference: Hashable, Sendable, Encodable, CustomStringConvertible {
    /// What differs: `rowMissing`, `value`, `reference` and the like (docs/verification.md).
    public var kind: String
    /// The table, or the file.
    public var table: String?
    /// The key of the row, or the two keys of a pair.
    public var key: String?
    /// The column, or the name of whatever else it is.
    public var column: String?
    /// What should be there.
    public var expected: String?
    /// What is there.
    public var actual: String?
    /// One line for people.
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
    /// What it is: `entity`, `attribute`, `relationship`, `table` or `rows`.
    public var what: String
    /// Its name.
    public var name: String
    /// How many objects, values, references or rows.
    public var count: Int64

    fileprivate init(_ core: VerificationReport.Removal) {
      (what, name, count) = (core.what.rawValue, core.name, core.count)
    }
  }

  /// One step of the way by which the store is judged.
  public struct Step: Hashable, Sendable, Encodable {
    /// The names of the version before.
    public var from: [String]
    /// The names of the version after.
    public var to: [String]
    /// The paths of the mapping models; none has the step judged by inference.
    public var mappings: [String]

    fileprivate init(_ core: MigrationRoute.Step) {
      (from, to) = (core.source.names, core.destination.names)
      mappings = core.mappings.map(\.name)
    }

    /// By what the step is judged.
    var sentence: String {
      let by = mappings.isEmpty ? "by inference" : "by \(mappings.joined(separator: ", then "))"
      let versions = [from, to].map { $0.first ?? "a version without a name" }
      return "judged \(by) from \(versions[0]) to \(versions[1])"
    }
  }

  /// What a verification found.
  public struct Report: Sendable {
    /// The store before the migration.
    public let old: FilePath
    /// The store after it.
    public let new: FilePath
    /// The way by which it was judged; empty where both stores are of one version.
    public let route: [Step]
    let core: VerificationReport

    init(
      old: FilePath, new: FilePath, core: VerificationReport, steps: [MigrationRoute.Step]
    ) {
      (self.old, self.new, self.core) = (old, new, core)
      route = steps.map { Step($0) }
    }

    /// Whether everything was judged and nothing differs.
    public var isAlike: Bool { core.isAlike }
    /// The rows and pairs that were compared.
    public var rows: Int64 { core.rows }
    /// The first differences, up to the limit.
    public var differences: [Difference] { core.differences.map { Difference($0) } }
    /// How many differences there are, of each kind.
    public var counts: [String: Int64] {
      Dictionary(core.counts.map { ($0.key.rawValue, $0.value) }, uniquingKeysWith: +)
    }
    /// What could not be judged, in words.
    public var notJudged: [String] { core.notJudged }
    /// What the new version has no place for.
    public var removed: [Removal] { core.removed.map { Removal($0) } }
    /// The verdict as an error, for those who want no other store.
    public var failure: MigrationFailure {
      MigrationFailure(.damaged, kind: .storesDiffer, verdict)
    }
  }
}

extension StoreVerification.Report: Encodable {
  private enum CodingKeys: CodingKey {
    case old, new, isAlike, route, rows, differences, total, counts, notPrinted, notJudged
    case removed, notes
  }

  /// Encodes what `godwit verify --json` prints.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
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
    try container.encode(core.notes, forKey: .notes)
  }
}
