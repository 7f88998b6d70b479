import ObjectMigration

/// Tests of the fields of a row, as steps over a stack of partial results.
final class FieldTests {
  fileprivate enum Kind {
    case constant, not, and, or, null, integer, boolean, real, text, end
  }

  fileprivate struct Step {
    var kind: Kind
    /// How many parts it has, or the field.
    var operand = 0
    /// The result for NULL, or for every value.
    var plain: Int8 = 0
    /// Where its values begin among those of its kind, and how many there are.
    var first = 0
    var count = 0
    var comparison = Order.among
  }

  fileprivate enum Order {
    case among, notAmong, less, lessOrEqual, greater, greaterOrEqual, between
  }

  /// All steps, which a loop over rows reads without counting references.
  private let steps: UnsafeMutableBufferPointer<Step>
  private var count = 0
  private let integers: Constants<Int64>
  private let reals: Constants<Double>
  private let texts: Constants<[UInt8]>
  private let stack: UnsafeMutablePointer<Int8>
  /// The result that only the evaluator can compute.
  private static let unknown = FilterRows.uncertain

  /// Takes the places of columns among the fields of a row; nil where one has none.
  init?(_ tests: [FilterTest], places: [String: Int]) {
    let size = tests.reduce(0) { $0 + $1.size + 1 }
    let constants = tests.reduce(0) { $0 + $1.constants }
    stack = .allocate(capacity: size)
    steps = .allocate(capacity: size)
    integers = Constants(capacity: constants)
    reals = Constants(capacity: constants)
    texts = Constants(capacity: constants)
    steps.initialize(repeating: Step(kind: .constant))
    for test in tests {
      guard add(test, places: places) else { return nil }
      put(Step(kind: .end))
    }
  }

  deinit {
    stack.deallocate()
    steps.deallocate()
  }

  private func put(_ step: Step) {
    steps[count] = step
    count += 1
  }

  private func add(_ test: FilterTest, places: [String: Int]) -> Bool {
    switch test {
    case .constant(let value): put(Step(kind: .constant, plain: value ? 1 : 0))
    case .not(let part):
      guard add(part, places: places) else { return false }
      put(Step(kind: .not))
    case .and(let parts), .or(let parts):
      for part in parts where !add(part, places: places) { return false }
      let isAnd = if case .and = test { true } else { false }
      put(Step(kind: isAnd ? .and : .or, operand: parts.count))
    case .null(let column, let isNull):
      guard let place = places[column] else { return false }
      put(Step(kind: .null, operand: place, plain: isNull ? 1 : 0))
    case .integer(let column, let comparison, let ofNull),
      .boolean(let column, let comparison, let ofNull):
      guard let place = places[column] else { return false }
      let isBoolean = if case .boolean = test { true } else { false }
      var step = Step(kind: isBoolean ? .boolean : .integer, operand: place)
      step.take(comparison, ofNull: ofNull) { integers.add($0) }
      put(step)
    case .real(let column, let comparison, let ofNull):
      guard let place = places[column] else { return false }
      var step = Step(kind: .real, operand: place)
      step.take(comparison, ofNull: ofNull) { reals.add($0) }
      put(step)
    case .text(let column, let values, let isOneOf, let ofNull):
      guard let place = places[column] else { return false }
      var step = Step(kind: .text, operand: place)
      step.take(isOneOf ? .oneOf(values) : .noneOf(values), ofNull: ofNull) { texts.add($0) }
      put(step)
    }
    return true
  }

  /// Evaluates every test for a row: 1, 0, or `FilterRows.uncertain`.
  @inline(__always)
  func say(of fields: UnsafePointer<Field>, into answers: UnsafeMutablePointer<Int8>) {
    var top = 0
    var test = 0
    for step in steps {
      switch step.kind {
      case .constant: push(step.plain, &top)
      case .not: if stack[top - 1] != Self.unknown { stack[top - 1] = 1 - stack[top - 1] }
      case .and, .or: join(step, &top)
      case .null: push(fields[step.operand].isNothing ? step.plain : 1 - step.plain, &top)
      case .integer, .boolean, .real, .text: push(said(by: step, of: fields[step.operand]), &top)
      case .end:
        answers[test] = stack[0]
        (top, test) = (0, test + 1)
      }
    }
  }

  @inline(__always)
  private func push(_ value: Int8, _ top: inout Int) {
    stack[top] = value
    top += 1
  }

  /// Joins parts; what is unknown of one is unknown of all, as in SQL's products.
  private func join(_ step: Step, _ top: inout Int) {
    let isAnd = step.kind == .and
    var result: Int8 = isAnd ? 1 : 0
    for place in top - step.operand..<top {
      let part = stack[place]
      if part == Self.unknown || result == Self.unknown {
        result = Self.unknown
      } else {
        result = isAnd ? result & part : result | part
      }
    }
    top -= step.operand
    push(result, &top)
  }

  @inline(__always)
  private func said(by step: Step, of field: Field) -> Int8 {
    if field.isNothing { return step.plain }
    switch step.kind {
    case .integer, .boolean:
      guard field.isInteger else { return Self.unknown }
      let value = field.integer
      return step.said(of: step.kind == .boolean ? (value == 0 ? 0 : 1) : value, integers.values)
    case .real:
      if field.isInteger { return step.said(of: Double(field.integer), reals.values) }
      guard field.isReal else { return Self.unknown }
      return step.said(of: field.real, reals.values)
    default:
      guard field.isText else { return Self.unknown }
      let bytes = UnsafeRawBufferPointer(start: field.body, count: field.size)
      let values = UnsafeBufferPointer(start: texts.values + step.first, count: step.count)
      let isAmong = values.contains { $0.count == bytes.count && $0.elementsEqual(bytes) }
      return isAmong == (step.comparison == .among) ? 1 : 0
    }
  }
}

extension Field {
  /// Whether SQLite reads it as NULL, as it does with what is no number.
  @inline(__always) var isNothing: Bool { isNull || isReal && real.isNaN }
}

/// Constants that a loop over rows reads without counting references.
private final class Constants<Value> {
  let values: UnsafeMutablePointer<Value>
  private var count = 0

  init(capacity: Int) { values = .allocate(capacity: max(1, capacity)) }

  deinit {
    values.deinitialize(count: count)
    values.deallocate()
  }

  /// Adds some; the place of the first one.
  func add(_ some: [Value]) -> Int {
    for (place, value) in some.enumerated() { (values + count + place).initialize(to: value) }
    count += some.count
    return count - some.count
  }
}

extension FilterTest {
  /// How many values there are to compare with.
  fileprivate var constants: Int {
    switch self {
    case .not(let part): part.constants
    case .and(let parts), .or(let parts): parts.reduce(0) { $0 + $1.constants }
    case .integer(_, let comparison, _), .boolean(_, let comparison, _): comparison.count
    case .real(_, let comparison, _): comparison.count
    case .text(_, let values, _, _): values.count
    default: 0
    }
  }

  /// How many tests there are, those of parts included.
  fileprivate var size: Int {
    switch self {
    case .not(let part): part.size + 1
    case .and(let parts), .or(let parts): parts.reduce(1) { $0 + $1.size }
    default: 1
    }
  }
}

extension FilterTest.Comparison {
  fileprivate var count: Int {
    switch self {
    case .oneOf(let values), .noneOf(let values): values.count
    case .between: 2
    default: 1
    }
  }
}

extension FieldTests.Step {
  fileprivate mutating func take<Value>(
    _ comparison: FilterTest.Comparison<Value>, ofNull: Bool, adding add: ([Value]) -> Int
  ) {
    let values: [Value]
    switch comparison {
    case .oneOf(let some): (self.comparison, values) = (.among, some)
    case .noneOf(let some): (self.comparison, values) = (.notAmong, some)
    case .less(let value): (self.comparison, values) = (.less, [value])
    case .lessOrEqual(let value): (self.comparison, values) = (.lessOrEqual, [value])
    case .greater(let value): (self.comparison, values) = (.greater, [value])
    case .greaterOrEqual(let value): (self.comparison, values) = (.greaterOrEqual, [value])
    case .between(let low, let high): (self.comparison, values) = (.between, [low, high])
    }
    plain = ofNull ? 1 : 0
    (first, count) = (add(values), values.count)
  }

  @inline(__always)
  fileprivate func said<Value: Comparable>(
    of value: Value, _ all: UnsafeMutablePointer<Value>
  ) -> Int8 {
    let holds =
      switch comparison {
      case .among, .notAmong: isAmong(value, all) == (comparison == .among)
      case .less: value < all[first]
      case .lessOrEqual: value <= all[first]
      case .greater: value > all[first]
      case .greaterOrEqual: value >= all[first]
      case .between: value >= all[first] && value <= all[first + 1]
      }
    return holds ? 1 : 0
  }

  @inline(__always)
  private func isAmong<Value: Comparable>(
    _ value: Value, _ all: UnsafeMutablePointer<Value>
  ) -> Bool {
    for place in first..<first + count where all[place] == value { return true }
    return false
  }
}
