extension ValuePredicate {
  /// Takes the text of a predicate apart; what is not understood is kept as `.unparsed`.
  package init(parsing text: String) {
    var parser = FormatParser(text)
    self = parser?.wholePredicate() ?? .unparsed(text)
  }
}

extension ValueExpression {
  /// Takes the text of an expression apart; nil where it is not understood.
  package init?(parsing text: String) {
    guard var parser = FormatParser(text), let expression = parser.wholeExpression() else {
      return nil
    }
    self = expression
  }

  /// Takes the text of a derivation apart; nil where it is not understood.
  ///
  /// `items.@count` of a source is `count:(items)` in the compiled model, and hashed as that
  /// (docs/model-format.md, "Version hashes").
  package init?(parsingDerivation text: String) {
    self.init(parsing: text)
    if case .keyPath(let operand, let path) = self, path.hasSuffix(".@count") {
      let collection = String(path.dropLast(".@count".count))
      self = .builtIn(name: "count:", [.keyPath(operand: operand, collection)])
    }
  }
}

/// Reads what models contain: comparisons joined by AND, OR, NOT; key paths, variables, literals,
/// function calls. Everything else answers nil.
private struct FormatParser {
  private let tokens: [FormatToken]
  private var position = 0
  private var depth = 0
  /// A parenthesis is tried as a predicate and as an expression; this bounds nested ones.
  private var steps = 0
  private static let maximumDepth = 100
  private static let maximumSteps = 100_000

  init?(_ text: String) {
    var tokenizer = FormatTokenizer(text)
    guard text.utf8.count <= 100_000, let tokens = tokenizer.tokens() else { return nil }
    self.tokens = tokens
  }

  mutating func wholePredicate() -> ValuePredicate? {
    guard let result = disjunction(), position == tokens.count else { return nil }
    return result
  }

  mutating func wholeExpression() -> ValueExpression? {
    guard let result = expression(), position == tokens.count else { return nil }
    return result
  }

  // MARK: Predicates

  private mutating func disjunction() -> ValuePredicate? {
    guard let parts = list(of: { $0.conjunction() }, joinedBy: "OR", "||") else { return nil }
    return parts.count == 1 ? parts[0] : .or(parts)
  }

  private mutating func conjunction() -> ValuePredicate? {
    guard let parts = list(of: { $0.term() }, joinedBy: "AND", "&&") else { return nil }
    return parts.count == 1 ? parts[0] : .and(parts)
  }

  private mutating func list(
    of part: (inout Self) -> ValuePredicate?, joinedBy word: String, _ symbol: String
  ) -> [ValuePredicate]? {
    guard let first = part(&self) else { return nil }
    var parts = [first]
    while take(word: word) || take(symbol: symbol) {
      guard let next = part(&self) else { return nil }
      parts.append(next)
    }
    return parts
  }

  private mutating func term() -> ValuePredicate? {
    guard enter() else { return nil }
    defer { depth -= 1 }
    if take(word: "NOT") || take(symbol: "!") { return term().map { .not($0) } }
    if take(word: "TRUEPREDICATE") { return .always(true) }
    if take(word: "FALSEPREDICATE") { return .always(false) }
    let start = position
    if take(symbol: "("), let inner = disjunction(), take(symbol: ")") { return inner }
    position = start
    return comparison()
  }

  private mutating func comparison() -> ValuePredicate? {
    var modifier = ValuePredicate.Modifier.direct
    if take(word: "ANY") || take(word: "SOME") {
      modifier = .any
    } else if take(word: "ALL") {
      modifier = .all
    }
    guard let left = expression(), let comparison = comparisonOperator(),
      let options = options(), let right = expression()
    else { return nil }
    return .comparison(
      left, comparison, right, modifier: modifier,
      caseInsensitive: options.contains("c"), diacriticInsensitive: options.contains("d"))
  }

  private mutating func comparisonOperator() -> ValuePredicate.Comparison? {
    let next = peek()
    position += 1
    switch next {
    case .symbol("=")?, .symbol("==")?: return .equal
    case .symbol("!=")?, .symbol("<>")?: return .notEqual
    case .symbol("<")?: return .lessThan
    case .symbol("<=")?, .symbol("=<")?: return .lessThanOrEqual
    case .symbol(">")?: return .greaterThan
    case .symbol(">=")?, .symbol("=>")?: return .greaterThanOrEqual
    case .name(let word)?: return Self.words[word.uppercased()]
    default: return nil
    }
  }

  private static let words: [String: ValuePredicate.Comparison] = [
    "MATCHES": .matches, "LIKE": .like, "BEGINSWITH": .beginsWith, "ENDSWITH": .endsWith,
    "IN": .in, "CONTAINS": .contains, "BETWEEN": .between,
  ]

  /// `[cd]` after an operator; empty without.
  private mutating func options() -> String? {
    guard take(symbol: "[") else { return "" }
    guard case .name(let letters)? = peek(), letters.allSatisfy({ "cd".contains($0) }) else {
      return nil
    }
    position += 1
    return take(symbol: "]") ? letters : nil
  }

  // MARK: Expressions

  private mutating func expression() -> ValueExpression? {
    guard enter() else { return nil }
    defer { depth -= 1 }
    guard let next = peek() else { return nil }
    position += 1
    switch next {
    case .string(let text): return .constant(.string(text))
    case .number(let digits): return Self.number(digits)
    case .symbol("-"):
      guard case .number(let digits)? = peek() else { return nil }
      position += 1
      return Self.number("-" + digits)
    case .symbol("{"): return arguments(until: "}").map { .aggregate($0) }
    case .symbol("("):
      guard let inner = expression(), take(symbol: ")") else { return nil }
      return inner
    case .variable(let name): return path(on: .variable(name))
    case .name(let name): return named(name)
    case .symbol: return nil
    }
  }

  private mutating func named(_ name: String) -> ValueExpression? {
    switch name.uppercased() {
    case "TRUE", "YES": return .constant(.boolean(true))
    case "FALSE", "NO": return .constant(.boolean(false))
    case "NULL", "NIL": return .constant(.null)
    case "SELF": return path(on: .evaluatedObject)
    case "FUNCTION" where peek() == .symbol("("): return function()
    case "FETCH" where peek() == .symbol("("): return fetch()
    case "TERNARY" where peek() == .symbol("("): return ternary()
    default: break
    }
    if peek() == .symbol("(") || peek() == .symbol(":") { return builtIn(name) }
    guard let path = keyPath(startingWith: name) else { return nil }
    return .keyPath(operand: nil, path)
  }

  /// `name(…)` or the selector form `name:other:(…)`.
  private mutating func builtIn(_ name: String) -> ValueExpression? {
    var selector = name
    while take(symbol: ":") {
      selector += ":"
      if case .name(let part)? = peek() {
        selector += part
        position += 1
      }
    }
    guard take(symbol: "("), let arguments = arguments(until: ")") else { return nil }
    return .builtIn(name: selector, arguments)
  }

  private mutating func function() -> ValueExpression? {
    guard take(symbol: "("), let arguments = arguments(until: ")"), arguments.count >= 2,
      case .constant(.string(let selector)) = arguments[1]
    else { return nil }
    return .function(operand: arguments[0], selector: selector, Array(arguments.dropFirst(2)))
  }

  private mutating func fetch() -> ValueExpression? {
    guard take(symbol: "("), let arguments = arguments(until: ")"), arguments.count == 3,
      case .constant(.boolean(let countOnly)) = arguments[2]
    else { return nil }
    return .fetch(request: arguments[0], context: arguments[1], countOnly: countOnly)
  }

  private mutating func ternary() -> ValueExpression? {
    guard take(symbol: "("), let predicate = disjunction(), take(symbol: ","),
      let value = expression(), take(symbol: ","), let otherwise = expression(),
      take(symbol: ")")
    else { return nil }
    return .ternary(predicate, value, otherwise)
  }

  private mutating func arguments(until end: String) -> [ValueExpression]? {
    if take(symbol: end) { return [] }
    var result: [ValueExpression] = []
    repeat {
      guard let next = expression() else { return nil }
      result.append(next)
    } while take(symbol: ",")
    return take(symbol: end) ? result : nil
  }

  private mutating func path(on operand: ValueExpression) -> ValueExpression? {
    guard take(symbol: ".") else { return operand }
    guard case .name(let name)? = peek() else { return nil }
    position += 1
    guard let path = keyPath(startingWith: name) else { return nil }
    return .keyPath(operand: operand == .evaluatedObject ? nil : operand, path)
  }

  private mutating func keyPath(startingWith name: String) -> String? {
    var path = name
    while take(symbol: ".") {
      guard case .name(let next)? = peek() else { return nil }
      position += 1
      path += "." + next
    }
    return path
  }

  private static func number(_ digits: String) -> ValueExpression? {
    if let whole = Int64(digits) { return .constant(.integer(whole)) }
    return Double(digits).map { .constant(.real($0)) }
  }

  private mutating func enter() -> Bool {
    steps += 1
    guard depth < Self.maximumDepth, steps <= Self.maximumSteps else { return false }
    depth += 1
    return true
  }

  // MARK: Tokens

  private func peek() -> FormatToken? { position < tokens.count ? tokens[position] : nil }

  private mutating func take(symbol: String) -> Bool {
    guard peek() == .symbol(symbol) else { return false }
    position += 1
    return true
  }

  private mutating func take(word: String) -> Bool {
    guard case .name(let name)? = peek(), name.uppercased() == word else { return false }
    position += 1
    return true
  }
}
