/// How the texts of a store are encoded, by the number in its header.
package enum TextEncoding: UInt32, Hashable, Codable, Sendable {
  /// Bytes; units of two bytes, the lower byte first; the higher byte first.
  case utf8 = 1
  case utf16LittleEndian = 2
  case utf16BigEndian = 3

  /// Takes the number as it stands in the header: in a store without pages it is 0.
  package init(header number: UInt32) { self = Self(rawValue: number) ?? .utf8 }

  /// Whether a character takes two bytes or more.
  package var isUTF16: Bool { self != .utf8 }
}

/// What a text is to a column of numbers ("Datatypes in SQLite", 3.1; `sqlite3AtoF` in SQLite's
/// `util.c`).
package enum NumberText: Hashable, Sendable {
  /// No number: the column keeps the text.
  case none
  /// An integer of at most 18 digits.
  case integer(Int64)
  /// A number with a point, an exponent or more digits, which SQLite converts.
  case other

  /// Integers of so many digits are exact in every version of SQLite.
  private static let digitLimit = 18

  /// Reads a text as it lies in a record; the second half of a unit that is cut off counts nothing.
  package init(_ text: Field, encoding: TextEncoding) {
    var units = Units(text, encoding: encoding)
    units.skip(while: Units.isSpace)
    let isNegative = units.take { $0 == 0x2D }
    if !isNegative { _ = units.take { $0 == 0x2B } }
    var number: Int64 = 0
    var digits = 0
    while let digit = units.takeDigit() {
      digits += 1
      if digits <= Self.digitLimit { number = number * 10 + digit }
    }
    var isInteger = digits <= Self.digitLimit
    if units.take({ $0 == 0x2E }) {
      isInteger = false
      while units.takeDigit() != nil { digits += 1 }
    }
    var isWhole = digits > 0
    if units.take({ $0 | 0x20 == 0x65 }) {
      isInteger = false
      if !units.take({ $0 == 0x2D }) { _ = units.take { $0 == 0x2B } }
      isWhole = isWhole && units.takeDigit() != nil
      while units.takeDigit() != nil {}
    }
    units.skip(while: Units.isSpace)
    guard isWhole, units.isAtEnd else {
      self = .none
      return
    }
    self = isInteger ? .integer(isNegative ? -number : number) : .other
  }
}

/// The units of a text, one after the other.
private struct Units {
  private let body: UnsafeRawPointer?
  private let count: Int
  private let encoding: TextEncoding
  private var at = 0

  init(_ text: Field, encoding: TextEncoding) {
    body = text.body
    count = encoding.isUTF16 ? text.size / 2 : text.size
    self.encoding = encoding
  }

  var isAtEnd: Bool { at >= count }

  /// What `isspace` of C takes in its own locale.
  static func isSpace(_ unit: UInt16) -> Bool { unit == 0x20 || (0x09...0x0D).contains(unit) }

  private var next: UInt16? {
    guard at < count, let body else { return nil }
    switch encoding {
    case .utf8: return UInt16(body.load(fromByteOffset: at, as: UInt8.self))
    case .utf16LittleEndian:
      return UInt16(littleEndian: body.loadUnaligned(fromByteOffset: at * 2, as: UInt16.self))
    case .utf16BigEndian:
      return UInt16(bigEndian: body.loadUnaligned(fromByteOffset: at * 2, as: UInt16.self))
    }
  }

  /// Goes past the next unit if it is one of those.
  mutating func take(_ isWanted: (UInt16) -> Bool) -> Bool {
    guard let next, isWanted(next) else { return false }
    at += 1
    return true
  }

  mutating func skip(while isWanted: (UInt16) -> Bool) { while take(isWanted) {} }

  mutating func takeDigit() -> Int64? {
    guard let next, (0x30...0x39).contains(next) else { return nil }
    at += 1
    return Int64(next) - 0x30
  }
}
