/// One difference between the new store and what the old one should have become.
package struct Difference: Hashable, Sendable {
  /// The kinds of differences; the raw values are those of `--json`.
  package enum Kind: String, Hashable, Sendable, CaseIterable {
    // Rows of entities
    /// A row that should be there is not, or the reverse.
    case rowMissing, rowExtra
    /// A row of the old store that belongs to no entity of its model.
    case rowLost
    /// An attribute, `Z_ENT` or `Z_OPT` of a row has another value.
    case value, entityNumber, saveCount
    /// The key, the entity number or the position in the order of a relationship has another value.
    case reference, referenceEntity, order
    // Join tables
    /// A pair of a many-to-many relationship that should be there is not, or the reverse.
    case pairMissing, pairExtra
    // Core Data's own tables
    /// A row of `Z_PRIMARYKEY`, or its `Z_MAX`.
    case entityRow, highestKey
    /// `Z_UUID`, the model's keys of `Z_PLIST`, other keys of it, a version hash, or
    /// `Z_MODELCACHE`.
    case uuid, metadata, metadataKey, versionHash, modelCache
    // The schema
    /// A table or a column, its declared type, or the form of a table.
    case tableMissing, tableExtra, tableForm, columnMissing, columnExtra, columnType
    /// An index or its form, a trigger, a view, or another entry of `sqlite_schema`.
    case indexMissing, indexExtra, indexForm, trigger, view, schema
    // The file
    /// A finding of `PRAGMA integrity_check`, a field of the header, or a log next to the store.
    case page, indexEntry, header, journalMode, leftover
    // Files next to it
    /// An external binary data file is missing, or has other contents.
    case externalFileMissing, externalFile
  }

  /// What differs.
  package var kind: Kind
  /// The table or the file.
  package var table: String?
  /// The primary key of the row, or the two keys of a pair.
  package var key: String?
  /// The column, or the name of another part.
  package var column: String?
  /// What should be there, nil for nothing.
  package var expected: String?
  /// What is there, nil for nothing.
  package var actual: String?

  /// Creates a difference of a kind at a place.
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

/// The findings of a verification: the first differences, and how many there are of each kind.
package struct VerificationReport: Sendable {
  /// Something that the destination has no place for, with the number of rows or values.
  package struct Removal: Hashable, Sendable {
    /// What has no place: the objects of an entity, the values of a property, or the rows of a
    /// table.
    package enum What: String, Hashable, Sendable {
      /// By which kind of name it is known.
      case entity, attribute, relationship, table, rows, history
      /// Rows of no entity of the old model.
      case strays
    }

    /// What has no place.
    package var what: What
    /// `Entity`, `Entity.property`, or the name of the table.
    package var name: String
    /// How many rows or values the old store has.
    package var count: Int64

    /// Creates a removal with its count.
    package init(what: What, name: String, count: Int64) {
      self.what = what
      self.name = name
      self.count = count
    }
  }

  /// The first differences, up to the limit.
  package private(set) var differences: [Difference] = []
  /// The number of all differences, by kind.
  package private(set) var counts: [Difference.Kind: Int64] = [:]
  /// How many rows and pairs were compared.
  package var rows: Int64 = 0
  /// Everything that the destination has no place for; not differences.
  package var removed: [Removal] = []
  /// Changes of the history that name more properties than are known to be updated, by entity.
  package var wideMasks: [String: Int64] = [:]
  /// Whether the old store's history is missing, without the option to drop it.
  package var lacksHistory = false
  /// What could not be compared, in words.
  package private(set) var notJudged: [String] = []
  /// What is unusual but not a difference, in words.
  package private(set) var notes: [String] = []
  private let limit: Int

  /// Creates an empty report that keeps this many differences.
  package init(limit: Int) { self.limit = limit }

  /// The number of all differences.
  package var total: Int64 { counts.values.reduce(0, +) }
  /// Whether everything was compared and nothing differs.
  package var isAlike: Bool { total == 0 && notJudged.isEmpty }

  /// Counts a difference, and keeps it if it is among the first.
  package mutating func note(_ difference: Difference) {
    counts[difference.kind, default: 0] += 1
    if differences.count < limit { differences.append(difference) }
  }

  /// Adds something that could not be compared, once.
  package mutating func cannotJudge(_ what: String) {
    if !notJudged.contains(what) { notJudged.append(what) }
  }

  /// Adds something unusual, once.
  package mutating func remark(_ what: String) {
    if !notes.contains(what) { notes.append(what) }
  }
}
