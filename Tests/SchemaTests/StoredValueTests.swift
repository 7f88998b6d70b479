import Expressions
import ObjectModel
import Schema
import TestSupport
import Testing

struct StoredValueTests {
  @Test(
    arguments: [
      (.null, "NULL"), (.integer(-5), "-5"), (.integer(.min), "(-9223372036854775807 - 1)"),
      (.real(1.5), "1.5"), (.real(.nan), "NULL"), (.real(.infinity), "9e999"),
      (.real(-.infinity), "-9e999"), (.text("it's"), "'it''s'"), (.blob([0, 255]), "X'00FF'"),
      (.text("a\0b"), "CAST(X'610062' AS TEXT)"),
    ] as [(StoredValue, String)])
  func `a value is an SQL literal`(value: StoredValue, sql: String) {
    #expect(value.sql == sql)
  }

  @Test(
    arguments: [
      (.boolean(true), .boolean, .integer(1)), (.integer(3), .integer16, .integer(3)),
      (.integer(3), .double, .real(3)), (.date(2.5), .date, .real(2.5)),
      (.string("x"), .string, .text("x")), (.uuid([1]), .uuid, .blob([1])),
      (.uri("a:b"), .uri, .text("a:b")), (.null, .string, .null),
      (.decimal("1.50"), .decimal, .real(1.5)), (.decimal("1.50"), .string, .text("1.50")),
      (.integer(3), .string, .text("3")),
    ] as [(AttributeValue, AttributeType, StoredValue)])
  func `an attribute's value takes its stored form`(
    value: AttributeValue, type: AttributeType, stored: StoredValue
  ) {
    #expect(StoredValue(value: value, of: Attribute(name: "x", type: type)) == stored)
  }

  @Test func `bytes that may lie in a file are tagged as inline`() {
    #expect(StoredValue(value: .data([7]), of: .external("photo")) == .blob([1, 7]))
    #expect(StoredValue(value: .data([7]), of: .optional("photo", .binary)) == .blob([7]))
  }
}
