/// Collects the keys of one index while the rows of a piece go by.
package final class KeyCollector {
  /// How the keys of an index are kept and sorted.
  package enum Form: Sendable {
    /// One integer; two integers of a join table's key; any values.
    case integer, integerPair, keys
    /// Of an index that is moved from the source only the sum of the entries: one integer, or any
    /// values.
    case movedInteger, moved
  }

  private let form: Form
  /// The places of the columns in the record, and which of them fall.
  private let columns: UnsafeMutableBufferPointer<(place: Int, isDescending: Bool)>
  private let first: Int
  private let second: Int
  private let integers: IntegerSorter
  private let nulls: EntryCollector
  private let keys: KeySorter
  private let encoder = KeyEncoder()
  /// Whether every row is in; otherwise SQLite has to make the index.
  package var isComplete: Bool { isWhole }
  /// The sum of the entries of an index that is moved.
  package var sum: UInt64 { entrySum }
  private var isWhole = true
  private var entrySum: UInt64 = 0

  /// Takes the places of the columns in the record, and the bytes that its buffers may have.
  package init(
    form: Form, columns: [Int], descending: [Bool], file: RunFile, bytes: Int,
    scratch: SortScratch
  ) {
    self.form = form
    self.columns = .allocate(capacity: columns.count)
    _ = self.columns.initialize(
      from: zip(columns, descending).map { (place: $0, isDescending: $1) })
    first = columns[0]
    second = columns.count > 1 ? columns[1] : 0
    let isInteger = form == .integer || form == .integerPair
    integers = IntegerSorter(
      file: file, capacity: isInteger ? bytes / MemoryLayout<IntegerEntry>.size : 0,
      scratch: scratch)
    nulls = EntryCollector(file: file, entrySize: 8, bufferBytes: isInteger ? 1 << 16 : 8)
    keys = KeySorter(file: file, capacity: form == .keys ? bytes : 0, scratch: scratch)
  }

  deinit { columns.deallocate() }

  /// The places of the values that it reads in a row.
  var places: [Int] { columns.map(\.place) }

  @inline(__always)
  func add(_ row: UnsafePointer<Field>, key: Int64) throws(PageError) {
    switch form {
    case .movedInteger:
      let field = row[first]
      if !field.isNull && !field.isInteger { isWhole = false }
      entrySum &+= EntrySum.of(value: field.isNull ? nil : field.integer, row: key)
    case .moved:
      var part: UInt64 = 0
      for column in columns { part = EntrySum.adding(row[column.place], to: part) }
      entrySum &+= EntrySum.finish(part, row: key)
    case .integer:
      let field = row[first]
      if field.isNull {
        try nulls.add(key)
      } else if field.isInteger {
        try integers.add(
          IntegerEntry(high: IntegerEntry.ordered(field.integer), low: IntegerEntry.ordered(key)))
      } else {
        isWhole = false
      }
    case .integerPair:
      let (one, other) = (row[first], row[second])
      guard one.isInteger, other.isInteger,
        let low = UInt32(exactly: other.integer), let number = UInt32(exactly: key)
      else {
        isWhole = false
        return
      }
      try integers.add(
        IntegerEntry(
          high: IntegerEntry.ordered(one.integer), low: UInt64(low) << 32 | UInt64(number)))
    case .keys: try addKey(row, key: key)
    }
  }

  private func addKey(_ row: UnsafePointer<Field>, key: Int64) throws(PageError) {
    var size = 0
    encoder.begin()
    for column in columns {
      let field = row[column.place]
      size += field.size
      guard size <= KeySorter.keyLimit else { break }
      encoder.add(field, descending: column.isDescending)
    }
    guard size <= KeySorter.keyLimit, encoder.isExact else {
      isWhole = false
      return
    }
    encoder.end(row: key)
    try keys.add(encoder.bytes)
  }

  /// Writes what is left: the rows without a value, and the sorted runs.
  package func finish() throws(PageError) -> IndexRuns {
    try integers.flush()
    try nulls.flush()
    try keys.flush()
    var runs = IndexRuns(
      nulls: nulls.sections, runs: form == .keys ? keys.runs : integers.runs,
      isComplete: isComplete)
    runs.marks = keys.marks
    if form == .moved || form == .movedInteger { runs.sum = sum }
    return runs
  }
}
