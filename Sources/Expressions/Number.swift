import Foundation

/// A number as arithmetic sees it.
///
/// Whole numbers stay whole, one decimal operand makes the result decimal, else one real makes it
/// real (docs/reference/expressions.md, "Numbers").
enum Number {
  case integer(Int64)
  case real(Double)
  case decimal(Decimal)

  enum Order { case less, equal, greater, none }

  init?(_ value: AttributeValue) {
    switch value {
    case .boolean(let flag): self = .integer(flag ? 1 : 0)
    case .integer(let number): self = .integer(number)
    case .real(let number): self = .real(number)
    case .decimal(let digits):
      guard let number = Decimal(string: digits) else { return nil }
      self = .decimal(number)
    default: return nil
    }
  }

  /// The number as a value; what is not a number is nil, as a store would keep it.
  var value: AttributeValue {
    switch self {
    case .integer(let number): .integer(number)
    case .real(let number): number.isNaN ? .null : .real(number)
    case .decimal(let number): .decimal("\(number)")
    }
  }

  var double: Double {
    switch self {
    case .integer(let number): Double(number)
    case .real(let number): number
    case .decimal(let number): NSDecimalNumber(decimal: number).doubleValue
    }
  }

  var decimal: Decimal {
    switch self {
    case .integer(let number): Decimal(number)
    // By its shortest digits: the direct way brings digits that the number does not have.
    case .real(let number): Decimal(string: "\(number)") ?? .nan
    case .decimal(let number): number
    }
  }

  func compare(_ other: Number) -> Order {
    switch (self, other) {
    case (.integer(let a), .integer(let b)): return Self.order(a, b)
    case (.decimal, .decimal), (.decimal, .integer), (.integer, .decimal):
      return Self.order(decimal, other.decimal)
    case (.integer(let a), .real(let b)): return Self.order(a, b)
    case (.real(let a), .integer(let b)):
      switch Self.order(b, a) {
      case .less: return .greater
      case .greater: return .less
      case let order: return order
      }
    default: return Self.order(double, other.double)
    }
  }

  /// Compares without rounding the integer, which may have more digits than a real.
  private static func order(_ a: Int64, _ b: Double) -> Order {
    if b.isNaN { return .none }
    if b >= 0x1p63 { return .less }
    if b < -0x1p63 { return .greater }
    let whole = Int64(b.rounded(.down))
    if a == whole { return b > Double(whole) ? .less : .equal }
    return a < whole ? .less : .greater
  }

  private static func order<Value: Comparable>(_ a: Value, _ b: Value) -> Order {
    if a == b { return .equal }
    if a < b { return .less }
    return a > b ? .greater : .none
  }
}

extension Number {
  /// Which arithmetic the two take part in together.
  private enum Pair {
    case integers(Int64, Int64)
    case reals(Double, Double)
    case decimals(Decimal, Decimal)
  }

  private func paired(with other: Number) -> Pair {
    switch (self, other) {
    case (.integer(let a), .integer(let b)): .integers(a, b)
    case (.decimal, _), (_, .decimal): .decimals(decimal, other.decimal)
    default: .reals(double, other.double)
    }
  }

  func adding(_ other: Number) throws -> Number {
    try combined(
      other, function: .add, integers: { $0.addingReportingOverflow($1) }, reals: +, decimals: +)
  }

  func subtracting(_ other: Number) throws -> Number {
    try combined(
      other, function: .subtract, integers: { $0.subtractingReportingOverflow($1) }, reals: -,
      decimals: -)
  }

  func multiplied(by other: Number) throws -> Number {
    try combined(
      other, function: .multiply, integers: { $0.multipliedReportingOverflow(by: $1) }, reals: *,
      decimals: *)
  }

  func divided(by other: Number) throws -> Number {
    try checkDivisor(other)
    return try combined(
      other, function: .divide, integers: { $0.dividedReportingOverflow(by: $1) }, reals: /,
      decimals: /)
  }

  func modulo(_ other: Number) throws -> Number {
    try checkDivisor(other)
    return try combined(
      other, function: .modulus, integers: { $0.remainderReportingOverflow(dividingBy: $1) },
      reals: { $0.truncatingRemainder(dividingBy: $1) }, decimals: Self.remainder)
  }

  private func checkDivisor(_ divisor: Number) throws {
    // Reals follow IEEE 754 and yield an infinity.
    if case .reals = paired(with: divisor) { return }
    if divisor.double == 0 { throw EvaluationError(.divisionByZero) }
  }

  private func combined(
    _ other: Number, function: BuiltInFunction,
    integers: (Int64, Int64) -> (Int64, Bool), reals: (Double, Double) -> Double,
    decimals: (Decimal, Decimal) -> Decimal
  ) throws -> Number {
    switch paired(with: other) {
    case .integers(let a, let b):
      let (result, overflows) = integers(a, b)
      if overflows { throw EvaluationError(.overflow(of: function.rawValue)) }
      return .integer(result)
    case .reals(let a, let b): return .real(reals(a, b))
    case .decimals(let a, let b):
      let result = decimals(a, b)
      if result.isNaN { throw EvaluationError(.overflow(of: function.rawValue)) }
      return .decimal(result)
    }
  }

  private static func remainder(_ a: Decimal, _ b: Decimal) -> Decimal {
    a - rounded(a / b, mode: a.sign == b.sign ? .down : .up) * b
  }

  private static func rounded(_ value: Decimal, mode: Decimal.RoundingMode) -> Decimal {
    var (source, result) = (value, Decimal())
    NSDecimalRound(&result, &source, 0, mode)
    return result
  }

  /// The power of two whole numbers is whole where it fits, any other is real.
  func raised(to exponent: Number) -> Number {
    if case .integers(let base, let count) = paired(with: exponent), count >= 0 {
      if let exact = Self.power(base: base, count: count) { return .integer(exact) }
    }
    return .real(pow(double, exponent.double))
  }

  private static func power(base: Int64, count: Int64) -> Int64? {
    if base == 0 || base == 1 { return count == 0 ? 1 : base }
    if base == -1 { return count.isMultiple(of: 2) ? 1 : -1 }
    guard count < 64 else { return nil }
    var result: Int64 = 1
    for _ in 0..<count {
      let (next, overflows) = result.multipliedReportingOverflow(by: base)
      if overflows { return nil }
      result = next
    }
    return result
  }

  func rounded(_ function: BuiltInFunction) -> Number {
    switch self {
    case .integer: return self
    case .real(let number):
      switch function {
      case .ceiling: return .real(number.rounded(.up))
      case .floor: return .real(number.rounded(.down))
      case .truncate: return .real(number.rounded(.towardZero))
      default: return .real(number.rounded(.toNearestOrAwayFromZero))
      }
    case .decimal(let number):
      switch function {
      case .ceiling: return .decimal(Self.rounded(number, mode: .up))
      case .floor: return .decimal(Self.rounded(number, mode: .down))
      case .truncate: return .decimal(Self.rounded(number, mode: number < 0 ? .up : .down))
      default: return .decimal(Self.rounded(number, mode: .plain))
      }
    }
  }

  func magnitude() throws -> Number {
    switch self {
    case .integer(let number):
      guard number != .min else {
        throw EvaluationError(.overflow(of: BuiltInFunction.absolute.rawValue))
      }
      return .integer(abs(number))
    case .real(let number): return .real(abs(number))
    case .decimal(let number): return .decimal(number < 0 ? -number : number)
    }
  }
}
