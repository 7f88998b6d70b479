import RowPrograms

/// Puts the bits of masks where the destination has them, into room of its own.
final class MaskBuffer {
  private let change: MaskChange
  private let uncertain: [UInt8]
  private let room: UnsafeMutableRawBufferPointer

  init(_ change: MaskChange) {
    self.change = change
    uncertain = change.uncertain.isEmpty ? [] : change.uncertainMask
    // A number is read eight bytes at a time, wherever it begins.
    room = .allocate(byteCount: change.bytes + 8, alignment: 8)
    room.initializeMemory(as: UInt8.self, repeating: 0)
  }

  deinit { room.deallocate() }

  /// Whether the mask of the destination says more than is known.
  func widens(_ field: Field) -> Bool {
    guard !uncertain.isEmpty, field.isBlob, let body = field.body else { return false }
    return MaskChange.meet(UnsafeRawBufferPointer(start: body, count: field.size), uncertain)
  }

  /// The mask of the destination, valid until the next one; whatever is no blob stays as it is.
  func applied(to field: Field) -> Field {
    guard field.isBlob else { return field }
    let mask = UnsafeRawBufferPointer(start: field.body, count: field.body == nil ? 0 : field.size)
    change.apply(mask, into: room)
    return Field(
      type: UInt64(12 + 2 * change.bytes), body: UnsafeRawBufferPointer(room).baseAddress)
  }
}
