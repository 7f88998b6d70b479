import Foundation
import Testing

@testable import Inspection

@Suite struct ReadableValueTests {
  @Test func `dates are those that Foundation gives, from the year 1 to 9999`() throws {
    let formatter = ISO8601DateFormatter()
    formatter.timeZone = TimeZone(secondsFromGMT: 0)
    // Foundation has the Julian calendar before 1582; in between the two are alike.
    for seconds in stride(from: -13_000_000_000, through: 252_423_993_599, by: 86_399 * 997) {
      let date = Date(timeIntervalSinceReferenceDate: TimeInterval(seconds))
      #expect(
        CalendarDate(secondsSince2001: Double(seconds))?.text == formatter.string(from: date))
    }
    #expect(CalendarDate(secondsSince2001: -63_113_904_000)?.text == "0001-01-01T00:00:00Z")
    #expect(CalendarDate(secondsSince2001: -0.001)?.text == "2000-12-31T23:59:59.999Z")
    #expect(CalendarDate(secondsSince2001: 0.9999)?.text == "2001-01-01T00:00:01Z")
    #expect(CalendarDate(secondsSince2001: 252_423_993_599)?.text == "9999-12-31T23:59:59Z")
  }

  @Test(
    arguments: [
      252_423_993_599.9999, 252_423_993_600, -63_113_904_000.1, 1e18, -1e18, 1e300, -1e300,
      .infinity, -.infinity, .nan, .greatestFiniteMagnitude,
    ])
  func `no other number is a date`(seconds: Double) {
    #expect(CalendarDate(secondsSince2001: seconds) == nil)
  }

  @Test func `a text that is cut within a character ends before it`() {
    let bytes = Array("a\u{E9}\u{20AC}\u{1F600}".utf8)
    let texts = bytes.indices.map { end in
      TextHead(Array(bytes[..<end]), isUTF16: false, isWhole: false)
    }
    #expect(texts.allSatisfy { $0.isWellFormed })
    #expect(
      texts.map(\.text) == [
        "", "a", "a", "a\u{E9}", "a\u{E9}", "a\u{E9}", "a\u{E9}\u{20AC}", "a\u{E9}\u{20AC}",
        "a\u{E9}\u{20AC}", "a\u{E9}\u{20AC}",
      ])
    #expect(!TextHead([0x41, 0xFF], isUTF16: false, isWhole: false).isWellFormed)
    #expect(!TextHead(Array(bytes.dropLast()), isUTF16: false, isWhole: true).isWellFormed)
    let units = Array("a\u{1F600}".utf16).withUnsafeBytes { Array($0) }
    #expect(TextHead(Array(units.prefix(4)), isUTF16: true, isWhole: false).text == "a")
    #expect(TextHead(units, isUTF16: true, isWhole: true).text == "a\u{1F600}")
    #expect(TextHead([], isUTF16: true, isWhole: true).text == "")
  }
}
