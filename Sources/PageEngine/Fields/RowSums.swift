/// An index whose entries the rows of a table are summed up for.
package struct SummedIndex: Hashable, Codable, Sendable {
  /// The name that it has in the destination.
  package var name: String
  /// The places of its columns in the table's records.
  package var columns: [Int]
  /// What each of them makes of values.
  package var affinities: [Affinity]

  /// Takes the places of the columns, the first one of the record being 0.
  package init(name: String, columns: [Int], affinities: [Affinity]) {
    self.name = name
    self.columns = columns
    self.affinities = affinities
  }
}

/// Sums the index entries that the rows of a table require.
final class RowSums {
  /// The places of all columns that any of the indexes has, rising.
  let columns: [Int]
  /// The values of the row in those columns.
  let fields: UnsafeMutablePointer<Field>
  /// What those columns make of values.
  private let affinities: UnsafeMutablePointer<Affinity>
  private let names: [String]
  /// For each index, the number of its columns and where in `fields` each of them is.
  private let places: UnsafeMutableBufferPointer<Int>
  private let parts: UnsafeMutableBufferPointer<UInt64>
  /// Whether there is one index, of one column.
  private let isSingle: Bool

  /// nil where there is nothing to sum up.
  init?(_ summed: [SummedIndex]) {
    if summed.isEmpty { return nil }
    let columns = Set(summed.flatMap(\.columns)).sorted()
    self.columns = columns
    affinities = .allocate(capacity: max(1, columns.count))
    for index in summed {
      for (column, affinity) in zip(index.columns, index.affinities) {
        guard let place = columns.firstIndex(of: column) else { continue }
        (affinities + place).initialize(to: affinity)
      }
    }
    names = summed.map(\.name)
    let all = summed.flatMap { index in
      [index.columns.count] + index.columns.compactMap { columns.firstIndex(of: $0) }
    }
    places = .allocate(capacity: all.count)
    _ = places.initialize(from: all)
    parts = .allocate(capacity: summed.count)
    parts.initialize(repeating: 0)
    isSingle =
      summed.count == 1 && columns.count == 1 && [.integer, .numeric].contains(affinities[0])
    fields = .allocate(capacity: max(1, columns.count))
    fields.initialize(repeating: .null, count: max(1, columns.count))
  }

  deinit {
    affinities.deallocate()
    fields.deallocate()
    places.deallocate()
    parts.deallocate()
  }

  /// Takes the row whose values are in `fields`; false where a value would not stay as it is.
  @inline(__always)
  func add(key: Int64) -> Bool {
    if isSingle, fields[0].isInteger {
      parts[0] &+= EntrySum.of(value: fields[0].integer, row: key)
      return true
    }
    for place in 0..<columns.count where !affinities[place].holds(fields[place]) { return false }
    var at = 0
    for index in 0..<parts.count {
      let end = at + 1 + places[at]
      var part: UInt64 = 0
      at += 1
      while at < end {
        part = EntrySum.adding(fields[places[at]], to: part)
        at += 1
      }
      parts[index] &+= EntrySum.finish(part, row: key)
    }
    return true
  }

  /// Finds the values in a record that is completely in memory and was checked before.
  func read(_ record: UnsafeRawPointer, total: Int) {
    guard let header = Bytes.varint(record, offset: 0, limit: total) else { return }
    var at = header.end
    var body = Int(header.value)
    var column = 0
    var next = 0
    while next < columns.count, at < Int(header.value),
      let type = Bytes.varint(record, offset: at, limit: Int(header.value))
    {
      if columns[next] == column {
        fields[next] = Field(type: type.value, body: record + body)
        next += 1
      }
      at = type.end
      body += Field.size(type: type.value)
      column += 1
    }
  }

  /// The sums that the rows so far require, by index.
  var sums: [String: UInt64] {
    Dictionary(zip(names, parts), uniquingKeysWith: { first, _ in first })
  }
}
