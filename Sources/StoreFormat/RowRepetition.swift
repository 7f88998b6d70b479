package import GRDB
import GRDBSQLite

/// Finds out whether no two rows of a query are equal, in bounded memory and without sorting.
///
/// A first pass has a bit for the hash of each row in a table of bits. Of rows whose bit is taken
/// the whole hash is kept, and a second pass counts those: where none is there twice, no rows
/// agree.
package struct RowRepetition {
  /// The most bits of the table: 16 MiB.
  private static let mostBits = 1 << 27
  /// The most hashes that are kept: 8 MiB.
  private static let mostSuspects = 1 << 20

  private let bits: UnsafeMutableBufferPointer<UInt64>
  private let shift: UInt64

  /// Makes room for about so many rows.
  private init(rows: Int64) {
    // With 32 bits for each row one in 64 finds its bit taken.
    var count = 1 << 16
    while count < Self.mostBits, count / 32 < rows { count *= 2 }
    shift = UInt64(64 - count.trailingZeroBitCount)
    bits = .allocate(capacity: count / 64)
    bits.initialize(repeating: 0)
  }

  /// Whether two rows of a query may agree in all of their columns; false is certain.
  ///
  /// Values agree as with the collation BINARY.
  ///
  /// - Parameter rows: about how many rows there are.
  /// - Throws: `DatabaseError`.
  package static func isPossible(in sql: String, rows: Int64, db: Database) throws -> Bool {
    let table = RowRepetition(rows: rows)
    defer { table.bits.deallocate() }
    var suspects: [UInt64] = []
    try forEachHash(of: sql, in: db) { hash in
      if !table.insert(hash) { suspects.append(hash) }
      return suspects.count <= mostSuspects
    }
    if suspects.isEmpty { return false }
    if suspects.count > mostSuspects { return true }
    suspects.sort()
    if zip(suspects, suspects.dropFirst()).contains(where: ==) { return true }
    table.bits.update(repeating: 0)
    for hash in suspects { _ = table.insert(hash) }
    var seen = Array(repeating: false, count: suspects.count)
    var isRepeated = false
    try forEachHash(of: sql, in: db) { hash in
      if table.contains(hash), let place = suspects.place(of: hash) {
        isRepeated = seen[place]
        seen[place] = true
      }
      return !isRepeated
    }
    return isRepeated
  }

  /// Sets the bit of a hash; false where it is set already.
  @inline(__always)
  private func insert(_ hash: UInt64) -> Bool {
    let bit = hash >> shift
    let (word, mask) = (Int(bit >> 6), UInt64(1) << (bit & 63))
    defer { bits[word] |= mask }
    return bits[word] & mask == 0
  }

  @inline(__always)
  private func contains(_ hash: UInt64) -> Bool {
    let bit = hash >> shift
    return bits[Int(bit >> 6)] >> (bit & 63) & 1 != 0
  }

  /// Calls a body with the hash of every row, until it returns false.
  private static func forEachHash(
    of sql: String, in db: Database, body: (UInt64) -> Bool
  ) throws {
    let statement = try db.makeStatement(sql: sql)
    let raw = RawStatement(statement)
    let count = sqlite3_column_count(raw.handle)
    defer { raw.reset() }
    while try raw.step() {
      guard body(RowDigest.hash(row: raw.handle, count: count)) else { return }
    }
  }
}

extension [UInt64] {
  /// Where a number stands in a sorted list of different ones.
  fileprivate func place(of number: UInt64) -> Int? {
    var (first, end) = (0, count)
    while first < end {
      let middle = (first + end) / 2
      if self[middle] == number { return middle }
      if self[middle] < number { first = middle + 1 } else { end = middle }
    }
    return nil
  }
}
