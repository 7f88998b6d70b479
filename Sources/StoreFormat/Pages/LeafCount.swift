import Synchronization
import SystemCalls

/// Counts the rows of a table by the page headers of its b-tree ("Database File Format", section
/// 1.6), as SQLite counts them, without reading more of a leaf than its header.
package final class LeafCount: Sendable {
  private let file: SourceFile
  private let pageSize: Int
  /// The number of pages that may still be read: untrusted pages may lead in circles.
  private let budget: Atomic<Int64>

  private let leastToShare: Int64

  /// Reads an unchanging file.
  ///
  /// - Parameter leastToShare: the bytes from which on a file is counted on all processors.
  package init(file: SourceFile, pageSize: Int, leastToShare: Int64 = 4 << 20) {
    (self.file, self.pageSize, self.leastToShare) = (file, pageSize, leastToShare)
    budget = Atomic(file.byteCount / Int64(max(1, pageSize)))
  }

  /// The rows of the table whose b-tree has this root page, counted from 1; nil where a page is not
  /// one of a table's b-tree, or leads to one that was counted.
  package func rows(root: UInt32) -> Int64? { rows(roots: [root])[0] }

  /// The same of several tables, in their order.
  package func rows(roots: [UInt32]) -> [Int64?] {
    var counts = [Int64?](repeating: nil, count: roots.count)
    var left: [(table: Int, page: UInt32)] = []
    for (table, root) in roots.enumerated() {
      switch node(root, depth: 0) {
      case nil: break
      case .rows(let count): counts[table] = count
      case .children(let children):
        counts[table] = 0
        left += children.map { (table, $0) }
      }
    }
    let sums = Mutex(counts)
    let parts = left
    ThreadPool.share(parts.count, threads: file.byteCount < leastToShare ? 1 : nil) { part in
      let (table, page) = parts[part]
      guard sums.withLock({ $0[table] != nil }) else { return }
      let found = rows(below: page, depth: 1)
      sums.withLock { sums in
        sums[table] = if let all = sums[table], let found { all + found } else { nil }
      }
    }
    return sums.withLock(\.self)
  }

  /// A b-tree of more levels would hold more rows than there are keys.
  private static let mostLevels = 20

  private enum Node {
    case rows(Int64)
    case children([UInt32])
  }

  private func node(_ number: UInt32, depth: Int) -> Node? {
    guard budget.subtract(1, ordering: .relaxed).newValue >= 0, depth < Self.mostLevels,
      let header = header(of: number)
    else { return nil }
    if header.type == PageType.leafTable { return .rows(Int64(header.cells)) }
    guard header.type == PageType.interiorTable,
      let page = BTreePage(file: file, pageSize: pageSize, number: number)
    else { return nil }
    let children = page.children
    return children.count == Int(header.cells) + 1 ? .children(children) : nil
  }

  private func rows(below page: UInt32, depth: Int) -> Int64? {
    switch node(page, depth: depth) {
    case nil: return nil
    case .rows(let count): return count
    case .children(let children):
      var sum: Int64 = 0
      for child in children {
        guard let found = rows(below: child, depth: depth + 1) else { return nil }
        sum += found
      }
      return sum
    }
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
