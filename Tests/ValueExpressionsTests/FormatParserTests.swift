import Testing
import ValueExpressions

@Suite struct FormatParserTests {
  @Test(arguments: [
    "uuid == $UUID", "oneToOne.name == $NAME OR string == $NEEDLE", "TRUE == TRUE",
    "a > 3 AND (b < 4 OR c != nil)", "NOT (a == 1 AND b == 2)", "TRUEPREDICATE",
    "name LIKE[cd] \"a*\"", "ANY items.price > 1.5", "id IN {1, 2, 3}", "x == -5",
    "a BEGINSWITH \"qu\\\"ote\"", "$source.name == SELF", "items.@count > 0",
    "a == FUNCTION($manager, \"x:\", b.c, 3)",
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
    "", "a ==", "a + 1 == 2", "SUBQUERY(items, $x, $x.a == 1).@count > 0", "\"open", "a == 1 )",
    "CAST(1, 'NSDate') < (", String(repeating: "(", count: 5000),
  ])
  func `what is not understood is kept as text`(text: String) {
    #expect(ValuePredicate(parsing: text) == .unparsed(text))
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
