/// The distribution of a table's rows over its keys, sampled from the upper pages of its b-tree.
///
/// Reading it takes some thousand pages, or two for each 32 MiB of a very large table. Pages are
/// those of "Database File Format" on sqlite.org, section 1.6.
package struct TableOutline: Sendable {
  /// A range of keys below neighbouring pages.
  package struct Run: Hashable, Sendable {
    /// The last key that the range can contain; it begins after that of the previous run.
    package var lastKey: Int64
    /// The estimated number of leaf pages.
    package var leaves: Int64
    /// The rows of one leaf of the run, as a sample for all.
    package var sampleRows: Int64
    /// The bytes of the rows of that leaf, overflow pages included.
    package var sampleBytes: Int64
  }

  /// The runs in key order; empty if a page is not one of a table b-tree.
  package private(set) var runs: [Run] = []

  /// How many rows the samples stand for.
  package var rows: Int64 { runs.reduce(0) { $0 + $1.leaves * $1.sampleRows } }

  private let file: SourceFile
  private let pageSize: Int
  /// The size of the file, which bounds all estimates: pages are not trusted.
  private let fileBytes: Int64

  /// How many leaves a run should have.
  private let wanted: Int64

  /// Reads the outline of the table whose b-tree has this root page, counted from 1.
  ///
  /// - Parameter leavesOfRun: about how many leaves a run has; by default a thousandth of the file,
  ///   and at most some 8192.
  package init(file: SourceFile, pageSize: Int, root: UInt32, leavesOfRun: Int64? = nil) {
    self.file = file
    self.pageSize = pageSize
    fileBytes = file.byteCount
    wanted = leavesOfRun ?? min(8192, max(64, fileBytes / Int64(pageSize) / 1024))
    runs = collect(root) ?? []
  }

  private enum Page {
    case interior(children: [(page: UInt32, lastKey: Int64?)])
    case leaf(rows: Int64, bytes: Int64)
  }

  /// The runs below a root page, nil if a page is not one of a table b-tree.
  private func collect(_ root: UInt32) -> [Run]? {
    guard let top = read(root) else { return nil }
    guard case .interior(let children) = top else {
      guard case .leaf(let rows, let bytes) = top else { return nil }
      return [Run(lastKey: .max, leaves: 1, sampleRows: rows, sampleBytes: bytes)]
    }
    var result: [Run] = []
    guard collect(children, upTo: .max, depth: 0, into: &result) else { return nil }
    let leaves = result.reduce(0) { $0 + $1.leaves }
    guard leaves <= fileBytes / Int64(pageSize) * 2 else { return nil }
    return result
  }

  /// Adds runs of about as many leaves as are wanted; each covers several children of a page, or a
  /// part of one.
  ///
  /// The child in the middle is the sample.
  private func collect(
    _ children: [(page: UInt32, lastKey: Int64?)], upTo end: Int64, depth: Int,
    into result: inout [Run]
  ) -> Bool {
    guard let typical = measure(children[children.count / 2].page, depth: depth) else {
      return false
    }
    let size = Int(max(1, wanted / typical.leaves))
    for start in stride(from: 0, to: children.count, by: size) {
      let some = children[start..<min(start + size, children.count)]
      let middle = some[(some.startIndex + some.endIndex) / 2].page
      let lastKey = some.last?.lastKey ?? end
      guard let sample = measure(middle, depth: depth),
        result.last.map({ $0.lastKey < lastKey }) ?? true
      else { return false }
      if sample.leaves > 2 * wanted, case .interior(let parts) = read(middle) {
        guard collect(parts, upTo: lastKey, depth: depth + 1, into: &result) else { return false }
        continue
      }
      result.append(
        Run(
          lastKey: lastKey, leaves: sample.leaves * Int64(some.count), sampleRows: sample.rows,
          sampleBytes: min(sample.bytes, fileBytes / sample.leaves + Int64(pageSize))))
    }
    return true
  }

  private func measure(
    _ number: UInt32, depth: Int
  ) -> (leaves: Int64, rows: Int64, bytes: Int64)? {
    // Twenty levels would hold more rows than there are keys.
    guard depth < 20, let page = read(number) else { return nil }
    switch page {
    case .leaf(let rows, let bytes): return (1, rows, bytes)
    case .interior(let children):
      guard let middle = measure(children[children.count / 2].page, depth: depth + 1) else {
        return nil
      }
      // A sample multiplies what it finds, so a whole file's pages are the most to believe in.
      let leaves = min(middle.leaves * Int64(children.count), fileBytes / Int64(pageSize))
      return (leaves, middle.rows, middle.bytes)
    }
  }

  private func read(_ number: UInt32) -> Page? {
    guard number > 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: pageSize)
    let count = try? bytes.withUnsafeMutableBytes {
      try file.read($0, at: Int64(number - 1) * Int64(pageSize))
    }
    guard count == pageSize else { return nil }
    let start = number == 1 ? HeaderField.size : 0
    let cells = Self.number(bytes, start + PageField.cellCount, count: 2)
    switch bytes[start] {
    case PageType.interiorTable: return interior(bytes, start: start, cells: cells)
    case PageType.leafTable: return leaf(bytes: bytes, start: start, cells: cells)
    default: return nil
    }
  }

  private func interior(_ bytes: [UInt8], start: Int, cells: Int) -> Page? {
    guard start + PageField.interiorPointer(cells) <= bytes.count else { return nil }
    var children: [(page: UInt32, lastKey: Int64?)] = []
    for cell in 0..<cells {
      let offset = Self.number(bytes, start + PageField.interiorPointer(cell), count: 2)
      guard offset + 5 <= bytes.count, let key = Varint(bytes, at: offset + 4, limit: bytes.count)
      else {
        return nil
      }
      children.append(
        (UInt32(Self.number(bytes, offset, count: 4)), Int64(bitPattern: key.value))
      )
    }
    children.append(
      (UInt32(Self.number(bytes, start + PageField.rightmostChild, count: 4)), nil))
    return .interior(children: children)
  }

  private func leaf(bytes: [UInt8], start: Int, cells: Int) -> Page? {
    guard start + PageField.leafPointer(cells) <= bytes.count else { return nil }
    var total: Int64 = 0
    for cell in 0..<cells {
      let offset = Self.number(bytes, start + PageField.leafPointer(cell), count: 2)
      guard let payload = Varint(bytes, at: offset, limit: bytes.count),
        payload.value <= UInt64(fileBytes)
      else {
        return nil
      }
      total += LeafRoom.bytes(ofRecord: Int64(payload.value), pageSize: Int64(pageSize)) + 8
    }
    return .leaf(rows: Int64(cells), bytes: max(total, Int64(pageSize)))
  }

  private static func number(_ bytes: [UInt8], _ offset: Int, count: Int) -> Int {
    PageBytes.number(bytes, at: offset, count: count) ?? 0
  }
}
