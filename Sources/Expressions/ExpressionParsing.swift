extension FormatParser {
  /// `a UNION b` over sums over products over powers over key paths.
  mutating func expression() throws(FormatError) -> ValueExpression {
    let around = beginChain()
    defer { endChain(around) }
    var result = try sum()
    while case .name(let word)? = peek,
      let operation = ValueExpression.SetOperation(rawValue: word.uppercased())
    {
      position += 1
      result = .set(operation, result, try sum())
      try link()
    }
    return result
  }

  private mutating func sum() throws(FormatError) -> ValueExpression {
    let around = beginChain()
    defer { endChain(around) }
    var result = try product()
    while true {
      if take(symbol: "+") {
        result = Self.call(.add, arguments: result, try product())
      } else if take(symbol: "-") {
        result = Self.call(.subtract, arguments: result, try product())
      } else {
        return result
      }
      try link()
    }
  }

  private mutating func product() throws(FormatError) -> ValueExpression {
    let around = beginChain()
    defer { endChain(around) }
    var result = try signed()
    while true {
      if take(symbol: "*") {
        result = Self.call(.multiply, arguments: result, try signed())
      } else if take(symbol: "/") {
        result = Self.call(.divide, arguments: result, try signed())
      } else {
        return result
      }
      try link()
    }
  }

  /// A sign binds less than a power: `-2 ** 2` is -4.
  private mutating func signed() throws(FormatError) -> ValueExpression {
    try enter()
    defer { leave() }
    guard peek == .symbol("-") else {
      let base = try withPath()
      return take(symbol: "**") ? Self.call(.power, arguments: base, try signed()) : base
    }
    let place = column
    position += 1
    // The smallest integer has no positive counterpart, so the sign goes with the digits.
    if case .number(let digits)? = peek {
      position += 1
      if peek != .symbol("**"), peek != .symbol("["), peek != .symbol(".") {
        return try number(digits: "-" + digits, column: place)
      }
      position -= 1
    }
    return Self.call(.subtract, arguments: .constant(.integer(0)), try signed())
  }

  private static func call(
    _ function: BuiltInFunction, arguments: ValueExpression...
  ) -> ValueExpression {
    .builtIn(name: function.rawValue, arguments)
  }

  /// A primary expression with what follows it: `.path` and `[index]`.
  private mutating func withPath() throws(FormatError) -> ValueExpression {
    let around = beginChain()
    defer { endChain(around) }
    var result = try primary()
    while true {
      if take(symbol: ".") {
        let path = try keyPath()
        result = .keyPath(operand: result == .evaluatedObject ? nil : result, path)
      } else if take(symbol: "[") {
        result = Self.call(.element, arguments: result, try index())
        try expect("]")
      } else {
        return result
      }
      try link()
    }
  }

  private mutating func index() throws(FormatError) -> ValueExpression {
    for word in ["FIRST", "LAST", "SIZE"] where take(word: word) {
      return .constant(.string(word))
    }
    return try expression()
  }

  private mutating func keyPath() throws(FormatError) -> String {
    var path = try pathComponent()
    while take(symbol: ".") { path += "." + (try pathComponent()) }
    return path
  }

  private mutating func pathComponent() throws(FormatError) -> String {
    switch peek {
    case .name(let name)?, .escapedName(let name)?:
      position += 1
      return name
    default: throw failure(expected: "a property")
    }
  }

  private mutating func primary() throws(FormatError) -> ValueExpression {
    let place = column
    guard let token = peek else { throw failure(expected: "an expression") }
    switch token {
    case .string(let text):
      position += 1
      return .constant(.string(text))
    case .number(let digits):
      position += 1
      return try number(digits: digits, column: place)
    case .variable(let name):
      position += 1
      return .variable(name)
    case .escapedName(let name):
      position += 1
      return .keyPath(operand: nil, try restOfPath(name))
    case .name(let name):
      guard !Keywords.infix.contains(name.uppercased()) else {
        throw failure(expected: "an expression")
      }
      position += 1
      return try named(name: name, column: place)
    case .symbol("{"):
      position += 1
      return .aggregate(try arguments(until: "}"))
    case .symbol("("):
      position += 1
      let inner = try expression()
      try expect(")")
      return inner
    case .symbol: throw failure(expected: "an expression")
    }
  }

  private mutating func named(name: String, column: Int) throws(FormatError) -> ValueExpression {
    let called = peek == .symbol("(")
    switch name.uppercased() {
    case "TRUE", "YES": return .constant(.boolean(true))
    case "FALSE", "NO": return .constant(.boolean(false))
    case "NULL", "NIL": return .constant(.null)
    case "SELF": return .evaluatedObject
    case "ANYKEY":
      throw FormatError(
        problem: .refused("ANYKEY", reason: "only Spotlight evaluates it"), text: text,
        column: column)
    case "FUNCTION" where called: return try function()
    case "CAST" where called: return try cast()
    case "FETCH" where called: return try fetch()
    case "SUBQUERY" where called: return try subquery()
    case "TERNARY" where called: return try ternary()
    default: break
    }
    if called || peek == .symbol(":") { return try builtIn(first: name, column: column) }
    return .keyPath(operand: nil, try restOfPath(name))
  }

  private mutating func restOfPath(_ name: String) throws(FormatError) -> String {
    take(symbol: ".") ? name + "." + (try keyPath()) : name
  }

  private func number(digits: String, column: Int) throws(FormatError) -> ValueExpression {
    let magnitude = digits.hasPrefix("-") ? digits.dropFirst() : Substring(digits)
    let sign = digits.hasPrefix("-") ? "-" : ""
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] where magnitude.hasPrefix(prefix) {
      if let whole = Int64(sign + magnitude.dropFirst(2), radix: radix) {
        return .constant(.integer(whole))
      }
    }
    if let whole = Int64(digits) { return .constant(.integer(whole)) }
    // `Double` would also take "0x1p3", which the language does not know.
    guard magnitude.allSatisfy({ $0.isNumber || ".eE+-".contains($0) }),
      let value = Double(digits), value.isFinite
    else { throw FormatError(problem: .badNumber(digits), text: text, column: column) }
    return .constant(.real(value))
  }

  // MARK: Calls

  /// `name(…)` or the selector form `name:other:(…)`.
  private mutating func builtIn(
    first: String, column: Int
  ) throws(FormatError) -> ValueExpression {
    var name = first
    while take(symbol: ":") {
      name += ":"
      if case .name(let part)? = peek {
        name += part
        position += 1
      }
    }
    guard take(symbol: "(") else { throw failure(expected: "“(” after \(name)") }
    let arguments = try arguments(until: ")")
    guard
      let function = BuiltInFunction(written: name, argumentCount: arguments.count)
    else {
      try refuseUnknown(name, column: column)
      return .builtIn(name: name, arguments)
    }
    if function.takesCollection, arguments.count != 1 {
      return .builtIn(name: function.rawValue, [.aggregate(arguments)])
    }
    guard arguments.count == function.argumentCount else {
      throw FormatError(
        problem: .argumentCount(
          function: function.rawValue, expected: function.argumentCount, actual: arguments.count),
        text: text, column: column)
    }
    if function == .cast, case .constant(let value) = arguments[0],
      case .constant(.string(let type)) = arguments[1],
      let cast = AttributeValue(value: value, castTo: type)
    {
      return .constant(cast)
    }
    return .builtIn(name: function.rawValue, arguments)
  }

  private func refuseUnknown(_ name: String, column: Int) throws(FormatError) {
    guard knowsAllFunctions else { return }
    if let reason = BuiltInFunction.refused[name] ?? BuiltInFunction.refused[name + ":"] {
      throw FormatError(problem: .refused(name, reason: reason), text: text, column: column)
    }
    throw FormatError(problem: .unknownFunction(name), text: text, column: column)
  }

  private mutating func function() throws(FormatError) -> ValueExpression {
    try expect("(")
    let operand = try expression()
    try expect(",")
    guard case .string(let selector)? = peek else { throw failure(expected: "a quoted selector") }
    position += 1
    let arguments = take(symbol: ",") ? try arguments(until: ")") : try noArguments()
    return .function(operand: operand, selector: selector, arguments)
  }

  private mutating func noArguments() throws(FormatError) -> [ValueExpression] {
    try expect(")")
    return []
  }

  /// `CAST(value, "Class")`; a number or text that is cast to a value is that value.
  private mutating func cast() throws(FormatError) -> ValueExpression {
    try expect("(")
    let value = try expression()
    try expect(",")
    guard case .string(let type)? = peek else { throw failure(expected: "a quoted class") }
    position += 1
    try expect(")")
    if case .constant(let constant) = value,
      let cast = AttributeValue(value: constant, castTo: type)
    {
      return .constant(cast)
    }
    return Self.call(.cast, arguments: value, .constant(.string(type)))
  }

  private mutating func fetch() throws(FormatError) -> ValueExpression {
    try expect("(")
    let request = try expression()
    try expect(",")
    let context = try expression()
    try expect(",")
    let countOnly = try expression()
    guard case .constant(.boolean(let flag)) = countOnly else {
      throw failure(expected: "YES or NO as the third argument of FETCH")
    }
    try expect(")")
    return .fetch(request: request, context: context, countOnly: flag)
  }

  private mutating func subquery() throws(FormatError) -> ValueExpression {
    try expect("(")
    let collection = try expression()
    try expect(",")
    guard case .variable(let name)? = peek else { throw failure(expected: "a variable") }
    position += 1
    try expect(",")
    let predicate = try disjunction()
    try expect(")")
    return .subquery(collection: collection, variable: name, predicate: predicate)
  }

  private mutating func ternary() throws(FormatError) -> ValueExpression {
    try expect("(")
    let condition = try disjunction()
    try expect(",")
    let whenTrue = try expression()
    try expect(",")
    let whenFalse = try expression()
    try expect(")")
    return .ternary(condition, whenTrue, whenFalse)
  }

  private mutating func arguments(until end: String) throws(FormatError) -> [ValueExpression] {
    if take(symbol: end) { return [] }
    var result: [ValueExpression] = []
    repeat { result.append(try expression()) } while take(symbol: ",")
    guard take(symbol: end) else { throw failure(expected: "“,” or “\(end)”") }
    return result
  }
}
