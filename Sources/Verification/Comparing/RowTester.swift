import Foundation
import StoreFormat

/// Goes through the rows of two tables between two keys, side by side, on one thread.
final class RowTester {
  /// What was found out of the rows between two keys.
  struct Outcome {
    /// How many rows are as they should be.
    var rows: Int64 = 0
    /// Whether rows of the old table belong to no known entity.
    var hasStrangers = false
  }

  private let old: JudgedRows
  private let new: JudgedRows
  private let before: JudgedRow
  private let after: JudgedRow

  init(old: JudgedRows, new: JudgedRows, mostColumns: Int) {
    (self.old, self.new) = (old, new)
    before = JudgedRow(mostColumns: mostColumns)
    after = JudgedRow(mostColumns: mostColumns)
  }

  /// Compares the rows of a range; nil where they are not shown to be as they should be.
  ///
  /// - Throws: `UnsoundPage`, where a query for the rows of a range may have another answer than
  ///   one for all rows.
  func outcome(
    _ rules: RowRules, range: ClosedRange<Int64>
  ) throws(UnsoundPage) -> Outcome? {
    old.open(root: rules.old.root, range: range)
    new.open(root: rules.new.root, range: range)
    var outcome = Outcome()
    let groups = rules.groups
    var (left, right) = (0, 0)
    while true {
      if left == old.count { (left, _) = (0, try old.next()) }
      if right == new.count { (right, _) = (0, try new.next()) }
      if old.count == 0 { return new.count == 0 ? outcome : nil }
      while left < old.count {
        guard try old.read(left, columns: rules.old.count, into: before) else { return nil }
        let number =
          rules.entityPlace.map { Self.entity(of: before, place: $0) } ?? groups[0].number
        guard let number, let group = groups.first(where: { $0.number == number }) else {
          outcome.hasStrangers = true
          left += 1
          continue
        }
        guard let tests = group.tests else {
          left += 1
          continue
        }
        // The next leaf of the new table is read with its next row.
        if right == new.count { break }
        guard old.key(left) == new.key(right),
          try new.read(right, columns: rules.new.count, into: after),
          Self.isAlike(after, before: before, tests: tests, rules: rules)
        else { return nil }
        outcome.rows += 1
        left += 1
        right += 1
      }
      if new.count == 0, left < old.count { return nil }
    }
  }

  @inline(__always)
  private static func entity(of row: JudgedRow, place: Int) -> Int64? {
    row.isInteger(place) ? row.number(place) : nil
  }

  // MARK: Cells

  private static func isAlike(
    _ row: JudgedRow, before: JudgedRow, tests: UnsafeMutableBufferPointer<CellTest>,
    rules: RowRules
  ) -> Bool {
    for place in 0..<tests.count {
      let test = tests.baseAddress.unsafelyUnwrapped + place
      let isFine =
        test.pointee.kind == .same
        ? isSame(row, before: before, test: test)
        : isAlike(row, before: before, test: test, rules: rules)
      guard isFine else { return false }
    }
    return true
  }

  @inline(__always)
  private static func isSame(
    _ row: JudgedRow, before: JudgedRow, test: UnsafePointer<CellTest>
  ) -> Bool {
    let type = before.type(test.pointee.source)
    if type == row.type(test.pointee.place), type != 0,
      test.pointee.isReal == test.pointee.sourceIsReal,
      // What is no number SQLite takes as NULL.
      type != JudgedRow.real || test.pointee.value.kind == .null
    {
      let (one, other) = (before.start(test.pointee.source), row.start(test.pointee.place))
      let size = JudgedRow.size(ofType: type)
      if size > 8 { return memcmp(one, other, size) == 0 }
      if size == 0 { return true }
      let difference =
        one.loadUnaligned(as: UInt64.self) ^ other.loadUnaligned(as: UInt64.self)
      return difference << UInt64(64 - 8 * size) == 0
    }
    if type == 0, test.pointee.value.kind != .null {
      return holds(row, test: test, value: test.pointee.value)
    }
    return isEqual(row, before: before, test: test)
  }

  /// Whether both rows have one value, perhaps in other bytes.
  private static func isEqual(
    _ row: JudgedRow, before: JudgedRow, test: UnsafePointer<CellTest>
  ) -> Bool {
    let (type, other) = (before.type(test.pointee.source), row.type(test.pointee.place))
    if type == 0 || other == 0 { return type == other }
    guard let one = number(before, test.pointee.source, isReal: test.pointee.sourceIsReal),
      let two = number(row, test.pointee.place, isReal: test.pointee.isReal)
    else { return false }
    return one == two
  }

  private static func isAlike(
    _ row: JudgedRow, before: JudgedRow, test: UnsafePointer<CellTest>, rules: RowRules
  ) -> Bool {
    let value = test.pointee.value
    let source = test.pointee.source
    switch test.pointee.kind {
    case .same: return isSame(row, before: before, test: test)
    case .constant: return holds(row, test: test, value: value)
    case .stray:
      return row.type(test.pointee.place) == 0 || isSame(row, before: before, test: test)
    case .entity:
      let type = before.type(source)
      if type == 0, before.type(test.pointee.key) == 0 {
        return holds(row, test: test, value: value)
      }
      // If the old row names an object but not its entity, that object determines it.
      guard before.isInteger(source) else { return false }
      let number = before.number(source)
      let found = rules.numbers[test.pointee.numbers].first { $0.old == number }
      let expected = found.map { TestValue(kind: .integer, number: $0.new) } ?? TestValue()
      return holds(row, test: test, value: expected)
    case .tagged, .untagged:
      if before.type(source) == 0 { return holds(row, test: test, value: value) }
      return hasMovedBytes(row, before: before, test: test)
    case .real, .integer, .boolean:
      if before.type(source) == 0 { return holds(row, test: test, value: value) }
      guard let found = number(before, source, isReal: test.pointee.sourceIsReal),
        let expected = converted(found, to: test.pointee.kind)
      else { return false }
      return number(row, test.pointee.place, isReal: test.pointee.isReal) == expected
    }
  }

  private static func hasMovedBytes(
    _ row: JudgedRow, before: JudgedRow, test: UnsafePointer<CellTest>
  ) -> Bool {
    let (source, place) = (test.pointee.source, test.pointee.place)
    let (type, other) = (before.type(source), row.type(place))
    guard type >= 12, type & 1 == 0, other >= 12, other & 1 == 0 else { return false }
    let isTagged = test.pointee.kind == .tagged
    let (long, short) = isTagged ? (row, before) : (before, row)
    let (longPlace, shortPlace) = isTagged ? (place, source) : (source, place)
    let size = short.size(shortPlace)
    // Those behind the other tag are in files.
    guard long.size(longPlace) == size + 1,
      long.start(longPlace).load(as: UInt8.self) == ExternalValue.inlineTag
    else { return false }
    return memcmp(long.start(longPlace) + 1, short.start(shortPlace), size) == 0
  }

  // MARK: Values

  private struct Number: Equatable {
    var isReal: Bool
    var bits: Int64

    static func real(_ number: Double) -> Number? {
      // A file may hold what SQLite takes as NULL.
      number.isNaN ? nil : Number(isReal: true, bits: Int64(bitPattern: number.bitPattern))
    }
  }

  private static func number(_ row: JudgedRow, _ place: Int, isReal: Bool) -> Number? {
    let isStoredAsReal = row.type(place) == JudgedRow.real
    guard isStoredAsReal || row.isInteger(place) else { return nil }
    let bits = row.number(place)
    if isStoredAsReal { return .real(Double(bitPattern: UInt64(bitPattern: bits))) }
    return isReal ? .real(Double(bits)) : Number(isReal: false, bits: bits)
  }

  private static func converted(_ number: Number, to kind: CellTest.Kind) -> Number? {
    let real = number.isReal ? Double(bitPattern: UInt64(bitPattern: number.bits)) : 0
    switch kind {
    case .real: return number.isReal ? number : .real(Double(number.bits))
    case .boolean:
      let isZero = number.isReal ? real == 0 : number.bits == 0
      return Number(isReal: false, bits: isZero ? 0 : 1)
    default:
      if !number.isReal { return number }
      // SQLite decides about values that do not fit.
      guard abs(real) < 0x1p62 else { return nil }
      return Number(isReal: false, bits: Int64(real))
    }
  }

  private static func holds(
    _ row: JudgedRow, test: UnsafePointer<CellTest>, value: TestValue
  ) -> Bool {
    let place = test.pointee.place
    let type = row.type(place)
    switch value.kind {
    case .null: return type == 0
    case .integer, .real:
      return number(row, place, isReal: test.pointee.isReal)
        == Number(isReal: value.kind == .real, bits: value.number)
    case .text, .blob:
      guard type >= 12, (type & 1 == 1) == (value.kind == .text),
        row.size(place) == value.bytes.count
      else { return false }
      guard let bytes = value.bytes.baseAddress else { return true }
      return memcmp(row.start(place), bytes, value.bytes.count) == 0
    }
  }
}
