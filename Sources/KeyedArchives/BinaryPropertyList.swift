/// A binary property list as its flat table of objects, which refer to each other by number.
///
/// Neither reading nor writing recurses, so depth and cycles do no harm.
package struct BinaryPropertyList: Hashable, Sendable {
  /// One object of the table; members of collections are numbers of other objects.
  ///
  /// The markers are those of CFBinaryPList.c.
  package enum Object: Hashable, Sendable {
    /// The marker 0x00.
    case null
    /// The markers 0x08 for false and 0x09 for true.
    case boolean(Bool)
    /// A number of 1, 2 or 4 bytes without a sign, or of 8 bytes with one: the markers 0x10 to
    /// 0x13.
    case integer(Int64)
    /// A number beyond `Int64`, in 16 bytes: the marker 0x14.
    case unsigned(UInt64)
    /// A number of 4 or 8 bytes: the markers 0x22 and 0x23.
    case real(Double)
    /// Seconds since 2001-01-01 00:00:00 UTC.
    case date(Double)
    /// Bytes; their count is in the marker 0x4n or after 0x4f.
    case data([UInt8])
    /// A text, stored as ASCII (0x5n) or UTF-16 (0x6n).
    case string(ExactText)
    /// The number of an object in a keyed archive: the marker 0x8n.
    case uid(Int)
    /// The numbers of the members: the marker 0xan.
    case array([Int])
    /// The numbers of the members: the marker 0xcn, or 0xbn for an ordered set.
    case set([Int])
    /// The numbers of keys and values, as many of one as of the other: the marker 0xdn.
    case dictionary(keys: [Int], values: [Int])
  }

  /// The table; numbers of objects are indexes in it.
  package var objects: [Object]
  /// The number of the top object.
  package var top: Int

  /// Creates a table to be encoded.
  ///
  /// - Precondition: all numbers in it are indexes of the table.
  package init(objects: [Object], top: Int) {
    self.objects = objects
    self.top = top
  }

  /// Reads the table and checks that all numbers in it are valid.
  ///
  /// - Parameter maximumObjects: bounds the memory that a file can claim.
  /// - Throws: `PropertyListError`.
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
  /// The offset at which the offset table begins and the objects end.
  private let table: Int
  /// Bytes that further objects may have.
  ///
  /// Objects of an intact file never share bytes; without this limit a small file with many offsets
  /// of one large array would claim gigabytes.
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
      return .string(
        ExactText(String(decoding: try take(length, position: &position), as: UTF8.self)))
    case 0x6:
      let length = try length(low: low, position: &position)
      return .string(ExactText(try utf16(units: length, at: position)))
    case 0x8 where low < 8:
      guard let uid = Int(exactly: Self.number(digits: try take(low + 1, position: &position)))
      else {
        throw PropertyListError(.damagedObject, at: start)
      }
      return .uid(uid)
    case 0xA:
      let length = try length(low: low, position: &position)
      return .array(try references(length: length, position: &position))
    case 0xB, 0xC:
      let length = try length(low: low, position: &position)
      return .set(try references(length: length, position: &position))
    case 0xD:
      let length = try length(low: low, position: &position)
      let keys = try references(length: length, position: &position)
      return .dictionary(keys: keys, values: try references(length: length, position: &position))
    default: throw PropertyListError(.damagedObject, at: start)
    }
  }

  /// Integers of 1, 2 and 4 bytes are unsigned, those of 8 signed; 16 bytes hold larger ones.
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

  /// The low half of the marker, or the integer object after the marker if that is 15.
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
    length: Int, position: inout Int
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
