/// A word of Core Data's format language.
enum FormatToken: Hashable, Sendable {
  case name(String)
  /// A name behind `#`, which is never a keyword.
  case escapedName(String)
  case variable(String)
  case number(String)
  case string(String)
  case symbol(String)

  /// The token as a message shows it.
  var shown: String {
    switch self {
    case .name(let text), .number(let text), .symbol(let text): "“\(text)”"
    case .escapedName(let text): "“#\(text)”"
    case .variable(let text): "“$\(text)”"
    case .string(let text): "the text \"\(text.prefix(40))\""
    }
  }
}

/// A token and the column in which it begins.
struct PlacedToken: Sendable {
  var token: FormatToken
  var column: Int
}

/// Splits format text into tokens.
struct FormatTokenizer {
  private let text: String
  private var rest: Substring
  private var column = 1

  init(_ text: String) {
    self.text = text
    rest = Substring(text)
  }

  mutating func tokens() throws(FormatError) -> [PlacedToken] {
    var result: [PlacedToken] = []
    while true {
      skip(rest.prefix { $0.isWhitespace }.count)
      guard let first = rest.first else { return result }
      let start = column
      result.append(PlacedToken(token: try token(first: first), column: start))
    }
  }

  private mutating func skip(_ count: Int) {
    rest = rest.dropFirst(count)
    column += count
  }

  private func failure(problem: FormatError.Problem) -> FormatError {
    FormatError(problem: problem, text: text, column: column)
  }

  private mutating func token(first: Character) throws(FormatError) -> FormatToken {
    if first == "\"" || first == "'" { return try string(quote: first) }
    if first.isASCII && first.isNumber { return number() }
    if first == "%" {
      throw failure(
        problem: .refused("a placeholder", reason: "a stored text has no arguments to fill it"))
    }
    if first == "$" || first == "#" || first == "@" || Self.isNameCharacter(first) {
      return try word(first: first)
    }
    for symbol in Self.symbols where rest.hasPrefix(symbol) {
      skip(symbol.count)
      return .symbol(symbol)
    }
    throw failure(problem: .strayCharacter("“\(first)”"))
  }

  /// Longer ones first.
  private static let symbols = [
    "==", "!=", "<>", "<=", "=<", ">=", "=>", "&&", "||", "**", ":=", "=", "<", ">", "!", "(", ")",
    "{", "}", ",", ".", ":", "[", "]", "-", "+", "*", "/",
  ]

  private static func isNameCharacter(_ character: Character) -> Bool {
    character.isLetter || character.isNumber || character == "_"
  }

  private mutating func word(first: Character) throws(FormatError) -> FormatToken {
    let hasSign = !Self.isNameCharacter(first)
    let name = rest.dropFirst(hasSign ? 1 : 0).prefix(while: Self.isNameCharacter)
    guard !name.isEmpty else { throw failure(problem: .strayCharacter("“\(first)”")) }
    let text = String(name)
    skip(name.count + (hasSign ? 1 : 0))
    switch first {
    case "$": return .variable(text)
    case "#": return .escapedName(text)
    case "@": return .name("@" + text)
    default: return .name(text)
    }
  }

  private mutating func number() -> FormatToken {
    var digits = rest.prefix { $0.isASCII && ($0.isNumber || $0 == "." || $0.isLetter) }
    // `1e-5`: the sign belongs to the number.
    let after = rest.dropFirst(digits.count)
    if !digits.hasPrefix("0x"), let last = digits.last, last == "e" || last == "E",
      let sign = after.first, sign == "-" || sign == "+"
    {
      let exponent = after.dropFirst().prefix { $0.isASCII && $0.isNumber }
      digits = rest.prefix(digits.count + 1 + exponent.count)
    }
    let result = String(digits)
    skip(digits.count)
    return .number(result)
  }

  private mutating func string(quote: Character) throws(FormatError) -> FormatToken {
    let start = failure(problem: .unterminatedString)
    skip(1)
    var result = ""
    while let character = rest.first {
      skip(1)
      if character == quote { return .string(result) }
      guard character == "\\" else {
        result.append(character)
        continue
      }
      guard let escaped = rest.first else { throw start }
      skip(1)
      result.append(try unescaped(escaped))
    }
    throw start
  }

  /// The character that a backslash and that character mean.
  private mutating func unescaped(_ character: Character) throws(FormatError) -> Character {
    switch character {
    case "n": return "\n"
    case "t": return "\t"
    case "r": return "\r"
    case "u": return try escapedScalar()
    default: return character
    }
  }

  /// The character of the UTF-16 unit behind `\u`, or of a surrogate pair behind two of them.
  private mutating func escapedScalar() throws(FormatError) -> Character {
    let digits = rest.prefix(4).prefix(while: Self.isHexDigit)
    let mistake = FormatError(
      problem: .badEscape("\\u\(digits)"), text: text, column: column - "\\u".count)
    guard let first = escapedUnit() else { throw mistake }
    if let scalar = Unicode.Scalar(first) { return Character(scalar) }
    guard UTF16.isLeadSurrogate(first), rest.hasPrefix("\\u") else { throw mistake }
    skip("\\u".count)
    guard let second = escapedUnit(), UTF16.isTrailSurrogate(second) else { throw mistake }
    return Character(String(decoding: [first, second], as: UTF16.self))
  }

  /// Four hexadecimal digits; nil where there are fewer.
  private mutating func escapedUnit() -> UInt16? {
    let digits = rest.prefix(4)
    guard digits.count == 4, digits.allSatisfy(Self.isHexDigit) else { return nil }
    skip(4)
    return UInt16(digits, radix: 16)
  }

  private static func isHexDigit(_ character: Character) -> Bool {
    character.isASCII && character.isHexDigit
  }
}

/// Words that mean something of their own unless `#` precedes them.
enum Keywords {
  /// Words between expressions, which therefore begin none.
  static let infix: Set<String> = [
    "AND", "OR", "IN", "LIKE", "MATCHES", "CONTAINS", "BEGINSWITH", "ENDSWITH", "BETWEEN",
    "UNION", "INTERSECT", "MINUS",
  ]
  private static let others: Set<String> = [
    "TRUE", "YES", "FALSE", "NO", "NULL", "NIL", "SELF", "ANYKEY", "NOT", "ANY", "SOME", "ALL",
    "NONE", "TRUEPREDICATE", "FALSEPREDICATE",
  ]

  /// Whether a key path begins with such a word.
  static func contains(firstOf path: String) -> Bool {
    let word = path.prefix { $0 != "." }.uppercased()
    return infix.contains(word) || others.contains(word)
  }
}
