/// An expression of Core Data's format language, as models and mapping models hold them.
package indirect enum ValueExpression: Hashable, Sendable, Codable {
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
  case aggregate([ValueExpression])
  /// `FETCH(request, context, countOnly)`
  case fetch(request: ValueExpression, context: ValueExpression, countOnly: Bool)
  /// `SUBQUERY(collection, $variable, predicate)`: the members for which the predicate holds.
  case subquery(collection: ValueExpression, variable: String, predicate: ValuePredicate)
  /// `TERNARY(predicate, whenTrue, whenFalse)`
  case ternary(ValuePredicate, ValueExpression, ValueExpression)
  /// `a UNION b` and its like.
  case set(SetOperation, ValueExpression, ValueExpression)

  /// What becomes of two collections.
  package enum SetOperation: String, Hashable, Sendable, Codable, CaseIterable {
    case union = "UNION"
    case intersect = "INTERSECT"
    case minus = "MINUS"
  }
}

/// A predicate of Core Data's format language.
package indirect enum ValuePredicate: Hashable, Sendable, Codable {
  /// How many of a to-many's values must satisfy a comparison.
  package enum Modifier: String, Hashable, Sendable, Codable { case direct, all, any }

  /// What a comparison asks, under the number that an archive stores (`NSOperatorType`).
  package enum Comparison: Int, Hashable, Sendable, Codable, CaseIterable {
    case lessThan = 0
    case lessThanOrEqual = 1
    case greaterThan = 2
    case greaterThanOrEqual = 3
    case equal = 4
    case notEqual = 5
    case matches = 6
    case like = 7
    case beginsWith = 8
    case endsWith = 9
    case `in` = 10
    case contains = 99
    case between = 100
  }

  case always(Bool)
  case comparison(
    ValueExpression, Comparison, ValueExpression, modifier: Modifier,
    caseInsensitive: Bool, diacriticInsensitive: Bool)
  case and([ValuePredicate])
  case or([ValuePredicate])
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
