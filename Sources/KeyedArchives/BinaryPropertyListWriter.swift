extension BinaryPropertyList {
  /// The table in the format `bplist00`, with the objects in their order.
  package func encoded() -> [UInt8] {
    var bytes = Array("bplist00".utf8)
    let referenceSize = Self.size(of: UInt64(max(objects.count - 1, 0)))
    var offsets: [Int] = []
    offsets.reserveCapacity(objects.count)
    for object in objects {
      offsets.append(bytes.count)
      Self.append(object, to: &bytes, referenceSize: referenceSize)
    }
    let table = bytes.count
    let offsetSize = Self.size(of: UInt64(table))
    for offset in offsets { Self.append(UInt64(offset), size: offsetSize, to: &bytes) }
    bytes += [0, 0, 0, 0, 0, 0, UInt8(offsetSize), UInt8(referenceSize)]
    for fact in [objects.count, top, table] {
      Self.append(UInt64(fact), size: 8, to: &bytes)
    }
    return bytes
  }

  private static func append(_ object: Object, to bytes: inout [UInt8], referenceSize: Int) {
    func references(numbers: [Int]) {
      for number in numbers { append(UInt64(number), size: referenceSize, to: &bytes) }
    }
    switch object {
    case .null: bytes.append(0x00)
    case .boolean(let value): bytes.append(value ? 0x09 : 0x08)
    case .integer(let value): append(integer: value, to: &bytes)
    case .unsigned(let value):
      bytes.append(0x14)
      bytes += [UInt8](repeating: 0, count: 8)
      append(value, size: 8, to: &bytes)
    case .real(let value):
      bytes.append(0x23)
      append(value.bitPattern, size: 8, to: &bytes)
    case .date(let value):
      bytes.append(0x33)
      append(value.bitPattern, size: 8, to: &bytes)
    case .data(let value):
      append(marker: 0x40, length: value.count, to: &bytes)
      bytes += value
    case .string(let value): append(string: value.text, to: &bytes)
    case .uid(let value):
      precondition(value >= 0, "a UID counts objects")
      let size = size(of: UInt64(value))
      bytes.append(0x80 | UInt8(size - 1))
      append(UInt64(value), size: size, to: &bytes)
    case .array(let members):
      append(marker: 0xA0, length: members.count, to: &bytes)
      references(numbers: members)
    case .set(let members):
      append(marker: 0xC0, length: members.count, to: &bytes)
      references(numbers: members)
    case .dictionary(let keys, let values):
      precondition(keys.count == values.count, "a dictionary has a value for each key")
      append(marker: 0xD0, length: keys.count, to: &bytes)
      references(numbers: keys)
      references(numbers: values)
    }
  }

  private static func append(string: String, to bytes: inout [UInt8]) {
    if string.utf8.allSatisfy({ $0 < 0x80 }) {
      append(marker: 0x50, length: string.utf8.count, to: &bytes)
      bytes += string.utf8
    } else {
      append(marker: 0x60, length: string.utf16.count, to: &bytes)
      for unit in string.utf16 { append(UInt64(unit), size: 2, to: &bytes) }
    }
  }

  private static func append(integer value: Int64, to bytes: inout [UInt8]) {
    // Readers take eight bytes as signed, fewer as unsigned.
    let size = value < 0 ? 8 : size(of: UInt64(value))
    bytes.append(0x10 | UInt8(size.trailingZeroBitCount))
    append(UInt64(bitPattern: value), size: size, to: &bytes)
  }

  private static func append(marker: UInt8, length: Int, to bytes: inout [UInt8]) {
    if length < 15 {
      bytes.append(marker | UInt8(length))
    } else {
      bytes.append(marker | 0x0f)
      append(integer: Int64(length), to: &bytes)
    }
  }

  private static func append(_ value: UInt64, size: Int, to bytes: inout [UInt8]) {
    for shift in stride(from: (size - 1) * 8, through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(shift)))
    }
  }

  /// The smallest of 1, 2, 4 and 8 bytes that can hold the number.
  private static func size(of value: UInt64) -> Int {
    switch value {
    case 0...0xff: 1
    case 0...0xffff: 2
    case 0...0xffff_ffff: 4
    default: 8
    }
  }
}
