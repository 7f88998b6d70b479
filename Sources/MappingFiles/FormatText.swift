import Expressions

/// Reads and writes expressions and predicates as strings of a mapping file.
enum FormatText {
  static func text(of expression: ValueExpression) throws(MappingFileError) -> String {
    let text = expression.description
    guard (try? ValueExpression(format: text)) == expression else {
      throw MappingFileError(.noText(text))
    }
    return text
  }

  static func expression(text: String) throws(MappingFileError) -> ValueExpression {
    do {
      return try ValueExpression(format: text)
    } catch {
      throw MappingFileError(.badExpression(error), column: error.column)
    }
  }

  static func isPredicate(_ text: String) -> Bool { (try? ValuePredicate(format: text)) != nil }

  static func check(predicate text: String) throws(MappingFileError) {
    do {
      _ = try ValuePredicate(format: text)
    } catch {
      throw MappingFileError(.badPredicate(error), column: error.column)
    }
  }
}
