/// 16 bytes that name a run or a start of the machine, written as a UUID.
package struct Identifier: Hashable, Codable, Sendable, CustomStringConvertible {
  package static let size = 16
  /// All zeros: nothing is named.
  package static let none = Identifier(high: 0, low: 0)

  private var high: UInt64
  private var low: UInt64

  private init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// A name that no other run has: a random UUID, RFC 9562, "UUID Version 4".
  package static func random() -> Identifier {
    Identifier(
      high: .random(in: 0 ... .max) & ~0xF000 | 0x4000,
      low: .random(in: 0 ... .max) & ~(0b11 << 62) | (0b10 << 62))
  }

  /// nil unless there are 16 bytes.
  package init?(_ bytes: some Collection<UInt8>) {
    guard bytes.count == Self.size else { return nil }
    func number(bytes: some Sequence<UInt8>) -> UInt64 {
      bytes.reduce(0) { $0 << 8 | UInt64($1) }
    }
    self.init(high: number(bytes: bytes.prefix(8)), low: number(bytes: bytes.dropFirst(8)))
  }

  package var bytes: [UInt8] {
    [high, low].flatMap { number in
      stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt64($0)) }
    }
  }

  package var description: String {
    let digits = bytes.map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }
    return [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { digits[$0].joined() }
      .joined(separator: "-")
  }

  /// nil unless the text is a UUID.
  package init?(_ text: String) {
    let digits = text.filter { $0 != "-" }.compactMap(\.hexDigitValue)
    guard text.utf8.count == 36, digits.count == 32 else { return nil }
    self.init(stride(from: 0, to: 32, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) })
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let identifier = Identifier(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a UUID")
    }
    self = identifier
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
