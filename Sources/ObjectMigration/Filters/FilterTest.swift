import Expressions
package import GRDB
import ObjectModel
import Schema

/// A filter as a test of the values of a row, for what finds those without SQLite.
///
/// It returns what `FilterStatement` returns: 1 or 0 if the evaluator certainly agrees, and nothing
/// if a value has another type than its attribute, whatever is next to it.
package indirect enum FilterTest: Hashable, Sendable {
  /// Always the same.
  case constant(Bool)
  /// The opposite.
  case not(FilterTest)
  /// Whether all parts are true.
  case and([FilterTest])
  /// Whether any part is true.
  case or([FilterTest])
  /// Whether a column is NULL, or is not.
  case null(column: String, Bool)
  /// Whether a whole number compares so, with what it is for NULL.
  case integer(column: String, Comparison<Int64>, ofNull: Bool)
  /// Whether a number other than zero, taken as 1, compares so.
  case boolean(column: String, Comparison<Int64>, ofNull: Bool)
  /// Whether a number compares so.
  case real(column: String, Comparison<Double>, ofNull: Bool)
  /// Whether a text is one of some, in UTF-8, or is none of them.
  case text(column: String, [[UInt8]], isOneOf: Bool, ofNull: Bool)

  /// A comparison with constants.
  package enum Comparison<Value: Hashable & Sendable>: Hashable, Sendable {
    /// One of them.
    case oneOf([Value])
    /// None of them.
    case noneOf([Value])
    /// Less than a constant.
    case less(Value)
    /// That, or the same.
    case lessOrEqual(Value)
    /// More than a constant.
    case greater(Value)
    /// That, or the same.
    case greaterOrEqual(Value)
    /// From one up to another.
    case between(Value, Value)
  }

  /// The columns that it reads.
  package var columns: Set<String> {
    switch self {
    case .constant: []
    case .not(let part): part.columns
    case .and(let parts), .or(let parts): parts.reduce(into: []) { $0.formUnion($1.columns) }
    case .null(let column, _), .integer(let column, _, _), .boolean(let column, _, _),
      .real(let column, _, _), .text(let column, _, _, _):
      [column]
    }
  }

  /// The most levels of a predicate.
  private static let deepest = 50
  /// The most constants of a list: of more SQLite makes a b-tree, where each is compared here.
  private static let mostMembers = 16

  /// Nil if SQLite or the evaluator has to decide.
  init?(_ predicate: ValuePredicate, facts: EntityFacts) {
    guard let test = Self.test(predicate, facts: facts, depth: 0) else { return nil }
    self = test
  }

  private static func test(
    _ predicate: ValuePredicate, facts: EntityFacts, depth: Int
  ) -> FilterTest? {
    guard depth < deepest else { return nil }
    func all(_ parts: [ValuePredicate]) -> [FilterTest]? {
      let tests = parts.compactMap { test($0, facts: facts, depth: depth + 1) }
      return tests.count == parts.count ? tests : nil
    }
    switch predicate {
    case .always(let value): return .constant(value)
    case .not(let part): return test(part, facts: facts, depth: depth + 1).map { .not($0) }
    case .and(let parts): return all(parts).map { .and($0) }
    case .or(let parts): return all(parts).map { .or($0) }
    case .comparison(
      .keyPath(let operand, let name), let comparison, let right, .direct, false, false)
    where operand == nil || operand == .evaluatedObject:
      guard let found = facts.attributes[name], !name.contains(".") else { return nil }
      return test(
        found.attribute, column: facts.columns[found.index], comparison: comparison, right)
    case .comparison, .unparsed: return nil
    }
  }

  private static func test(
    _ attribute: Attribute, column: String, comparison: ValuePredicate.Comparison,
    _ other: ValueExpression
  ) -> FilterTest? {
    if case .constant(.null) = other {
      // Reading a value of its own file may fail.
      guard comparison == .equal || comparison == .notEqual,
        !attribute.storesBinaryDataExternally
      else { return nil }
      return .null(column: column, comparison == .equal)
    }
    let ofNull = comparison == .notEqual
    let constants: [AttributeValue]
    switch other {
    case .constant(let value) where comparison != .in && comparison != .between:
      constants = [value]
    case .aggregate(let members) where comparison == .in || comparison == .between:
      constants = members.compactMap { if case .constant(let value) = $0 { value } else { nil } }
      guard constants.count == members.count, members.count <= mostMembers else { return nil }
    default: return nil
    }
    switch attribute.type {
    case .integer16, .integer32, .integer64:
      return self.comparison(comparison, constants.map(Self.integer))
        .map { .integer(column: column, $0, ofNull: ofNull) }
    case .boolean:
      return self.comparison(comparison, constants.map(Self.flag))
        .map { .boolean(column: column, $0, ofNull: ofNull) }
    case .double, .float:
      return self.comparison(comparison, constants.map(Self.real))
        .map { .real(column: column, $0, ofNull: ofNull) }
    case .date:
      return self.comparison(comparison, constants.map(Self.date))
        .map { .real(column: column, $0, ofNull: ofNull) }
    case .string: return text(column: column, comparison: comparison, constants)
    default: return nil
    }
  }

  private static func comparison<Value>(
    _ comparison: ValuePredicate.Comparison, _ found: [Value?]
  ) -> Comparison<Value>? {
    let values = found.compactMap(\.self)
    guard values.count == found.count else { return nil }
    switch (comparison, values.count) {
    case (.equal, 1), (.in, _): return .oneOf(values)
    case (.notEqual, 1): return .noneOf(values)
    case (.lessThan, 1): return .less(values[0])
    case (.lessThanOrEqual, 1): return .lessOrEqual(values[0])
    case (.greaterThan, 1): return .greater(values[0])
    case (.greaterThanOrEqual, 1): return .greaterOrEqual(values[0])
    case (.between, 2): return .between(values[0], values[1])
    default: return nil
    }
  }

  private static func text(
    column: String, comparison: ValuePredicate.Comparison, _ constants: [AttributeValue]
  ) -> FilterTest? {
    guard [.equal, .notEqual, .in].contains(comparison) else { return nil }
    let texts = constants.compactMap { value -> [UInt8]? in
      // What is no text is seen as people would read it.
      guard case .string(let text) = value,
        !text.unicodeScalars.contains(where: { $0.value == 0 || $0.value == 0xFFFD })
      else { return nil }
      return Array(text.utf8)
    }
    guard texts.count == constants.count else { return nil }
    return .text(
      column: column, texts, isOneOf: comparison != .notEqual, ofNull: comparison == .notEqual)
  }

  private static func integer(_ value: AttributeValue) -> Int64? {
    if case .integer(let number) = value { number } else { nil }
  }

  private static func flag(_ value: AttributeValue) -> Int64? {
    if case .boolean(let flag) = value { flag ? 1 : 0 } else { integer(value) }
  }

  private static func real(_ value: AttributeValue) -> Double? {
    switch value {
    case .real(let number) where number.isFinite: number
    // Others are compared as they are, and not as what floating point makes of them.
    case .integer(let number) where number.magnitude <= 1 << 53: Double(number)
    default: nil
    }
  }

  private static func date(_ value: AttributeValue) -> Double? {
    if case .date(let number) = value, number.isFinite { number } else { nil }
  }
}

/// Finds the rows of tables without SQLite.
package protocol FilterPages {
  /// A cursor that tests which objects of an entity the filters take; nil if SQLite has to.
  ///
  /// - Parameters:
  ///   - number: the entity's number.
  ///   - columns: those that are tested for NULL.
  ///   - db: a connection to the store.
  func scan(
    table: String, number: Int64, tests: [FilterTest], columns: [String], db: Database
  ) throws -> (any FilterScan)?
}

/// Finds by tests which objects the filters take.
package protocol FilterScan {
  /// Goes through the objects of a range of keys in their order.
  ///
  /// - Parameters:
  ///   - rows: receives the objects that not all filters take for certain, or with a column that is
  ///     set; where there are several filters, all.
  ///   - body: called with the rows, which are then reused.
  /// - Returns: the key from which SQLite has to continue, nil if the whole range was read.
  func look(at keys: ClosedRange<Int64>, into rows: FilterRows, body: () throws -> Void) throws
    -> Int64?
}
