/// What was taken of a damaged store, and what was lost.
package struct SalvagedStore: Hashable, Codable, Sendable {
  /// Keys from the first to the last, both included; nil where there is no bound.
  package struct Keys: Hashable, Codable, Sendable {
    /// The lowest key.
    package var first: Int64?
    /// The highest key.
    package var last: Int64?

    /// Creates a range of keys.
    package init(first: Int64?, last: Int64?) { (self.first, self.last) = (first, last) }
  }

  /// A table that was damaged, or whose indexes name rows that it lacks.
  package struct Table: Hashable, Codable, Sendable {
    /// The name of the table.
    package var table: String
    /// Rows that were taken.
    package var rowsTaken: Int64
    /// Damaged pages of its b-tree.
    package var damagedPages: [UInt32]
    /// Keys (row numbers) that may have been on the damaged pages; other rows are all taken.
    package var ranges: [Keys]
    /// Keys that an index of the table names and that were not taken.
    package var lostKeys: [Keys]
    /// How many keys `lostKeys` holds.
    package var lostKeyCount: Int64
    /// Whether these are all: an index that is whole names every row of the table.
    package var isExact: Bool
    /// The most rows that can have been lost, where ranges or an index bound them.
    package var mostLost: Int64?
  }

  /// An index of the store that was damaged or disagreed with its table, and is built again.
  package struct Index: Hashable, Codable, Sendable {
    /// The name of the index.
    package var index: String
    /// The table that it is of.
    package var table: String
    /// Damaged pages of its b-tree; empty where it disagrees with its table.
    package var damagedPages: [UInt32]
  }

  /// Rows that were taken, of all tables but Core Data's own.
  package var rowsTaken: Int64 = 0
  /// Tables that lost rows, or may have.
  package var tables: [Table] = []
  /// Indexes that were built again because they were damaged.
  package var indexes: [Index] = []
  /// Indexes that cannot be made of the rows that are left, since some agree in a unique one.
  package var indexesLeftOut: [String] = []
  /// Pages that the file lacks at its end, by its own header.
  package var pagesMissing: Int64 = 0

  /// Whether nothing was found that is damaged.
  package var isWhole: Bool { tables.isEmpty && indexes.isEmpty && pagesMissing == 0 }
}
