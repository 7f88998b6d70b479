package import Expressions
package import ObjectModel

/// A value as SQLite stores it.
package enum StoredValue: Hashable, Codable, Sendable {
  /// NULL.
  case null
  /// A signed integer of up to 64 bits.
  case integer(Int64)
  /// A binary floating point number of 64 bits; SQLite keeps what is not a number as NULL.
  case real(Double)
  /// A text that is well-formed, in whatever encoding the store has.
  case text(String)
  /// A text that is not well-formed, as its bytes: UTF-8, or UTF-16 in the machine's byte order
  /// where the store's texts are of that encoding.
  case rawText([UInt8], isUTF16: Bool)
  /// Bytes.
  case blob([UInt8])

  /// A text from its bytes, which need not be well-formed.
  package init(textBytes bytes: UnsafeRawBufferPointer, isUTF16: Bool = false) {
    if isUTF16 {
      let units = (0..<bytes.count / 2).map {
        bytes.loadUnaligned(fromByteOffset: $0 * 2, as: UInt16.self)
      }
      self =
        String(validating: units, as: UTF16.self).map { .text($0) }
        ?? .rawText([UInt8](bytes), isUTF16: true)
    } else {
      let text = String(validating: bytes, as: UTF8.self)
      self = text.map { .text($0) } ?? .rawText([UInt8](bytes), isUTF16: false)
    }
  }

  /// The text that the value is, repaired where it is not well-formed; nil for anything else.
  package var repairedText: String? {
    switch self {
    case .text(let text): return text
    case .rawText(let bytes, isUTF16: false): return String(decoding: bytes, as: UTF8.self)
    case .rawText(let bytes, isUTF16: true):
      return bytes.withUnsafeBytes { bytes in
        let units = (0..<bytes.count / 2).map {
          bytes.loadUnaligned(fromByteOffset: $0 * 2, as: UInt16.self)
        }
        return String(decoding: units, as: UTF16.self)
      }
    default: return nil
    }
  }

  /// The form in which an attribute is stored.
  package init(value: AttributeValue, of attribute: Attribute) {
    self.init(
      value: value, type: attribute.type, isExternal: attribute.storesBinaryDataExternally)
  }

  /// The form in which an attribute of that type is stored, with a tag where long values have files
  /// of their own.
  package init(value: AttributeValue, type: AttributeType, isExternal: Bool) {
    let column = DeclaredType(of: type)
    switch value {
    case .null: self = .null
    case .boolean(let flag): self = .integer(flag ? 1 : 0)
    case .integer(let number):
      switch column {
      case .float, .timestamp: self = .real(Double(number))
      case .varchar: self = .text("\(number)")
      case .integer, .decimal, .blob: self = .integer(number)
      }
    case .real(let number), .date(let number): self = .real(number)
    case .decimal(let digits):
      // The number that NUMERIC affinity makes of such a text; what is none stays a text.
      if column == .varchar {
        self = .text(digits)
      } else if let number = Int64(digits) {
        self = .integer(number)
      } else if let number = Double(digits), number.isFinite {
        self = .real(number)
      } else {
        self = .text(digits)
      }
    case .string(let text), .uri(let text): self = .text(text)
    case .data(let bytes):
      self = .blob(isExternal ? [ExternalTag.inline] + bytes : bytes)
    case .uuid(let bytes): self = .blob(bytes)
    }
  }

  /// The value as an SQL literal.
  package var sql: String {
    switch self {
    case .null: return "NULL"
    case .integer(let number):
      // The literal of the smallest integer would be read as a negated real.
      return number == .min ? "(-9223372036854775807 - 1)" : "\(number)"
    case .real(let number):
      if number.isNaN { return "NULL" }
      if number.isInfinite { return number > 0 ? "9e999" : "-9e999" }
      return "\(number)"
    case .text(let text):
      // A literal ends at a NUL, so such a text goes as bytes.
      if text.utf8.contains(0) { return "CAST(\(Self.blob(Array(text.utf8)).sql) AS TEXT)" }
      return SQL.literal(text: text)
    // Bytes that are cast are taken to be in the encoding of the database.
    case .rawText(let bytes, isUTF16: _): return "CAST(\(Self.blob(bytes).sql) AS TEXT)"
    case .blob(let bytes):
      let digits = Array("0123456789ABCDEF")
      return "X'\(String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }))'"
    }
  }
}

/// The first byte of a value whose attribute allows external storage
/// (docs/reference/store-format.md).
package enum ExternalTag {
  /// The bytes of the value follow.
  package static let inline: UInt8 = 1
  /// The name of a file follows: 36 ASCII characters and a NUL.
  package static let file: UInt8 = 2
}
