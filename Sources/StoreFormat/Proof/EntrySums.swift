import Foundation

/// Sums over the entries of an index, or over those that the rows of a table require.
///
/// Others have the same sum by chance once in 2^64 times: the numbers in it are random for each
/// check. Values that SQLite takes as equal give the same.
enum EntrySums {
  @inline(__always)
  static func mix(_ hash: inout UInt64, _ value: UInt64) {
    let product = (hash ^ value).multipliedFullWidth(by: 0xA076_1D64_78BD_642F)
    // The factor keeps a state of zero from staying there.
    hash = product.high ^ product.low ^ 0x9E37_79B9_7F4A_7C15
  }

  @inline(__always)
  static func mix(_ hash: inout UInt64, integer: Int64) {
    mix(&hash, 1)
    mix(&hash, UInt64(bitPattern: integer))
  }

  /// Mixes a value in.
  ///
  /// - Throws: `UnsoundPage` if only SQLite can read it.
  @inline(__always)
  static func mix(
    _ hash: inout UInt64, type: UInt32, at start: UnsafeRawPointer, isReal: Bool
  ) throws(UnsoundPage) {
    if RecordFields.isInteger(type) {
      let number = RecordFields.number(type: type, at: start)
      // A REAL is another number where it cannot be this one.
      guard !isReal || number.magnitude <= 1 << 53 else { throw UnsoundPage() }
      mix(&hash, integer: number)
    } else if type == 0 {
      mix(&hash, 2)
    } else {
      try mix(&hash, longType: type, at: start)
    }
  }

  private static func mix(
    _ hash: inout UInt64, longType type: UInt32, at start: UnsafeRawPointer
  ) throws(UnsoundPage) {
    if type == RecordFields.real {
      let bits = UInt64(bitPattern: RecordFields.number(type: type, at: start))
      let number = Double(bitPattern: bits)
      guard !number.isNaN else { throw UnsoundPage() }
      if number == number.rounded(.towardZero), abs(number) < 0x1p63 {
        mix(&hash, integer: Int64(number))
      } else {
        mix(&hash, 3)
        mix(&hash, bits)
      }
      return
    }
    let size = RecordFields.size(type: type)
    mix(&hash, UInt64(size) << 8 | (type & 1 == 1 ? 4 : 5))
    var at = 0
    while at + 8 <= size {
      mix(&hash, start.loadUnaligned(fromByteOffset: at, as: UInt64.self))
      at += 8
    }
    var rest: UInt64 = 0
    while at < size {
      rest = rest << 8 | UInt64(start.load(fromByteOffset: at, as: UInt8.self))
      at += 1
    }
    mix(&hash, rest)
  }
}

/// An entry of an index in memory.
struct IndexEntry {
  var record: UnsafeRawPointer
  var types: UnsafeMutablePointer<UInt32>
  var places: UnsafeMutablePointer<Int32>
  /// Columns with the row number behind them.
  var count: Int

  var rowNumber: Int64 {
    RecordFields.number(type: types[count - 1], at: record + Int(places[count - 1]))
  }

  /// Whether this entry stands before another one, and may.
  func isBefore(_ other: IndexEntry, form: IndexForm) throws(UnsoundPage) -> Bool {
    var hasNull = false
    for place in 0..<count - 1 {
      let order = try compare(place, to: other)
      if order != 0 { return (order < 0) != form.falls[place] }
      if types[place] == 0 { hasNull = true }
    }
    return (!form.isUnique || hasNull) && rowNumber < other.rowNumber
  }

  @inline(__always)
  private func compare(_ place: Int, to other: IndexEntry) throws(UnsoundPage) -> Int {
    let (type, otherType) = (types[place], other.types[place])
    let (start, otherStart) = (record + Int(places[place]), other.record + Int(other.places[place]))
    if RecordFields.isInteger(type), RecordFields.isInteger(otherType) {
      let one = RecordFields.number(type: type, at: start)
      let two = RecordFields.number(type: otherType, at: otherStart)
      return one < two ? -1 : one == two ? 0 : 1
    }
    return try Self.compare(type, at: start, to: otherType, at: otherStart)
  }

  private static func compare(
    _ type: UInt32, at start: UnsafeRawPointer, to otherType: UInt32,
    at otherStart: UnsafeRawPointer
  ) throws(UnsoundPage) -> Int {
    let (rank, otherRank) = (rank(type), rank(otherType))
    if rank != otherRank || rank == 0 { return rank - otherRank }
    if rank == 1 {
      let one = try real(type, at: start)
      let two = try real(otherType, at: otherStart)
      return one < two ? -1 : one == two ? 0 : 1
    }
    let (size, otherSize) = (RecordFields.size(type: type), RecordFields.size(type: otherType))
    let order = memcmp(start, otherStart, min(size, otherSize))
    return order != 0 ? Int(order) : size - otherSize
  }

  private static func rank(_ type: UInt32) -> Int {
    type == 0 ? 0 : type < 10 ? 1 : type & 1 == 1 ? 2 : 3
  }

  private static func real(_ type: UInt32, at start: UnsafeRawPointer) throws(UnsoundPage) -> Double
  {
    let bits = RecordFields.number(type: type, at: start)
    if type == RecordFields.real { return Double(bitPattern: UInt64(bitPattern: bits)) }
    // SQLite compares larger ones without rounding them.
    guard bits.magnitude <= 1 << 53 else { throw UnsoundPage() }
    return Double(bits)
  }
}
