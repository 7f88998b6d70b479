/// The serial types of a record and where its values begin ("Database File Format", section 2.1),
/// read in place.
///
/// Values are taken with up to eight bytes behind them, so memory of records has as many more.
final class RecordFields {
  /// Bytes that have to be there behind a record.
  static let padding = 16

  /// The serial types of the columns.
  let types: UnsafeMutablePointer<UInt32>
  /// Where the values begin, in bytes of the record, and behind the last one where it ends.
  let places: UnsafeMutablePointer<Int32>
  private let capacity: Int

  /// Makes room for the fields of one record.
  init(columns: Int) {
    capacity = columns
    types = .allocate(capacity: columns + 1)
    places = .allocate(capacity: columns + 1)
  }

  deinit {
    types.deallocate()
    places.deallocate()
  }

  /// Reads the header of a record; its number of columns, -1 where header and size do not agree or
  /// there are more columns than there is room for.
  ///
  /// - Parameters:
  ///   - held: how many bytes of the record lie at the address.
  ///   - total: how many it has in all.
  func read(_ record: UnsafeRawPointer, held: Int, total: Int) -> Int {
    guard held > 0, let head = Varint(record, at: 0, limit: held), head.value <= UInt64(held),
      total < Int(Int32.max)
    else { return -1 }
    let size = Int(head.value)
    var at = head.end
    var body = size
    var column = 0
    while at < size {
      var type = UInt32(record.load(fromByteOffset: at, as: UInt8.self))
      at += 1
      if type >= 0x80 {
        guard let long = Varint(record, at: at - 1, limit: size), long.value < 1 << 31 else {
          return -1
        }
        (type, at) = (UInt32(long.value), long.end)
      }
      guard column < capacity, body <= total, type | 1 != 11 else { return -1 }
      types[column] = type
      places[column] = Int32(truncatingIfNeeded: body)
      body += Self.size(type: type)
      column += 1
    }
    guard at == size, body == total else { return -1 }
    places[column] = Int32(truncatingIfNeeded: body)
    return column
  }

  /// The bytes of a value.
  @inline(__always)
  static func size(type: UInt32) -> Int {
    // Four bits for each of the types 0 to 9.
    type >= 12 ? Int(type - 12) >> 1 : Int((0x88_6432_10 as UInt64) >> UInt64(4 * type)) & 15
  }

  /// Whether a serial type is that of an INTEGER.
  @inline(__always)
  static func isInteger(_ type: UInt32) -> Bool {
    type &- 1 < 6 || type &- 8 < 2
  }

  /// The serial type of a REAL.
  static var real: UInt32 { 7 }

  /// The number of an INTEGER, or the bits of a REAL.
  @inline(__always)
  static func number(type: UInt32, at start: UnsafeRawPointer) -> Int64 {
    if type >= 8 { return Int64(type) - 8 }
    let bytes = Int64(bigEndian: start.loadUnaligned(as: Int64.self))
    return bytes >> Int64(64 - 8 * size(type: type))
  }
}
