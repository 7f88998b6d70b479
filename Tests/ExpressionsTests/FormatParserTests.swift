import Expressions
import Testing

@Suite struct FormatParserTests {
  @Test(arguments: [
    "uuid == $UUID", "oneToOne.name == $NAME OR string == $NEEDLE", "TRUE == TRUE",
    "a > 3 AND (b < 4 OR c != nil)", "NOT (a == 1 AND b == 2)", "TRUEPREDICATE",
    "name LIKE[cd] \"a*\"", "ANY items.price > 1.5", "id IN {1, 2, 3}", "x == -5",
    "a BEGINSWITH \"qu\\\"ote\"", "$source.name == SELF", "items.@count > 0",
    "a == FUNCTION($manager, \"x:\", b.c, 3)", "a + 1 == 2 * (b - 3)", "x == (-2) ** 2",
    "SUBQUERY(items, $x, $x.a == 1).@count > 0", "#in == TERNARY(a == 1, b, c)[FIRST]",
    "x == FETCH(FUNCTION($manager, \"r\"), $manager.sourceContext, NO)",
    "a UNION b == {1.5, CAST(2.0, \"NSDate\"), CAST(\"1.50\", \"NSDecimalNumber\")}",
  ])
  func `a predicate is written as it was read`(text: String) {
    let predicate = ValuePredicate(parsing: text)
    if case .unparsed = predicate { Issue.record("not understood: \(text)") }
    #expect(predicate.description == text)
  }

  @Test(arguments: [
    ("true == true", "TRUE == TRUE"), ("a=1&&b<>2", "a == 1 AND b != 2"),
    ("!(a => 1)", "NOT a >= 1"), ("((a)) == (1)", "a == 1"),
  ])
  func `other spellings mean the same`(text: String, canonical: String) {
    #expect(ValuePredicate(parsing: text).description == canonical)
  }

  @Test(arguments: [
    "", "a ==", "a + == 2", "SUBQUERY(items, x, x.a == 1).@count > 0", "\"open", "a == 1 )",
    "CAST(1, 'NSDate') < (", String(repeating: "(", count: 5000),
  ])
  func `what is not understood is kept as text`(text: String) {
    #expect(ValuePredicate(parsing: text) == .unparsed(text))
  }

  @Test(arguments: [
    " + ", " - ", " * ", " UNION ",
  ])
  func `a chain is as deep as it is long`(joint: String) throws {
    func chain(_ links: Int) -> String {
      Array(repeating: "a", count: links + 1).joined(separator: joint)
    }
    #expect(throws: Never.self) { try ValueExpression(format: chain(140)) }
    for links in [200, 20_000] {
      let error = #expect(throws: FormatError.self) { try ValueExpression(format: chain(links)) }
      #expect(error?.problem == .tooComplex)
    }
    // Neither one long chain nor many levels, but both together.
    let nested = (0..<60).reduce("a") { text, _ in "(\(text))[0]" }
    #expect(throws: Never.self) { try ValueExpression(format: nested) }
    #expect(throws: FormatError.self) { try ValueExpression(format: nested + joint + chain(140)) }
  }

  @Test func `operands beside each other do not add up`() throws {
    let list = Array(repeating: "a + b + c", count: 300).joined(separator: ", ")
    #expect(throws: Never.self) { try ValueExpression(format: "{\(list)}") }
  }

  @Test(arguments: [
    ("a ==", 5, "the text ends where an expression is expected"),
    ("a == 1 b", 8, "“b” where the end of the text is expected"),
    ("name LIKE[x] 'a'", 11, "“x” where c, d or cd is expected"),
    ("upercase(name) == 'A'", 1, "no function is called upercase"),
    ("a == add:to:(1)", 6, "add:to: takes 2 arguments, not 1"),
    ("a == 'open", 6, "a quoted text that does not end"),
    ("a == %@", 6, "a placeholder is not supported"),
    ("(a == 1 AND b ==) OR c == 1", 17, "“)” where an expression is expected"),
    ("a == 1.2.3", 6, "1.2.3 is not a number"),
    ("a ~ 1", 3, "“~” is not valid here"),
  ])
  func `an error names the column`(text: String, column: Int, message: String) {
    let error = #expect(throws: FormatError.self) { try ValuePredicate(format: text) }
    #expect(error?.column == column)
    #expect(error?.problem.description.hasPrefix(message) == true, "\(error?.description ?? "")")
  }

  @Test(arguments: ["(", "{", "-", "NOT ", "SUBQUERY(", "(TERNARY(", "a ** ", "-(", "!(a == "])
  func `hostile nesting ends with an error in good time`(part: String) {
    let text = String(repeating: part, count: 4000)
    let time = ContinuousClock().measure {
      #expect(throws: FormatError.self) { try ValuePredicate(format: text) }
    }
    #expect(time < .seconds(10))
  }

  @Test func `nested parentheses end in good time`() {
    let deep = String(repeating: "(", count: 90) + "a" + String(repeating: ")", count: 90)
    #expect(ContinuousClock().measure { _ = ValuePredicate(parsing: deep) } < .seconds(5))
  }

  @Test(arguments: [
    ("canonical:(optionalString)", "canonical:(optionalString)"), ("now()", "now()"),
    ("oneToMany.@count", "count:(oneToMany)"), ("chat.serverId", "chat.serverId"),
    ("items.@sum.price", "items.@sum.price"), ("uppercase:(name)", "uppercase:(name)"),
  ])
  func `a derivation is written as its hash takes it`(text: String, hashed: String) {
    #expect(ValueExpression(parsingDerivation: text)?.description == hashed)
  }
}
