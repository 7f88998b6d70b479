import StoreFormat

/// The rows of two statements in the order of the integers in their first columns, by which equal
/// ones are pairs.
struct PairedRows {
  /// The statements whose current rows are next.
  enum Side {
    /// A row of the first statement alone.
    case first
    /// A row of the second statement alone.
    case second
    /// A pair.
    case both
  }

  private let first, second: RawStatement
  /// Whether the first statement has a current row.
  private(set) var hasFirst = false
  private var hasSecond = false
  private var last = Side.both

  /// Takes statements that were not executed yet.
  init(_ first: RawStatement, _ second: RawStatement) {
    (self.first, self.second) = (first, second)
  }

  /// Goes to the next row of either statement, or of both; nil after the last ones.
  mutating func next() throws -> Side? {
    if last != .second { hasFirst = try first.step() }
    if last != .first { hasSecond = try second.step() }
    guard hasFirst || hasSecond else { return nil }
    let (key, other) = (first.integer(column: 0), second.integer(column: 0))
    if hasFirst, !hasSecond || key ?? .min < other ?? .max {
      last = .first
    } else if !hasFirst || other ?? .min < key ?? .max {
      last = .second
    } else {
      last = .both
    }
    return last
  }
}
