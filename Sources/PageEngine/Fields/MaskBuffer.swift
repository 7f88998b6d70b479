import RowPrograms

/// Puts the bits of masks where the destination has them, into room of its own.
final class MaskBuffer {
  private let change: MaskChange
  private let uncertain: [UInt8]
  private let room: UnsafeMutableRawBufferPointer
  /// For each byte of a mask and each of its values the bits of the destination; empty where those
  /// do not fit a word.
  private let words: UnsafeMutableBufferPointer<UInt64>

  init(_ change: MaskChange) {
    self.change = change
    uncertain = change.uncertain.isEmpty ? [] : change.uncertainMask
    // A number is read eight bytes at a time, wherever it begins.
    room = .allocate(byteCount: change.bytes + 8, alignment: 8)
    room.initializeMemory(as: UInt8.self, repeating: 0)
    let bytes = (change.targets.count + 7) / 8
    words = .allocate(capacity: change.bytes <= 8 && bytes <= 32 ? bytes * 256 : 0)
    words.initialize(repeating: 0)
    for index in words.indices {
      for bit in 0..<8 where index & 0x80 >> bit != 0 {
        let place = index / 256 * 8 + bit
        guard place < change.targets.count else { continue }
        for target in change.targets[place] { words[index] |= 1 << UInt64(63 - target) }
      }
    }
  }

  deinit {
    room.deallocate()
    words.deallocate()
  }

  /// Whether the mask of the destination names more properties than are known.
  func widens(_ field: Field) -> Bool {
    guard !uncertain.isEmpty, field.isBlob, let body = field.body else { return false }
    return MaskChange.meet(UnsafeRawBufferPointer(start: body, count: field.size), uncertain)
  }

  /// The mask of the destination, valid until the next one; whatever is no blob stays as it is.
  func applied(to field: Field) -> Field {
    guard field.isBlob else { return field }
    let mask = UnsafeRawBufferPointer(start: field.body, count: field.body == nil ? 0 : field.size)
    if words.isEmpty {
      change.apply(mask, into: room)
    } else {
      var bits: UInt64 = 0
      for index in 0..<min(mask.count, words.count / 256) {
        bits |= words[index << 8 | Int(mask[index])]
      }
      room.storeBytes(of: bits.bigEndian, as: UInt64.self)
    }
    return Field(
      type: UInt64(12 + 2 * change.bytes), body: UnsafeRawBufferPointer(room).baseAddress)
  }
}
