/// A binary property list as its flat table of objects, which refer to each other by number.
///
/// Neither reading nor writing recurses, so no depth and no cycle can hurt.
package struct BinaryPropertyList: Hashable, Sendable {
  /// One object of the table; the members of a collection are numbers of other objects.
  package enum Object: Hashable, Sendable {
    case null
    case boolean(Bool)
    case integer(Int64)
    /// A number beyond `Int64`.
    case unsigned(UInt64)
    case real(Double)
    /// Seconds since 2001-01-01 00:00:00 UTC.
    case date(Double)
    case data([UInt8])
    case string(String)
    case uid(Int)
    case array([Int])
    case set([Int])
    case dictionary(keys: [Int], values: [Int])
  }

  package var objects: [Object]
  package var top: Int

  package init(objects: [Object], top: Int) {
    self.objects = objects
    self.top = top
  }

  /// Reads the table; `maximumObjects` bounds the memory that a file can ask for.
  package init(
    decoding bytes: [UInt8], maximumObjects: Int = 2_000_000
  ) throws(PropertyListError) {
    var reader = try BinaryPropertyListReader(bytes: bytes, maximumObjects: maximumObjects)
    objects = try reader.objects()
    top = reader.top
  }
}

/// Reads the bytes: a header, objects, a table of their offsets, a trailer of 32 bytes.
private struct BinaryPropertyListReader {
  let bytes: [UInt8]
  let top: Int
  private let count: Int
  private let offsetSize: Int
  private let referenceSize: Int
  /// Where the offset table begins and the objects end.
  private let table: Int
  /// Bytes that objects may still claim.
  ///
  /// Two objects of a sound file never share bytes; without this limit a small file whose offsets
  /// all name one big array would ask for gigabytes.
  private var budget: Int

  init(bytes: [UInt8], maximumObjects: Int) throws(PropertyListError) {
    guard bytes.count >= 41, bytes.starts(with: "bplist0".utf8) else {
      throw PropertyListError(.notABinaryPropertyList)
    }
    self.bytes = bytes
    let trailer = bytes.count - 32
    offsetSize = Int(bytes[trailer + 6])
    referenceSize = Int(bytes[trailer + 7])
    let facts = [8, 16, 24].map { Self.number(digits: bytes[(trailer + $0)..<(trailer + $0 + 8)]) }
    guard let count = Int(exactly: facts[0]), let top = Int(exactly: facts[1]),
      let table = Int(exactly: facts[2]), (1...8).contains(offsetSize),
      (1...8).contains(referenceSize), (8..<trailer).contains(table), (0..<count).contains(top),
      count <= (trailer - table) / offsetSize
    else { throw PropertyListError(.damagedTrailer, at: trailer) }
    guard count <= maximumObjects else { throw PropertyListError(.tooLarge, at: trailer) }
    self.count = count
    self.top = top
    self.table = table
    budget = bytes.count
  }

  mutating func objects() throws(PropertyListError) -> [BinaryPropertyList.Object] {
    var result: [BinaryPropertyList.Object] = []
    result.reserveCapacity(count)
    for index in 0..<count {
      let entry = table + index * offsetSize
      let offset = Self.number(digits: bytes[entry..<(entry + offsetSize)])
      guard let start = Int(exactly: offset), (8..<table).contains(start) else {
        throw PropertyListError(.damagedTrailer, at: entry)
      }
      result.append(try object(at: start))
    }
    return result
  }

  private mutating func object(
    at start: Int
  ) throws(PropertyListError) -> BinaryPropertyList.Object {
    let low = Int(bytes[start] & 0x0f)
    var position = start + 1
    switch bytes[start] >> 4 {
    case 0x0:
      switch low {
      case 0: return .null
      case 8: return .boolean(false)
      case 9: return .boolean(true)
      default: throw PropertyListError(.damagedObject, at: start)
      }
    case 0x1 where low <= 4: return try integer(size: 1 << low, at: position)
    case 0x2 where low == 2:
      let bits = UInt32(truncatingIfNeeded: Self.number(digits: try take(4, position: &position)))
      return .real(Double(Float(bitPattern: bits)))
    case 0x2 where low == 3: return .real(try double(at: position))
    case 0x3 where low == 3: return .date(try double(at: position))
    case 0x4:
      let length = try length(low: low, position: &position)
      return .data(Array(try take(length, position: &position)))
    case 0x5:
      let length = try length(low: low, position: &position)
      return .string(String(decoding: try take(length, position: &position), as: UTF8.self))
    case 0x6:
      let length = try length(low: low, position: &position)
      return .string(try utf16(units: length, at: position))
    case 0x8 where low < 8:
      guard let uid = Int(exactly: Self.number(digits: try take(low + 1, position: &position)))
      else {
        throw PropertyListError(.damagedObject, at: start)
      }
      return .uid(uid)
    case 0xA:
      let length = try length(low: low, position: &position)
      return .array(try references(length, position: &position))
    case 0xB, 0xC:
      let length = try length(low: low, position: &position)
      return .set(try references(length, position: &position))
    case 0xD:
      let length = try length(low: low, position: &position)
      let keys = try references(length, position: &position)
      return .dictionary(keys: keys, values: try references(length, position: &position))
    default: throw PropertyListError(.damagedObject, at: start)
    }
  }

  /// One, two and four bytes are unsigned, eight are signed, sixteen hold what is beyond.
  private mutating func integer(
    size: Int, at start: Int
  ) throws(PropertyListError) -> BinaryPropertyList.Object {
    var position = start
    let digits = try take(size, position: &position)
    guard size == 16 else { return .integer(Int64(bitPattern: Self.number(digits: digits))) }
    guard Self.number(digits: digits.prefix(8)) == 0 else {
      throw PropertyListError(.damagedObject, at: start)
    }
    return .unsigned(Self.number(digits: digits.suffix(8)))
  }

  private mutating func double(at start: Int) throws(PropertyListError) -> Double {
    var position = start
    return Double(bitPattern: Self.number(digits: try take(8, position: &position)))
  }

  private mutating func utf16(units: Int, at start: Int) throws(PropertyListError) -> String {
    var position = start
    guard units <= table / 2 else { throw PropertyListError(.damagedObject, at: start) }
    let raw = try take(units * 2, position: &position)
    return String(
      decoding: stride(from: raw.startIndex, to: raw.endIndex, by: 2).map {
        UInt16(raw[$0]) << 8 | UInt16(raw[$0 + 1])
      }, as: UTF16.self)
  }

  /// The low half of the marker, or where that is 15 an integer object that follows it.
  private mutating func length(
    low: Int, position: inout Int
  ) throws(PropertyListError) -> Int {
    guard low == 15 else { return low }
    guard position < table, bytes[position] & 0xf0 == 0x10, bytes[position] & 0x0f <= 3 else {
      throw PropertyListError(.damagedObject, at: position)
    }
    let size = 1 << Int(bytes[position] & 0x0f)
    position += 1
    guard let length = Int(exactly: Self.number(digits: try take(size, position: &position))) else {
      throw PropertyListError(.damagedObject, at: position)
    }
    return length
  }

  private mutating func references(
    _ length: Int, position: inout Int
  ) throws(PropertyListError) -> [Int] {
    guard length <= table / referenceSize else {
      throw PropertyListError(.damagedObject, at: position)
    }
    let start = position
    let raw = try take(length * referenceSize, position: &position)
    var result: [Int] = []
    result.reserveCapacity(length)
    for at in stride(from: raw.startIndex, to: raw.endIndex, by: referenceSize) {
      guard let reference = Int(exactly: Self.number(digits: raw[at..<(at + referenceSize)])),
        reference < count
      else { throw PropertyListError(.referenceOutOfRange, at: start) }
      result.append(reference)
    }
    return result
  }

  private mutating func take(
    _ length: Int, position: inout Int
  ) throws(PropertyListError) -> ArraySlice<UInt8> {
    guard length >= 0, position <= table, length <= table - position else {
      throw PropertyListError(.damagedObject, at: position)
    }
    budget -= length
    guard budget >= 0 else { throw PropertyListError(.overlappingObjects, at: position) }
    defer { position += length }
    return bytes[position..<(position + length)]
  }

  /// A big-endian number of at most eight bytes.
  private static func number(digits: ArraySlice<UInt8>) -> UInt64 {
    digits.reduce(0) { $0 << 8 | UInt64($1) }
  }
}
