extension ValueExpression: CustomStringConvertible {
  /// The text in Core Data's format language, which is also what version hashes are made of.
  ///
  /// Built-in functions are written by their selector, `canonical:(name)` and `now()`, as the
  /// hashes of derived attributes show (docs/reference/model-format.md, "Version hashes").
  package var description: String { text(in: .loosest) }

  /// How tightly a place binds what is in it; looser expressions get parentheses there.
  private enum Binding: Int, Comparable {
    case loosest, sum, product, power, path

    static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
  }

  private func text(in place: Binding) -> String {
    let (text, binding) = written
    return binding < place ? "(\(text))" : text
  }

  /// The text without parentheses around it, and how tightly it binds.
  private var written: (String, Binding) {
    switch self {
    case .constant(let value):
      let text = value.formatText
      return (text, text.hasPrefix("-") ? .product : .path)
    case .evaluatedObject: return ("SELF", .path)
    case .variable(let name): return ("$\(name)", .path)
    case .keyPath(nil, let path), .keyPath(.evaluatedObject, let path):
      return (Keywords.contains(firstOf: path) ? "#\(path)" : path, .path)
    case .keyPath(let operand?, let path): return ("\(operand.text(in: .path)).\(path)", .path)
    case .builtIn(let name, let arguments): return Self.call(name, arguments: arguments)
    case .function(let operand, let selector, let arguments):
      let list = Self.list([operand, .constant(.string(selector))] + arguments)
      return ("FUNCTION(\(list))", .path)
    case .aggregate(let members): return ("{\(Self.list(members))}", .path)
    case .fetch(let request, let context, let countOnly):
      return ("FETCH(\(request), \(context), \(countOnly ? "YES" : "NO"))", .path)
    case .subquery(let collection, let variable, let predicate):
      return ("SUBQUERY(\(collection), $\(variable), \(predicate))", .path)
    case .ternary(let condition, let whenTrue, let whenFalse):
      return ("TERNARY(\(condition), \(whenTrue), \(whenFalse))", .path)
    case .set(let operation, let left, let right):
      let second = right.text(in: .sum)
      return ("\(left.text(in: .loosest)) \(operation.rawValue) \(second)", .loosest)
    }
  }

  private static func call(_ name: String, arguments: [ValueExpression]) -> (String, Binding) {
    if let function = BuiltInFunction(rawValue: name), arguments.count == 2 {
      let (first, second) = (arguments[0], arguments[1])
      switch function {
      case .add: return ("\(first.text(in: .sum)) + \(second.text(in: .product))", .sum)
      case .subtract: return ("\(first.text(in: .sum)) - \(second.text(in: .product))", .sum)
      case .multiply: return ("\(first.text(in: .product)) * \(second.text(in: .power))", .product)
      case .divide: return ("\(first.text(in: .product)) / \(second.text(in: .power))", .product)
      case .power: return ("\(first.text(in: .path)) ** \(second.text(in: .power))", .power)
      case .cast: return ("CAST(\(list(arguments)))", .path)
      case .element: return ("\(first.text(in: .path))[\(index(expression: second))]", .path)
      default: break
      }
    }
    return ("\(name)(\(list(arguments)))", .path)
  }

  private static func index(expression: ValueExpression) -> String {
    if case .constant(.string(let word)) = expression, ["FIRST", "LAST", "SIZE"].contains(word) {
      return word
    }
    return expression.description
  }

  private static func list(_ expressions: [ValueExpression]) -> String {
    expressions.map(\.description).joined(separator: ", ")
  }
}

extension ValuePredicate: CustomStringConvertible {
  /// The text in Core Data's format language.
  package var description: String {
    switch self {
    case .always(let value): value ? "TRUEPREDICATE" : "FALSEPREDICATE"
    case .comparison(let left, let comparison, let right, let modifier, let noCase, let noMarks):
      [
        modifier.formatText, left.description,
        comparison.formatText + Self.options(noCase, diacriticInsensitive: noMarks),
        right.description,
      ].filter { !$0.isEmpty }.joined(separator: " ")
    case .and(let parts): Self.join(parts, word: "AND")
    case .or(let parts): Self.join(parts, word: "OR")
    case .not(let part): "NOT \(part.grouped)"
    case .unparsed(let text): text
    }
  }

  private static func join(_ parts: [ValuePredicate], word: String) -> String {
    if parts.isEmpty { return word == "AND" ? "TRUEPREDICATE" : "FALSEPREDICATE" }
    return parts.map(\.grouped).joined(separator: " \(word) ")
  }

  private static func options(_ caseInsensitive: Bool, diacriticInsensitive: Bool) -> String {
    switch (caseInsensitive, diacriticInsensitive) {
    case (false, false): ""
    case (true, false): "[c]"
    case (false, true): "[d]"
    case (true, true): "[cd]"
    }
  }

  private var grouped: String {
    switch self {
    case .and, .or, .not, .unparsed: "(\(self))"
    case .always, .comparison: description
    }
  }
}

extension ValuePredicate.Modifier {
  fileprivate var formatText: String {
    switch self {
    case .direct: ""
    case .all: "ALL"
    case .any: "ANY"
    }
  }
}

extension ValuePredicate.Comparison {
  fileprivate var formatText: String {
    switch self {
    case .lessThan: "<"
    case .lessThanOrEqual: "<="
    case .greaterThan: ">"
    case .greaterThanOrEqual: ">="
    case .equal: "=="
    case .notEqual: "!="
    case .matches: "MATCHES"
    case .like: "LIKE"
    case .beginsWith: "BEGINSWITH"
    case .endsWith: "ENDSWITH"
    case .in: "IN"
    case .contains: "CONTAINS"
    case .between: "BETWEEN"
    }
  }
}
