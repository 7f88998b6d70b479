import Expressions
import KeyedArchives

/// Writes values, expressions and predicates in the forms found in real archives, and rejects all
/// others.
struct ArchivedValueWriter {
  typealias ID = KeyedArchive.ID
  typealias Class = KeyedArchiveWriter.Class

  /// The archive to which they are added.
  var writer = KeyedArchiveWriter()

  /// Adds a value, nil for null.
  mutating func value(_ value: AttributeValue) throws(ModelFileError) -> ID? {
    switch value {
    case .null: return nil
    case .boolean(let value): return writer.add(value)
    case .integer(let value): return writer.add(value)
    case .real(let value): return writer.add(value)
    case .string(let value): return writer.add(value)
    case .data(let value): return writer.add(value)
    case .date(let seconds):
      return writer.add(Class("NSDate", "NSObject"), fields: [("NS.time", .real(seconds))])
    case .uuid(let bytes):
      return writer.add(Class("NSUUID", "NSObject"), fields: [("NS.uuidbytes", .data(bytes))])
    case .uri(let text):
      let relative = writer.add(text)
      return writer.add(
        Class("NSURL", "NSObject"),
        fields: [("NS.base", .reference(nil)), ("NS.relative", .reference(relative))])
    case .decimal(let text): return try decimal(text: text)
    }
  }

  private mutating func decimal(text: String) throws(ModelFileError) -> ID {
    guard let decimal = DecimalText(text), let mantissa = UInt128("0" + decimal.digits) else {
      throw ModelFileError(.cannotArchive(text))
    }
    let bytes = (0..<16).map { UInt8(truncatingIfNeeded: mantissa >> UInt128($0 * 8)) }
    let length = (bytes.lastIndex { $0 != 0 }.map { $0 / 2 + 1 }) ?? 0
    return writer.add(
      Class("NSDecimalNumberPlaceholder", "NSDecimalNumber", "NSNumber", "NSValue", "NSObject"),
      fields: [
        ("NS.exponent", .integer(Int64(decimal.exponent))), ("NS.length", .integer(Int64(length))),
        ("NS.negative", .boolean(decimal.isNegative)), ("NS.compact", .boolean(false)),
        ("NS.mantissa", .data(bytes)), ("NS.mantissa.bo", .integer(1)),
      ])
  }

  // MARK: Expressions

  mutating func expression(_ expression: ValueExpression) throws(ModelFileError) -> ID {
    switch expression {
    case .constant(let constant):
      return writer.add(
        Class("NSConstantValueExpression", "NSExpression", "NSObject"),
        fields: [
          ("NSExpressionType", .integer(0)), ("NSConstantValue", .reference(try value(constant))),
        ])
    case .evaluatedObject:
      return writer.add(
        Class("NSSelfExpression", "NSExpression", "NSObject"),
        fields: [("NSExpressionType", .integer(1))])
    case .variable(let name):
      return writer.add(
        Class("NSVariableExpression", "NSExpression", "NSObject"),
        fields: [("NSExpressionType", .integer(2)), ("NSVariable", .reference(writer.add(name)))])
    case .keyPath(nil, let path): return try keyPath(path: path)
    case .keyPath(.variable(let name)?, let path):
      return try keyPath(path: path, ofVariable: name)
    case .builtIn(let name, let arguments): return try builtIn(name: name, arguments: arguments)
    case .keyPath, .function, .aggregate, .fetch, .subquery, .ternary, .set:
      throw ModelFileError(.cannotArchive(expression.description))
    }
  }

  private mutating func keyPath(path: String) throws(ModelFileError) -> ID {
    let selector = path.contains(".") ? "valueForKeyPath:" : "valueForKey:"
    return keyPath(path: path, of: try expression(.evaluatedObject), type: 3, selector: selector)
  }

  /// `$FETCH_SOURCE.name`, in the form that compiled mapping models have for `$source.name`.
  private mutating func keyPath(
    path: String, ofVariable name: String
  ) throws(ModelFileError) -> ID {
    keyPath(path: path, of: try expression(.variable(name)), type: 4, selector: "valueForKeyPath:")
  }

  private mutating func keyPath(
    path: String, of operand: ID, type: Int64, selector: String
  ) -> ID {
    let specifier = writer.add(
      Class("NSKeyPathSpecifierExpression", "NSExpression", "NSObject"),
      fields: [("NSExpressionType", .integer(10)), ("NSKeyPath", .reference(writer.add(path)))])
    let arguments = writer.add(ArchivedClass.mutableArray, of: [specifier])
    return writer.add(
      Class("NSKeyPathExpression", "NSFunctionExpression", "NSExpression", "NSObject"),
      fields: [
        ("NSExpressionType", .integer(type)), ("NSOperand", .reference(operand)),
        ("NSSelectorName", .reference(writer.add(selector))),
        ("NSArguments", .reference(arguments)),
      ])
  }

  private mutating func builtIn(
    name: String, arguments: [ValueExpression]
  ) throws(ModelFileError) -> ID {
    let operand = writer.add(
      Class("NSConstantValueExpression", "NSExpression", "NSObject"),
      fields: [
        ("NSExpressionType", .integer(0)),
        (
          "NSConstantValueClassName", .reference(writer.add(ArchivedExpressions.builtInClass))
        ),
      ])
    var members: [ID] = []
    for argument in arguments { members.append(try expression(argument)) }
    // The model compiler writes an immutable array for `@count`, a mutable one for written calls.
    let list = name == "count:" ? ArchivedClass.array : ArchivedClass.mutableArray
    return writer.add(
      Class("NSFunctionExpression", "NSExpression", "NSObject"),
      fields: [
        ("NSExpressionType", .integer(4)), ("NSOperand", .reference(operand)),
        ("NSSelectorName", .reference(writer.add(name))),
        ("NSArguments", .reference(writer.add(list, of: members))),
      ])
  }

  // MARK: Predicates

  mutating func predicate(_ predicate: ValuePredicate?) throws(ModelFileError) -> ID? {
    switch predicate {
    case nil: return nil
    case .and(let parts)?: return try compound(1, parts: parts)
    case .or(let parts)?: return try compound(2, parts: parts)
    case .comparison(let left, let comparison, let right, .direct, false, false)?:
      guard let operation = operation(comparison) else {
        throw ModelFileError(.cannotArchive(predicate?.description ?? ""))
      }
      return writer.add(
        Class("NSComparisonPredicate", "NSPredicate", "NSObject"),
        fields: [
          ("NSLeftExpression", .reference(try expression(left))),
          ("NSRightExpression", .reference(try expression(right))),
          ("NSPredicateOperator", .reference(operation)),
        ])
    case .always?, .comparison?, .not?, .unparsed?:
      throw ModelFileError(.cannotArchive(predicate?.description ?? ""))
    }
  }

  private mutating func compound(
    _ type: Int64, parts: [ValuePredicate]
  ) throws(ModelFileError) -> ID {
    var members: [ID] = []
    for part in parts {
      if let id = try predicate(part) { members.append(id) }
    }
    let list = writer.add(ArchivedClass.array, of: members)
    return writer.add(
      Class("NSCompoundPredicate", "NSPredicate", "NSObject"),
      fields: [("NSCompoundPredicateType", .integer(type)), ("NSSubpredicates", .reference(list))])
  }

  private mutating func operation(_ comparison: ValuePredicate.Comparison) -> ID? {
    let number = Int64(comparison.rawValue)
    switch comparison {
    case .equal:
      return writer.add(
        Class("NSEqualityPredicateOperator", "NSPredicateOperator", "NSObject"),
        fields: [
          ("NSOperatorType", .integer(number)), ("NSModifier", .integer(0)),
          ("NSOptions", .integer(0)), ("NSNegate", .boolean(false)),
        ])
    case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual:
      return writer.add(
        Class("NSComparisonPredicateOperator", "NSPredicateOperator", "NSObject"),
        fields: [
          ("NSOperatorType", .integer(number)), ("NSModifier", .integer(0)),
          ("NSOptions", .integer(0)), ("NSVariant", .integer(number)),
        ])
    default: return nil
    }
  }
}
