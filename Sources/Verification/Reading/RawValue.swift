/// A value of a row with its storage class, to the byte.
package enum RawValue: Hashable, Sendable {
  /// NULL.
  case null
  /// An INTEGER.
  case integer(Int64)
  /// A REAL by its bits, since `-0.0 == 0.0` and no NaN equals another.
  case real(UInt64)
  /// The bytes of a TEXT, which need not be valid and may include NUL.
  case text([UInt8])
  /// The bytes of a BLOB.
  case blob([UInt8])

  static func double(number: Double) -> Self { .real(number.bitPattern) }
  static func text(_ text: String) -> Self { .text(Array(text.utf8)) }

  /// The number of an INTEGER, nil for any other value.
  var integer: Int64? { if case .integer(let number) = self { number } else { nil } }
}

extension RawValue: CustomStringConvertible {
  /// How many bytes of a TEXT or BLOB the description has.
  private static let reportedBytes = 60

  /// The value on one line without control characters, in a form that shows its storage class.
  package var description: String {
    switch self {
    case .null: "NULL"
    case .integer(let number): "\(number)"
    case .real(let bits): Self.describe(Double(bitPattern: bits))
    case .text(let bytes):
      "\"\(Self.escaped(bytes.prefix(Self.reportedBytes)))\"\(Self.rest(bytes))"
    case .blob(let bytes):
      "x'\(Self.hexadecimal(bytes.prefix(Self.reportedBytes)))'\(Self.rest(bytes))"
    }
  }

  private static func describe(_ number: Double) -> String {
    if number.isNaN { return "NaN" }
    return "\(number)"
  }

  private static func rest(_ bytes: [UInt8]) -> String {
    bytes.count > reportedBytes ? "… (\(bytes.count) bytes)" : ""
  }

  private static func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef")
    return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
  }

  /// Printable ASCII characters as they are, all others by their numbers: texts that only look
  /// alike differ, and no sequence controls a terminal.
  static func escaped(_ bytes: some Sequence<UInt8>) -> String {
    let bytes = Array(bytes)
    guard let text = String(validating: bytes, as: UTF8.self) else {
      return bytes.map { 32..<127 ~= $0 ? String(UnicodeScalar($0)) : "\\x\(hexadecimal([$0]))" }
        .joined()
    }
    return text.unicodeScalars.map { scalar in
      switch scalar.value {
      case 34, 92: "\\\(scalar)"
      case 32..<127: "\(scalar)"
      default: "\\u{\(String(scalar.value, radix: 16))}"
      }
    }.joined()
  }
}
