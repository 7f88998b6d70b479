package import Expressions
package import KeyedArchives

/// Reads the expressions, predicates and values of one archive.
package struct ArchivedExpressions {
  private let archive: KeyedArchive
  /// How many more expressions may be read, which bounds cycles and objects that are referred to
  /// repeatedly.
  private var budget = 200_000
  private var depth = 0

  /// Reads from this archive.
  package init(_ archive: KeyedArchive) { self.archive = archive }

  /// Reads an `NSExpression`.
  ///
  /// - Throws: `ModelFileError`, with `unknownClass` or `expressionTooComplex` among others.
  package mutating func expression(
    id: KeyedArchive.ID
  ) throws(ModelFileError) -> ValueExpression {
    try enter()
    defer { depth -= 1 }
    let kind = try archive.class(of: id)
    switch kind {
    case "NSConstantValueExpression":
      guard let value = try archive.target(key: "NSConstantValue", of: id) else {
        return .constant(.null)
      }
      return .constant(try self.value(id: value))
    case "NSSelfExpression": return .evaluatedObject
    case "NSVariableExpression":
      return .variable(try archive.requiredText("NSVariable", of: id))
    case "NSKeyPathExpression": return try keyPath(id: id)
    case "NSFunctionExpression": return try function(id)
    case "NSAggregateExpression":
      return .aggregate(try expressions(key: "NSCollection", of: id))
    case "NSFetchRequestExpression": return try fetch(id)
    default: throw ModelFileError(.unknownClass(kind))
    }
  }

  private mutating func fetch(_ id: KeyedArchive.ID) throws(ModelFileError) -> ValueExpression {
    guard let request = try archive.target(key: "NSFRExpression", of: id),
      let context = try archive.target(key: "NSMOCExpression", of: id)
    else { throw ModelFileError(.notAModelArchive) }
    return .fetch(
      request: try expression(id: request), context: try expression(id: context),
      countOnly: try archive.flag(key: "NSCountOnlyFlag", of: id))
  }

  private mutating func keyPath(id: KeyedArchive.ID) throws(ModelFileError) -> ValueExpression {
    var path = ""
    if let arguments = try archive.members(key: "NSArguments", of: id), let first = arguments.first
    {
      path = try archive.requiredText("NSKeyPath", of: first)
    }
    let operand = try archive.target(key: "NSOperand", of: id)
    guard let operand, try archive.class(of: operand) != "NSSelfExpression" else {
      return .keyPath(operand: nil, path)
    }
    return .keyPath(operand: try expression(id: operand), path)
  }

  /// Built-in functions have as operand the class in which Foundation implements them.
  private mutating func function(_ id: KeyedArchive.ID) throws(ModelFileError) -> ValueExpression {
    let selector = try archive.requiredText("NSSelectorName", of: id)
    let arguments = try expressions(key: "NSArguments", of: id)
    guard let operand = try archive.target(key: "NSOperand", of: id) else {
      return .builtIn(name: selector, arguments)
    }
    if try archive.class(of: operand) == "NSConstantValueExpression",
      try archive.text(key: "NSConstantValueClassName", of: operand) == Self.builtInClass
    {
      return .builtIn(name: selector, arguments)
    }
    return .function(operand: try expression(id: operand), selector: selector, arguments)
  }

  static let builtInClass = "_NSPredicateUtilities"

  private mutating func expressions(
    key: String, of id: KeyedArchive.ID
  ) throws(ModelFileError) -> [ValueExpression] {
    var result: [ValueExpression] = []
    for argument in try archive.members(key: key, of: id) ?? [] {
      result.append(try expression(id: argument))
    }
    return result
  }

  /// Reads an `NSPredicate`, or a string in the predicate format; what cannot be understood becomes
  /// `unparsed`.
  package mutating func predicate(
    id: KeyedArchive.ID
  ) throws(ModelFileError) -> ValuePredicate {
    try enter()
    defer { depth -= 1 }
    if let text = archive.string(id: id) { return ValuePredicate(parsing: text) }
    let kind = try archive.class(of: id)
    switch kind {
    case "NSTruePredicate": return .always(true)
    case "NSFalsePredicate": return .always(false)
    case "NSCompoundPredicate":
      var parts: [ValuePredicate] = []
      for part in try archive.members(key: "NSSubpredicates", of: id) ?? [] {
        parts.append(try predicate(id: part))
      }
      switch try archive.number(key: "NSCompoundPredicateType", of: id) {
      case 0? where parts.count == 1: return .not(parts[0])
      case 1?: return .and(parts)
      case 2?: return .or(parts)
      default: return .unparsed("<\(kind)>")
      }
    case "NSComparisonPredicate": return try comparison(id: id)
    default: return .unparsed("<\(kind)>")
    }
  }

  private mutating func comparison(
    id: KeyedArchive.ID
  ) throws(ModelFileError) -> ValuePredicate {
    guard let left = try archive.target(key: "NSLeftExpression", of: id),
      let right = try archive.target(key: "NSRightExpression", of: id),
      let operation = try archive.target(key: "NSPredicateOperator", of: id),
      let number = try archive.number(key: "NSOperatorType", of: operation),
      let comparison = Int(exactly: number).flatMap({ ValuePredicate.Comparison(rawValue: $0) })
    else { return .unparsed("<NSComparisonPredicate>") }
    let modifiers: [ValuePredicate.Modifier] = [.direct, .all, .any]
    let modifier = try archive.number(key: "NSModifier", of: operation) ?? 0
    let stringOptions = try archive.number(key: "NSFlags", of: operation)
    let options = try archive.number(key: "NSOptions", of: operation) ?? stringOptions ?? 0
    guard modifiers.indices.contains(Int(truncatingIfNeeded: modifier)) else {
      return .unparsed("<NSComparisonPredicate>")
    }
    return .comparison(
      try expression(id: left), comparison, try expression(id: right),
      modifier: modifiers[Int(truncatingIfNeeded: modifier)],
      caseInsensitive: options & 1 != 0, diacriticInsensitive: options & 2 != 0)
  }

  /// Reads a scalar, or an object of one of the classes of attribute values.
  ///
  /// - Throws: `ModelFileError` with `unknownClass`, for another class.
  package func value(id: KeyedArchive.ID) throws(ModelFileError) -> AttributeValue {
    switch archive.object(id: id) {
    case .boolean(let value): return .boolean(value)
    case .integer(let value): return .integer(value)
    case .real(let value): return .real(value)
    case .string(let value): return .string(value.text)
    case .data(let value): return .data(value)
    case .dictionary: return try object(id: id)
    default: throw ModelFileError(.notAModelArchive)
    }
  }

  private func object(id: KeyedArchive.ID) throws(ModelFileError) -> AttributeValue {
    if let text = archive.string(id: id) { return .string(text) }
    let kind = try archive.class(of: id)
    switch kind {
    case "NSDate":
      if let seconds = try archive.fraction(key: "NS.time", of: id) { return .date(seconds) }
    case "NSData", "NSMutableData":
      if let bytes = try archive.bytes(key: "NS.data", of: id) { return .data(bytes) }
    case "NSUUID":
      if let bytes = try archive.bytes(key: "NS.uuidbytes", of: id), bytes.count == 16 {
        return .uuid(bytes)
      }
    case "NSURL":
      if let text = try archive.text(key: "NS.relative", of: id) { return .uri(text) }
    case "NSDecimalNumber", "NSDecimalNumberPlaceholder":
      if let text = try ArchivedDecimal.text(id: id, in: archive) { return .decimal(text) }
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

/// Reads `NSDecimalNumber`: a mantissa of up to eight 16-bit parts, lowest first, in the byte order
/// that `NS.mantissa.bo` gives (1 is little-endian), times a power of ten.
enum ArchivedDecimal {
  static func text(
    id: KeyedArchive.ID, in archive: KeyedArchive
  ) throws(ModelFileError) -> String? {
    guard let mantissa = try archive.bytes(key: "NS.mantissa", of: id),
      let exponent = try archive.number(key: "NS.exponent", of: id),
      let length = try archive.number(key: "NS.length", of: id), (0...8).contains(length),
      mantissa.count >= Int(length) * 2
    else { return nil }
    let littleEndian = try archive.number(key: "NS.mantissa.bo", of: id) != 2
    let negative = try archive.flag(key: "NS.negative", of: id)
    var value: UInt128 = 0
    for part in stride(from: Int(length) - 1, through: 0, by: -1) {
      let pair = (UInt128(mantissa[part * 2]), UInt128(mantissa[part * 2 + 1]))
      value = value << 16 | (littleEndian ? pair.1 << 8 | pair.0 : pair.0 << 8 | pair.1)
    }
    guard let exponent = Int(exactly: exponent) else { return nil }
    return DecimalText(digits: String(value), exponent: exponent, isNegative: negative)?.text
  }
}
