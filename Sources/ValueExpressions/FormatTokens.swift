/// A word of Core Data's format language.
enum FormatToken: Hashable, Sendable {
  case name(String)
  case variable(String)
  case number(String)
  case string(String)
  case symbol(String)
}

/// Splits format text into tokens; nil where a character belongs to none.
struct FormatTokenizer {
  private var rest: Substring

  init(_ text: String) { rest = Substring(text) }

  mutating func tokens() -> [FormatToken]? {
    var result: [FormatToken] = []
    while true {
      rest = rest.drop { $0.isWhitespace }
      guard let first = rest.first else { return result }
      guard let token = token(first) else { return nil }
      result.append(token)
    }
  }

  private mutating func token(_ first: Character) -> FormatToken? {
    if first == "\"" || first == "'" { return string(first) }
    if first.isASCII && first.isNumber { return number() }
    if first == "$" {
      rest.removeFirst()
      let name = word()
      return name.isEmpty ? nil : .variable(name)
    }
    if Self.isNameCharacter(first) || first == "@" || first == "#" {
      if first == "#" { rest.removeFirst() }
      let prefix = first == "@" ? String(rest.removeFirst()) : ""
      let name = word()
      return name.isEmpty ? nil : .name(prefix + name)
    }
    for symbol in Self.symbols where rest.hasPrefix(symbol) {
      rest.removeFirst(symbol.count)
      return .symbol(symbol)
    }
    return nil
  }

  /// Longer ones first.
  private static let symbols = [
    "==", "!=", "<>", "<=", "=<", ">=", "=>", "&&", "||", "=", "<", ">", "!", "(", ")", "{", "}",
    ",", ".", ":", "[", "]", "-", "+", "*", "/",
  ]

  private static func isNameCharacter(_ character: Character) -> Bool {
    character.isLetter || character.isNumber || character == "_"
  }

  private mutating func word() -> String {
    let name = rest.prefix(while: Self.isNameCharacter)
    rest = rest.dropFirst(name.count)
    return String(name)
  }

  private mutating func number() -> FormatToken {
    var digits = rest.prefix { $0.isASCII && ($0.isNumber || $0 == "." || $0.isLetter) }
    // `1e-5`: the sign belongs to the number.
    let after = rest.dropFirst(digits.count)
    if let last = digits.last, last == "e" || last == "E", let sign = after.first,
      sign == "-" || sign == "+"
    {
      let exponent = after.dropFirst().prefix { $0.isASCII && $0.isNumber }
      digits = rest.prefix(digits.count + 1 + exponent.count)
    }
    rest = rest.dropFirst(digits.count)
    return .number(String(digits))
  }

  private mutating func string(_ quote: Character) -> FormatToken? {
    rest.removeFirst()
    var text = ""
    while let character = rest.popFirst() {
      if character == quote { return .string(text) }
      if character == "\\" {
        guard let escaped = rest.popFirst() else { return nil }
        switch escaped {
        case "n": text.append("\n")
        case "t": text.append("\t")
        case "r": text.append("\r")
        default: text.append(escaped)
        }
      } else {
        text.append(character)
      }
    }
    return nil
  }
}
