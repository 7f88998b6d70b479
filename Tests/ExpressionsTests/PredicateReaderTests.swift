import Expressions
import Testing

struct PredicateReaderTests {
  /// Texts that end with a value, or seem to.
  private static let shapes = [
    "code == %", "code==%", "code =%", "code == -%", "a == b -%", "a == b - %", "code == 1e%",
    "code == 0x%", "code == 1.%", "NOT code == %", "a == 1 AND b == %", "a == % OR b == %",
    "%", "% == %", "x %", "code IN %", "code[%", "code == +%", "a == 1 AND (b == 2 OR c == %",
    "a == $%", "a == b.%", "a == b %", "5 == %", "a BETWEEN %", "SELF == %", "a == \"b\" AND c = %",
  ]
  private static let values = [
    "5", "7", "0", "00", "017", "-3", "9223372036854775807", "9223372036854775808",
    "123456789012345678", "1234567890123456789", "\"\"", "\"x\"", "'x'", "\"it's\"", "'say \"x\"'",
    "\"a\\\"b\"", "\"a\\nb\"", "\"\u{301}x\"", "\"x\u{600}\"", "\"e\u{301}x\"", "\"é\"",
    "\"a\r\nb\"",
    "\"x\" ", "\"x", "x\"", "\"a\"b\"", "\"%@\"", "5)", "\"5\"", "'5'", "\"a\\\\\"", "\"\\\"",
    "TRUE",
  ]

  @Test func `a reader reads what the parser reads, and refuses what it refuses`() {
    let reader = PredicateReader()
    for _ in 0..<2 {
      for shape in Self.shapes {
        for value in Self.values {
          let text = shape.replacing("%", with: value)
          let parsed = Result { try ValuePredicate(format: text) }
          let read = Result { try reader.predicate(format: text) }
          switch (parsed, read) {
          case (.success(let one), .success(let other)): #expect(one == other, "\(text)")
          case (.failure(let one), .failure(let other)): #expect("\(one)" == "\(other)", "\(text)")
          default: Issue.record("\(text): \(parsed) and \(read)")
          }
        }
      }
    }
  }

  @Test func `many shapes are read as well as few`() throws {
    let reader = PredicateReader()
    for number in 0..<1000 {
      let text = "name\(number) == \(number)"
      #expect(try reader.predicate(format: text) == ValuePredicate(format: text))
    }
  }
}
