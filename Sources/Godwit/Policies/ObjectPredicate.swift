import Expressions
import Mapping
import ObjectMigration
import ObjectModel

/// A predicate over the objects of an entity, whose names were looked up before any object is.
struct ObjectPredicate {
  let core: ValuePredicate

  /// Reads a predicate in the syntax of `NSPredicate`.
  ///
  /// - Throws: `MigrationFailure` with the place of what cannot be read or is not there.
  init(_ text: String, of entity: Entity, in model: ManagedObjectModel) throws(MigrationFailure) {
    do throws(FormatError) {
      core = try ValuePredicate(format: text)
    } catch {
      throw MigrationFailure(
        .usage,
        "the predicate cannot be read: \(error); write it as NSPredicate does, such as "
          + "name BEGINSWITH \"A\" AND pages > 100 (docs/reference/expressions.md).")
    }
    for expression in core.expressions {
      try Self.check(expression, of: entity, in: model, text: text)
    }
  }

  /// Finds keys of the object that its entity does not have, and variables without a value.
  private static func check(
    _ expression: ValueExpression, of entity: Entity, in model: ManagedObjectModel, text: String
  ) throws(MigrationFailure) {
    switch expression {
    case .keyPath(nil, let path), .keyPath(.evaluatedObject?, let path):
      guard let missing = model.missingKey(path: path, of: entity) else { return }
      let owner = model.entity(name: missing.entity) ?? entity
      let names =
        model.allAttributes(of: owner).map(\.name)
        + model.allRelationships(of: owner).map(\.name)
      throw MigrationFailure(
        .usage,
        "the predicate names \(missing.key)\(place(of: missing.key, in: text)), and "
          + "\(missing.entity) has no such property: it has "
          + "\(names.sorted().joined(separator: ", ")).")
    case .variable(let name):
      throw MigrationFailure(
        .usage,
        "the predicate names $\(name)\(place(of: "$\(name)", in: text)), which has no value here: "
          + "write the value instead.")
    // Within a subquery a key is that of another object, and its variable has a value.
    case .subquery(let collection, _, _):
      try check(collection, of: entity, in: model, text: text)
    default:
      for part in expression.parts { try check(part, of: entity, in: model, text: text) }
    }
  }

  /// Where a name stands in the text, in characters from 1.
  private static func place(of name: String, in text: String) -> String {
    guard let range = text.firstRange(of: name) else { return "" }
    return " at column \(text.distance(from: text.startIndex, to: range.lowerBound) + 1)"
  }

  /// The failure of a predicate that has no value for an object; any other error as it is.
  static func failure(_ error: any Error) -> any Error {
    guard let error = error as? ObjectMigrationError, case .expressionFailed = error.problem,
      let cause = error.cause as? EvaluationError
    else { return error }
    let object = [error.entity, error.key.map { "\($0)" }].compactMap(\.self)
    return MigrationFailure(
      .usage,
      "the predicate has no value for \(object.joined(separator: "/")): \(cause); change the "
        + "predicate so that it has a value for every object.")
  }
}
