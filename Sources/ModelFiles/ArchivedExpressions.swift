package import Expressions
package import KeyedArchives

/// Reads archived expressions, predicates and values of one archive.
package struct ArchivedExpressions {
  private let archive: KeyedArchive
  /// Shared objects can blow a small archive up, cycles without end: this bounds both.
  private var budget = 200_000
  private var depth = 0

  package init(_ archive: KeyedArchive) { self.archive = archive }

  package mutating func expression(
    _ id: KeyedArchive.ID
  ) throws(ModelFileError) -> ValueExpression {
    try enter()
    defer { depth -= 1 }
    let kind = try archive.class(of: id)
    switch kind {
    case "NSConstantValueExpression":
      guard let value = try archive.target("NSConstantValue", of: id) else {
        return .constant(.null)
      }
      return .constant(try self.value(value))
    case "NSSelfExpression": return .evaluatedObject
    case "NSVariableExpression":
      return .variable(try archive.requiredText("NSVariable", of: id))
    case "NSKeyPathExpression": return try keyPath(id)
    case "NSFunctionExpression": return try function(id)
    case "NSAggregateExpression":
      return .aggregate(try expressions("NSCollection", of: id))
    case "NSFetchRequestExpression": return try fetch(id)
    default: throw ModelFileError(.unknownClass(kind))
    }
  }

  private mutating func fetch(_ id: KeyedArchive.ID) throws(ModelFileError) -> ValueExpression {
    guard let request = try archive.target("NSFRExpression", of: id),
      let context = try archive.target("NSMOCExpression", of: id)
    else { throw ModelFileError(.notAModelArchive) }
    return .fetch(
      request: try expression(request), context: try expression(context),
      countOnly: try archive.flag("NSCountOnlyFlag", of: id))
  }

  private mutating func keyPath(_ id: KeyedArchive.ID) throws(ModelFileError) -> ValueExpression {
    var path = ""
    if let arguments = try archive.members("NSArguments", of: id), let first = arguments.first {
      path = try archive.requiredText("NSKeyPath", of: first)
    }
    let operand = try archive.target("NSOperand", of: id)
    guard let operand, try archive.class(of: operand) != "NSSelfExpression" else {
      return .keyPath(operand: nil, path)
    }
    return .keyPath(operand: try expression(operand), path)
  }

  /// Built-in functions are called on the class that Foundation keeps them in.
  private mutating func function(_ id: KeyedArchive.ID) throws(ModelFileError) -> ValueExpression {
    let selector = try archive.requiredText("NSSelectorName", of: id)
    let arguments = try expressions("NSArguments", of: id)
    guard let operand = try archive.target("NSOperand", of: id) else {
      return .builtIn(name: selector, arguments)
    }
    if try archive.class(of: operand) == "NSConstantValueExpression",
      try archive.text("NSConstantValueClassName", of: operand) == Self.builtInClass
    {
      return .builtIn(name: selector, arguments)
    }
    return .function(operand: try expression(operand), selector: selector, arguments)
  }

  static let builtInClass = "_NSPredicateUtilities"

  private mutating func expressions(
    _ key: String, of id: KeyedArchive.ID
  ) throws(ModelFileError) -> [ValueExpression] {
    var result: [ValueExpression] = []
    for argument in try archive.members(key, of: id) ?? [] {
      result.append(try expression(argument))
    }
    return result
  }

  package mutating func predicate(
    _ id: KeyedArchive.ID
  ) throws(ModelFileError) -> ValuePredicate {
    try enter()
    defer { depth -= 1 }
    if let text = archive.string(id) { return ValuePredicate(parsing: text) }
    let kind = try archive.class(of: id)
    switch kind {
    case "NSTruePredicate": return .always(true)
    case "NSFalsePredicate": return .always(false)
    case "NSCompoundPredicate":
      var parts: [ValuePredicate] = []
      for part in try archive.members("NSSubpredicates", of: id) ?? [] {
        parts.append(try predicate(part))
      }
      switch try archive.number("NSCompoundPredicateType", of: id) {
      case 0? where parts.count == 1: return .not(parts[0])
      case 1?: return .and(parts)
      case 2?: return .or(parts)
      default: return .unparsed("<\(kind)>")
      }
    case "NSComparisonPredicate": return try comparison(id)
    default: return .unparsed("<\(kind)>")
    }
  }

  private mutating func comparison(
    _ id: KeyedArchive.ID
  ) throws(ModelFileError) -> ValuePredicate {
    guard let left = try archive.target("NSLeftExpression", of: id),
      let right = try archive.target("NSRightExpression", of: id),
      let operation = try archive.target("NSPredicateOperator", of: id),
      let number = try archive.number("NSOperatorType", of: operation),
      let comparison = Int(exactly: number).flatMap({ ValuePredicate.Comparison(rawValue: $0) })
    else { return .unparsed("<NSComparisonPredicate>") }
    let modifiers: [ValuePredicate.Modifier] = [.direct, .all, .any]
    let modifier = try archive.number("NSModifier", of: operation) ?? 0
    let stringOptions = try archive.number("NSFlags", of: operation)
    let options = try archive.number("NSOptions", of: operation) ?? stringOptions ?? 0
    guard modifiers.indices.contains(Int(truncatingIfNeeded: modifier)) else {
      return .unparsed("<NSComparisonPredicate>")
    }
    return .comparison(
      try expression(left), comparison, try expression(right),
      modifier: modifiers[Int(truncatingIfNeeded: modifier)],
      caseInsensitive: options & 1 != 0, diacriticInsensitive: options & 2 != 0)
  }

  /// An archived value by what it is: a scalar, a date, a number, bytes.
  package func value(_ id: KeyedArchive.ID) throws(ModelFileError) -> AttributeValue {
    switch archive.object(id) {
    case .boolean(let value): return .boolean(value)
    case .integer(let value): return .integer(value)
    case .real(let value): return .real(value)
    case .string(let value): return .string(value)
    case .data(let value): return .data(value)
    case .dictionary: return try object(id)
    default: throw ModelFileError(.notAModelArchive)
    }
  }

  private func object(_ id: KeyedArchive.ID) throws(ModelFileError) -> AttributeValue {
    if let text = archive.string(id) { return .string(text) }
    let kind = try archive.class(of: id)
    switch kind {
    case "NSDate":
      if let seconds = try archive.fraction("NS.time", of: id) { return .date(seconds) }
    case "NSData", "NSMutableData":
      if let bytes = try archive.bytes("NS.data", of: id) { return .data(bytes) }
    case "NSUUID":
      if let bytes = try archive.bytes("NS.uuidbytes", of: id), bytes.count == 16 {
        return .uuid(bytes)
      }
    case "NSURL":
      if let text = try archive.text("NS.relative", of: id) { return .uri(text) }
    case "NSDecimalNumber", "NSDecimalNumberPlaceholder":
      if let text = try ArchivedDecimal.text(id, in: archive) { return .decimal(text) }
    case "NSNull": return .null
    default: throw ModelFileError(.unknownClass(kind))
    }
    throw ModelFileError(.notAModelArchive)
  }

  private mutating func enter() throws(ModelFileError) {
    budget -= 1
    guard depth < 100, budget > 0 else { throw ModelFileError(.expressionTooComplex) }
    depth += 1
  }
}

/// `NSDecimalNumber`: a mantissa of up to eight 16-bit parts, lowest first, in the byte order that
/// `NS.mantissa.bo` names (1 is little-endian), times a power of ten.
enum ArchivedDecimal {
  static func text(
    _ id: KeyedArchive.ID, in archive: KeyedArchive
  ) throws(ModelFileError) -> String? {
    guard let mantissa = try archive.bytes("NS.mantissa", of: id),
      let exponent = try archive.number("NS.exponent", of: id),
      let length = try archive.number("NS.length", of: id), (0...8).contains(length),
      mantissa.count >= Int(length) * 2
    else { return nil }
    let littleEndian = try archive.number("NS.mantissa.bo", of: id) != 2
    let negative = try archive.flag("NS.negative", of: id)
    var value: UInt128 = 0
    for part in stride(from: Int(length) - 1, through: 0, by: -1) {
      let pair = (UInt128(mantissa[part * 2]), UInt128(mantissa[part * 2 + 1]))
      value = value << 16 | (littleEndian ? pair.1 << 8 | pair.0 : pair.0 << 8 | pair.1)
    }
    guard let exponent = Int(exactly: exponent) else { return nil }
    return DecimalText(digits: String(value), exponent: exponent, isNegative: negative)?.text
  }
}
