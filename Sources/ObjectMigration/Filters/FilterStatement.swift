import Expressions
import ObjectModel
import Schema

/// A filter as SQL that returns 1 or 0 if the evaluator certainly agrees, and NULL if the evaluator
/// has to decide, above all for values of another type than their attribute.
///
/// The parts are numbers: SQLite's `AND` and `OR` would call certain what the evaluator may refuse.
struct FilterStatement {
  /// The expression, of a row without an alias.
  let sql: String

  /// The longest predicate that is put into SQL, of SQLite's million bytes for a statement, and how
  /// deep it may nest, of a thousand levels.
  private static let longest = 100_000
  private static let deepest = 50

  /// Nil where nothing of the predicate would be certain.
  init?(_ predicate: ValuePredicate, facts: EntityFacts) {
    guard let sql = Self.sql(predicate, facts: facts, depth: 0), sql.utf8.count <= Self.longest
    else { return nil }
    self.sql = sql
  }

  private static func sql(
    _ predicate: ValuePredicate, facts: EntityFacts, depth: Int
  ) -> String? {
    guard depth < deepest else { return nil }
    switch predicate {
    case .always(let value): return value ? "1" : "0"
    case .not(let part): return sql(part, facts: facts, depth: depth + 1).map { "(1 - \($0))" }
    case .and(let parts):
      return joined(parts, facts: facts, depth: depth, empty: "1") { "(\($0) * \($1))" }
    case .or(let parts):
      return joined(parts, facts: facts, depth: depth, empty: "0") { "max(\($0), \($1))" }
    case .comparison(let left, let comparison, let right, .direct, false, false):
      guard case .keyPath(let operand, let name) = left,
        operand == nil || operand == .evaluatedObject, let found = facts.attributes[name],
        !name.contains(".")
      else { return nil }
      let column = SQL.identifier(name: facts.columns[found.index])
      return test(
        comparison, of: Side(attribute: found.attribute, column: column), with: right)
    case .comparison, .unparsed: return nil
    }
  }

  private static func joined(
    _ parts: [ValuePredicate], facts: EntityFacts, depth: Int, empty: String,
    by join: (String, String) -> String
  ) -> String? {
    var result: String?
    // Each part is one level deeper than those before it.
    for (place, part) in parts.enumerated() {
      guard let next = sql(part, facts: facts, depth: depth + place + 1) else { return nil }
      result = result.map { join($0, next) } ?? next
    }
    return result ?? empty
  }

  /// The column that a comparison reads.
  private struct Side {
    let attribute: Attribute
    let column: String

    /// The expression of a value that is of the attribute's type, and the types as SQLite names
    /// them: a column of dates keeps whole numbers as integers.
    var typed: (types: String, value: String)? {
      switch attribute.type {
      case .integer16, .integer32, .integer64: ("'integer'", column)
      case .boolean: ("'integer'", "(\(column) <> 0)")
      case .double, .float, .date: ("'real', 'integer'", "CAST(\(column) AS REAL)")
      case .string: ("'text'", column)
      default: nil
      }
    }

    /// A constant with which SQLite compares as the evaluator does; nil for any other.
    func literal(_ value: ValueExpression, isOrdered: Bool) -> String? {
      guard case .constant(let value) = value else { return nil }
      switch (attribute.type, value) {
      case (.integer16, .integer(let number)), (.integer32, .integer(let number)),
        (.integer64, .integer(let number)):
        return StoredValue.integer(number).sql
      case (.integer16, .real(let number)), (.integer32, .real(let number)),
        (.integer64, .real(let number)), (.double, .real(let number)),
        (.float, .real(let number)), (.date, .date(let number)):
        return number.isFinite ? StoredValue.real(number).sql : nil
      case (.double, .integer(let number)), (.float, .integer(let number)):
        return StoredValue.integer(number).sql
      case (.boolean, .boolean(let flag)): return flag ? "1" : "0"
      case (.boolean, .integer(let number)): return StoredValue.integer(number).sql
      // What is no text is seen as people would read it; texts have another order in UTF-16.
      case (.string, .string(let text)):
        return isOrdered || text.unicodeScalars.contains { $0.value == 0 || $0.value == 0xFFFD }
          ? nil : StoredValue.text(text).sql
      default: return nil
      }
    }

    /// A test of values of the attribute's type, what NULL gives, and NULL for everything else.
    func test(ofNull: String, _ body: (_ value: String) -> String) -> String? {
      typed.map { types, value in
        """
        (CASE WHEN \(column) IS NULL THEN \(ofNull) \
        WHEN typeof(\(column)) IN (\(types)) THEN \(body(value)) END)
        """
      }
    }
  }

  private static func test(
    _ comparison: ValuePredicate.Comparison, of side: Side, with other: ValueExpression
  ) -> String? {
    switch comparison {
    case .equal, .notEqual:
      let isEqual = comparison == .equal
      if case .constant(.null) = other {
        // Reading a value of its own file may fail.
        if side.attribute.storesBinaryDataExternally { return nil }
        return "(\(side.column) IS \(isEqual ? "" : "NOT ")NULL)"
      }
      guard let literal = side.literal(other, isOrdered: false) else { return nil }
      return side.test(ofNull: isEqual ? "0" : "1") {
        "(\($0) \(isEqual ? "=" : "<>") \(literal))"
      }
    case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual:
      guard let literal = side.literal(other, isOrdered: true) else { return nil }
      return side.test(ofNull: "0") { "(\($0) \(sign(comparison)) \(literal))" }
    case .in:
      guard case .aggregate(let members) = other else { return nil }
      var literals: [String] = []
      for member in members {
        guard let literal = side.literal(member, isOrdered: false) else { return nil }
        literals.append(literal)
      }
      return side.test(ofNull: "0") { "(\($0) IN (\(literals.joined(separator: ", "))))" }
    case .between:
      guard case .aggregate(let bounds) = other, bounds.count == 2,
        let low = side.literal(bounds[0], isOrdered: true),
        let high = side.literal(bounds[1], isOrdered: true)
      else { return nil }
      return side.test(ofNull: "0") { "(\($0) BETWEEN \(low) AND \(high))" }
    case .matches, .like, .beginsWith, .endsWith, .contains: return nil
    }
  }

  private static func sign(_ comparison: ValuePredicate.Comparison) -> String {
    switch comparison {
    case .lessThan: "<"
    case .lessThanOrEqual: "<="
    case .greaterThan: ">"
    default: ">="
    }
  }
}
