import Schema
import SystemPackage
import Testing

@testable import Verification

struct RawValueTests {
  @Test func `values that look alike are told apart`() {
    #expect(RawValue.double(number: 0.0) != .double(number: -0.0))
    #expect(RawValue.double(number: .nan) == .double(number: .nan))
    #expect(RawValue.text("é") != .text("e\u{301}"))
    #expect(RawValue.text([97, 0, 98]) != .text([97, 0, 99]))
    #expect(RawValue.text("a") != .blob([97]))
    #expect(RawValue.integer(1) != .double(number: 1))
  }

  @Test func `a description shows what differs and obeys no terminal`() {
    #expect(RawValue.text("é").description == #""\u{e9}""#)
    #expect(RawValue.text("e\u{301}").description == #""e\u{301}""#)
    #expect(RawValue.text([97, 0, 255]).description == #""a\x00\xff""#)
    #expect(RawValue.text("\u{1B}]0;x").description == #""\u{1b}]0;x""#)
    #expect(RawValue.double(number: -0.0).description == "-0.0")
    #expect(RawValue.blob([0, 255]).description == "x'00ff'")
    #expect(
      RawValue.blob([UInt8](repeating: 1, count: 100)).description
        == "x'\(String(repeating: "01", count: 60))'… (100 bytes)")
  }

  @Test func `affinity is what SQLite says`() throws {
    let affinity = try Affinity()
    #expect(try affinity.applied(.double(number: 5), type: .timestamp) == .integer(5))
    #expect(try affinity.applied(.double(number: 5.5), type: .timestamp) == .double(number: 5.5))
    #expect(try affinity.applied(.integer(5), type: .float) == .double(number: 5))
    #expect(try affinity.applied(.double(number: -0.0), type: .float) == .double(number: 0))
    #expect(try affinity.applied(.text("1.50"), type: .decimal) == .double(number: 1.5))
    #expect(try affinity.applied(.text([97, 0, 98]), type: .varchar) == .text([97, 0, 98]))
    #expect(try affinity.applied(.blob([1]), type: .integer) == .blob([1]))
  }

  @Test(arguments: ["UTF-8", "UTF-16le", "UTF-16be"])
  func `keys stand in the order in which SQLite sorts them`(encoding: String) throws {
    let store = try RawStore(inMemory: "sorted")
    try store.execute("PRAGMA encoding = '\(encoding)'")
    try store.execute("CREATE TABLE t (v)")
    let insert = try store.prepare("INSERT INTO t VALUES (?)")
    let wide: Int64 = 1 << 53
    for value: RawValue in [
      .null, .integer(-1), .double(number: 0.5), .integer(2), .integer(wide + 1),
      .double(number: Double(wide)), .integer(.max), .double(number: 0x1p63), .integer(.min),
      .double(number: -.infinity), .text("a"), .text("z"), .text("\u{100}"), .text("\u{FF5E}"),
      .text("\u{1F426}"), .text([97, 0]), .blob([0]), .blob([0, 1]),
    ] { try insert.execute([value]) }
    let sorted = try store.rows(sql: "SELECT v FROM t ORDER BY v").map { $0[0] }
    let order = try RawOrder(of: store)
    for (index, value) in sorted.enumerated() {
      for other in sorted[(index + 1)...] {
        #expect(order.isAscending([value], [other]), "\(value) before \(other)")
        #expect(!order.isAscending([other], [value]))
        #expect(order.isAscending((.integer(1), value), (.integer(1), other)))
      }
    }
  }
}
