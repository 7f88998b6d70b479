import Expressions
import TestSupport
import Testing

@Suite struct PatternBoundTests {
  private func matches(_ text: String, pattern: String) throws -> Bool {
    try ExpressionEvaluator(EvaluationScope(object: .string(value: text))).isTrue(
      .comparison(
        .evaluatedObject, .matches, .constant(.string(pattern)), modifier: .direct,
        caseInsensitive: false, diacriticInsensitive: false))
  }

  @Test(arguments: [
    "((.*)*)*y", "(((.*)*)*)*y", "((((.*)*)*)*)*y", "(.*)*+y", "(.|.)*z", "(x+x+)+y",
    "((((){1000}){1000}){1000}){1000}", "(.*)*(.*)*(.*)*x{100,}$", "(?=(.*)*y)x",
  ])
  func `a pattern that backtracks without end is given up, and no answer is made of it`(
    pattern: String
  ) {
    let text = String(repeating: "x", count: 40)
    let error = #expect(throws: EvaluationError.self) { try matches(text, pattern: pattern) }
    #expect(error?.problem == .patternTooSlow(pattern))
  }

  @Test func `a long text is matched by patterns that go through it`() throws {
    let text = String(repeating: "ab cd", count: 20_000) + "z"
    #expect(try matches(text, pattern: ".*z"))
    #expect(try matches(text, pattern: "(ab cd)*z"))
    #expect(try matches(text, pattern: ".*(c).*z"))
    #expect(try !matches(text, pattern: "[ab]*z"))
  }

  @Test func `random patterns match, do not match, or are given up`() {
    var random = SeededRandom(seed: 38)
    var outcomes: [String: Int] = [:]
    for _ in 0..<200 {
      let pattern = Self.pattern(depth: 5, by: &random)
      for text in ["", "ab", "aabbab ba", String(repeating: "ab", count: 30)] {
        do {
          outcomes["\(try matches(text, pattern: pattern))", default: 0] += 1
        } catch let error as EvaluationError {
          guard case .patternTooSlow = error.problem else {
            Issue.record("\(pattern): \(error)")
            continue
          }
          outcomes["slow", default: 0] += 1
        } catch {
          Issue.record("\(pattern): \(error)")
        }
      }
    }
    // Each road was taken.
    #expect(outcomes.keys.sorted() == ["false", "slow", "true"])
  }

  private static func pattern(depth: Int, by random: inout SeededRandom) -> String {
    func pick(_ parts: [String]) -> String {
      parts[Int.random(in: parts.indices, using: &random)]
    }
    func inner() -> String { pattern(depth: depth - 1, by: &random) }
    guard depth > 0 else { return pick(["a", "b", ".", "", "[ab]"]) }
    switch Int.random(in: 0..<6, using: &random) {
    case 0: return inner() + inner()
    case 1: return "(\(inner())|\(inner()))"
    case 2: return "(?:\(inner())){1,\(Int.random(in: 2...9, using: &random))}"
    default: return "(\(inner()))" + pick(["*", "+", "*?", "?"])
    }
  }
}
