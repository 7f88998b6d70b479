import Foundation

extension ExpressionEvaluator {
  /// Whether the predicate holds.
  ///
  /// - Throws: `EvaluationError` with the innermost expression that failed, and whatever objects
  ///   throw.
  package func isTrue(_ predicate: ValuePredicate) throws -> Bool {
    do {
      return try deeper().holds(predicate)
    } catch var error as EvaluationError where error.expression == nil {
      error.expression = String(predicate.description.prefix(500))
      throw error
    }
  }

  private func holds(_ predicate: ValuePredicate) throws -> Bool {
    switch predicate {
    case .always(let value): return value
    case .and(let parts): return try parts.allSatisfy(isTrue)
    case .or(let parts): return try parts.contains(where: isTrue)
    case .not(let part): return try !isTrue(part)
    case .unparsed(let text): throw EvaluationError(.notUnderstood(text))
    case .comparison(let left, let comparison, let right, let modifier, let noCase, let noMarks):
      let matcher = TextMatcher(
        caseInsensitive: noCase, diacriticInsensitive: noMarks, patterns: scope.patterns)
      let (left, right) = (try value(of: left), try value(of: right))
      switch modifier {
      case .direct:
        return try Self.compare(left, comparison: comparison, right: right, matcher: matcher)
      case .any:
        return try Self.members(value: left, of: "ANY").contains {
          try Self.compare($0, comparison: comparison, right: right, matcher: matcher)
        }
      case .all:
        return try Self.members(value: left, of: "ALL").allSatisfy {
          try Self.compare($0, comparison: comparison, right: right, matcher: matcher)
        }
      }
    }
  }

  private static func compare(
    _ left: ObjectValue, comparison: ValuePredicate.Comparison, right: ObjectValue,
    matcher: TextMatcher
  ) throws -> Bool {
    switch comparison {
    case .equal: return matcher.areEqual(left, right)
    case .notEqual: return !matcher.areEqual(left, right)
    case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual:
      return try isOrdered(left, comparison: comparison, right: right, matcher: matcher)
    case .between:
      let bounds = try members(value: right, of: "BETWEEN")
      guard !left.isNull, !right.isNull else { return false }
      guard bounds.count == 2 else {
        throw EvaluationError(.argumentCount(of: "BETWEEN", expected: 2, actual: bounds.count))
      }
      return try isOrdered(
        left, comparison: .greaterThanOrEqual, right: bounds[0], matcher: matcher)
        && isOrdered(left, comparison: .lessThanOrEqual, right: bounds[1], matcher: matcher)
    case .in: return try contains(right, part: left, matcher: matcher, name: "IN")
    case .contains: return try contains(left, part: right, matcher: matcher, name: "CONTAINS")
    case .beginsWith, .endsWith, .like, .matches:
      guard !left.isNull, !right.isNull else { return false }
      return try matcher.compare(
        try text(value: left, of: comparison.name), comparison: comparison,
        pattern: try text(value: right, of: comparison.name))
    }
  }

  /// Nil is neither less nor greater than anything.
  private static func isOrdered(
    _ left: ObjectValue, comparison: ValuePredicate.Comparison, right: ObjectValue,
    matcher: TextMatcher
  ) throws -> Bool {
    guard !left.isNull, !right.isNull else { return false }
    let order = try compare(matcher.folded(left), matcher.folded(right))
    switch comparison {
    case .lessThan: return order == .less
    case .lessThanOrEqual: return order == .less || order == .equal
    case .greaterThan: return order == .greater
    default: return order == .greater || order == .equal
    }
  }

  /// The order of two numbers, texts, or dates; nothing else has one.
  static func compare(_ left: ObjectValue, _ right: ObjectValue) throws -> Number.Order {
    guard case .scalar(let a) = left, case .scalar(let b) = right else {
      throw EvaluationError(.notComparable(left.kindName, right.kindName))
    }
    if let a = Number(a), let b = Number(b) { return a.compare(b) }
    switch (a, b) {
    case (.string(let a), .string(let b)):
      if a.utf8.elementsEqual(b.utf8) { return .equal }
      return a.utf8.lexicographicallyPrecedes(b.utf8) ? .less : .greater
    case (.date(let a), .date(let b)): return Number.real(a).compare(.real(b))
    default: throw EvaluationError(.notComparable(left.kindName, right.kindName))
    }
  }

  /// A collection contains its members, a text the texts within it.
  private static func contains(
    _ whole: ObjectValue, part: ObjectValue, matcher: TextMatcher, name: String
  ) throws -> Bool {
    switch whole {
    case .scalar(.null): return false
    case .collection(let collection):
      return collection.members.contains { matcher.areEqual($0, part) }
    case .scalar(.string(let text)):
      if part.isNull { return false }
      return matcher.contains(text, part: try self.text(value: part, of: name))
    default:
      throw EvaluationError(
        .wrongArgument(of: name, expected: "a collection or a text", found: whole.kindName))
    }
  }
}

extension ValuePredicate.Comparison {
  fileprivate var name: String {
    switch self {
    case .beginsWith: "BEGINSWITH"
    case .endsWith: "ENDSWITH"
    case .like: "LIKE"
    default: "MATCHES"
    }
  }
}
