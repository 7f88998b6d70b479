/// One way in which a new store is not what the old one should have become.
package struct Difference: Hashable, Sendable {
  /// What differs; the raw values are those of `--json`.
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    // Rows of entities
    case rowMissing, rowExtra
    /// A row of the old store that belongs to no entity of its model.
    case rowLost
    case value, entityNumber, saveCount
    case reference, referenceEntity, order
    // Join tables
    case pairMissing, pairExtra
    // Core Data's own tables
    case entityRow, highestKey
    case uuid, metadata, metadataKey, versionHash, modelCache
    // The schema
    case tableMissing, tableExtra, tableForm, columnMissing, columnExtra, columnType
    case indexMissing, indexExtra, indexForm, trigger, view, schema
    // The file
    case page, indexEntry, header, journalMode, leftover
    // Files beside it
    case externalFileMissing, externalFile
  }

  package var kind: Kind
  /// The table, or the file.
  package var table: String?
  /// The key of the row, or the two keys of a pair.
  package var key: String?
  /// The column, or the name of whatever else it is.
  package var column: String?
  package var expected: String?
  package var actual: String?

  package init(
    _ kind: Kind, table: String? = nil, key: String? = nil, column: String? = nil,
    expected: String? = nil, actual: String? = nil
  ) {
    self.kind = kind
    self.table = table
    self.key = key
    self.column = column
    self.expected = expected
    self.actual = actual
  }
}

/// What a verification found; of many differences the first ones, and how many there are.
package struct VerificationReport: Sendable {
  /// Something that the destination has no place for, with the number of rows or values.
  package struct Removal: Hashable, Sendable {
    package enum What: String, Hashable, Sendable {
      case entity, attribute, relationship, table, rows
    }

    package var what: What
    package var name: String
    package var count: Int64

    package init(what: What, name: String, count: Int64) {
      self.what = what
      self.name = name
      self.count = count
    }
  }

  package private(set) var differences: [Difference] = []
  package private(set) var counts: [Difference.Kind: Int64] = [:]
  /// The rows and pairs that were compared.
  package var rows: Int64 = 0
  package var removed: [Removal] = []
  /// What could not be judged, in words.
  package private(set) var notJudged: [String] = []
  /// What is odd and no difference, in words.
  package private(set) var notes: [String] = []
  private let limit: Int

  package init(limit: Int) { self.limit = limit }

  package var total: Int64 { counts.values.reduce(0, +) }
  /// Whether everything was judged and nothing differs.
  package var isAlike: Bool { total == 0 && notJudged.isEmpty }

  package mutating func note(_ difference: Difference) {
    counts[difference.kind, default: 0] += 1
    if differences.count < limit { differences.append(difference) }
  }

  package mutating func cannotJudge(_ what: String) {
    if !notJudged.contains(what) { notJudged.append(what) }
  }

  package mutating func remark(_ what: String) {
    if !notes.contains(what) { notes.append(what) }
  }
}
