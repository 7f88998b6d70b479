import Foundation
import ObjectModel
import Schema
import StoreFormat

/// What shows at once that a cell is as it should be.
///
/// It never shows that one is not: rows that it does not accept are compared by their values.
struct CellTest {
  enum Kind {
    /// The value of the old row.
    case same
    /// A value that is known.
    case constant
    /// A number of the old row in another type.
    case real, integer, boolean
    /// The value of the old row behind a byte, or without its first one.
    case tagged, untagged
    /// NULL, or the value of the old row if it has a place.
    case stray
    /// The number of an entity in place of the old one.
    case entity
  }

  var kind: Kind
  /// The place in records of the new store.
  var place: Int
  var isReal: Bool
  /// The place in records of the old store.
  var source = 0
  var sourceIsReal = false
  /// What a constant is, or what should be there in place of NULL.
  var value = TestValue()
  /// The place of the key next to an entity number in records of the old store.
  var key = 0
  /// The places of numbers in `RowRules.numbers`.
  var numbers = 0..<0
}

/// A known value, without objects to count.
struct TestValue {
  enum Kind { case null, integer, real, text, blob }

  var kind = Kind.null
  var number: Int64 = 0
  var bytes = UnsafeRawBufferPointer(start: nil, count: 0)
}

/// How the rows of one table of the old store show that those of the new one are as they should be.
///
/// It does not change once it is made, and its memory lives as long as it does.
final class RowRules: @unchecked Sendable {
  /// The rows of one entity of the old store.
  struct Group {
    var number: Int64
    /// nil for rows that the new store has no place for.
    var tests: UnsafeMutableBufferPointer<CellTest>?
  }

  let old: PlainTable
  let new: PlainTable
  /// The place of the entity's number in records of the old store; nil where all rows are alike.
  let entityPlace: Int?
  private(set) var groups: [Group] = []
  /// Entity numbers of the old store with those of the new one, one after the other.
  private(set) var numbers: [(old: Int64, new: Int64)] = []
  private var held: [UnsafeMutableRawBufferPointer] = []

  /// Tests that rows are copies, as far as both tables have the same columns.
  init?(copy new: PlainTable, of old: PlainTable) {
    (self.old, self.new, entityPlace) = (old, new, nil)
    guard old.hasOwnKey == new.hasOwnKey else { return nil }
    var tests: [CellTest] = []
    for name in old.names {
      guard let source = old.columns[name], let column = new.columns[name] else { continue }
      guard (source.place < 0) == (column.place < 0) else { return nil }
      if source.place < 0 { continue }
      tests.append(Self.same(column, source: source))
    }
    groups = [Group(number: 0, tests: hold(tests))]
  }

  /// Tests the places of rows by the rules for them; nil where a rule needs other rows.
  ///
  /// - Parameter known: the numbers of entities that the old table has rows of.
  init?(
    _ rules: TableRules, places: [Int], known: Set<Int64>, old: PlainTable, new: PlainTable
  ) {
    (self.old, self.new) = (old, new)
    guard let key = rules.sourceTable.columns.first, let column = rules.table.columns.first,
      old.columns[key.name]?.place == -1, new.columns[column.name]?.place == -1,
      rules.sourceTable.columns.count > 2,
      let number = old.columns[rules.sourceTable.columns[1].name], number.place >= 0
    else { return nil }
    entityPlace = number.place
    for (number, entity) in rules.entities.sorted(by: { $0.key < $1.key }) {
      var tests: [CellTest] = []
      for place in places {
        guard let column = new.columns[rules.table.columns[place].name], column.place >= 0
        else { return nil }
        let made: CellTest?
        switch place {
        case 1: made = constant(.integer(entity.number), column: column)
        case 2: made = sourceColumn(rules, place: 2).map { Self.same(column, source: $0) }
        default:
          if case .free = entity.cells[place] { continue }
          made = test(entity.cells[place], column: column, rules: rules)
        }
        guard let made else { return nil }
        tests.append(made)
      }
      groups.append(Group(number: number, tests: hold(tests)))
    }
    groups += known.filter { rules.entities[$0] == nil }.map { Group(number: $0, tests: nil) }
  }

  deinit {
    for group in groups { group.tests?.deallocate() }
    for bytes in held { bytes.deallocate() }
  }

  // MARK: Tests of cells

  private func hold(_ tests: [CellTest]) -> UnsafeMutableBufferPointer<CellTest> {
    let result = UnsafeMutableBufferPointer<CellTest>.allocate(capacity: tests.count)
    _ = result.initialize(from: tests)
    return result
  }

  private static func same(_ column: PlainTable.Column, source: PlainTable.Column) -> CellTest {
    CellTest(
      kind: .same, place: column.place, isReal: column.isReal, source: source.place,
      sourceIsReal: source.isReal)
  }

  private func sourceColumn(_ rules: TableRules, place: Int) -> PlainTable.Column? {
    old.columns[rules.sourceTable.columns[place].name].flatMap { $0.place < 0 ? nil : $0 }
  }

  private func constant(_ value: RawValue, column: PlainTable.Column) -> CellTest {
    CellTest(
      kind: .constant, place: column.place, isReal: column.isReal, value: testValue(value))
  }

  private func testValue(_ value: RawValue) -> TestValue {
    switch value {
    case .null: TestValue()
    case .integer(let number): TestValue(kind: .integer, number: number)
    case .real(let bits): TestValue(kind: .real, number: Int64(bitPattern: bits))
    case .text(let bytes): TestValue(kind: .text, bytes: hold(bytes))
    case .blob(let bytes): TestValue(kind: .blob, bytes: hold(bytes))
    }
  }

  private func hold(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
    let result = UnsafeMutableRawBufferPointer.allocate(
      byteCount: max(1, bytes.count), alignment: 1)
    result.copyBytes(from: bytes)
    held.append(result)
    return UnsafeRawBufferPointer(rebasing: result[..<bytes.count])
  }

  private func test(
    _ rule: CellRule, column: PlainTable.Column, rules: TableRules
  ) -> CellTest? {
    func from(_ place: Int, kind: CellTest.Kind, ifNull: RawValue = .null) -> CellTest? {
      guard let source = sourceColumn(rules, place: place) else { return nil }
      var test = Self.same(column, source: source)
      test.kind = kind
      test.value = testValue(ifNull)
      return test
    }
    switch rule {
    case .constant(let value): return constant(value, column: column)
    case .copy(let place, let other): return from(place, kind: .same, ifNull: other)
    case .number(let place, let type, let other):
      let kind: CellTest.Kind =
        switch type.numberKind {
        case .boolean: .boolean
        case .integer: .integer
        case .real: .real
        case .decimal, nil: .same
        }
      return from(place, kind: kind, ifNull: other)
    case .tagged(let place, let other): return from(place, kind: .tagged, ifNull: other)
    case .untagged(let place, let other): return from(place, kind: .untagged, ifNull: other)
    case .key(let reference):
      return reference.family.mayLose ? nil : from(reference.key, kind: .same)
    case .place(let reference, let place):
      return reference.family.mayLose ? nil : from(place, kind: .same)
    case .entity(let reference):
      guard let place = reference.entity, var test = from(place, kind: .entity),
        let key = sourceColumn(rules, place: reference.key)
      else { return nil }
      test.key = key.place
      let first = numbers.count
      numbers += reference.family.kept.map { ($0.key, $0.value) }
      test.numbers = first..<numbers.count
      return test
    case .stray(let place?): return from(place, kind: .stray)
    case .stray(nil): return constant(.null, column: column)
    case .firstOwner, .paired, .owner, .free: return nil
    }
  }
}
