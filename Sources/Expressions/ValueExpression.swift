/// An expression of Core Data's format language, as models and mapping models hold them.
package indirect enum ValueExpression: Hashable, Sendable, Codable {
  /// A value that is the same for every object.
  case constant(AttributeValue)
  /// The object that the expression is evaluated with, `SELF`.
  case evaluatedObject
  /// `$name`
  case variable(String)
  /// `path` on the evaluated object, or `operand.path`.
  case keyPath(operand: ValueExpression?, String)
  /// A built-in function such as `canonical:` or `count:`; `name` is its selector.
  case builtIn(name: String, [ValueExpression])
  /// `FUNCTION(operand, "selector", …)`
  case function(operand: ValueExpression, selector: String, [ValueExpression])
  /// `{a, b}`
  case aggregate([ValueExpression])
  /// `FETCH(request, context, countOnly)`
  case fetch(request: ValueExpression, context: ValueExpression, countOnly: Bool)
  /// `SUBQUERY(collection, $variable, predicate)`: the members that satisfy the predicate.
  case subquery(collection: ValueExpression, variable: String, predicate: ValuePredicate)
  /// `TERNARY(predicate, whenTrue, whenFalse)`
  case ternary(ValuePredicate, ValueExpression, ValueExpression)
  /// `a UNION b` and its like.
  case set(SetOperation, ValueExpression, ValueExpression)

  /// What becomes of two collections.
  package enum SetOperation: String, Hashable, Sendable, Codable, CaseIterable {
    /// The members of either.
    case union = "UNION"
    /// The members of both.
    case intersect = "INTERSECT"
    /// The members of the first that are not of the second.
    case minus = "MINUS"
  }
}

/// A predicate of Core Data's format language.
package indirect enum ValuePredicate: Hashable, Sendable, Codable {
  /// How many of a to-many's values must satisfy a comparison.
  package enum Modifier: String, Hashable, Sendable, Codable { case direct, all, any }

  /// The operator of a comparison, with the number that an archive stores (`NSOperatorType`).
  package enum Comparison: Int, Hashable, Sendable, Codable, CaseIterable {
    /// `<`
    case lessThan = 0
    /// `<=`
    case lessThanOrEqual = 1
    /// `>`
    case greaterThan = 2
    /// `>=`
    case greaterThanOrEqual = 3
    /// `==`
    case equal = 4
    /// `!=`
    case notEqual = 5
    /// `MATCHES`: a regular expression matches the whole text.
    case matches = 6
    /// `LIKE`: `*` and `?` stand for any characters and for one.
    case like = 7
    /// `BEGINSWITH`
    case beginsWith = 8
    /// `ENDSWITH`
    case endsWith = 9
    /// `IN`: a member of the right side, or a part of its text.
    case `in` = 10
    /// `CONTAINS`: the right side is a member of the left, or a part of its text.
    case contains = 99
    /// `BETWEEN {a, b}`, bounds included.
    case between = 100
  }

  /// `TRUEPREDICATE` or `FALSEPREDICATE`.
  case always(Bool)
  /// Two expressions and their operator: `name BEGINSWITH[cd] "a"`.
  case comparison(
    ValueExpression, Comparison, ValueExpression, modifier: Modifier,
    caseInsensitive: Bool, diacriticInsensitive: Bool)
  /// `AND`, from left to right as far as needed; holds for no parts.
  case and([ValuePredicate])
  /// `OR`, from left to right as far as needed; does not hold for no parts.
  case or([ValuePredicate])
  /// `NOT`
  case not(ValuePredicate)
  /// Text that this version of Godwit cannot take apart: kept, shown, never evaluated.
  case unparsed(String)
}

extension ValueExpression {
  /// The expressions that it is directly made of, those of its predicates included.
  package var parts: [ValueExpression] {
    switch self {
    case .constant, .evaluatedObject, .variable, .keyPath(nil, _): []
    case .keyPath(let operand?, _): [operand]
    case .builtIn(_, let arguments), .aggregate(let arguments): arguments
    case .function(let operand, _, let arguments): [operand] + arguments
    case .fetch(let request, let context, _): [request, context]
    case .set(_, let left, let right): [left, right]
    case .subquery(let collection, _, let predicate): [collection] + predicate.expressions
    case .ternary(let predicate, let value, let otherwise):
      predicate.expressions + [value, otherwise]
    }
  }
}

extension ValuePredicate {
  /// The expressions that its comparisons compare.
  package var expressions: [ValueExpression] {
    switch self {
    case .always, .unparsed: []
    case .comparison(let left, _, let right, _, _, _): [left, right]
    case .and(let parts), .or(let parts): parts.flatMap(\.expressions)
    case .not(let part): part.expressions
    }
  }
}
