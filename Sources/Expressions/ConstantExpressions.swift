extension ValueExpression {
  /// Whether its value is the same for every object and every moment: it reads no variable, no
  /// object and no time.
  package var isConstant: Bool {
    switch self {
    case .constant: true
    case .evaluatedObject, .variable, .keyPath(nil, _), .fetch: false
    case .builtIn(let name, let arguments):
      BuiltInFunction(written: name, argumentCount: arguments.count)?.isSteady != false
        && arguments.allSatisfy(\.isConstant)
    case .keyPath, .function, .aggregate, .subquery, .ternary, .set:
      parts.allSatisfy(\.isConstant)
    }
  }

  /// The key paths that lead from no object, as a value expression has none: their value is nil.
  package var pathsFromNothing: [String] {
    switch self {
    case .keyPath(nil, let path), .keyPath(.evaluatedObject?, let path): [path]
    default: parts.flatMap(\.pathsFromNothing)
    }
  }
}

extension AttributeValue {
  /// The value under a key of this value, as key paths read it; nil where such values have none.
  package func value(forKey key: String) -> AttributeValue? {
    key == "self" ? self : ScalarMessages.property(key: key, of: self)
  }

  /// Whether some value of this kind can be cast to a class.
  package func canBeCast(to className: String) -> Bool { Casting.exists(self, as: className) }

  /// Whether values of this kind answer a selector.
  package func answers(_ selector: String) -> Bool {
    if ExpressionEvaluator.keySelectors.contains(selector) { return true }
    return ScalarMessages.answers(selector, as: self)
  }
}
