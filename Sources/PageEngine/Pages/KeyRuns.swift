/// Keys of any values in a form whose bytes compare as SQLite compares the values.
///
/// Each value is a tag and its bytes, inverted for a descending column; then the row number, and a
/// bit for each column with a real: reals and integers compare by their numbers alone.
///
/// No encoding of a value is the beginning of another, so that inverted bytes compare the other way
/// round. Texts and blobs end in 00 01, and a zero within them is 00 FF: the end sorts before any
/// byte that may follow in a longer value.
package struct KeyEncoder {
  private enum Tag {
    static let null: UInt8 = 1
    static let number: UInt8 = 2
    static let text: UInt8 = 3
    static let blob: UInt8 = 4
  }

  /// The encoded key; complete after `end(row:)`.
  package private(set) var bytes: [UInt8] = []
  /// Whether one of the values was NULL: such a key equals no other in a unique index.
  package private(set) var hasNull = false
  /// Whether the values can be made from the key to the bit: not those of a negative zero, whose
  /// key is that of zero.
  package private(set) var isExact = true
  private var columns = 0
  private var reals: [UInt8] = []

  /// Makes an encoder, which is used for one key after another.
  package init() {}

  /// Begins another key, and keeps the memory of the one before.
  package mutating func begin() {
    bytes.removeAll(keepingCapacity: true)
    reals.removeAll(keepingCapacity: true)
    columns = 0
    hasNull = false
    isExact = true
  }

  /// The bytes after the columns of a key.
  static func tail(columns: Int) -> Int { 8 + (columns + 7) / 8 }

  /// Adds the value of the next column of the index.
  package mutating func add(_ field: Field, descending: Bool) {
    let start = bytes.count
    if columns & 7 == 0 { reals.append(0) }
    columns += 1
    if field.isNull {
      hasNull = true
      bytes.append(Tag.null)
    } else if field.isInteger {
      addNumber(integer: field.integer)
    } else if field.isReal {
      bytes.append(Tag.number)
      let number = field.real
      if number == 0 && number.sign == .minus { isExact = false }
      addOrdered(number)
      bytes += [0x80, 0]
      reals[reals.count - 1] |= 1 << UInt8((columns - 1) & 7)
    } else {
      bytes.append(field.isText ? Tag.text : Tag.blob)
      for byte in UnsafeRawBufferPointer(start: field.body, count: field.size) {
        bytes.append(byte)
        if byte == 0 { bytes.append(0xff) }
      }
      bytes += [0, 1]
    }
    if descending { for index in start..<bytes.count { bytes[index] = ~bytes[index] } }
  }

  /// Completes the key with the number of its row, which tells equal keys apart.
  package mutating func end(row: Int64) {
    addBig(IntegerEntry.ordered(row))
    bytes += reals
  }

  private mutating func addBig(_ value: UInt64) {
    for shift in stride(from: 56, through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(shift)))
    }
  }

  /// The nearest real, and how far the integer is from it.
  ///
  /// 16 bits suffice for the distance. Up to 2^53 a real is exact; from 2^62 to 2^63 reals are 1024
  /// apart, so an integer is at most 512 away from the nearest. With 0x8000 added, which is also
  /// what a real has, distances compare as bytes. Rounding never reverses an order: of two numbers
  /// with different nearest reals these decide, and otherwise the distances, just as SQLite
  /// compares an integer with a real.
  private mutating func addNumber(integer: Int64) {
    bytes.append(Tag.number)
    let near = Double(integer)
    addOrdered(near)
    let rest = UInt16(truncatingIfNeeded: (integer &- Self.base(near: near)) &+ 0x8000)
    bytes += [UInt8(rest >> 8), UInt8(truncatingIfNeeded: rest)]
  }

  // 2^63 is nearest to the highest integers and no integer itself: the lowest stands in its place,
  // as the difference of 64 bits is the same.
  private static func base(near: Double) -> Int64 {
    near >= 9.223372036854775808e18 ? .min : Int64(near)
  }

  private mutating func addOrdered(_ number: Double) {
    let bits = (number == 0 ? 0 : number).bitPattern
    addBig(bits >> 63 == 0 ? bits | 1 << 63 : ~bits)
  }

  // MARK: Back to a record

  /// Makes the record of an index entry from its key; nil where the bytes are no key.
  static func record(
    _ key: UnsafeRawBufferPointer, descending: [Bool], out: inout [UInt8]
  ) -> Bool {
    var types: [UInt64] = []
    var body: [UInt8] = []
    var at = 0
    let tail = key.count - tail(columns: descending.count)
    guard tail >= 0 else { return false }
    for (column, isDescending) in descending.enumerated() {
      let flip: UInt8 = isDescending ? 0xff : 0
      guard at < key.count else { return false }
      let tag = key[at] ^ flip
      at += 1
      switch tag {
      case Tag.null: types.append(0)
      case Tag.number:
        guard at + 10 <= tail else { return false }
        let isReal = key[tail + 8 + (column >> 3)] >> UInt8(column & 7) & 1 == 1
        guard number(key: key, at: at, flip: flip, isReal: isReal, types: &types, body: &body)
        else { return false }
        at += 10
      case Tag.text, Tag.blob:
        let start = body.count
        while true {
          guard at + 1 < key.count else { return false }
          let byte = key[at] ^ flip
          at += 1
          if byte == 0 {
            let next = key[at] ^ flip
            at += 1
            if next == 1 { break }
          }
          body.append(byte)
        }
        types.append(UInt64(body.count - start) * 2 + (tag == Tag.text ? 13 : 12))
      default: return false
      }
    }
    guard at == tail else { return false }
    integer(
      value: IntegerEntry.value(ordered: big(key, at: at, flip: 0)), types: &types, body: &body)
    write(types, body: body, out: &out)
    return true
  }

  private static func big(_ key: UnsafeRawBufferPointer, at: Int, flip: UInt8) -> UInt64 {
    key[at..<at + 8].reduce(0) { $0 << 8 | UInt64($1 ^ flip) }
  }

  private static func number(
    key: UnsafeRawBufferPointer, at: Int, flip: UInt8, isReal: Bool,
    types: inout [UInt64], body: inout [UInt8]
  ) -> Bool {
    let ordered = big(key, at: at, flip: flip)
    let number = Double(bitPattern: ordered >> 63 == 1 ? ordered ^ 1 << 63 : ~ordered)
    if isReal {
      types.append(7)
      withUnsafeBytes(of: number.bitPattern.bigEndian) { body += $0 }
    } else {
      // The reals that are nearest to integers.
      guard number >= -0x1p63, number <= 0x1p63 else { return false }
      let rest = Int64(key[at + 8] ^ flip) << 8 | Int64(key[at + 9] ^ flip)
      integer(value: base(near: number) &+ rest &- 0x8000, types: &types, body: &body)
    }
    return true
  }

  private static func integer(value: Int64, types: inout [UInt64], body: inout [UInt8]) {
    let type = Field.type(of: value)
    types.append(type)
    let size = Field.size(type: type)
    withUnsafeBytes(of: value.bigEndian) { body += $0[(8 - size)...] }
  }

  private static func write(_ types: [UInt64], body: [UInt8], out: inout [UInt8]) {
    let sizes = types.reduce(0) { $0 + Bytes.varintSize($1) }
    let header = sizes + 1 > 127 ? sizes + Bytes.varintSize(UInt64(sizes + 2)) : sizes + 1
    out.removeAll(keepingCapacity: true)
    out.append(contentsOf: repeatElement(0, count: header))
    out.withUnsafeMutableBytes { raw in
      guard let base = raw.baseAddress else { return }
      var at = Bytes.putVarint(UInt64(header), at: base)
      for type in types { at += Bytes.putVarint(type, at: base + at) }
    }
    out += body
  }
}

/// Sorts encoded keys into runs of bounded size.
package final class KeySorter {
  /// Longer keys are left to SQLite.
  package static let keyLimit = 1 << 18
  /// The most bytes that a key has in a run: zeros take two, and a table has 2000 columns at most.
  static let encodedLimit = 2 * keyLimit + 2000 * 12 + KeyEncoder.tail(columns: 2000)

  private struct Reference {
    var prefix: UInt64
    var offset: Int
    var count: Int
  }

  private let file: RunFile
  private let capacity: Int
  private var bytes: [UInt8] = []
  private var references: [Reference] = []
  /// The sorted runs in the file.
  package private(set) var runs: [Section] = []

  /// Takes the bytes that keys may have in memory before they are written as a run.
  package init(file: RunFile, capacity: Int) {
    self.file = file
    self.capacity = max(4096, capacity)
  }

  /// Adds an encoded key; writes a run first where the memory is full.
  package func add(_ key: [UInt8]) throws(PageError) {
    let size = bytes.count + key.count + references.count * MemoryLayout<Reference>.stride
    if size > capacity { try flush() }
    var prefix: UInt64 = 0
    for index in 0..<8 { prefix = prefix << 8 | UInt64(index < key.count ? key[index] : 0) }
    references.append(Reference(prefix: prefix, offset: bytes.count, count: key.count))
    bytes += key
  }

  /// Sorts the keys in memory and appends them to the file as a run.
  package func flush() throws(PageError) {
    guard !references.isEmpty else { return }
    bytes.withUnsafeBytes { raw in
      references.sort { a, b in
        if a.prefix != b.prefix { return a.prefix < b.prefix }
        return KeyOrder.isLess(
          UnsafeRawBufferPointer(rebasing: raw[a.offset..<a.offset + a.count]),
          UnsafeRawBufferPointer(rebasing: raw[b.offset..<b.offset + b.count]))
      }
    }
    let begin = file.end
    var chunk: [UInt8] = []
    for reference in references {
      withUnsafeBytes(of: UInt32(reference.count)) { chunk += $0 }
      chunk += bytes[reference.offset..<reference.offset + reference.count]
      if chunk.count >= 1 << 16 { try write(&chunk) }
    }
    try write(&chunk)
    runs.append(
      Section(offset: begin, bytes: file.end - begin, count: Int64(references.count)))
    references.removeAll(keepingCapacity: true)
    bytes.removeAll(keepingCapacity: true)
  }

  private func write(_ chunk: inout [UInt8]) throws(PageError) {
    let file = file
    _ = try chunk.withUnsafeBytes { raw in
      Result { () throws(PageError) in try file.append(raw, count: 0) }
    }.get()
    chunk.removeAll(keepingCapacity: true)
  }
}

/// The order of encoded keys: that of their bytes, a beginning before what it begins.
enum KeyOrder {
  static func isLess(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Bool {
    let count = min(a.count, b.count)
    var index = 0
    while index < count {
      if a[index] != b[index] { return a[index] < b[index] }
      index += 1
    }
    return a.count < b.count
  }
}

/// An encoded key in the buffer of its run's reader.
private struct EncodedKey: Comparable, BitwiseCopyable {
  // Valid until the reader goes on, which happens only after the key has left the heap.
  let bytes: UnsafeRawBufferPointer

  static func < (a: Self, b: Self) -> Bool { KeyOrder.isLess(a.bytes, b.bytes) }
  static func == (a: Self, b: Self) -> Bool { a.bytes.elementsEqual(b.bytes) }
}

/// Merges sorted runs of encoded keys into records of an index.
package struct KeyMerge {
  private let readers: [SectionReader]
  private let heap: MergeHeap<EncodedKey>
  private let descending: [Bool]
  private var last: [UInt8] = []
  private var record: [UInt8] = []

  /// Takes one reader for each run, and the directions of the index's columns.
  package init(readers: [SectionReader], descending: [Bool]) throws(PageError) {
    self.readers = readers
    self.descending = descending
    heap = MergeHeap(capacity: readers.count)
    for (run, reader) in readers.enumerated() {
      if let key = try Self.next(reader) { heap.add(key, run: run) }
    }
  }

  private static func next(_ reader: SectionReader) throws(PageError) -> EncodedKey? {
    guard let at = try reader.next(4) else { return nil }
    let count = Int(at.loadUnaligned(as: UInt32.self))
    guard count <= KeySorter.encodedLimit, let bytes = try reader.next(count) else {
      throw PageError(.endOfFile)
    }
    return EncodedKey(bytes: UnsafeRawBufferPointer(start: bytes, count: count))
  }

  /// Gives every record to `body`; throws where a unique index would have two keys alike.
  package mutating func forEach(
    isUnique: Bool, body: (UnsafeRawBufferPointer) throws(PageError) -> Void
  ) throws(PageError) {
    let tail = KeyEncoder.tail(columns: descending.count)
    while let top = heap.top {
      let key = top.entry.bytes
      if isUnique {
        let columns = key.dropLast(tail)
        if columns.elementsEqual(last.dropLast(tail)), !last.isEmpty, !hasNull(key) {
          throw PageError(.duplicateKeys)
        }
        last.removeAll(keepingCapacity: true)
        last.append(contentsOf: key)
      }
      guard KeyEncoder.record(key, descending: descending, out: &record) else {
        throw PageError(.endOfFile)
      }
      try record.withUnsafeBytes { raw in
        Result { () throws(PageError) in try body(raw) }
      }.get()
      if let next = try Self.next(readers[top.run]) {
        heap.replaceTop(by: next)
      } else {
        heap.removeTop()
      }
    }
  }

  /// Whether a value is NULL, by the types of the key's record.
  private func hasNull(_ key: UnsafeRawBufferPointer) -> Bool {
    var types: [UInt8] = []
    guard KeyEncoder.record(key, descending: descending, out: &types) else { return true }
    return types.withUnsafeBytes { raw in
      guard let base = raw.baseAddress, let header = Bytes.varint(base, offset: 0, limit: raw.count)
      else {
        return true
      }
      var at = header.end
      for _ in descending {
        guard let type = Bytes.varint(base, offset: at, limit: raw.count) else { return true }
        if type.value == 0 { return true }
        at = type.end
      }
      return false
    }
  }
}
