/// Keys of any values in a form whose bytes compare as SQLite compares the values.
///
/// Each value is a tag and its bytes, inverted for a descending column; then the row number, and a
/// bit for each column with a real: reals and integers compare by their numbers alone.
///
/// No encoding of a value is the beginning of another, so that inverted bytes compare the other way
/// round. Texts and blobs end in 00 01, and a zero within them is 00 FF: the end sorts before any
/// byte that may follow in a longer value.
package final class KeyEncoder {
  enum Tag {
    static let null: UInt8 = 1
    static let number: UInt8 = 2
    static let text: UInt8 = 3
    static let blob: UInt8 = 4
  }

  /// The bytes of a number behind its tag: the nearest real, and how far an integer is from it.
  static let numberSize = 10

  /// The encoded key; complete after `end(row:)`, valid until the next one begins.
  package var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: memory, count: count) }
  /// Whether the values can be made from the key to the bit: not those of a negative zero, whose
  /// key is that of zero, or of what is no number.
  package private(set) var isExact = true
  // Grown before it is written to; nothing outside keeps an address in it.
  private var memory = UnsafeMutableRawPointer.allocate(byteCount: 512, alignment: 16)
  private var room = 512
  private var count = 0
  private var columns = 0
  /// The columns with a real, a bit each; a table has 2000 columns at most.
  private let reals = UnsafeMutablePointer<UInt8>.allocate(capacity: 256)

  /// Makes an encoder, which is used for one key after another.
  package init() {}

  deinit {
    memory.deallocate()
    reals.deallocate()
  }

  /// Begins another key, and keeps the memory of the one before.
  @inline(__always)
  package func begin() {
    (count, columns, isExact) = (0, 0, true)
  }

  /// The bytes after the columns of a key.
  static func tail(columns: Int) -> Int { 8 + (columns + 7) / 8 }

  /// Adds the value of the next column of the index.
  @inline(__always)
  package func add(_ field: Field, descending: Bool) {
    let start = count
    if columns & 7 == 0 { reals[columns >> 3] = 0 }
    columns += 1
    if field.type < 12 {
      makeRoom(1 + KeyEncoder.numberSize)
      if field.isNull {
        put(Tag.null)
      } else if field.isInteger {
        add(integer: field.integer)
      } else {
        add(real: field.real)
      }
    } else {
      add(bytes: field)
    }
    if descending {
      for index in start..<count {
        let byte = memory.load(fromByteOffset: index, as: UInt8.self)
        memory.storeBytes(of: ~byte, toByteOffset: index, as: UInt8.self)
      }
    }
  }

  /// Completes the key with the number of its row, which distinguishes equal keys.
  @inline(__always)
  package func end(row: Int64) {
    let flags = (columns + 7) / 8
    makeRoom(8 + flags)
    put(big: IntegerEntry.ordered(row))
    (memory + count).copyMemory(from: reals, byteCount: flags)
    count += flags
  }

  @inline(__always)
  private func makeRoom(_ more: Int) {
    if count + more > room { grow(more) }
  }

  private func grow(_ more: Int) {
    room = max(2 * room, count + more)
    let larger = UnsafeMutableRawPointer.allocate(byteCount: room, alignment: 16)
    larger.copyMemory(from: memory, byteCount: count)
    memory.deallocate()
    memory = larger
  }

  @inline(__always)
  private func put(_ byte: UInt8) {
    memory.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
    count += 1
  }

  @inline(__always)
  private func put(big value: UInt64) {
    memory.storeBytes(of: value.bigEndian, toByteOffset: count, as: UInt64.self)
    count += 8
  }

  private func add(bytes field: Field) {
    let size = field.size
    makeRoom(2 * size + 3)
    put(field.isText ? Tag.text : Tag.blob)
    if let body = field.body {
      let target = memory + count
      var zeros = 0
      for index in 0..<size where body.load(fromByteOffset: index, as: UInt8.self) == 0 {
        zeros += 1
      }
      if zeros == 0 {
        target.copyMemory(from: body, byteCount: size)
        count += size
      } else {
        for index in 0..<size {
          let byte = body.load(fromByteOffset: index, as: UInt8.self)
          put(byte)
          if byte == 0 { put(0xff) }
        }
      }
    }
    put(0)
    put(1)
  }

  /// The nearest real, and how far the integer is from it.
  ///
  /// 16 bits suffice for the distance. Up to 2^53 a real is exact; from 2^62 to 2^63 reals are 1024
  /// apart, so an integer is at most 512 away from the nearest. With 0x8000 added, which is also
  /// what a real has, distances compare as bytes. Rounding never reverses an order: of two numbers
  /// with different nearest reals these decide, and otherwise the distances, just as SQLite
  /// compares an integer with a real.
  @inline(__always)
  private func add(integer: Int64) {
    put(Tag.number)
    let near = Double(integer)
    put(big: Self.ordered(near))
    let rest = UInt16(truncatingIfNeeded: (integer &- Self.base(near: near)) &+ 0x8000)
    put(UInt8(rest >> 8))
    put(UInt8(truncatingIfNeeded: rest))
  }

  @inline(__always)
  private func add(real number: Double) {
    if (number == 0 && number.sign == .minus) || number.isNaN { isExact = false }
    put(Tag.number)
    put(big: Self.ordered(number))
    put(0x80)
    put(0)
    let column = columns - 1
    reals[column >> 3] |= 1 << UInt8(column & 7)
  }

  // 2^63 is nearest to the highest integers and no integer itself: the lowest stands in its place,
  // as the difference of 64 bits is the same.
  @inline(__always)
  static func base(near: Double) -> Int64 {
    near >= 9.223372036854775808e18 ? .min : Int64(near)
  }

  @inline(__always)
  private static func ordered(_ number: Double) -> UInt64 {
    let bits = (number == 0 ? 0 : number).bitPattern
    return bits >> 63 == 0 ? bits | 1 << 63 : ~bits
  }

  /// The real whose bits were put in order.
  @inline(__always)
  static func real(ordered: UInt64) -> Double {
    Double(bitPattern: ordered >> 63 == 1 ? ordered ^ 1 << 63 : ~ordered)
  }
}
