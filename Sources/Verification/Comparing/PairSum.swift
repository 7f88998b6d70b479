import Schema
import StoreFormat
import SystemPackage

/// A sum over the rows of a join table, which does not depend on their order.
///
/// Two tables with other rows have one sum by chance once in 2^64 times: the numbers in it are
/// random for each run.
struct PairSum: Equatable {
  private(set) var rows: Int64 = 0
  private var sum: UInt64 = 0

  mutating func add(_ other: PairSum) {
    rows += other.rows
    sum &+= other.sum
  }

  fileprivate mutating func add(hash: UInt64) {
    rows += 1
    sum &+= hash
  }
}

/// Which numbers of the rows of a join table are summed up.
struct PairColumns: Sendable {
  let root: UInt32
  /// All columns of its records.
  let count: Int
  /// The places of the two keys, and of positions.
  let keys: [Int]
  let others: [Int]
  let seed: UInt64
  /// Has SQLite read the same numbers by the index that the table's keys have.
  let query: String

  /// nil where the table has another form.
  init?(
    _ name: String, _ table: PlainTable, keys: [String], others: [String], seed: UInt64
  ) {
    let places = (keys + others).compactMap { table.columns[$0] }
    guard keys.count == 2, places.count == keys.count + others.count,
      places.allSatisfy({ $0.place >= 0 && !$0.isReal })
    else { return nil }
    (root, count, self.seed) = (table.root, table.count, seed)
    let list = keys.map(SQL.identifier).joined(separator: ", ")
    let rest = others.map { ", " + SQL.identifier(name: $0) }.joined()
    query = "SELECT \(list)\(rest) FROM \(SQL.identifier(name: name)) ORDER BY \(list)"
    self.keys = places.prefix(keys.count).map(\.place)
    self.others = places.dropFirst(keys.count).map(\.place)
  }

  /// The sum over the rows of a range; nil where a key is no number, or not even that is sure.
  func sum(_ rows: JudgedRows, row: JudgedRow, range: ClosedRange<Int64>) -> PairSum? {
    do {
      rows.open(root: root, range: range)
      var sum = PairSum()
      while try rows.next() {
        for place in 0..<rows.count {
          guard try rows.read(place, columns: count, into: row), let hash = hash(row) else {
            return nil
          }
          sum.add(hash: hash)
        }
      }
      return sum
    } catch {
      return nil
    }
  }

  /// The sum over what SQLite reads by the index of the keys; nil where that does not rise, or
  /// where a key is no number.
  func sum(ofIndexIn path: FilePath) -> PairSum? {
    guard let store = try? RawStore(reading: path), let rows = try? store.prepare(query) else {
      return nil
    }
    var sum = PairSum()
    var before = (Int64.min, Int64.min)
    while let isThere = try? rows.step() {
      guard isThere else { return sum }
      guard let first = rows.integer(column: 0), let second = rows.integer(column: 1),
        before <= (first, second)
      else { return nil }
      before = (first, second)
      var hash = seed
      Self.mix(&hash, first)
      Self.mix(&hash, second)
      for place in keys.count..<keys.count + others.count {
        if rows.isNull(place) {
          Self.mix(&hash, 0)
          continue
        }
        guard let number = rows.integer(column: place) else { return nil }
        Self.mix(&hash, 1)
        Self.mix(&hash, number)
      }
      Self.mix(&hash, 2)
      sum.add(hash: hash)
    }
    return nil
  }

  @inline(__always)
  private func hash(_ row: JudgedRow) -> UInt64? {
    var hash = seed
    for place in keys {
      guard row.isInteger(place) else { return nil }
      Self.mix(&hash, row.number(place))
    }
    for place in others {
      if row.type(place) == 0 {
        Self.mix(&hash, 0)
        continue
      }
      guard row.isInteger(place) else { return nil }
      Self.mix(&hash, 1)
      Self.mix(&hash, row.number(place))
    }
    Self.mix(&hash, 2)
    return hash
  }

  @inline(__always)
  private static func mix(_ hash: inout UInt64, _ value: Int64) {
    let product = (hash ^ UInt64(bitPattern: value))
      .multipliedFullWidth(by: 0xA076_1D64_78BD_642F)
    // The factor itself keeps a state of zero from staying there.
    hash = product.high ^ product.low ^ 0x9E37_79B9_7F4A_7C15
  }
}
