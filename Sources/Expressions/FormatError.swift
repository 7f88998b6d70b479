/// Where and why a text is not an expression or predicate of the format language.
package struct FormatError: Error, Hashable, Sendable, Codable {
  /// What is wrong with the text.
  package enum Problem: Hashable, Sendable, Codable {
    /// Longer, deeper or more ambiguous than any real text.
    case tooComplex
    /// The text ends too early; what should follow, in words.
    case textEnds(expected: String)
    /// Something else is there than what should follow.
    case unexpected(String, expected: String)
    /// A character that begins nothing.
    case strayCharacter(String)
    /// A quoted text has no end.
    case unterminatedString
    /// An escape in a quoted text without four hexadecimal digits, or half a surrogate pair.
    case badEscape(String)
    /// Digits that make no number of 64 bits.
    case badNumber(String)
    /// No built-in function has that name.
    case unknownFunction(String)
    /// A built-in function takes another number of arguments.
    case argumentCount(function: String, expected: Int, actual: Int)
    /// A part of the language that a migration cannot evaluate, and why.
    case refused(String, reason: String)
  }

  /// What is wrong with the text.
  package var problem: Problem
  /// The whole text.
  package var text: String
  /// The place in the text, in characters from 1.
  package var column: Int

  /// Makes an error with its place.
  package init(problem: Problem, text: String, column: Int) {
    self.problem = problem
    self.text = text
    self.column = column
  }
}

extension FormatError: CustomStringConvertible {
  /// The problem, its column and the text, in a line.
  package var description: String { "\(problem), at column \(column) of: \(shortText)" }

  private var shortText: String {
    text.count > 300 ? String(text.prefix(300)) + "…" : text
  }
}

extension FormatError.Problem: CustomStringConvertible {
  /// The problem as a part of a sentence.
  package var description: String {
    switch self {
    case .tooComplex: "too long or too deeply nested"
    case .textEnds(let expected): "the text ends where \(expected) is expected"
    case .unexpected(let found, let expected): "\(found) where \(expected) is expected"
    case .strayCharacter(let character): "\(character) is not valid here"
    case .unterminatedString: "a quoted text that does not end"
    case .badEscape(let escape):
      "\(escape) is not a character (four hexadecimal digits, or two such escapes for a surrogate pair)"
    case .badNumber(let digits): "\(digits) is not a number"
    case .unknownFunction(let name): "no function is called \(name)"
    case .argumentCount(let function, let expected, let actual):
      "\(function) takes \(expected) argument\(expected == 1 ? "" : "s"), not \(actual)"
    case .refused(let what, let reason): "\(what) is not supported: \(reason)"
    }
  }
}
