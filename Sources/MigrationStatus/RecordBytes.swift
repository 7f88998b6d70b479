/// Writes the fields of a record: fixed places, little-endian, zeros where nothing is written.
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

  /// Cuts a text that is too long between two of its characters.
  mutating func put(text: String, at offset: Int, size: Int) {
    var kept: [UInt8] = []
    for character in text {
      // A zero ends the text of the record.
      let next = character == "\0" ? Array("\u{FFFD}".utf8) : Array(character.utf8)
      if kept.count + next.count > size { break }
      kept += next
    }
    put(kept, at: offset)
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

  func text(at offset: Int, size: Int) -> String {
    String(decoding: bytes[offset..<(offset + size)].prefix { $0 != 0 }, as: UTF8.self)
  }
}

/// Why bytes are no record.
package enum RecordError: Error, Hashable, Sendable {
  case unsupportedVersion(UInt32)
  case damaged
}

extension RecordReader {
  /// Every record starts with its version, whatever follows.
  init(bytes: [UInt8], version: UInt32, size: Int) throws(RecordError) {
    guard bytes.count >= 4 else { throw .damaged }
    self.init(bytes: bytes)
    let found: UInt32 = integer(at: 0)
    if found != version { throw .unsupportedVersion(found) }
    if bytes.count != size { throw .damaged }
  }
}
