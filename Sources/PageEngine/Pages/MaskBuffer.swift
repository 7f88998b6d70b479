import RowPrograms

/// Puts the bits of masks where the destination has them, into room of its own.
final class MaskBuffer {
  private let change: MaskChange
  private let bytes: UnsafeMutablePointer<UInt8>

  init(_ change: MaskChange) {
    self.change = change
    // A number is read eight bytes at a time, wherever it begins.
    bytes = .allocate(capacity: change.bytes + 8)
    bytes.initialize(repeating: 0, count: change.bytes + 8)
  }

  deinit { bytes.deallocate() }

  /// The mask of the destination, valid until the next one; whatever is no blob stays as it is.
  func applied(to field: Field) -> Field {
    guard field.isBlob else { return field }
    bytes.update(repeating: 0, count: change.bytes)
    let mask = UnsafeRawBufferPointer(start: field.body, count: field.body == nil ? 0 : field.size)
    for (index, byte) in mask.enumerated() where byte != 0 {
      var left = byte
      while left != 0 {
        let bit = left.leadingZeroBitCount
        left &= ~(0x80 >> UInt8(bit))
        let place = index * 8 + bit
        guard place < change.targets.count else { continue }
        for target in change.targets[place] { bytes[target / 8] |= 0x80 >> UInt8(target % 8) }
      }
    }
    return Field(type: UInt64(12 + 2 * change.bytes), body: UnsafeRawPointer(bytes))
  }
}
