/// Where and why a text is not an expression or predicate of the format language.
package struct FormatError: Error, Hashable, Sendable, Codable {
  package enum Problem: Hashable, Sendable, Codable {
    /// Longer, deeper or more ambiguous than any real text.
    case tooComplex
    case textEnds(expected: String)
    case unexpected(String, expected: String)
    case strayCharacter(String)
    case unterminatedString
    case badNumber(String)
    case unknownFunction(String)
    case argumentCount(function: String, expected: Int, actual: Int)
    /// A part of the language that a migration cannot evaluate, and why.
    case refused(String, reason: String)
  }

  package var problem: Problem
  package var text: String
  /// The place in the text, in characters from 1.
  package var column: Int

  package init(problem: Problem, text: String, column: Int) {
    self.problem = problem
    self.text = text
    self.column = column
  }
}

extension FormatError: CustomStringConvertible {
  package var description: String { "\(problem), at column \(column) of: \(shortText)" }

  private var shortText: String {
    text.count > 300 ? String(text.prefix(300)) + "…" : text
  }
}

extension FormatError.Problem: CustomStringConvertible {
  package var description: String {
    switch self {
    case .tooComplex: "too long or too deeply nested"
    case .textEnds(let expected): "the text ends where \(expected) is expected"
    case .unexpected(let found, let expected): "\(found) where \(expected) is expected"
    case .strayCharacter(let character): "\(character) has no meaning here"
    case .unterminatedString: "a quoted text that does not end"
    case .badNumber(let digits): "\(digits) is not a number"
    case .unknownFunction(let name): "no function is called \(name)"
    case .argumentCount(let function, let expected, let actual):
      "\(function) takes \(expected) argument\(expected == 1 ? "" : "s"), not \(actual)"
    case .refused(let what, let reason): "\(what) is not supported: \(reason)"
    }
  }
}
