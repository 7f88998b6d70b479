import MigrationCoordinator
import StoreFormat

extension StoreMigration {
  /// What was taken of a damaged store, and what was lost.
  public struct Salvage: Hashable, Sendable, Codable, CustomStringConvertible {
    /// A table that was damaged, or whose indexes name rows that it lacks.
    public struct Table: Hashable, Sendable, Codable {
      /// The name of the table in the damaged store.
      public var table: String
      /// Rows that were taken.
      public var rowsTaken: Int64
      /// Damaged pages of the table.
      public var damagedPages: [UInt32]
      /// Keys (`Z_PK`, of join tables row numbers) that may have been on the damaged pages.
      public var ranges: [ClosedRange<Int64>]
      /// Keys that an index of the table names and that were not taken.
      public var lostKeys: [ClosedRange<Int64>]
      /// How many keys these are.
      public var lostKeyCount: Int64
      /// Whether these are all, because an index that is whole names every row.
      public var isExact: Bool
      /// The maximum number of lost rows, nil if unknown.
      public var mostLost: Int64?
    }

    /// Rows that were taken, of all tables but Core Data's own.
    public var rowsTaken: Int64
    /// Tables that lost rows, or may have.
    public var tables: [Table]
    /// Indexes that were damaged, or disagreed with tables that were not; they hold no rows of
    /// their own.
    public var indexes: [String]
    /// Indexes that the rows that are left do not allow, such as unique ones in which they agree.
    public var indexesLeftOut: [String]
    /// Pages that the file lacks at its end.
    public var pagesMissing: Int64

    /// Everything that was lost or repaired, one sentence each.
    public var notes: [String] {
      var notes = [
        "the store is damaged: \(CountText(rowsTaken, "row")) can be read"
          + (tables.isEmpty ? ", and no known row is lost." : ".")
      ]
      if pagesMissing > 0 {
        notes.append(
          "the store is truncated: \(CountText(pagesMissing, "page is", "pages are")) missing at "
            + "its end."
        )
      }
      notes += tables.map(\.sentence)
      notes += indexes.map { "index \($0) was damaged, and was built again." }
      notes += indexesLeftOut.map { "index \($0) cannot be built from the remaining rows." }
      return notes
    }

    /// How much is taken and lost, as the end of a sentence.
    public var description: String {
      let lost = tables.map { "\($0.amount) of \($0.table)" }.joined(separator: ", ")
      return "\(CountText(rowsTaken, "row"))"
        + (tables.isEmpty ? " and lose no known row" : " and lose \(lost)")
    }

    init(_ core: SalvagedStore) {
      rowsTaken = core.rowsTaken
      tables = core.tables.map { Table($0) }
      (indexes, indexesLeftOut) = (core.indexes.map(\.index), core.indexesLeftOut)
      pagesMissing = core.pagesMissing
    }
  }
}

extension StoreMigration.Salvage.Table {
  init(_ core: SalvagedStore.Table) {
    (table, rowsTaken, damagedPages) = (core.table, core.rowsTaken, core.damagedPages)
    (ranges, lostKeys) = (core.ranges.map(\.closed), core.lostKeys.map(\.closed))
    (lostKeyCount, isExact, mostLost) = (core.lostKeyCount, core.isExact, core.mostLost)
  }

  /// How many rows are lost, as far as that is known.
  var amount: String {
    if isExact { return "\(CountText(lostKeyCount, "row"))" }
    if let mostLost { return "at most \(CountText(max(mostLost, lostKeyCount), "row"))" }
    return lostKeyCount > 0
      ? "at least \(CountText(lostKeyCount, "row"))" : "an unknown number of rows"
  }

  /// What became of the table, as a sentence.
  var sentence: String {
    let pages = Self.list(damagedPages.map { "\($0)" })
    let cause =
      damagedPages.isEmpty
      ? "its indexes name rows that it does not have"
      : "\(damagedPages.count == 1 ? "page" : "pages") \(pages) "
        + "\(damagedPages.count == 1 ? "is" : "are") damaged"
    var parts: [String] = []
    if !lostKeys.isEmpty { parts.append("lost \(Self.list(lostKeys.map(Self.words)))") }
    if !ranges.isEmpty && !isExact {
      parts.append("may have lost \(Self.list(ranges.map(Self.words)))")
    }
    let keys = parts.isEmpty ? "" : " (\(parts.joined(separator: ", ")))"
    return "table \(table): \(cause); \(CountText(rowsTaken, "row was", "rows were")) migrated and "
      + "\(amount) lost\(keys)."
  }

  private static func words(_ keys: ClosedRange<Int64>) -> String {
    switch (keys.lowerBound, keys.upperBound) {
    case (.min, .max): "any key"
    case (.min, let last): "keys up to \(last)"
    case (let first, .max): "keys from \(first)"
    case (let first, let last): first == last ? "key \(first)" : "keys \(first) to \(last)"
    }
  }

  private static func list(_ parts: [String]) -> String {
    let most = 10
    let left = parts.count - most
    return parts.prefix(most).joined(separator: ", ") + (left > 0 ? " and \(left) more" : "")
  }
}

extension SalvagedStore.Keys {
  /// The same with the bounds of a key where there are none.
  fileprivate var closed: ClosedRange<Int64> {
    let (low, high) = (first ?? .min, last ?? .max)
    return low...max(low, high)
  }
}

extension SalvagedStore {
  /// What was lost, one sentence for each table.
  var lossSentences: [String] { StoreMigration.Salvage(self).tables.map(\.sentence) }
}
