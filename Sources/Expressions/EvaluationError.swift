/// Why an expression has no value, and which part of it.
package struct EvaluationError: Error, Hashable, Sendable, Codable {
  package enum Problem: Hashable, Sendable, Codable {
    case unknownVariable(String)
    case unknownKey(String, of: String)
    case unknownSelector(String, of: String)
    case unknownFunction(String)
    case unknownOperator(String)
    case wrongArgument(of: String, expected: String, found: String)
    case argumentCount(of: String, expected: Int, actual: Int)
    case notComparable(String, String)
    /// A whole number that needs more than 64 bits, or a decimal one beyond 38 digits.
    case overflow(of: String)
    case divisionByZero
    case invalidPattern(String)
    case patternTooSlow(String)
    case nilInUnion(of: String)
    case indexOutOfRange(Int64, count: Int)
    case cannotCast(String, to: String)
    /// A predicate whose text was never understood.
    case notUnderstood(String)
    case tooDeep
    case unknownEntityMapping(String)
    case unknownEntity(String)
  }

  package var problem: Problem
  /// The innermost expression that failed.
  package var expression: String?

  package init(_ problem: Problem, expression: String? = nil) {
    self.problem = problem
    self.expression = expression
  }
}

extension EvaluationError: CustomStringConvertible {
  package var description: String {
    expression.map { "\(problem), in: \($0)" } ?? "\(problem)"
  }
}

extension EvaluationError.Problem: CustomStringConvertible {
  package var description: String {
    switch self {
    case .unknownVariable(let name): "no variable is called $\(name)"
    case .unknownKey(let key, let type): "\(type) has no property \(key)"
    case .unknownSelector(let selector, let type): "\(type) does not answer \(selector)"
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
    case .nilInUnion(let name): "\(name) met a nil value"
    case .indexOutOfRange(let index, let count): "there is no member \(index) of \(count)"
    case .cannotCast(let kind, let type): "\(kind) cannot be cast to \(type)"
    case .notUnderstood(let text): "not understood: \(text)"
    case .tooDeep: "an expression that is nested too deeply"
    case .unknownEntityMapping(let name): "no entity mapping is called \(name)"
    case .unknownEntity(let name): "no entity is called \(name)"
    }
  }
}
