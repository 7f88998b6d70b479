import Expressions
import Mapping
import ObjectModel
import Schema

/// The predicate of a mapping, as it chooses among source objects.
struct ObjectFilter {
  private let predicate: ValuePredicate?
  private let equality: (index: Int, value: StoredValue)?
  private let now: Double
  private let entity: String
  private let patterns = PatternCache()

  init(text: String, facts: EntityFacts, now: Double) throws {
    self.now = now
    entity = facts.name
    if text == ValueExpression.everything {
      (predicate, equality) = (nil, nil)
      return
    }
    do {
      let parsed = try ValuePredicate(format: text)
      predicate = parsed == .always(true) ? nil : parsed
    } catch {
      throw ObjectMigrationError(.expressionFailed, entity: facts.name, cause: error)
    }
    equality = predicate.flatMap { Equality(predicate: $0, facts: facts) }.flatMap { found in
      facts.columnIndexes[found.column].map { ($0, found.value) }
    }
  }

  /// The predicate in SQL, if that has certain results.
  func statement(_ facts: EntityFacts) -> FilterStatement? {
    FilterStatement(predicate ?? .always(true), facts: facts)
  }

  /// The predicate as a test of fields, if they suffice.
  func test(_ facts: EntityFacts) -> FilterTest? {
    FilterTest(predicate ?? .always(true), facts: facts)
  }

  func takes(_ object: ManagedObject) throws -> Bool {
    guard let predicate else { return true }
    // NULL equals nothing, as SQLite has it.
    if let equality, equality.value != .null {
      return try object.loadedRow()[equality.index].isSame(as: equality.value)
    }
    do {
      let scope = EvaluationScope(object: .object(object), now: now, patterns: patterns)
      return try object.context.choosing { try ExpressionEvaluator(scope).isTrue(predicate) }
    } catch let error as EvaluationError {
      throw ObjectMigrationError(
        .expressionFailed, entity: entity, key: object.primaryKey, cause: error)
    }
  }
}

extension StoredValue {
  /// Whether SQLite takes two values of one column for equal: texts by their bytes.
  fileprivate func isSame(as other: StoredValue) -> Bool {
    guard case .text(let text) = self, case .text(let others) = other else { return self == other }
    // Not Swift's equality, which takes composed and decomposed characters for one.
    return text.utf8.elementsEqual(others.utf8)
  }
}

/// A predicate that only compares an attribute of exact values with a constant.
private struct Equality {
  let column: String
  let value: StoredValue

  init?(predicate: ValuePredicate, facts: EntityFacts) {
    guard
      case .comparison(
        .keyPath(let operand, let name), .equal, .constant(let constant), .direct, false, false) =
        predicate, operand == nil || operand == .evaluatedObject,
      let attribute = facts.attributes[name]
    else { return nil }
    switch (attribute.attribute.type, constant) {
    case (.string, .string), (.uuid, .uuid), (.uri, .uri), (.integer16, .integer),
      (.integer32, .integer), (.integer64, .integer):
      column = facts.columns[attribute.index]
      value = StoredValue(value: constant, of: attribute.attribute)
    default: return nil
    }
  }
}
