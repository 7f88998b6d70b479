/// The room that rows take in the leaves of a table once long values come into them, one row after
/// another ("Database File Format" on sqlite.org, section 1.6).
///
/// The values are counted to the byte, and so is what leaves have to leave over where a row does
/// not fit behind the one before; the rest of a row counts as the mean of all.
package struct LeafRoom: Sendable {
  /// What the values add to the bytes of the rows, overflow pages and the room left over included;
  /// at most what a store can hold.
  package var bytesAdded: Int64 {
    min(Self.mostBytes, max(0, (leaves + overflows) * Self.pageBytes - rows * rowBytes))
  }

  private let rowBytes: Int64
  private var rows: Int64 = 0
  private var leaves: Int64 = 0
  private var overflows: Int64 = 0
  /// Bytes of the last leaf that no row has.
  private var left: Int64 = 0

  /// The bytes of a page, and those of a leaf besides its header.
  private static let (pageBytes, leafBytes): (Int64, Int64) = (4096, 4096 - 8)
  /// Of a row besides its record: its size, its key and its pointer.
  private static let cellBytes: Int64 = 9
  /// More than the longest row of SQLite; what is longer is refused wherever it is read.
  private static let mostBytes: Int64 = 1 << 48

  /// Takes the mean bytes of a row without the values.
  package init(rowBytes: Int64) { self.rowBytes = min(max(0, rowBytes), Self.leafBytes) }

  /// Adds a row with values of so many bytes.
  package mutating func add(_ bytes: Int64) {
    rows += 1
    let record = rowBytes + min(max(0, bytes), Self.mostBytes)
    let (local, pages) = Self.parts(ofRecord: record, pageSize: Self.pageBytes)
    overflows = min(Self.mostBytes / Self.pageBytes, overflows + pages)
    let cell = local + Self.cellBytes
    if cell > left { (leaves, left) = (leaves + 1, Self.leafBytes) }
    left -= cell
  }

  /// The bytes of a record in its leaf and on overflow pages, which it has as a whole.
  static func bytes(ofRecord bytes: Int64, pageSize: Int64) -> Int64 {
    let (local, pages) = parts(ofRecord: bytes, pageSize: pageSize)
    return local + pages * pageSize
  }

  /// The bytes of a record in its leaf, and its overflow pages.
  private static func parts(
    ofRecord bytes: Int64, pageSize: Int64
  ) -> (local: Int64, pages: Int64) {
    let local = Int64(
      PageSizes.local(payload: Int(bytes), usable: Int(pageSize), isIndex: false))
    let capacity = pageSize - 4
    return (local, (bytes - local + capacity - 1) / capacity)
  }
}
