import RowPrograms

/// How many rows a source table holds and how its bytes lie along its keys.
package struct TableStatistics: Hashable, Codable, Sendable {
  /// A run of keys that is not cut any further.
  package struct Slice: Hashable, Codable, Sendable {
    /// The last key of the slice; the first one follows the slice before.
    package var lastKey: Int64
    /// Rows of the slice, counted or estimated.
    package var rows: Int64
    /// Bytes of the slice's rows, estimated from leaves that were sampled or from means.
    package var bytes: Int64

    /// Takes a slice whose first key follows the slice before.
    package init(lastKey: Int64, rows: Int64, bytes: Int64) {
      self.lastKey = lastKey
      self.rows = rows
      self.bytes = bytes
    }
  }

  /// In key order; together they hold every row.
  package var slices: [Slice]
  /// Whether its rows are copied unchanged, and no worker reads their values.
  package var isMoved = false
  /// Its indexes that go over as they are, each as a whole.
  package var movedIndexes: [String] = []
  /// The share of the rows in its bytes that are taken; the others are only passed over.
  private var takenShare = 1.0

  /// Makes the statistics of a table whose rows are made again, with its indexes.
  package init(slices: [Slice]) { self.slices = slices }

  /// Rows of all slices.
  package var rows: Int64 { slices.reduce(0) { $0 + $1.rows } }
  /// Bytes of all slices.
  package var bytes: Int64 { slices.reduce(0) { $0 + $1.bytes } }

  /// The same slices with so many of their rows, as if those were spread evenly; bytes stay.
  package func taking(_ taken: Int64) -> Self {
    let all = rows
    guard taken != all, all > 0 else { return self }
    var result = self
    result.takenShare = min(1, Double(max(0, taken)) / Double(all))
    var (seen, given) = (Int64(0), Int64(0))
    for index in slices.indices {
      seen += slices[index].rows
      let share = Double(seen) / Double(all) * Double(max(0, taken))
      let upTo = index == slices.count - 1 ? max(0, taken) : Int64(share)
      result.slices[index].rows = max(0, upTo - given)
      given = max(given, upTo)
    }
    return result
  }

  /// What it takes to make a row and its index entries, in bytes that are read and written.
  package static let rowWork: Int64 = 100

  /// What a slice costs with the indexes that go along with it, counted in bytes that are read and
  /// written.
  ///
  /// Measured: to look over a row that goes over as it is costs as much as 20 bytes, and an entry
  /// of a moved index 40. To pass over a row costs half of its bytes.
  func work(of slice: Int) -> Int64 {
    let indexes = movedIndexes(with: slice)
    let bytes = Double(slices[slice].bytes) * (1 + takenShare) / 2
    return Int64(bytes) + (isMoved ? 20 : Self.rowWork) * slices[slice].rows
      + (indexes.isEmpty ? 0 : 40 * rows * Int64(indexes.count))
  }

  /// The moved indexes that go along with the slice: they are spread over the table.
  func movedIndexes(with slice: Int) -> [String] {
    movedIndexes.indices.filter { $0 * slices.count / movedIndexes.count == slice }
      .map { movedIndexes[$0] }
  }

  /// A run of rows that is cut off, with the moved indexes that go along.
  typealias Range = (keys: KeyRange, rows: Int64, bytes: Int64, movedIndexes: [String])

  /// Ranges of about that many bytes, the first open below and the last open above.
  func ranges(ofBytes target: Int64) -> [Range] {
    var result: [Range] = []
    var first = Int64.min
    var rows: Int64 = 0
    var bytes: Int64 = 0
    var indexes: [String] = []
    for (index, slice) in slices.enumerated() {
      rows += slice.rows
      bytes += slice.bytes
      indexes += movedIndexes(with: index)
      let isLast = index == slices.count - 1
      guard isLast || bytes >= target else { continue }
      let last = isLast ? Int64.max : slice.lastKey
      result.append((KeyRange(first: first, last: last), rows, bytes, indexes))
      (first, rows, bytes, indexes) = (isLast ? last : last + 1, 0, 0, [])
    }
    return result
  }
}
