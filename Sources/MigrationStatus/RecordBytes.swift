import SystemCalls

/// Writes the fields of a record at fixed offsets, little-endian, with zeros between them.
struct RecordWriter {
  private(set) var bytes: [UInt8]

  init(size: Int) {
    bytes = [UInt8](repeating: 0, count: size)
  }

  mutating func put(_ value: some FixedWidthInteger, at offset: Int) {
    withUnsafeBytes(of: value.littleEndian) { put($0, at: offset) }
  }

  mutating func put(_ value: some Sequence<UInt8>, at offset: Int) {
    for (index, byte) in value.enumerated() { bytes[offset + index] = byte }
  }

  /// Writes UTF-8, cut between two characters where it exceeds `size` bytes.
  mutating func put(text: String, at offset: Int, size: Int) {
    var kept: [UInt8] = []
    for character in text {
      // A zero byte ends a text, so a text cannot contain one.
      let next = character == "\0" ? Array("\u{FFFD}".utf8) : Array(character.utf8)
      if kept.count + next.count > size { break }
      kept += next
    }
    put(kept, at: offset)
  }
}

/// The checksum in a record, by which a reader detects changes after it was written.
enum RecordSeal {
  /// The low 32 bits of the checksum of a record that has zeros in their place.
  static func sum(of bytes: [UInt8], at offset: Int) -> UInt32 {
    var bytes = bytes
    for index in offset..<(offset + 4) { bytes[index] = 0 }
    return UInt32(truncatingIfNeeded: bytes.withUnsafeBytes { Checksum.of($0) })
  }
}

extension RecordWriter {
  /// The bytes of the record, with their checksum.
  func sealed(at offset: Int) -> [UInt8] {
    var sealed = self
    sealed.put(RecordSeal.sum(of: bytes, at: offset), at: offset)
    return sealed.bytes
  }
}

/// Reads the fields of a record whose size has been checked.
struct RecordReader {
  let bytes: [UInt8]

  func integer<Value: FixedWidthInteger>(at offset: Int, as type: Value.Type = Value.self) -> Value
  {
    bytes.withUnsafeBytes {
      Value(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: Value.self))
    }
  }

  /// A floating-point number, nil where it lies outside the range.
  func number(at offset: Int, in range: ClosedRange<Double>) -> Double? {
    let value = Double(bitPattern: integer(at: offset))
    return range.contains(value) ? value : nil
  }

  func text(at offset: Int, size: Int) -> String {
    String(decoding: bytes[offset..<(offset + size)].prefix { $0 != 0 }, as: UTF8.self)
  }
}

/// Why bytes are not a record of this version.
package enum RecordError: Error, Hashable, Sendable {
  /// The layout has another version, possibly of a later release.
  case unsupportedVersion(UInt32)
  /// The size, the checksum, or the value of a field, contradicts docs/reference/status-file.md.
  case damaged
}

extension RecordReader {
  /// Checks version, size and checksum of a record; all versions begin with their number.
  init(bytes: [UInt8], version: UInt32, size: Int, checksumAt: Int) throws(RecordError) {
    guard bytes.count >= 4 else { throw .damaged }
    self.init(bytes: bytes)
    let found: UInt32 = integer(at: 0)
    if found != version { throw .unsupportedVersion(found) }
    guard bytes.count == size, integer(at: checksumAt) == RecordSeal.sum(of: bytes, at: checksumAt)
    else { throw .damaged }
  }
}
