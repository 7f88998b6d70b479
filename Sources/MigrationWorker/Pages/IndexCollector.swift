import Planning
import StorePages

/// Collects the keys of one index while the rows of a piece go by.
final class IndexCollector {
  let index: PageIndex
  private let integers: IntegerSorter
  private let nulls: EntryCollector
  private let keys: KeySorter
  private var encoder = KeyEncoder()
  private var isComplete = true

  /// Takes the bytes that its buffers may have together.
  init(_ index: PageIndex, _ file: RunFile, bytes: Int, scratch: SortScratch) {
    self.index = index
    let isInteger = index.form != .keys
    integers = IntegerSorter(
      file, capacity: isInteger ? bytes / MemoryLayout<IntegerEntry>.size : 0, scratch: scratch)
    nulls = EntryCollector(file, entrySize: 8, bufferBytes: isInteger ? 1 << 16 : 8)
    keys = KeySorter(file, capacity: isInteger ? 0 : bytes)
  }

  @inline(__always)
  func add(_ row: UnsafePointer<Field>, _ key: Int64) throws {
    switch index.form {
    case .integer:
      let field = row[index.columns[0]]
      if field.isNull {
        try nulls.add(key)
      } else if field.isInteger {
        try integers.add(
          IntegerEntry(high: IntegerEntry.ordered(field.integer), low: IntegerEntry.ordered(key)))
      } else {
        isComplete = false
      }
    case .integerPair:
      let (first, second) = (row[index.columns[0]], row[index.columns[1]])
      guard first.isInteger, second.isInteger,
        let low = UInt32(exactly: second.integer), let number = UInt32(exactly: key)
      else {
        isComplete = false
        return
      }
      try integers.add(
        IntegerEntry(
          high: IntegerEntry.ordered(first.integer), low: UInt64(low) << 32 | UInt64(number)))
    case .keys: try addKey(row, key)
    }
  }

  private func addKey(_ row: UnsafePointer<Field>, _ key: Int64) throws {
    var size = 0
    for column in index.columns { size += row[column].size }
    guard size <= KeySorter.keyLimit else {
      isComplete = false
      return
    }
    encoder.begin()
    for (column, isDescending) in zip(index.columns, index.descending) {
      encoder.add(row[column], descending: isDescending)
    }
    encoder.end(row: key)
    guard encoder.isExact else {
      isComplete = false
      return
    }
    try keys.add(encoder.bytes)
  }

  func finish() throws -> IndexRuns {
    try integers.flush()
    try nulls.flush()
    try keys.flush()
    return IndexRuns(
      nulls: nulls.sections, runs: index.form == .keys ? keys.runs : integers.runs,
      isComplete: isComplete)
  }
}
