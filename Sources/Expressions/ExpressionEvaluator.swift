/// What an expression is evaluated with.
package struct EvaluationScope {
  /// What `SELF` and bare key paths mean.
  package var object: ObjectValue
  /// The variables without their `$`.
  package var variables: [String: ObjectValue]
  /// The moment that `now()` is: one for a whole migration, so that its runs agree.
  package var now: Double
  /// Regular expressions that were compiled already; scopes of one migration share them.
  package var patterns: PatternCache

  /// Makes a scope; by default one in which nothing has a value.
  package init(
    object: ObjectValue = .null, variables: [String: ObjectValue] = [:], now: Double = 0,
    patterns: PatternCache = PatternCache()
  ) {
    self.object = object
    self.variables = variables
    self.now = now
    self.patterns = patterns
  }
}

/// Evaluates expressions and predicates of the format language (docs/reference/expressions.md).
package struct ExpressionEvaluator {
  /// What the expression is evaluated with.
  package var scope: EvaluationScope
  private var depth = 0
  /// Archives may nest deeper than the parser lets a text.
  private static let maximumDepth = 250

  /// Makes an evaluator for one object and its variables.
  package init(_ scope: EvaluationScope) { self.scope = scope }

  /// The value of an expression.
  ///
  /// - Throws: `EvaluationError` with the innermost expression that failed, and whatever objects
  ///   throw.
  package func value(of expression: ValueExpression) throws -> ObjectValue {
    do {
      return try deeper().evaluate(expression)
    } catch var error as EvaluationError where error.expression == nil {
      error.expression = String(expression.description.prefix(500))
      throw error
    }
  }

  func deeper() throws -> ExpressionEvaluator {
    guard depth < Self.maximumDepth else { throw EvaluationError(.tooDeep) }
    var next = self
    next.depth += 1
    return next
  }

  private func evaluate(_ expression: ValueExpression) throws -> ObjectValue {
    switch expression {
    case .constant(let value): return .scalar(value)
    case .evaluatedObject: return scope.object
    case .variable(let name):
      guard let value = scope.variables[name] else {
        throw EvaluationError(.unknownVariable(name))
      }
      return value
    case .keyPath(let operand, let path):
      let start = try operand.map(value) ?? scope.object
      return try Self.follow(path, from: start)
    case .builtIn(let name, let arguments):
      return try call(name, arguments: try arguments.map(value))
    case .function(let operand, let selector, let arguments):
      return try send(selector, to: try value(of: operand), arguments: try arguments.map(value))
    case .aggregate(let members):
      return .collection(ValueCollection(kind: .array, members: try members.map(value)))
    case .fetch(let request, let context, let countOnly):
      return try fetch(try value(of: request), in: try value(of: context), countOnly: countOnly)
    case .subquery(let collection, let variable, let predicate):
      let few = try narrowed(collection, variable: variable, predicate: predicate)
      return try subquery(
        collection: try few ?? value(of: collection), variable: variable, predicate: predicate)
    case .ternary(let condition, let whenTrue, let whenFalse):
      return try value(of: isTrue(condition) ? whenTrue : whenFalse)
    case .set(let operation, let left, let right):
      return try combine(operation, left: try value(of: left), right: try value(of: right))
    }
  }

  private func subquery(
    collection: ObjectValue, variable: String, predicate: ValuePredicate
  ) throws -> ObjectValue {
    if collection.isNull { return .null }
    let collection = try Self.collection(value: collection, of: "SUBQUERY")
    var inner = self
    let members = try collection.members.filter { member in
      inner.scope.variables[variable] = member
      return try inner.isTrue(predicate)
    }
    return .collection(ValueCollection(kind: collection.kind, members: members))
  }

  private func fetch(
    _ request: ObjectValue, in context: ObjectValue, countOnly: Bool
  ) throws -> ObjectValue {
    guard case .object(let object) = request, let request = object as? FetchRequestValue else {
      throw EvaluationError(
        .wrongArgument(of: "FETCH", expected: "a fetch request", found: request.kindName))
    }
    guard case .object(let object) = context, let context = object as? any EvaluatedContext else {
      throw EvaluationError(
        .wrongArgument(of: "FETCH", expected: "a context", found: context.kindName))
    }
    let found = try context.fetch(request)
    return countOnly ? .integer(value: Int64(found.count)) : .objects(found)
  }

  /// A nil is an empty collection; UNION keeps the left one's kind, and nothing twice.
  private func combine(
    _ operation: ValueExpression.SetOperation, left: ObjectValue, right: ObjectValue
  ) throws -> ObjectValue {
    let first = try Self.members(value: left, of: operation.rawValue)
    let second = try Self.members(value: right, of: operation.rawValue)
    switch operation {
    case .union: return .collection(ValueCollection(kind: .orderedSet, members: first + second))
    case .intersect:
      let others = Set(second.map { DistinctValue($0) })
      let kept = first.filter { others.contains(DistinctValue($0)) }
      return .collection(ValueCollection(kind: .orderedSet, members: kept))
    case .minus:
      let others = Set(second.map { DistinctValue($0) })
      let kept = first.filter { !others.contains(DistinctValue($0)) }
      return .collection(ValueCollection(kind: .orderedSet, members: kept))
    }
  }

  static func collection(
    value: ObjectValue, of function: String
  ) throws -> ValueCollection {
    guard case .collection(let collection) = value else {
      throw EvaluationError(
        .wrongArgument(of: function, expected: "a collection", found: value.kindName))
    }
    return collection
  }

  /// The members of a collection; nil has none.
  static func members(value: ObjectValue, of function: String) throws -> [ObjectValue] {
    value.isNull ? [] : try collection(value: value, of: function).members
  }
}
