extension EvaluatedContext {
  /// Nil: no search by value is faster than evaluating each object.
  package func fetch(
    _ entityName: String, having key: String, of value: AttributeValue
  ) throws -> [any EvaluatedObject]? { nil }
}

extension ExpressionEvaluator {
  /// Of all objects of an entity, those that a subquery may take, found by a value that its
  /// predicate requires first; nil if each has to be evaluated.
  ///
  /// The first part that does not hold ends the evaluation of a conjunction, so nothing that would
  /// fail is passed over.
  func narrowed(
    _ collection: ValueExpression, variable: String, predicate: ValuePredicate
  ) throws -> ObjectValue? {
    guard case .fetch(let request, let context, false) = collection,
      let (key, wanted) = Self.demand(of: predicate, variable: variable),
      case .scalar(let value)? = try? self.value(of: wanted), value != .null,
      case .object(let asked)? = try? self.value(of: request),
      let all = asked as? FetchRequestValue, all.predicate == .always(true),
      case .object(let found)? = try? self.value(of: context),
      let store = found as? any EvaluatedContext
    else { return nil }
    return try store.fetch(all.entityName, having: key, of: value).map { .objects($0) }
  }

  /// The key of the variable that has to equal something else, in the first part of a predicate.
  private static func demand(
    of predicate: ValuePredicate, variable: String
  ) -> (key: String, value: ValueExpression)? {
    if case .and(let parts) = predicate {
      return parts.first.flatMap { demand(of: $0, variable: variable) }
    }
    guard case .comparison(let left, .equal, let right, .direct, false, false) = predicate else {
      return nil
    }
    for (one, other) in [(left, right), (right, left)] {
      if case .keyPath(.variable(variable)?, let key) = one, !key.contains("."),
        !other.names(variable)
      {
        return (key, other)
      }
    }
    return nil
  }
}

extension ValueExpression {
  /// Whether a variable of that name is in it.
  fileprivate func names(_ variable: String) -> Bool {
    if case .variable(variable) = self { return true }
    return parts.contains { $0.names(variable) }
  }
}
