/// Sums over entries of an index, in any order: equal sums say that an index and the rows of its
/// table belong together.
package enum EntrySum {
  /// A hash of one entry, to be added up with those of the other entries.
  ///
  /// A value of nil is NULL. It guards against lost and changed entries, not against an adversary.
  @inline(__always)
  package static func of(_ value: Int64?, row: Int64) -> UInt64 {
    let base: UInt64 = value == nil ? 0x9e37_79b9_7f4a_7c15 : 0
    var hash = base &+ UInt64(bitPattern: value ?? 0) &* 0xff51_afd7_ed55_8ccd
    hash = (hash ^ hash >> 32) &+ UInt64(bitPattern: row) &* 0xc4ce_b9fe_1a85_ec53
    hash = (hash ^ hash >> 29) &* 0xbf58_476d_1ce4_e5b9
    return hash ^ hash >> 32
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
  /// The sum of all entries, where they are one integer each.
  package var sum: UInt64?
}
