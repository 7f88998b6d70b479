/// A number of one to nine bytes ("Database File Format", section 1.6).
struct Varint {
  var value: UInt64
  var end: Int

  /// Reads a number that ends before the limit.
  @inline(__always)
  init?(_ bytes: UnsafeRawPointer, at start: Int, limit: Int) {
    guard start < limit else { return nil }
    let first = bytes.load(fromByteOffset: start, as: UInt8.self)
    if first < 0x80 {
      (value, end) = (UInt64(first), start + 1)
      return
    }
    guard let long = Self.long(bytes, at: start, limit: limit) else { return nil }
    (value, end) = long
  }

  private static func long(
    _ bytes: UnsafeRawPointer, at start: Int, limit: Int
  ) -> (value: UInt64, end: Int)? {
    var value: UInt64 = 0
    for count in 0..<9 {
      guard start + count < limit else { return nil }
      let byte = UInt64(bytes.load(fromByteOffset: start + count, as: UInt8.self))
      if count == 8 { return (value << 8 | byte, start + 9) }
      value = value << 7 | byte & 0x7F
      if byte < 0x80 { return (value, start + count + 1) }
    }
    return nil
  }

  /// Reads a number of an array that ends before the limit.
  init?(_ bytes: [UInt8], at start: Int, limit: Int) {
    guard start >= 0 else { return nil }
    let found = bytes.withUnsafeBytes { buffer in
      buffer.baseAddress.flatMap { Self($0, at: start, limit: min(limit, buffer.count)) }
    }
    guard let found else { return nil }
    self = found
  }
}

/// Numbers of a page that may stand anywhere; nil where they do not fit.
enum PageBytes {
  static func number(_ bytes: [UInt8], at offset: Int, count: Int) -> Int? {
    guard offset >= 0, offset + count <= bytes.count else { return nil }
    var value = 0
    for index in offset..<offset + count { value = value << 8 | Int(bytes[index]) }
    return value
  }
}
