import Foundation

extension ExpressionEvaluator {
  func call(_ name: String, arguments: [ObjectValue]) throws -> ObjectValue {
    guard let function = BuiltInFunction(written: name, argumentCount: arguments.count) else {
      throw EvaluationError(.unknownFunction(name))
    }
    guard arguments.count == function.argumentCount else {
      throw EvaluationError(
        .argumentCount(of: name, expected: function.argumentCount, actual: arguments.count))
    }
    switch arguments.count {
    case 0 where function == .identifier:
      return .scalar(try Self.identifier(of: scope.variables["source"] ?? scope.object))
    case 0: return .scalar(.date(scope.now))
    case 1 where function.takesCollection:
      return try Self.ofCollection(
        function, members: try Self.members(value: arguments[0], of: name))
    case 1: return try Self.ofOne(function, argument: arguments[0])
    default: return try Self.ofTwo(function, first: arguments[0], second: arguments[1])
    }
  }

  // MARK: Collections

  /// The numbers of a collection without nil ones; nil is an empty collection.
  private static func ofCollection(
    _ function: BuiltInFunction, members: [ObjectValue]
  ) throws -> ObjectValue {
    let name = function.rawValue
    switch function {
    case .count: return .integer(value: Int64(members.count))
    case .minimum: return try extreme(members, of: name, keeping: .less)
    case .maximum: return try extreme(members, of: name, keeping: .greater)
    default: break
    }
    let numbers = try members.filter { !$0.isNull }.map { try number(value: $0, of: name) }
    let total = try numbers.reduce(Number.integer(0)) { try $0.adding($1) }
    if function == .sum { return .scalar(total.value) }
    if function == .mode { return mode(numbers: numbers) }
    guard !numbers.isEmpty else { return .null }
    switch function {
    case .average: return .scalar(mean(total, count: numbers.count).value)
    case .median: return try median(numbers: numbers)
    default:
      return .scalar(.real(standardDeviation(numbers, mean: mean(total, count: numbers.count))))
    }
  }

  private static func median(numbers: [Number]) throws -> ObjectValue {
    let sorted = numbers.sorted { $0.compare($1) == .less }
    let middle = sorted.count / 2
    if !sorted.count.isMultiple(of: 2) { return .scalar(sorted[middle].value) }
    return .scalar(mean(try sorted[middle - 1].adding(sorted[middle]), count: 2).value)
  }

  /// Every number that occurs most often, in ascending order.
  private static func mode(numbers: [Number]) -> ObjectValue {
    var counts: [DistinctValue: Int] = [:]
    for number in numbers { counts[DistinctValue(.scalar(number.value)), default: 0] += 1 }
    let most = counts.values.max()
    let found = counts.filter { $0.value == most }.compactMap { entry -> Number? in
      guard case .scalar(let scalar) = entry.key.value else { return nil }
      return Number(scalar)
    }
    let members = found.sorted { $0.compare($1) == .less }.map { ObjectValue.scalar($0.value) }
    return .collection(ValueCollection(kind: .array, members: members))
  }

  /// Of a whole population: stddev of 1, 2, 3, 4, 4, 5, 9, 11 is 3.21859 as Foundation computes it.
  private static func standardDeviation(_ numbers: [Number], mean: Number) -> Double {
    let squares = numbers.map { pow($0.double - mean.double, 2) }
    return (squares.reduce(0, +) / Double(numbers.count)).squareRoot()
  }

  // MARK: One argument

  private static func ofOne(
    _ function: BuiltInFunction, argument: ObjectValue
  ) throws -> ObjectValue {
    if function == .noIndex || argument.isNull { return argument }
    let name = function.rawValue
    switch function {
    case .uppercase: return .string(value: try text(value: argument, of: name).uppercased())
    case .lowercase: return .string(value: try text(value: argument, of: name).lowercased())
    case .canonical: return .string(value: canonical(try text(value: argument, of: name)))
    case .length: return .integer(value: Int64(try text(value: argument, of: name).utf16.count))
    case .onesComplement: return .integer(value: ~(try whole(argument, of: name)))
    case .identifierOf: return .scalar(try identifier(of: argument))
    default: break
    }
    let number = try number(value: argument, of: name)
    switch function {
    case .squareRoot: return real(value: number.double.squareRoot())
    case .logarithm: return real(value: log10(number.double))
    case .naturalLogarithm: return real(value: log(number.double))
    case .exponential: return real(value: exp(number.double))
    case .absolute: return .scalar(try number.magnitude().value)
    default: return .scalar(number.rounded(function).value)
    }
  }

  private static func real(value: Double) -> ObjectValue { .scalar(Number.real(value).value) }

  /// The text without case, diacritics and width.
  static func canonical(_ text: String) -> String {
    text.folding(
      options: [.caseInsensitive, .diacriticInsensitive, .widthInsensitive], locale: nil)
  }

  static func text(value: ObjectValue, of function: String) throws -> String {
    guard case .scalar(.string(let text)) = value else {
      throw EvaluationError(
        .wrongArgument(of: function, expected: "a text", found: value.kindName))
    }
    return text
  }

  private static func whole(_ value: ObjectValue, of function: String) throws -> Int64 {
    if case .integer(let number) = try number(value: value, of: function) { return number }
    throw EvaluationError(
      .wrongArgument(of: function, expected: "a whole number", found: value.kindName))
  }

  // MARK: Two arguments

  private static func ofTwo(
    _ function: BuiltInFunction, first: ObjectValue, second: ObjectValue
  ) throws -> ObjectValue {
    if first.isNull || second.isNull { return .null }
    let name = function.rawValue
    switch function {
    case .cast: return .scalar(try Casting.cast(first, to: try text(value: second, of: name)))
    case .element: return try element(of: first, at: second)
    case .dateOfText:
      let format = try DateFormat(try text(value: second, of: name))
      return .scalar(.date(try format.seconds(of: try text(value: first, of: name))))
    case .dataOfText:
      return .scalar(
        .data(
          try DataEncoding.bytes(
            of: try text(value: first, of: name), encoding: try text(value: second, of: name))))
    case .bitwiseAnd: return .integer(value: try whole(first, of: name) & whole(second, of: name))
    case .bitwiseOr: return .integer(value: try whole(first, of: name) | whole(second, of: name))
    case .bitwiseXor: return .integer(value: try whole(first, of: name) ^ whole(second, of: name))
    case .leftShift: return .integer(value: try whole(first, of: name) << whole(second, of: name))
    case .rightShift: return .integer(value: try whole(first, of: name) >> whole(second, of: name))
    default: break
    }
    if let date = try dateArithmetic(function, first: first, second: second) {
      return .scalar(date)
    }
    let (a, b) = (try number(value: first, of: name), try number(value: second, of: name))
    let result: Number
    switch function {
    case .add: result = try a.adding(b)
    case .subtract: result = try a.subtracting(b)
    case .multiply: result = try a.multiplied(by: b)
    case .divide: result = try a.divided(by: b)
    case .modulus: result = try a.modulo(b)
    default: result = a.raised(to: b)
    }
    return .scalar(result.value)
  }

  /// A date moved by seconds, or the seconds between two dates; nil if neither is requested.
  private static func dateArithmetic(
    _ function: BuiltInFunction, first: ObjectValue, second: ObjectValue
  ) throws -> AttributeValue? {
    guard function == .add || function == .subtract, case .scalar(.date(let start)) = first else {
      return nil
    }
    if function == .subtract, case .scalar(.date(let end)) = second { return .real(start - end) }
    let seconds = try number(value: second, of: function.rawValue).double
    return .date(function == .add ? start + seconds : start - seconds)
  }

  private static func element(of value: ObjectValue, at index: ObjectValue) throws -> ObjectValue {
    let members = try collection(value: value, of: "[ ]").members
    switch index {
    case .scalar(.string("FIRST")): return members.first ?? .null
    case .scalar(.string("LAST")): return members.last ?? .null
    case .scalar(.string("SIZE")): return .integer(value: Int64(members.count))
    default: break
    }
    let number = try whole(index, of: "[ ]")
    guard let place = Int(exactly: number), members.indices.contains(place) else {
      throw EvaluationError(.indexOutOfRange(number, count: members.count))
    }
    return members[place]
  }
}
