package import GRDB
import GRDBSQLite

/// A digest of rows that does not depend on their order, for comparing rows read and written.
///
/// It detects lost, doubled and changed rows, but does not withstand an adversary.
package struct RowDigest: Hashable, Sendable {
  /// The number of rows.
  package private(set) var rows: Int64 = 0
  /// The sum of the rows' hashes, modulo 2^64.
  package private(set) var sum: UInt64 = 0

  /// Creates the digest of no rows.
  package init() {}

  /// Runs a query and digests its rows; `progress` receives the number of each 4096 of them.
  package init(
    of sql: String, in db: Database, progress: (Int64) throws -> Void = { _ in }
  ) throws {
    let statement = try db.makeStatement(sql: sql)
    let raw = RawStatement(statement)
    let count = sqlite3_column_count(raw.handle)
    defer { raw.reset() }
    var reported: Int64 = 0
    while try raw.step() {
      add(row: raw.handle, count: count)
      if rows - reported >= 4096 {
        try progress(rows - reported)
        reported = rows
      }
    }
    try progress(rows - reported)
  }

  /// Adds the rows of another digest.
  package mutating func merge(_ other: RowDigest) {
    rows += other.rows
    sum &+= other.sum
  }

  private mutating func add(row: OpaquePointer, count: Int32) {
    add(hash: Self.hash(row: row, count: count))
  }

  /// The hash of the first values of a statement's row; values that SQLite takes as equal, by the
  /// collation BINARY, have the same.
  static func hash(row: OpaquePointer, count: Int32) -> UInt64 {
    var hash = firstHash
    for column in 0..<count { mix(&hash, value: value(row: row, column: column)) }
    return hash
  }

  // MARK: Rows that do not come from a statement

  /// The hash of a row before its first value is mixed into it.
  package static let firstHash: UInt64 = 0x9E37_79B9_7F4A_7C15

  /// Adds a row by the hash of its values.
  package mutating func add(hash: UInt64) {
    var hash = hash
    rows += 1
    // Mixed once more: otherwise rows that exchange values could have the same sum.
    Self.mix(&hash, value: 0xD1B5_4A32_D192_ED03)
    sum &+= hash
  }

  /// The hash of NULL.
  package static let null: UInt64 = 5

  /// The hash of a REAL; a whole number hashes as the INTEGER that column affinity makes of it.
  package static func real(number: Double) -> UInt64 {
    // Column affinity turns one into the other and back; they are the same value.
    Int64(exactly: number).map(integer) ?? number.bitPattern ^ 0x517C_C1B7_2722_0A95
  }

  /// The hash of a TEXT, by its bytes in the database's encoding.
  package static func text(start: UnsafeRawPointer?, count: Int32) -> UInt64 {
    bytes(start: start, count: count, seed: 3)
  }

  /// The hash of a BLOB; nil is the empty one.
  package static func blob(start: UnsafeRawPointer?, count: Int32) -> UInt64 {
    bytes(start: start, count: count, seed: 4)
  }

  /// Mixes the hash of the next value into that of a row.
  package static func mix(_ hash: inout UInt64, value: UInt64) {
    let product = (hash ^ value).multipliedFullWidth(by: 0xA076_1D64_78BD_642F)
    hash = product.high ^ product.low
  }

  private static func value(row: OpaquePointer, column: Int32) -> UInt64 {
    switch sqlite3_column_type(row, column) {
    case SQLITE_INTEGER: return integer(value: sqlite3_column_int64(row, column))
    case SQLITE_FLOAT: return real(number: sqlite3_column_double(row, column))
    case SQLITE_TEXT:
      // Requested as a blob, a text has the encoding of its database; an empty one has no address.
      let start = sqlite3_column_blob(row, column)
      let count = sqlite3_column_bytes(row, column)
      return text(start: start ?? UnsafeRawPointer(row), count: count)
    case SQLITE_BLOB:
      return blob(start: sqlite3_column_blob(row, column), count: sqlite3_column_bytes(row, column))
    default: return null
    }
  }

  /// The hash of an INTEGER.
  package static func integer(value: Int64) -> UInt64 {
    var hash: UInt64 = 1
    mix(&hash, value: UInt64(bitPattern: value))
    return hash
  }

  private static func bytes(start: UnsafeRawPointer?, count: Int32, seed: UInt64) -> UInt64 {
    var hash = seed ^ (UInt64(count) << 8)
    guard let start else { return hash }
    var offset = 0
    while offset + 8 <= Int(count) {
      mix(&hash, value: start.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
      offset += 8
    }
    var rest: UInt64 = 0
    while offset < Int(count) {
      rest = rest << 8 | UInt64(start.load(fromByteOffset: offset, as: UInt8.self))
      offset += 1
    }
    mix(&hash, value: rest)
    return hash
  }
}
