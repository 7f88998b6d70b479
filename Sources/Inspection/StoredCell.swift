import Schema

/// A value of a row, of texts and blobs only their beginning.
enum StoredCell: Hashable {
  case null
  case integer(Int64)
  case real(Double)
  /// The first bytes of a text in UTF-8 or UTF-16, and how many there are.
  case text(head: [UInt8], bytes: Int64)
  /// The first bytes, and how many there are.
  case blob(head: [UInt8], bytes: Int64)

  /// The value as SQLite has it, if all of it was read.
  func stored(isUTF16: Bool) -> StoredValue {
    switch self {
    case .null: .null
    case .integer(let number): .integer(number)
    case .real(let number): .real(number)
    case .text(let head, _): .rawText(head, isUTF16: isUTF16)
    case .blob(let head, _): .blob(head)
    }
  }

  /// What it is, in words.
  var kindWords: String {
    switch self {
    case .null: "nothing"
    case .integer: "a whole number"
    case .real: "a number"
    case .text: "a text"
    case .blob: "bytes"
    }
  }
}

/// The text that bytes are, as far as they go.
struct TextHead {
  /// The characters, with marks instead of invalid bytes.
  let text: String
  /// Whether the bytes are as texts have to be.
  let isWellFormed: Bool

  /// - Parameter isWhole: whether the text ends with the bytes.
  init(_ bytes: [UInt8], isUTF16: Bool, isWhole: Bool) {
    if isUTF16 {
      var units = bytes.withUnsafeBytes { raw in
        (0..<raw.count / 2).map { raw.loadUnaligned(fromByteOffset: $0 * 2, as: UInt16.self) }
      }
      if !isWhole, let last = units.last, UTF16.isLeadSurrogate(last) { units.removeLast() }
      text = String(decoding: units, as: UTF16.self)
      isWellFormed = String(validating: units, as: UTF16.self) != nil
    } else {
      let kept = isWhole ? bytes : Self.whole(bytes)
      text = String(decoding: kept, as: UTF8.self)
      isWellFormed = String(validating: kept, as: UTF8.self) != nil
    }
  }

  /// The bytes without those of a character that is cut.
  private static func whole(_ bytes: [UInt8]) -> [UInt8] {
    for back in 1...4 where back <= bytes.count {
      let byte = bytes[bytes.count - back]
      if byte & 0xC0 == 0x80 { continue }
      let length =
        switch byte {
        case 0xC0..<0xE0: 2
        case 0xE0..<0xF0: 3
        case 0xF0..<0xF8: 4
        default: 1
        }
      return length > back ? Array(bytes.dropLast(back)) : bytes
    }
    return bytes
  }
}
