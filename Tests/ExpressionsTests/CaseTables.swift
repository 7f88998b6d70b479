import Expressions
import Testing

/// Cases of one function, operator, selector or literal.
///
/// A table is lines of text: `# name | where it is documented, or "our choice"`, then a case on
/// each line: `expression ~> value`, `? predicate ~> TRUE`, or `… ~> ! part of the error`.
struct CaseSection: CustomTestStringConvertible, Sendable {
  var name: String
  var source: String
  var cases: [Case] = []

  struct Case: Sendable {
    var text: String
    var expected: String
  }

  var testDescription: String { name }

  static func read(_ table: String) -> [CaseSection] {
    var sections: [CaseSection] = []
    for line in table.split(separator: "\n") {
      if line.hasPrefix("# ") {
        let parts = line.dropFirst(2).split(separator: " | ", maxSplits: 1).map(String.init)
        sections.append(CaseSection(name: parts[0], source: parts.count > 1 ? parts[1] : ""))
      } else {
        let parts = line.split(separator: " ~> ", maxSplits: 1).map(String.init)
        guard parts.count == 2, !sections.isEmpty else {
          Issue.record("not a case: \(line)")
          continue
        }
        sections[sections.count - 1].cases.append(Case(text: parts[0], expected: parts[1]))
      }
    }
    return sections
  }

  static let all = [
    FunctionTables.numbers, FunctionTables.collections, FunctionTables.texts, FunctionTables.own,
    OperatorTables.arithmetic, OperatorTables.comparisons, OperatorTables.quantities,
    LanguageTables.literals, LanguageTables.paths, LanguageTables.forms, LanguageTables.selectors,
  ].flatMap(read)

  /// What makes a case one about nil.
  private static let missing = [
    "nil", "NULL", "rating", "nobody", "holes", "weight", "editor",
    "$empty",
  ]

  var casesWithNil: Int {
    cases.count { test in Self.missing.contains { test.text.contains($0) } }
  }
}

@Suite struct ExpressionTableTests {
  @Test(arguments: CaseSection.all)
  func `an expression has the value that the table tells`(section: CaseSection) {
    for test in section.cases {
      #expect(Library.result(of: test.text).matches(test.expected), "\(test.text)")
    }
  }

  @Test(arguments: CaseSection.all)
  func `a table has six cases, two with nil, and a source`(section: CaseSection) {
    #expect(section.cases.count >= 6)
    #expect(section.casesWithNil >= 2)
    #expect(!section.source.isEmpty)
  }

  @Test func `every function and comparison has a table`() {
    let names = Set(CaseSection.all.map(\.name))
    for function in BuiltInFunction.allCases { #expect(names.contains(function.rawValue)) }
    for comparison in [
      "<", "<=", ">", ">=", "==", "!=", "MATCHES", "LIKE", "BEGINSWITH", "ENDSWITH", "IN",
      "CONTAINS", "BETWEEN",
    ] {
      #expect(names.contains(comparison))
    }
  }

  @Test(arguments: CaseSection.all)
  func `an expression that was written is read again alike`(section: CaseSection) throws {
    for test in section.cases where !test.expected.hasPrefix("!") {
      if test.text.hasPrefix("? ") {
        let predicate = try ValuePredicate(format: String(test.text.dropFirst(2)))
        #expect(try ValuePredicate(format: predicate.description) == predicate, "\(predicate)")
      } else {
        let expression = try ValueExpression(format: test.text)
        #expect(try ValueExpression(format: expression.description) == expression, "\(expression)")
      }
    }
  }
}
