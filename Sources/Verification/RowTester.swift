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

  /// A row in memory.
  private struct Row {
    var record: UnsafeRawPointer
    var types: UnsafeMutablePointer<UInt32>
    var places: UnsafeMutablePointer<Int32>
    var count: Int

    /// Columns that a short record lacks are NULL.
    @inline(__always)
    func type(_ place: Int) -> UInt32 { place < count ? types[place] : 0 }
    @inline(__always)
    func start(_ place: Int) -> UnsafeRawPointer { record + Int(places[place]) }
    @inline(__always)
    func size(_ place: Int) -> Int { Int(places[place + 1] - places[place]) }
  }

  private let old: TableLeaves
  private let new: TableLeaves
  private let oldFields: RecordFields
  private let newFields: RecordFields

  init(old: TableLeaves, new: TableLeaves, mostColumns: Int) {
    (self.old, self.new) = (old, new)
    oldFields = RecordFields(columns: mostColumns)
    newFields = RecordFields(columns: mostColumns)
  }

  /// Compares the rows of a range; nil where they are not shown to be as they should be.
  ///
  /// - Throws: `UnsoundPage`, where a query for the rows of a range may have another answer than
  ///   one for all rows.
  func outcome(
    _ rules: RowRules, range: ClosedRange<Int64>
  ) throws(UnsoundPage) -> Outcome? {
    try old.open(root: rules.old.root, from: range.lowerBound, to: range.upperBound)
    try new.open(root: rules.new.root, from: range.lowerBound, to: range.upperBound)
    var outcome = Outcome()
    let groups = rules.groups
    var (left, lefts, right, rights) = (0, 0, 0, 0)
    while true {
      if left == lefts { (left, lefts) = (0, try old.next()) }
      if right == rights { (right, rights) = (0, try new.next()) }
      if lefts == 0 { return rights == 0 ? outcome : nil }
      while left < lefts {
        guard let before = try row(left, of: old, fields: oldFields, columns: rules.old.count)
        else { return nil }
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
        if right == rights { break }
        guard old.keys[left] == new.keys[right],
          let after = try row(right, of: new, fields: newFields, columns: rules.new.count),
          Self.isAlike(after, before: before, tests: tests, rules: rules)
        else { return nil }
        outcome.rows += 1
        left += 1
        right += 1
      }
      if rights == 0, left < lefts { return nil }
    }
  }

  @inline(__always)
  private func row(
    _ place: Int, of leaves: TableLeaves, fields: RecordFields, columns: Int
  ) throws(UnsoundPage) -> Row? {
    let total = leaves.totals[place]
    let record: UnsafeRawPointer
    if let there = leaves.records[place] {
      record = there
    } else {
      guard total <= TableLeaves.mostBytes else { return nil }
      record = try leaves.record(place)
    }
    let count = fields.read(record, held: total, total: total)
    guard count >= 0, count <= columns else { throw UnsoundPage() }
    return Row(record: record, types: fields.types, places: fields.places, count: count)
  }

  @inline(__always)
  private static func entity(of row: Row, place: Int) -> Int64? {
    let type = row.type(place)
    guard RecordFields.isInteger(type) else { return nil }
    return RecordFields.number(type: type, at: row.start(place))
  }

  // MARK: Cells

  private static func isAlike(
    _ row: Row, before: Row, tests: UnsafeMutableBufferPointer<CellTest>, rules: RowRules
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
    _ row: Row, before: Row, test: UnsafePointer<CellTest>
  ) -> Bool {
    let type = before.type(test.pointee.source)
    if type == row.type(test.pointee.place), type != 0,
      test.pointee.isReal == test.pointee.sourceIsReal,
      // What is no number SQLite takes as NULL.
      type != RecordFields.real || test.pointee.value.kind == .null
    {
      let (one, other) = (before.start(test.pointee.source), row.start(test.pointee.place))
      let size = RecordFields.size(type: type)
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
    _ row: Row, before: Row, test: UnsafePointer<CellTest>
  ) -> Bool {
    let (type, other) = (before.type(test.pointee.source), row.type(test.pointee.place))
    if type == 0 || other == 0 { return type == other }
    guard let one = number(before, test.pointee.source, isReal: test.pointee.sourceIsReal),
      let two = number(row, test.pointee.place, isReal: test.pointee.isReal)
    else { return false }
    return one == two
  }

  private static func isAlike(
    _ row: Row, before: Row, test: UnsafePointer<CellTest>, rules: RowRules
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
      // Where the old row names an object but not its entity, that object tells.
      guard RecordFields.isInteger(type) else { return false }
      let number = RecordFields.number(type: type, at: before.start(source))
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
    _ row: Row, before: Row, test: UnsafePointer<CellTest>
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

  private static func number(_ row: Row, _ place: Int, isReal: Bool) -> Number? {
    let type = row.type(place)
    guard RecordFields.isInteger(type) || type == RecordFields.real else { return nil }
    let bits = RecordFields.number(type: type, at: row.start(place))
    if type == RecordFields.real { return .real(Double(bitPattern: UInt64(bitPattern: bits))) }
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
      // What does not fit is SQLite's to say.
      guard abs(real) < 0x1p62 else { return nil }
      return Number(isReal: false, bits: Int64(real))
    }
  }

  private static func holds(
    _ row: Row, test: UnsafePointer<CellTest>, value: TestValue
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
