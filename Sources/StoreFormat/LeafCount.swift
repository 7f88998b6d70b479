/// Counts the rows of a table by what the pages of its b-tree say of themselves ("Database File
/// Format", section 1.6), as SQLite counts them, without reading more of a leaf than its header.
package struct LeafCount {
  private let file: SourceFile
  private let pageSize: Int
  /// How many pages may still be looked at: they are not trusted, and may lead in circles.
  private var budget: Int64

  /// Takes a file that nobody changes.
  package init(file: SourceFile, pageSize: Int) {
    (self.file, self.pageSize) = (file, pageSize)
    budget = file.byteCount / Int64(max(1, pageSize))
  }

  /// The rows of the table whose b-tree has this root page, counted from 1; nil where a page is not
  /// one of a table's b-tree, or leads to one that was counted.
  package mutating func rows(root: UInt32) -> Int64? { rows(below: root, depth: 0) }

  /// A b-tree of more levels would hold more rows than there are keys.
  private static let mostLevels = 20

  private mutating func rows(below number: UInt32, depth: Int) -> Int64? {
    budget -= 1
    guard budget >= 0, depth < Self.mostLevels, let header = header(of: number) else { return nil }
    if header.type == PageType.leafTable { return Int64(header.cells) }
    guard header.type == PageType.interiorTable,
      let page = BTreePage(file: file, pageSize: pageSize, number: number)
    else { return nil }
    let children = page.children
    guard children.count == Int(header.cells) + 1 else { return nil }
    var sum: Int64 = 0
    for child in children {
      guard let found = rows(below: child, depth: depth + 1) else { return nil }
      sum += found
    }
    return sum
  }

  /// The type of a page and its number of cells.
  private func header(of number: UInt32) -> (type: UInt8, cells: UInt16)? {
    guard number > 0 else { return nil }
    let start = (Int64(number) - 1) * Int64(pageSize) + (number == 1 ? Int64(HeaderField.size) : 0)
    return withUnsafeTemporaryAllocation(
      byteCount: PageField.leafHeaderSize, alignment: 8
    ) { bytes in
      guard (try? file.read(bytes, at: start)) == bytes.count else { return nil }
      let place = PageField.cellCount
      return (bytes[0], UInt16(bytes[place]) << 8 | UInt16(bytes[place + 1]))
    }
  }
}
