/// Sums over entries of an index, in any order: equal sums show that an index matches the rows of
/// its table.
///
/// An entry's part of the sum is made of its values, one after the other, and its row's number.
package enum EntrySum {
  /// A hash of one entry, to be added up with those of the other entries.
  ///
  /// A value of nil is NULL. It guards against lost and changed entries, not against an adversary.
  @inline(__always)
  package static func of(value: Int64?, row: Int64) -> UInt64 {
    finish(adding(value, to: 0), row: row)
  }

  /// Takes one more integer, or NULL, into the part of an entry.
  @inline(__always)
  static func adding(_ value: Int64?, to part: UInt64) -> UInt64 {
    guard let value else { return mix(part, kind: null, value: 0) }
    return mix(part, kind: integer, value: UInt64(bitPattern: value))
  }

  /// Takes one more value into the part of an entry.
  @inline(__always)
  static func adding(_ field: Field, to part: UInt64) -> UInt64 {
    if field.isInteger { return adding(field.integer, to: part) }
    if field.isNull { return adding(nil, to: part) }
    if field.isReal { return mix(part, kind: real, value: field.real.bitPattern) }
    return mix(part, kind: field.isText ? text : blob, value: hash(field))
  }

  /// The part of an entry whose values are in.
  @inline(__always)
  static func finish(_ part: UInt64, row: Int64) -> UInt64 {
    var hash = part &+ UInt64(bitPattern: row) &* 0xc4ce_b9fe_1a85_ec53
    hash = (hash ^ hash >> 29) &* 0xbf58_476d_1ce4_e5b9
    return hash ^ hash >> 32
  }

  private static let integer: UInt64 = 0
  private static let null: UInt64 = 0x9e37_79b9_7f4a_7c15
  private static let real: UInt64 = 0x2545_f491_4f6c_dd1d
  private static let text: UInt64 = 0x8cb9_2ba7_2f3d_8dd7
  private static let blob: UInt64 = 0xd6e8_feb8_6659_fd93

  @inline(__always)
  private static func mix(_ part: UInt64, kind: UInt64, value: UInt64) -> UInt64 {
    let hash = (part << 23 | part >> 41) &+ kind &+ value &* 0xff51_afd7_ed55_8ccd
    return hash ^ hash >> 32
  }

  /// A hash of the bytes of a text or a blob, eight at a time.
  private static func hash(_ field: Field) -> UInt64 {
    let count = field.size
    var hash = UInt64(truncatingIfNeeded: count)
    guard let body = field.body else { return hash }
    var at = 0
    while at + 8 <= count {
      let word = body.loadUnaligned(fromByteOffset: at, as: UInt64.self)
      hash = (hash ^ word) &* 0x9fb2_1c65_1e98_df25
      hash ^= hash >> 35
      at += 8
    }
    while at < count {
      hash = (hash ^ UInt64(body.load(fromByteOffset: at, as: UInt8.self))) &* 0x1_0000_0001_b3
      at += 1
    }
    return hash ^ hash >> 28
  }
}

/// What is known of an index of the source once all of its entries have gone by.
package struct MovedIndex: Hashable, Codable, Sendable {
  /// Leaf pages, each with the cell that follows it.
  package var leaves: [Section]
  /// The values of the first column without repetition: `KeySpan`.
  package var values: [Section]
  /// How many entries the index has, those on interior pages as well.
  package var entries: Int64
  /// The sum of all entries.
  package var sum: UInt64
}
