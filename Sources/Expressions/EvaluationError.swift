/// Why an expression has no value, and which part of it.
package struct EvaluationError: Error, Hashable, Sendable, Codable {
  /// Why there is no value.
  package enum Problem: Hashable, Sendable, Codable {
    /// There is no variable of that name, without its `$`.
    case unknownVariable(String)
    /// Objects of that kind have no such property.
    case unknownKey(String, of: String)
    /// Objects of that kind have the property only once they are saved.
    case notYetKnown(String, of: String)
    /// Objects of that kind do not answer the selector.
    case unknownSelector(String, of: String)
    /// No built-in function has that name.
    case unknownFunction(String)
    /// No collection operator has that name, with its `@`.
    case unknownOperator(String)
    /// A function takes arguments of another kind.
    case wrongArgument(of: String, expected: String, found: String)
    /// A function takes another number of arguments.
    case argumentCount(of: String, expected: Int, actual: Int)
    /// Values of these two kinds have no order.
    case notComparable(String, String)
    /// A whole number that needs more than 64 bits, or a decimal one beyond 38 digits.
    case overflow(of: String)
    /// A whole or decimal number is divided by zero; among reals that is no error.
    case divisionByZero
    /// The pattern of `MATCHES` is no regular expression.
    case invalidPattern(String)
    /// The pattern of `MATCHES` backtracks without an end in sight.
    case patternTooSlow(String)
    /// A collection operator met a nil where Foundation raises an exception.
    case nilInUnion(of: String)
    /// A collection has no member at that index.
    case indexOutOfRange(Int64, count: Int)
    /// A value of that kind has no form of that class.
    case cannotCast(String, to: String)
    /// A text is no date of that format.
    case unreadableDate(String, format: String)
    /// A format of dates cannot be read, or not without ambiguity, and why.
    case badDateFormat(String, why: String)
    /// A text is no data in that encoding.
    case unreadableData(String, encoding: String)
    /// Texts cannot be turned into data in an encoding of that name.
    case unknownEncoding(String)
    /// A UUID is to be derived where there is no object.
    case noObject(of: String)
    /// A predicate whose text was never understood.
    case notUnderstood(String)
    /// The expression is nested more deeply than evaluation goes.
    case tooDeep
    /// No entity mapping of the model has that name.
    case unknownEntityMapping(String)
    /// A fetch request names an entity that the model does not have.
    case unknownEntity(String)
  }

  /// Why there is no value.
  package var problem: Problem
  /// The innermost expression that failed.
  package var expression: String?

  /// Makes an error; evaluation adds the expression, from the inside out.
  package init(_ problem: Problem, expression: String? = nil) {
    self.problem = problem
    self.expression = expression
  }
}

extension EvaluationError: CustomStringConvertible {
  /// The problem and the expression, in a line.
  package var description: String {
    expression.map { "\(problem), in: \($0)" } ?? "\(problem)"
  }
}

extension EvaluationError.Problem: CustomStringConvertible {
  /// The problem as a part of a sentence.
  package var description: String {
    switch self {
    case .unknownVariable("manager"):
      "$manager is for value expressions and not for filters: onePer makes new objects of data"
    case .unknownVariable(let name): "no variable is called $\(name)"
    case .unknownKey(let key, let type): "\(type) has no property \(key)"
    case .notYetKnown(let key, let type): "a new \(type) has no \(key) before it is saved"
    case .unknownSelector(let selector, let type) where selector.hasPrefix("sortedArray"):
      "\(type) has no method \(selector): sortedBy in a mapping file gives a relationship its order"
    case .unknownSelector(let selector, let type): "\(type) has no method \(selector)"
    case .unknownFunction(let name): "no function is called \(name)"
    case .unknownOperator(let name): "no collection operator is called \(name)"
    case .wrongArgument(let function, let expected, let found):
      "\(function) takes \(expected), not \(found)"
    case .argumentCount(let function, let expected, let actual):
      "\(function) takes \(expected) argument\(expected == 1 ? "" : "s"), not \(actual)"
    case .notComparable(let left, let right): "\(left) cannot be compared with \(right)"
    case .overflow(let function): "the result of \(function) is too large"
    case .divisionByZero: "a division by zero"
    case .invalidPattern(let pattern): "\(pattern) is not a regular expression"
    case .patternTooSlow(let pattern): "\(pattern) takes too long to match"
    case .nilInUnion(let name): "\(name) does not accept nil"
    case .indexOutOfRange(let index, let count): "there is no member \(index) of \(count)"
    case .cannotCast(let kind, let type): "\(kind) cannot be cast to \(type)"
    case .unreadableDate(let text, let format): "\(text) is not a date of the form \(format)"
    case .badDateFormat(let format, let why): "the date format \(format) cannot be used: \(why)"
    case .unreadableData(let text, let encoding): "\(text) is not \(encoding)"
    case .unknownEncoding(let name): "no encoding is called \(name): name utf8, base64 or hex"
    case .noObject(let function): "\(function) has no object to apply to"
    case .notUnderstood(let text): "not understood: \(text)"
    case .tooDeep: "an expression that is nested too deeply"
    case .unknownEntityMapping(let name): "no entity mapping is called \(name)"
    case .unknownEntity(let name): "no entity is called \(name)"
    }
  }
}
