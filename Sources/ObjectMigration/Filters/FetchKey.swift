import Expressions
import ObjectModel
import Schema

/// A value without which in a column a predicate holds for no object of an entity, so that an index
/// finds all that may satisfy it.
///
/// If SQLite accepts a stored value as equal and the evaluator does not, the evaluator decides
/// afterwards. The opposite must not happen, and no object may be skipped whose evaluation fails.
struct FetchKey {
  /// The place of the attribute among the columns of the entity.
  let index: Int
  /// What is looked for, never NULL.
  let value: StoredValue

  /// How deep conjunctions may nest that are looked into.
  private static let deepest = 50

  /// Nil if the predicate requires no such value.
  init?(_ predicate: ValuePredicate, facts: EntityFacts, now: Double) {
    // The first part that does not hold ends the evaluation, so parts in front must not fail.
    for part in Self.conjunction(predicate, depth: 0) {
      guard let (attribute, constant) = Self.sides(of: part, facts: facts, now: now) else {
        return nil
      }
      if case .comparison(_, .equal, _, _, let noCase, let noMarks) = part,
        let value = Self.stored(constant, for: attribute.attribute, isFolded: noCase || noMarks)
      {
        self.index = attribute.index
        self.value = value
        return
      }
    }
    return nil
  }

  private static func conjunction(_ predicate: ValuePredicate, depth: Int) -> [ValuePredicate] {
    guard case .and(let parts) = predicate, depth < deepest else { return [predicate] }
    return parts.flatMap { conjunction($0, depth: depth + 1) }
  }

  /// The attribute and the constant that are compared for equality, which never fails.
  private static func sides(
    of part: ValuePredicate, facts: EntityFacts, now: Double
  ) -> (AttributeFacts, AttributeValue)? {
    guard case .comparison(let left, let comparison, let right, .direct, _, _) = part,
      comparison == .equal || comparison == .notEqual
    else { return nil }
    for (one, other) in [(left, right), (right, left)] {
      if let attribute = attribute(one, facts: facts),
        let constant = constant(other, now: now)
      {
        return (attribute, constant)
      }
    }
    return nil
  }

  /// Reading a value of its own file may fail, and the key `self` means the object.
  private static func attribute(
    _ expression: ValueExpression, facts: EntityFacts
  ) -> AttributeFacts? {
    guard case .keyPath(let operand, let name) = expression,
      operand == nil || operand == .evaluatedObject, name != "self",
      let found = facts.attributes[name], !found.attribute.storesBinaryDataExternally
    else { return nil }
    return found
  }

  private static func constant(_ expression: ValueExpression, now: Double) -> AttributeValue? {
    if case .constant(let value) = expression { return value }
    guard expression.isConstant,
      case .scalar(let value)? = try? ExpressionEvaluator(EvaluationScope(now: now))
        .value(of: expression)
    else { return nil }
    return value
  }

  /// The values that SQLite has to search for; nil if it would miss values that the evaluator
  /// accepts as equal.
  private static func stored(
    _ value: AttributeValue, for attribute: Attribute, isFolded: Bool
  ) -> StoredValue? {
    switch (attribute.type, value) {
    case (.integer16, _), (.integer32, _), (.integer64, _): exact(value)
    // A column of reals may hold whole numbers, which are rounded when they are read.
    case (.double, _), (.float, _): exact(value).flatMap { isNear($0) ? $0 : nil }
    case (.date, .date(let seconds)): isNear(.real(seconds)) ? .real(seconds) : nil
    case (.string, .string(let text)): isFolded ? nil : wellFormed(text)
    case (.uri, .uri(let text)): wellFormed(text)
    case (.uuid, .uuid(let bytes)): .blob(bytes)
    default: nil
    }
  }

  private static func exact(_ value: AttributeValue) -> StoredValue? {
    switch value {
    case .boolean(let flag): .integer(flag ? 1 : 0)
    case .integer(let number): .integer(number)
    case .real(let number): number.isFinite ? .real(number) : nil
    default: nil
    }
  }

  /// Whether every whole number of that size is a real number too.
  private static func isNear(_ value: StoredValue) -> Bool {
    switch value {
    case .integer(let number): number.magnitude < 1 << 53
    case .real(let number): number.magnitude < 0x1p53
    default: false
    }
  }

  /// What is not well-formed is read with replacement characters.
  private static func wellFormed(_ text: String) -> StoredValue? {
    text.unicodeScalars.contains("\u{FFFD}") ? nil : .text(text)
  }
}

extension ValueExpression {
  /// Whether it has the same value for every object.
  fileprivate var isConstant: Bool {
    switch self {
    case .constant: true
    case .builtIn(_, let arguments): arguments.allSatisfy(\.isConstant)
    default: false
    }
  }
}
