import ValueExpressions

/// Expressions and predicates as the strings of a mapping file.
enum FormatText {
  /// Whether the expression's text reads back as the expression.
  static func hasText(_ expression: ValueExpression) -> Bool {
    ValueExpression(parsing: expression.description) == expression
  }

  static func text(of expression: ValueExpression) throws(MappingFileError) -> String {
    guard hasText(expression) else { throw MappingFileError(.noText(expression.description)) }
    return expression.description
  }

  static func expression(_ text: String) throws(MappingFileError) -> ValueExpression {
    guard let expression = ValueExpression(parsing: text) else {
      throw MappingFileError(
        .badExpression(text: text, reason: "it is not understood"), column: 1)
    }
    return expression
  }

  static func isPredicate(_ text: String) -> Bool {
    if case .unparsed = ValuePredicate(parsing: text) { false } else { true }
  }

  static func check(predicate text: String) throws(MappingFileError) {
    if !isPredicate(text) {
      throw MappingFileError(.badPredicate(text: text, reason: "it is not understood"), column: 1)
    }
  }
}
