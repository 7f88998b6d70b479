/// Makes the records of an index of integers.
package final class IntegerRecord {
  private let bytes: UnsafeMutableRawPointer = .allocate(byteCount: 64, alignment: 16)
  private let scratch: UnsafeMutableRawPointer = .allocate(byteCount: 64, alignment: 16)

  /// Makes a maker of records with buffers of its own.
  package init() {}

  deinit {
    bytes.deallocate()
    scratch.deallocate()
  }

  /// The record of a row under one value, or under NULL; valid until the next one.
  @inline(__always)
  package func make(_ value: Int64?, row: Int64) -> UnsafeRawBufferPointer {
    let first = value.map { Field(value: $0, scratch: scratch) } ?? .null
    let second = Field(value: row, scratch: scratch + 8)
    (bytes + 3).copyMemory(from: scratch, byteCount: 8)
    bytes.storeBytes(of: 3, as: UInt8.self)
    bytes.storeBytes(of: UInt8(first.type), toByteOffset: 1, as: UInt8.self)
    bytes.storeBytes(of: UInt8(second.type), toByteOffset: 2, as: UInt8.self)
    (bytes + 3 + first.size).copyMemory(from: scratch + 8, byteCount: 8)
    return UnsafeRawBufferPointer(start: bytes, count: 3 + first.size + second.size)
  }

  /// The record of a row under two values.
  @inline(__always)
  package func make(_ value: Int64, other: Int64, row: Int64) -> UnsafeRawBufferPointer {
    let first = Field(value: value, scratch: scratch)
    let second = Field(value: other, scratch: scratch + 8)
    let third = Field(value: row, scratch: scratch + 16)
    bytes.storeBytes(of: 4, as: UInt8.self)
    bytes.storeBytes(of: UInt8(first.type), toByteOffset: 1, as: UInt8.self)
    bytes.storeBytes(of: UInt8(second.type), toByteOffset: 2, as: UInt8.self)
    bytes.storeBytes(of: UInt8(third.type), toByteOffset: 3, as: UInt8.self)
    var at = 4
    (bytes + at).copyMemory(from: scratch, byteCount: 8)
    at += first.size
    (bytes + at).copyMemory(from: scratch + 8, byteCount: 8)
    at += second.size
    (bytes + at).copyMemory(from: scratch + 16, byteCount: 8)
    return UnsafeRawBufferPointer(start: bytes, count: at + third.size)
  }
}
