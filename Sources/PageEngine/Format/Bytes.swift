/// Numbers as SQLite's files hold them.
enum Bytes {
  @inline(__always)
  static func put16(_ value: Int, at: UnsafeMutableRawPointer) {
    at.storeBytes(of: UInt16(truncatingIfNeeded: value).bigEndian, as: UInt16.self)
  }

  @inline(__always)
  static func get16(_ at: UnsafeRawPointer) -> Int {
    Int(UInt16(bigEndian: at.loadUnaligned(as: UInt16.self)))
  }

  @inline(__always)
  static func put32(_ value: UInt32, at: UnsafeMutableRawPointer) {
    at.storeBytes(of: value.bigEndian, as: UInt32.self)
  }

  @inline(__always)
  static func get32(_ at: UnsafeRawPointer) -> UInt32 {
    UInt32(bigEndian: at.loadUnaligned(as: UInt32.self))
  }

  /// The length of a number as a variable-length integer.
  @inline(__always)
  static func varintSize(_ value: UInt64) -> Int {
    if value < 0x80 { return 1 }
    if value >> 56 != 0 { return 9 }
    return (70 - value.leadingZeroBitCount) / 7
  }

  /// Writes a variable-length integer; the number of its bytes.
  @inline(__always)
  static func putVarint(_ value: UInt64, at: UnsafeMutableRawPointer) -> Int {
    if value < 0x80 {
      at.storeBytes(of: UInt8(truncatingIfNeeded: value), as: UInt8.self)
      return 1
    }
    return putLongVarint(value, at: at)
  }

  private static func putLongVarint(_ value: UInt64, at: UnsafeMutableRawPointer) -> Int {
    let size = varintSize(value)
    var rest = value
    var index = size - 1
    if size == 9 {
      at.storeBytes(of: UInt8(truncatingIfNeeded: rest), toByteOffset: 8, as: UInt8.self)
      rest >>= 8
      index = 7
    }
    while index >= 0 {
      let more: UInt8 = size == 9 || index < size - 1 ? 0x80 : 0
      at.storeBytes(
        of: UInt8(truncatingIfNeeded: rest) & 0x7f | more, toByteOffset: index, as: UInt8.self)
      rest >>= 7
      index -= 1
    }
    return size
  }

  /// Reads a variable-length integer that ends before `limit`; nil where it does not.
  @inline(__always)
  static func varint(
    _ base: UnsafeRawPointer, offset: Int, limit: Int
  ) -> (value: UInt64, end: Int)? {
    if offset < limit {
      let first = base.load(fromByteOffset: offset, as: UInt8.self)
      if first < 0x80 { return (UInt64(first), offset + 1) }
    }
    return longVarint(base, offset: offset, limit: limit)
  }

  private static func longVarint(
    _ base: UnsafeRawPointer, offset: Int, limit: Int
  ) -> (value: UInt64, end: Int)? {
    var value: UInt64 = 0
    for index in 0..<9 {
      guard offset + index < limit else { return nil }
      let byte = base.load(fromByteOffset: offset + index, as: UInt8.self)
      if index == 8 { return (value << 8 | UInt64(byte), offset + 9) }
      value = value << 7 | UInt64(byte & 0x7f)
      if byte & 0x80 == 0 { return (value, offset + index + 1) }
    }
    return nil
  }
}
