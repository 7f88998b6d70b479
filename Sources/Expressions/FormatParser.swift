extension ValuePredicate {
  /// Takes the text of a predicate apart; what is not understood is kept as `.unparsed`.
  package init(parsing text: String) {
    do {
      var parser = try FormatParser(text: text, knowsAllFunctions: false)
      self = try parser.wholePredicate()
    } catch {
      self = .unparsed(text)
    }
  }

  /// Takes the text of a predicate that will be evaluated apart; throws with the place.
  package init(format text: String) throws(FormatError) {
    var parser = try FormatParser(text: text, knowsAllFunctions: true)
    self = try parser.wholePredicate()
  }
}

extension ValueExpression {
  /// Takes the text of an expression apart; nil where it is not understood.
  package init?(parsing text: String) {
    do {
      var parser = try FormatParser(text: text, knowsAllFunctions: false)
      self = try parser.wholeExpression()
    } catch {
      return nil
    }
  }

  /// Takes the text of an expression that will be evaluated apart; throws with the place.
  package init(format text: String) throws(FormatError) {
    var parser = try FormatParser(text: text, knowsAllFunctions: true)
    self = try parser.wholeExpression()
  }

  /// Takes the text of a derivation apart; nil where it is not understood.
  ///
  /// `items.@count` of a source is `count:(items)` in the compiled model, and hashed as that
  /// (docs/reference/model-format.md, "Version hashes").
  package init?(parsingDerivation text: String) {
    self.init(parsing: text)
    if case .keyPath(let operand, let path) = self, path.hasSuffix(".@count") {
      let collection = String(path.dropLast(".@count".count))
      self = .builtIn(name: "count:", [.keyPath(operand: operand, collection)])
    }
  }
}

/// Reads predicates and expressions of the format language (docs/reference/expressions.md).
///
/// A parenthesis is tried as a predicate, then as an expression; of two failures the one that came
/// further is thrown.
struct FormatParser {
  let text: String
  let tokens: [PlacedToken]
  /// Whether a function that is not known here is an error.
  let knowsAllFunctions: Bool
  var position = 0
  private var depth = 0
  private var steps = 0
  /// How many levels the tree has that was read since the level in hand began.
  private var height = 0
  /// The heights that were reached on the levels around.
  private var heights: [Int] = []
  /// Parentheses that are no predicate, so that nested ones are not tried over and over.
  private var notPredicates: [Int: FormatError] = [:]
  private static let maximumDepth = 100
  /// Trees are written into work orders, and no reader of JSON takes more than 512 levels.
  private static let maximumHeight = 150
  private static let maximumSteps = 100_000
  private static let maximumLength = 100_000

  init(text: String, knowsAllFunctions: Bool) throws(FormatError) {
    guard text.utf8.count <= Self.maximumLength else {
      throw FormatError(problem: .tooComplex, text: String(text.prefix(300)), column: 1)
    }
    self.text = text
    self.knowsAllFunctions = knowsAllFunctions
    var tokenizer = FormatTokenizer(text)
    tokens = try tokenizer.tokens()
  }

  mutating func wholePredicate() throws(FormatError) -> ValuePredicate {
    let result = try disjunction()
    try expectEnd()
    return result
  }

  mutating func wholeExpression() throws(FormatError) -> ValueExpression {
    let result = try expression()
    try expectEnd()
    return result
  }

  // MARK: Predicates

  mutating func disjunction() throws(FormatError) -> ValuePredicate {
    var parts = [try conjunction()]
    while take(word: "OR") || take(symbol: "||") { parts.append(try conjunction()) }
    return parts.count == 1 ? parts[0] : .or(parts)
  }

  private mutating func conjunction() throws(FormatError) -> ValuePredicate {
    var parts = [try term()]
    while take(word: "AND") || take(symbol: "&&") { parts.append(try term()) }
    return parts.count == 1 ? parts[0] : .and(parts)
  }

  private mutating func term() throws(FormatError) -> ValuePredicate {
    try enter()
    defer { leave() }
    if take(word: "NOT") || take(symbol: "!") { return .not(try term()) }
    if take(word: "TRUEPREDICATE") { return .always(true) }
    if take(word: "FALSEPREDICATE") { return .always(false) }
    guard peek == .symbol("(") else { return try comparison() }
    let start = position
    let first: FormatError
    if let known = notPredicates[start] {
      first = known
    } else {
      do {
        position += 1
        let inner = try disjunction()
        try expect(")")
        return inner
      } catch {
        first = error
        notPredicates[start] = error
      }
    }
    position = start
    do {
      return try comparison()
    } catch {
      throw first.column > error.column ? first : error
    }
  }

  private mutating func comparison() throws(FormatError) -> ValuePredicate {
    var modifier = ValuePredicate.Modifier.direct
    var isNegated = false
    if !isCall {
      if take(word: "ANY") || take(word: "SOME") {
        modifier = .any
      } else if take(word: "ALL") {
        modifier = .all
      } else if take(word: "NONE") {
        // NONE is NOT ANY (Predicate Format String Syntax, "Aggregate Operations").
        modifier = .any
        isNegated = true
      }
    }
    let left = try expression()
    let comparison = try comparisonOperator()
    let options = try options()
    let right = try expression()
    let result = ValuePredicate.comparison(
      left, comparison, right, modifier: modifier,
      caseInsensitive: options.contains("c"), diacriticInsensitive: options.contains("d"))
    return isNegated ? .not(result) : result
  }

  private mutating func comparisonOperator() throws(FormatError) -> ValuePredicate.Comparison {
    guard let token = peek else { throw failure(expected: Self.anOperator) }
    let found: ValuePredicate.Comparison?
    switch token {
    case .symbol(let symbol): found = Self.symbols[symbol]
    case .name(let word): found = Self.words[word.uppercased()]
    default: found = nil
    }
    guard let found else { throw failure(expected: Self.anOperator) }
    position += 1
    return found
  }

  private static let anOperator = "a comparison such as == or CONTAINS"

  private static let symbols: [String: ValuePredicate.Comparison] = [
    "=": .equal, "==": .equal, "!=": .notEqual, "<>": .notEqual, "<": .lessThan,
    "<=": .lessThanOrEqual, "=<": .lessThanOrEqual, ">": .greaterThan,
    ">=": .greaterThanOrEqual, "=>": .greaterThanOrEqual,
  ]

  private static let words: [String: ValuePredicate.Comparison] = [
    "MATCHES": .matches, "LIKE": .like, "BEGINSWITH": .beginsWith, "ENDSWITH": .endsWith,
    "IN": .in, "CONTAINS": .contains, "BETWEEN": .between,
  ]

  /// Reads `[cd]` after an operator; empty without.
  ///
  /// `n` promises prepared texts, which changes nothing.
  private mutating func options() throws(FormatError) -> String {
    guard take(symbol: "[") else { return "" }
    guard case .name(let letters)? = peek, letters.lowercased().allSatisfy({ "cdn".contains($0) })
    else { throw failure(expected: "c, d or cd") }
    position += 1
    try expect("]")
    return letters.lowercased()
  }

  // MARK: Bounds

  mutating func enter() throws(FormatError) {
    steps += 1
    guard depth < Self.maximumDepth, steps <= Self.maximumSteps else {
      throw FormatError(problem: .tooComplex, text: text, column: column)
    }
    depth += 1
    heights.append(height)
    height = 0
  }

  mutating func leave() {
    depth -= 1
    height = max(heights.popLast() ?? 0, height + 1)
  }

  /// Begins a chain of operands, each joined to all before it; the result is passed to `endChain`.
  ///
  /// `a + b + c` is as deep as it is long.
  mutating func beginChain() -> Int {
    defer { height = 0 }
    return height
  }

  /// Notes that one more operand was joined.
  mutating func link() throws(FormatError) {
    height += 1
    guard height <= Self.maximumHeight else {
      throw FormatError(problem: .tooComplex, text: text, column: column)
    }
  }

  mutating func endChain(_ around: Int) { height = max(around, height) }

  // MARK: Tokens

  var peek: FormatToken? { position < tokens.count ? tokens[position].token : nil }

  /// The token after the next one.
  private var second: FormatToken? {
    position + 1 < tokens.count ? tokens[position + 1].token : nil
  }

  /// Whether the next token is a name that is called, or the start of a key path.
  private var isCall: Bool { second == .symbol("(") || second == .symbol(".") }

  /// The column of the next token, or the one behind the text.
  var column: Int { position < tokens.count ? tokens[position].column : text.count + 1 }

  func failure(expected: String) -> FormatError {
    guard let token = peek else {
      return FormatError(problem: .textEnds(expected: expected), text: text, column: column)
    }
    return FormatError(
      problem: .unexpected(token.shown, expected: expected), text: text, column: column)
  }

  mutating func take(symbol: String) -> Bool {
    guard peek == .symbol(symbol) else { return false }
    position += 1
    return true
  }

  mutating func take(word: String) -> Bool {
    guard case .name(let name)? = peek, name.uppercased() == word else { return false }
    position += 1
    return true
  }

  mutating func expect(_ symbol: String) throws(FormatError) {
    guard take(symbol: symbol) else { throw failure(expected: "“\(symbol)”") }
  }

  private func expectEnd() throws(FormatError) {
    guard position == tokens.count else { throw failure(expected: "the end of the text") }
  }
}
