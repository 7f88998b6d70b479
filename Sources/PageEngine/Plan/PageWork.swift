import Planning

/// What a worker needs to write its rows as pages of the store under assembly.
package struct PageWork: Hashable, Codable, Sendable {
  /// The store under assembly, which all workers write to.
  package var file: String
  /// The log in which they take extents of it; nil for a plan of one order, and if they request
  /// extents.
  package var claims: String?
  /// Whether workers request extents from the coordinator.
  package var asksForExtents = false
  /// The first page of the first extent.
  package var firstPage: UInt32
  /// The pages of each extent.
  package var extentLength = Extent.length
  /// The indexes to collect keys for, by destination table.
  package var indexes: [String: [PageIndex]]
  /// The row numbers before the first row of a join table's piece, by piece, as far as planned.
  package var rowsBefore: [Int: Int64]
  /// The database with places that SQLite made, if there are any.
  package var places: String?
  /// What rows look up, and the file with it.
  package var lookUps = LookUpLists()
  var lookUpFile: String?
  /// Whether what is written is synced, because a restart of the system would not be noticed.
  package var syncs: Bool
  /// Whether pages go past the page cache: the file system takes them so.
  package var isDirect: Bool
  /// The encoding of all texts, in the source and in the result.
  package var encoding = TextEncoding.utf8
  /// Whether a damaged index of the source is built again instead of reported.
  package var remakesIndexes = false
  /// The places of columns whose values may be names of external files, by destination table.
  package var externalColumns: [String: [Int]] = [:]
  /// Pieces whose leaves are moved from the source, by piece.
  package var tables: [Int: MovedTable] = [:]
  /// Indexes that are moved from the source, by the piece that they go with.
  package var moves: [Int: [IndexMove]] = [:]

  /// Makes the work of an order without b-trees that move and without external files.
  package init(
    file: String, claims: String?, firstPage: UInt32, indexes: [String: [PageIndex]],
    rowsBefore: [Int: Int64], syncs: Bool, isDirect: Bool
  ) {
    self.syncs = syncs
    self.isDirect = isDirect
    self.file = file
    self.claims = claims
    self.firstPage = firstPage
    self.indexes = indexes
    self.rowsBefore = rowsBefore
  }
}

/// A table of the source whose leaves become those of the store under assembly.
package struct MovedTable: Hashable, Codable, Sendable {
  /// The root page of the table in the source.
  package var root: UInt32
  /// What the rows have to be like.
  package var rule: RowRule
  /// The indexes that move with it, and must have the entries of its rows.
  package var indexes: [SummedIndex]
  /// What changes in its rows; nil where nothing does.
  package var patch: RowPatch?

  /// Takes the root page that the source's schema lists.
  package init(
    root: UInt32, rule: RowRule, indexes: [SummedIndex] = [], patch: RowPatch? = nil
  ) {
    self.root = root
    self.rule = rule
    self.indexes = indexes
    self.patch = patch
  }
}

/// An index of the source whose leaves become those of the store under assembly.
package struct IndexMove: Hashable, Codable, Sendable {
  /// The name of the index in the destination.
  package var name: String
  /// The root page of the index in the source.
  package var root: UInt32
  /// Whether all its columns are integers.
  package var isInteger: Bool
  /// What each of its columns makes of values.
  package var affinities: [Affinity]
  /// Of each column whether it falls.
  package var descending: [Bool]
  /// Whether no two entries without NULL agree in all columns.
  package var isUnique: Bool

  /// Takes the root page that the source's schema lists, under the destination's name.
  package init(
    name: String, root: UInt32, affinities: [Affinity], descending: [Bool], isUnique: Bool = false
  ) {
    self.name = name
    self.root = root
    self.affinities = affinities
    isInteger = affinities.allSatisfy { $0 == .integer } && affinities.count < 4
    self.descending = descending
    self.isUnique = isUnique
  }
}

/// An index whose keys workers collect and sort while they write the rows.
package struct PageIndex: Hashable, Codable, Sendable {
  /// How the keys of an index are collected and sorted.
  package enum Form: String, Hashable, Codable, Sendable {
    /// One ascending column of integers.
    case integer
    /// Two ascending columns of integers, the keys of a join table.
    case integerPair
    /// Any columns.
    case keys
  }

  /// The name of the index, which for the key of a join table SQLite gave.
  package var name: String
  /// The places of the columns in the table's record.
  package var columns: [Int]
  /// Which of the columns descend.
  package var descending: [Bool]
  /// Whether two entries with equal values, none of them NULL, are an error.
  package var isUnique: Bool
  /// How its keys are sorted.
  package var form: Form
  /// Where the source has the index, if it is moved from there.
  package var root: UInt32?

  /// Makes an index whose keys are collected.
  package init(name: String, columns: [Int], descending: [Bool], isUnique: Bool, form: Form) {
    self.name = name
    self.columns = columns
    self.descending = descending
    self.isUnique = isUnique
    self.form = form
  }
}

/// What a worker left in the pages of the store under assembly, and in its shard.
package struct PageShard: Hashable, Codable, Sendable {
  /// The extents that the worker took, neighbours as one.
  package var extents: [Extent]
  /// Pages of them that the worker did not need.
  package var unused: [Extent]
  /// The pointer map entries of the other pages, as `PointerList` wrote them.
  package var pointers: [Section]
  /// The pieces, in the order of the work order.
  package var pieces: [PagePiece]
  /// Indexes that came from the source, by name.
  package var moved: [String: MovedIndex] = [:]
  /// The checksums of the pages that were written.
  package var sums = PageSums.Lists()
  /// Whether a b-tree turned out not to be movable: the work has to be done without moves.
  package var isUnmovable = false

  /// Makes what a worker left where nothing was moved.
  package init(
    extents: [Extent], unused: [Extent], pointers: [Section], pieces: [PagePiece]
  ) {
    self.extents = extents
    self.unused = unused
    self.pointers = pointers
    self.pieces = pieces
  }
}

/// One piece in pages: sections of the shard file with the place of everything.
package struct PagePiece: Hashable, Codable, Sendable {
  /// The number of the piece in its plan.
  package var piece: Int
  /// Leaf pages with their last keys, in key order: `LeafEntry`.
  package var leaves: [Section]
  /// The keys: `KeySpan`.
  package var spans: [Section]
  /// The row numbers that were taken as given before the first row.
  package var rowsBefore: Int64
  /// The keys of the table's indexes, by name.
  package var indexes: [String: IndexRuns]
  /// The names of external files: `ExternalName`; nil if not all values were read.
  package var names: [Section]?

  /// Takes the sections of the shard in which the writers of the piece left their lists.
  package init(
    piece: Int, leaves: [Section], spans: [Section], rowsBefore: Int64,
    indexes: [String: IndexRuns], names: [Section]?
  ) {
    self.names = names
    self.piece = piece
    self.leaves = leaves
    self.spans = spans
    self.rowsBefore = rowsBefore
    self.indexes = indexes
  }
}

/// The keys of one index and one piece.
package struct IndexRuns: Hashable, Codable, Sendable {
  /// Row numbers of rows without a value, in order, in the form of one integer.
  package var nulls: [Section]
  /// Sorted runs.
  package var runs: [Section]
  /// Where in each of them some of the keys begin, in the form of any values.
  package var marks: [Section] = []
  /// Whether every row is in; otherwise SQLite has to make the index.
  package var isComplete: Bool
  /// The sum of the entries that the rows require, if the index is moved and not collected.
  package var sum: UInt64?

  /// Knows the sum alone, of rows that moved as they were.
  package init(sum: UInt64) {
    self.init(nulls: [], runs: [], isComplete: true)
    self.sum = sum
  }

  /// Takes what a `KeyCollector` left; the sum is set for an index that is moved.
  package init(nulls: [Section], runs: [Section], isComplete: Bool) {
    self.nulls = nulls
    self.runs = runs
    self.isComplete = isComplete
  }
}
