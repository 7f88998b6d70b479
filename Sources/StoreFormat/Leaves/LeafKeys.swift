extension TableDivision {
  /// The keys that are handed on at once.
  private static let keysAtOnce = 4096

  /// Reads the keys of the rows of a large table from its leaves, without decoding the rows.
  ///
  /// - Parameter take: called with keys, one range after the other.
  /// - Returns: false where the table is small, or not as in a sound store: SQLite then has to
  ///   read it, whatever was taken before.
  /// - Throws: what `take` throws.
  package func readKeys(
    ofTable table: String, take: ([Int64]) throws -> Void
  ) throws -> Bool {
    guard let entry = entries[table], entry.beginsAsUsual(table),
      let root = UInt32(exactly: entry.root), let sizes = try? PageSizes(of: file)
    else { return false }
    let scan = scan(of: table)
    do {
      let readers = (0..<scan.readers).map { _ in TableLeaves(file, sizes: sizes) }
      try scan.read(with: readers) { leaves, range, found in
        try leaves.open(root: root, from: range.lowerBound, to: range.upperBound)
        var some: [Int64] = []
        while true {
          let rows = try leaves.next()
          if rows == 0 { break }
          some.append(contentsOf: UnsafeBufferPointer(start: leaves.keys, count: rows))
          guard some.count >= Self.keysAtOnce else { continue }
          try found(some)
          some.removeAll(keepingCapacity: true)
        }
        try found(some)
      } take: { (found: [Int64]) in
        try take(found)
      }
    } catch is UnsoundPage {
      return false
    }
    return true
  }
}
