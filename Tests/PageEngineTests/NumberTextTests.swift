import Foundation
import GRDB
import TestSupport
import Testing

@testable import PageEngine

@Suite struct NumberTextTests {
  private static let encodings: [(TextEncoding, name: String)] = [
    (.utf8, "UTF-8"), (.utf16LittleEndian, "UTF-16le"), (.utf16BigEndian, "UTF-16be"),
  ]
  private static let edges = [
    "", " ", "0", "-0", "+0", "00012", "twelve", " 12 ", "\t\n\u{B}\u{C}\r7\t", "7\u{1C}", "12 3",
    "1e3", "1E+3", "1e", "1e-", "e5", ".", ".5", "5.", "-.", "- 5", "--5", "+5", "0x10", "1_000",
    "12\0", "\0", "nan", "inf", "-Infinity", "999999999999999999", "-999999999999999999",
    "1000000000000000000", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    "140737488355327", "140737488355328", "-140737488355329", "1e400", "1e-400", "9e18", "\u{661}",
    "1\u{A0}", "12é", "é12", "000000000000000000000000000001", "4503599627370497.0",
  ]

  /// What the columns of an empty table make of a text's bytes.
  private struct Judge {
    let queue: DatabaseQueue

    init(_ encoding: String) throws {
      queue = try DatabaseQueue()
      try queue.write { db in
        try db.execute(
          sql: """
            PRAGMA encoding = '\(encoding)';
            CREATE TABLE t (i INTEGER, f FLOAT, d DECIMAL)
            """)
      }
    }

    /// Each value by its type and its bytes as a record has them.
    func kept(_ bytes: [UInt8]) throws -> [DatabaseValue] {
      try queue.write { db in
        try db.execute(sql: "DELETE FROM t")
        let text = "CAST(X'\(bytes.map { hex($0) }.joined())' AS TEXT)"
        try db.execute(sql: "INSERT INTO t SELECT \(text), \(text), \(text)")
        let row = try Row.fetchOne(
          db,
          sql: """
            SELECT typeof(i), iif(typeof(i) = 'text', CAST(i AS BLOB), i), typeof(f),
            iif(typeof(f) = 'text', CAST(f AS BLOB), f), typeof(d),
            iif(typeof(d) = 'text', CAST(d AS BLOB), d) FROM t
            """)
        return row.map { Array($0.databaseValues) } ?? []
      }
    }

    private func hex(_ byte: UInt8) -> String {
      (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
  }

  private func bytes(_ text: String, _ encoding: TextEncoding) -> [UInt8] {
    guard encoding.isUTF16 else { return Array(text.utf8) }
    return text.utf16.flatMap { unit in
      let halves = [UInt8(truncatingIfNeeded: unit), UInt8(unit >> 8)]
      return encoding == .utf16LittleEndian ? halves : halves.reversed()
    }
  }

  /// Compares with SQLite; which of the three it is.
  private func check(_ bytes: [UInt8], _ encoding: TextEncoding, _ judge: Judge) throws -> Int {
    let kept = try judge.kept(bytes)
    return try bytes.withUnsafeBytes { body in
      let field = Field(type: UInt64(bytes.count) * 2 + 13, body: body.baseAddress)
      switch NumberText(field, encoding: encoding) {
      case .none:
        let text = ["text".databaseValue, Data(bytes).databaseValue]
        #expect(kept == text + text + text, "\(bytes)")
        return 0
      case .integer(let number):
        let whole = ["integer".databaseValue, number.databaseValue]
        let real = ["real".databaseValue, Double(number).databaseValue]
        #expect(kept == whole + real + whole, "\(bytes)")
        try checkForms(field, number, encoding)
        return 1
      case .other:
        #expect(!kept.contains("text".databaseValue), "\(bytes)")
        return 2
      }
    }
  }

  /// A column of reals keeps what takes six bytes or less as an integer.
  private func checkForms(_ field: Field, _ number: Int64, _ encoding: TextEncoding) throws {
    try withUnsafeTemporaryAllocation(byteCount: 16, alignment: 8) { scratch in
      let start = try #require(scratch.baseAddress)
      for affinity in [Affinity.integer, .numeric, .real] {
        let made = try #require(affinity.applied(to: field, scratch: start, encoding: encoding))
        let isReal = affinity == .real && Field.type(of: number) == 6
        #expect(made.type == (isReal ? 7 : Field.type(of: number)))
        if isReal { #expect(made.real == Double(number)) } else { #expect(made.integer == number) }
      }
    }
  }

  @Test(arguments: encodings)
  func `are what SQLite takes them for`(encoding: TextEncoding, name: String) throws {
    let judge = try Judge(name)
    var seen = [0, 0, 0]
    for text in Self.edges {
      let bytes = bytes(text, encoding)
      seen[try check(bytes, encoding, judge)] += 1
      // A digit, and what is no character; SQLite itself cuts half a unit off.
      let ends: [[UInt8]] =
        encoding.isUTF16 ? [[0x31, 0], [0, 0x31], [0xD8, 0], [0, 0xD8]] : [[0x31], [0xD8]]
      for end in ends { seen[try check(bytes + end, encoding, judge)] += 1 }
    }
    var random = SeededRandom(seed: 7)
    let alphabet = Array("0123456789012345678901234567890123456789  \t\n++--..eEx_\0é\u{3100}")
    for _ in 0..<4_000 {
      let count = Int.random(in: 0...24, using: &random)
      let letters = (0..<count).map { place in
        // Digits for the most part, or nothing would be a number.
        place % 3 == 0
          ? alphabet.randomElement(using: &random) ?? " "
          : alphabet.prefix(40).randomElement(using: &random) ?? "0"
      }
      seen[try check(bytes(String(letters), encoding), encoding, judge)] += 1
    }
    #expect(seen.allSatisfy { $0 > 50 }, "\(seen)")
  }
}
