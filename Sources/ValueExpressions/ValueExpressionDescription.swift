extension ValueExpression: CustomStringConvertible {
  /// The text in Core Data's format language, which is also what version hashes are made of.
  ///
  /// Built-in functions are written by their selector, `canonical:(name)` and `now()`, as the hashes
  /// of derived attributes show (docs/model-format.md, "Version hashes").
  package var description: String {
    switch self {
    case .constant(let value): value.formatText
    case .evaluatedObject: "SELF"
    case .variable(let name): "$\(name)"
    case .keyPath(nil, let path), .keyPath(.evaluatedObject, let path): path
    case .keyPath(let operand?, let path): "\(operand).\(path)"
    case .builtIn(let name, let arguments): "\(name)(\(Self.list(arguments)))"
    case .function(let operand, let selector, let arguments):
      "FUNCTION(\(Self.list([operand, .constant(.string(selector))] + arguments)))"
    case .aggregate(let members): "{\(Self.list(members))}"
    case .fetch(let request, let context, let countOnly):
      "FETCH(\(request), \(context), \(countOnly ? "YES" : "NO"))"
    case .subquery(let collection, let variable, let predicate):
      "SUBQUERY(\(collection), $\(variable), \(predicate))"
    case .ternary(let predicate, let value, let otherwise):
      "TERNARY(\(predicate), \(value), \(otherwise))"
    }
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
        comparison.formatText + Self.options(noCase, noMarks), right.description,
      ].filter { !$0.isEmpty }.joined(separator: " ")
    case .and(let parts): Self.join(parts, "AND")
    case .or(let parts): Self.join(parts, "OR")
    case .not(let part): "NOT \(part.grouped)"
    case .unparsed(let text): text
    }
  }

  private static func join(_ parts: [ValuePredicate], _ word: String) -> String {
    if parts.isEmpty { return word == "AND" ? "TRUEPREDICATE" : "FALSEPREDICATE" }
    return parts.map(\.grouped).joined(separator: " \(word) ")
  }

  private static func options(_ caseInsensitive: Bool, _ diacriticInsensitive: Bool) -> String {
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

extension AttributeValue {
  fileprivate var formatText: String {
    switch self {
    case .null: "nil"
    case .boolean(let value): value ? "TRUE" : "FALSE"
    case .integer(let value): "\(value)"
    case .real(let value): "\(value)"
    case .decimal(let digits): digits
    case .string(let text), .uri(let text): Self.quoted(text)
    case .date(let seconds): "CAST(\(seconds), \"NSDate\")"
    case .data(let bytes): "<\(Self.hexadecimal(bytes))>"
    case .uuid(let bytes): Self.quoted(Self.hexadecimal(bytes))
    }
  }

  private static func quoted(_ text: String) -> String {
    var result = "\""
    for character in text {
      if character == "\"" || character == "\\" { result.append("\\") }
      result.append(character)
    }
    return result + "\""
  }

  private static func hexadecimal(_ bytes: [UInt8]) -> String {
    let digits = Array("0123456789abcdef")
    return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
  }
}
