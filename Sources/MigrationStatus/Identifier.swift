/// Identifies a run or a start of the machine: 16 bytes, written as a UUID.
package struct Identifier: Hashable, Codable, Sendable, CustomStringConvertible {
  /// Bytes of an identifier.
  package static let size = 16
  /// All zeros, for an unknown run or start of the machine.
  package static let none = Identifier(high: 0, low: 0)

  private var high: UInt64
  private var low: UInt64

  private init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// A new random UUID (RFC 9562, "UUID Version 4").
  package static func random() -> Identifier {
    Identifier(
      high: .random(in: 0 ... .max) & ~0xF000 | 0x4000,
      low: .random(in: 0 ... .max) & ~(0b11 << 62) | (0b10 << 62))
  }

  /// Takes the bytes in the order of their text; nil unless there are 16.
  package init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == Self.size else { return nil }
    // Of one type: the first use of a generic one takes longer than all the rest.
    var (high, low): (UInt64, UInt64) = (0, 0)
    for byte in Array(bytes) { (high, low) = (high << 8 | low >> 56, low << 8 | UInt64(byte)) }
    self.init(high: high, low: low)
  }

  /// The 16 bytes, in the order of their text.
  package var bytes: [UInt8] {
    [high, low].flatMap { number in
      stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt64($0)) }
    }
  }

  /// The UUID in upper case, as `5C0AF2E1-…`.
  package var description: String {
    let digits = bytes.map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }
    return [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { digits[$0].joined() }
      .joined(separator: "-")
  }

  /// Reads a UUID in either case; nil for any other text.
  package init?(_ text: String) {
    let digits = text.filter { $0 != "-" }.compactMap(\.hexDigitValue)
    guard text.utf8.count == 36, digits.count == 32 else { return nil }
    self.init(stride(from: 0, to: 32, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
  }

  /// Reads the text of a UUID.
  ///
  /// - Throws: `DecodingError`, for any other text.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let identifier = Identifier(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a UUID")
    }
    self = identifier
  }

  /// Writes the text of the UUID.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
