import StoreFormat

/// The order in which SQLite sorts the values of a store's columns that name no collation.
struct RawOrder {
  /// The encoding of texts, by whose bytes they are sorted.
  enum Encoding {
    case utf8
    case utf16(isBigEndian: Bool)
  }

  let encoding: Encoding

  init(_ encoding: Encoding) { self.encoding = encoding }

  init(of store: RawStore) throws(StoreError) {
    let name = try store.rows(sql: "PRAGMA encoding").first?.first
    let isBigEndian = name == RawValue.text("UTF-16be")
    self.init(
      isBigEndian || name == RawValue.text("UTF-16le") ? .utf16(isBigEndian: isBigEndian) : .utf8)
  }

  /// Whether one list of keys comes before another.
  func isAscending(_ one: [RawValue], _ other: [RawValue]) -> Bool {
    for (a, b) in zip(one, other) where a != b { return isAscending(a, b) }
    return false
  }

  /// Whether one pair of keys comes before another.
  func isAscending(_ one: (RawValue, RawValue), _ other: (RawValue, RawValue)) -> Bool {
    one.0 != other.0 ? isAscending(one.0, other.0) : isAscending(one.1, other.1)
  }

  private func isAscending(_ one: RawValue, _ other: RawValue) -> Bool {
    switch (one, other) {
    case (.integer(let one), .integer(let other)): one < other
    case (.real(let one), .real(let other)):
      Double(bitPattern: one) < Double(bitPattern: other)
    case (.integer(let number), .real(let bits)):
      Self.isBelow(number, Double(bitPattern: bits))
    case (.real(let bits), .integer(let number)):
      !Self.isBelow(number, Double(bitPattern: bits))
        && Int64(exactly: Double(bitPattern: bits)) != number
    case (.text(let one), .text(let other)):
      bytes(text: one).lexicographicallyPrecedes(bytes(text: other))
    case (.blob(let one), .blob(let other)): one.lexicographicallyPrecedes(other)
    default: one.rank < other.rank
    }
  }

  /// Whether an integer is less than a real, without rounding it.
  private static func isBelow(_ number: Int64, _ real: Double) -> Bool {
    Int64(exactly: real.rounded(.up)).map { number < $0 } ?? (real > 0)
  }

  private func bytes(text: [UInt8]) -> [UInt8] {
    guard case .utf16(let isBigEndian) = encoding else { return text }
    return String(decoding: text, as: UTF8.self).utf16.flatMap { unit in
      let (high, low) = (UInt8(unit >> 8), UInt8(unit & 0xFF))
      return isBigEndian ? [high, low] : [low, high]
    }
  }
}

extension RawValue {
  /// The place of the storage class among the others.
  fileprivate var rank: Int {
    switch self {
    case .null: 0
    case .integer, .real: 1
    case .text: 2
    case .blob: 3
    }
  }
}
