/// Makes the records of index entries from their encoded keys.
final class KeyDecoder {
  /// Whether one of the values of the last record is NULL: it equals no other in a unique index.
  private(set) var hasNull = false
  private let columns: Int
  /// What to invert bytes with, for each column.
  private let flips: UnsafeMutablePointer<UInt8>
  private let types: UnsafeMutablePointer<UInt64>
  /// The most bytes of a record's header, which ends where the values begin.
  private let headerRoom: Int
  private var memory: UnsafeMutableRawPointer
  private var room: Int
  private var end = 0

  /// Takes the directions of the index's columns.
  init(descending: [Bool]) {
    columns = descending.count
    flips = .allocate(capacity: columns + 1)
    for (index, isDescending) in descending.enumerated() {
      (flips + index).initialize(to: isDescending ? 0xff : 0)
    }
    types = .allocate(capacity: columns + 1)
    headerRoom = 9 * (columns + 2)
    room = headerRoom + 1024
    memory = .allocate(byteCount: room, alignment: 16)
  }

  deinit {
    flips.deallocate()
    types.deallocate()
    memory.deallocate()
  }

  /// The record of a key, valid until the next one; nil where the bytes are no key.
  func record(_ key: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
    let tail = key.count - KeyEncoder.tail(columns: columns)
    guard tail >= 0, let start = key.baseAddress else { return nil }
    // No value takes more bytes than its part of the key, and the row's number takes eight.
    if room < headerRoom + key.count + 16 { grow(headerRoom + 2 * key.count + 16) }
    end = headerRoom
    hasNull = false
    var at = 0
    for column in 0..<columns {
      guard at < tail else { return nil }
      let flip = flips[column]
      let tag = start.load(fromByteOffset: at, as: UInt8.self) ^ flip
      at += 1
      switch tag {
      case KeyEncoder.Tag.null:
        types[column] = 0
        hasNull = true
      case KeyEncoder.Tag.number:
        let flags = start.load(fromByteOffset: tail + 8 + column >> 3, as: UInt8.self)
        guard at + KeyEncoder.numberSize <= tail,
          addNumber(start + at, flip: flip, isReal: flags >> UInt8(column & 7) & 1 == 1, to: column)
        else { return nil }
        at += KeyEncoder.numberSize
      case KeyEncoder.Tag.text, KeyEncoder.Tag.blob:
        guard let next = addBytes(start, from: at, to: tail, flip: flip) else { return nil }
        let isText = tag == KeyEncoder.Tag.text
        types[column] = UInt64(end - lastEnd) * 2 + (isText ? 13 : 12)
        at = next
      default: return nil
      }
    }
    guard at == tail else { return nil }
    let row = IntegerEntry.value(ordered: Self.big(start + tail, flip: 0))
    add(integer: row, to: columns)
    return close()
  }

  /// Where the values ended before the last one.
  private var lastEnd = 0

  private func grow(_ bytes: Int) {
    memory.deallocate()
    room = bytes
    memory = .allocate(byteCount: room, alignment: 16)
  }

  @inline(__always)
  private static func big(_ at: UnsafeRawPointer, flip: UInt8) -> UInt64 {
    let value = UInt64(bigEndian: at.loadUnaligned(as: UInt64.self))
    return flip == 0 ? value : ~value
  }

  @inline(__always)
  private func addNumber(
    _ at: UnsafeRawPointer, flip: UInt8, isReal: Bool, to column: Int
  ) -> Bool {
    let number = KeyEncoder.real(ordered: Self.big(at, flip: flip))
    if isReal {
      types[column] = 7
      (memory + end).storeBytes(of: number.bitPattern.bigEndian, as: UInt64.self)
      end += 8
      return true
    }
    // The reals that are nearest to integers.
    guard number >= -0x1p63, number <= 0x1p63 else { return false }
    let high = at.load(fromByteOffset: 8, as: UInt8.self) ^ flip
    let low = at.load(fromByteOffset: 9, as: UInt8.self) ^ flip
    let rest = Int64(high) << 8 | Int64(low)
    add(integer: KeyEncoder.base(near: number) &+ rest &- 0x8000, to: column)
    return true
  }

  @inline(__always)
  private func add(integer: Int64, to column: Int) {
    let field = Field(value: integer, scratch: memory + end)
    types[column] = field.type
    end += field.size
  }

  /// Adds the bytes of a text or a blob; where what follows it in the key begins.
  private func addBytes(
    _ key: UnsafeRawPointer, from first: Int, to tail: Int, flip: UInt8
  ) -> Int? {
    lastEnd = end
    var at = first
    while at + 1 < tail {
      let byte = key.load(fromByteOffset: at, as: UInt8.self) ^ flip
      at += 1
      if byte == 0 {
        let next = key.load(fromByteOffset: at, as: UInt8.self) ^ flip
        at += 1
        if next == 1 { return at }
      }
      memory.storeBytes(of: byte, toByteOffset: end, as: UInt8.self)
      end += 1
    }
    return nil
  }

  /// Puts the header in front of the values.
  @inline(__always)
  private func close() -> UnsafeRawBufferPointer {
    var sizes = 0
    for index in 0...columns { sizes += Bytes.varintSize(types[index]) }
    let header = sizes + 1 > 127 ? sizes + Bytes.varintSize(UInt64(sizes + 2)) : sizes + 1
    let begin = headerRoom - header
    var at = begin + Bytes.putVarint(UInt64(header), at: memory + begin)
    for index in 0...columns { at += Bytes.putVarint(types[index], at: memory + at) }
    return UnsafeRawBufferPointer(start: memory + begin, count: end - begin)
  }
}
