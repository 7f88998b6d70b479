import StoreFormat

/// Streams the records of an index, in its order, into a b-tree.
package final class IndexWriter {
  /// Where leaves go, each with the cell that follows it.
  private enum Target {
    /// Under a root page that exists already, and is empty.
    case tree(TreeBuilder, root: UInt32)
    /// To a list, and whether no other list follows.
    case list(LeafList, isLast: Bool)
  }

  private let writer: ExtentWriter
  private let target: Target
  /// Whether the next record is the cell before the first leaf.
  private var isLeading = false
  private let memory: UnsafeMutableRawPointer
  private let pending: UnsafeMutableRawPointer
  private var pendingCount = 0
  private var cells = 0
  private var content = PageGeometry.pageSize
  private var lastSize = 0
  private var hasOverflow = false
  private var entryCount: Int64 = 0
  /// The entries added so far.
  package var entries: Int64 { entryCount }

  /// Makes a tree under a root page that exists already, and is empty.
  package init(root: UInt32, writer: ExtentWriter) {
    self.writer = writer
    target = .tree(TreeBuilder(kind: .index, root: root, writer: writer), root: root)
    memory = .allocate(byteCount: PageGeometry.pageSize, alignment: 16)
    pending = .allocate(byteCount: PageGeometry.pageSize, alignment: 16)
    clear()
  }

  /// Makes the leaves of one part of a tree, whose lists follow one after the other: the first
  /// record of any but the first part stands between its leaves and those before.
  package init(list: LeafList, isFirst: Bool, isLast: Bool, writer: ExtentWriter) {
    self.writer = writer
    target = .list(list, isLast: isLast)
    isLeading = !isFirst
    memory = .allocate(byteCount: PageGeometry.pageSize, alignment: 16)
    pending = .allocate(byteCount: PageGeometry.pageSize, alignment: 16)
    clear()
  }

  deinit {
    memory.deallocate()
    pending.deallocate()
  }

  /// Adds a record that is not before the one added last.
  package func add(_ record: UnsafeRawBufferPointer) throws(PageError) {
    entryCount += 1
    if pendingCount > 0 {
      let page = try completeLeaf()
      try add(page, cell: UnsafeRawBufferPointer(start: pending, count: pendingCount))
      pendingCount = 0
    }
    let local = PageGeometry.localSize(record.count, limit: PageGeometry.indexLocalLimit)
    let prefix = Bytes.varintSize(UInt64(record.count))
    let size = max(4, prefix + local + (local < record.count ? 4 : 0))
    if isLeading {
      isLeading = false
      try write(record, local: local, to: pending)
      // The interior page that the cell goes to is the parent of its chain.
      hasOverflow = false
      if case .list(let list, _) = target {
        try list.add(cell: UnsafeRawBufferPointer(start: pending, count: size))
      }
      return
    }
    if content - size >= PageField.leafPointer(cells + 1) {
      content -= size
      try write(record, local: local, to: memory + content)
      Bytes.put16(content, at: memory + PageField.leafPointer(cells))
      cells += 1
      lastSize = size
    } else {
      try write(record, local: local, to: pending)
      pendingCount = size
    }
  }

  /// Closes the tree.
  package func finish() throws(PageError) {
    if pendingCount > 0 {
      // The last leaf takes the key that waits, and the leaf before gives its last key for it.
      precondition(cells > 1, "a full leaf has several cells")
      let size = lastSize
      let key = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 8)
      defer { key.deallocate() }
      key.copyMemory(from: memory + content, byteCount: size)
      (memory + content).initializeMemory(as: UInt8.self, repeating: 0, count: size)
      content += size
      cells -= 1
      Bytes.put16(0, at: memory + PageField.leafPointer(cells))
      let page = try completeLeaf()
      try add(page, cell: UnsafeRawBufferPointer(start: key, count: size))
      content -= pendingCount
      (memory + content).copyMemory(from: pending, byteCount: pendingCount)
      Bytes.put16(content, at: memory + 8)
      cells = 1
      pendingCount = 0
    }
    switch target {
    case .tree(let upper, let root) where upper.isEmpty:
      close()
      try writer.write(root, bytes: memory)
      try adopt(root)
    case .tree(let upper, _): try upper.finish(lastChild: try completeLeaf())
    case .list(let list, let isLast):
      // Every part has entries enough for a leaf.
      guard cells > 0 else { throw PageError(.endOfFile) }
      list.add(leaf: try completeLeaf())
      if isLast { try list.add(cell: UnsafeRawBufferPointer(start: nil, count: 0)) }
      try list.flush()
    }
  }

  /// Adds a leaf and the cell that follows it.
  private func add(_ page: UInt32, cell: UnsafeRawBufferPointer) throws(PageError) {
    switch target {
    case .tree(let upper, _): try upper.add(child: page, key: cell)
    case .list(let list, _): try list.add(page, cell: cell)
    }
  }

  /// Writes a cell, and its overflow.
  private func write(
    _ record: UnsafeRawBufferPointer, local: Int, to: UnsafeMutableRawPointer
  ) throws(PageError) {
    let at = Bytes.putVarint(UInt64(record.count), at: to)
    if let base = record.baseAddress { (to + at).copyMemory(from: base, byteCount: local) }
    guard local < record.count else { return }
    hasOverflow = true
    Bytes.put32(try writer.peek(), at: to + at + local)
    try OverflowWriter(writer).write(
      UnsafeRawBufferPointer(rebasing: record[local...]), parent: 0, beforeReserving: {})
  }

  private func completeLeaf() throws(PageError) -> UInt32 {
    close()
    guard PageCheck.isIndexLeaf(memory, cells: cells) else {
      throw PageError(.miswritten(page: 0))
    }
    let (page, copy) = try writer.reserve()
    copy.copyMemory(from: memory, byteCount: PageGeometry.pageSize)
    try adopt(page)
    clear()
    return page
  }

  /// The pages of overflow learn their parent once its number is known.
  private func adopt(_ page: UInt32) throws(PageError) {
    if hasOverflow {
      try IndexPage.adoptOverflow(
        memory, start: PageField.leafHeaderSize, skip: 0, parent: page, pointers: writer)
    }
  }

  private func close() {
    memory.storeBytes(of: PageType.leafIndex, as: UInt8.self)
    Bytes.put16(cells, at: memory + PageField.cellCount)
    Bytes.put16(content, at: memory + PageField.contentStart)
  }

  private func clear() {
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: PageGeometry.pageSize)
    cells = 0
    content = PageGeometry.pageSize
  }
}

/// What leaves and interior pages of an index have in common.
enum IndexPage {
  /// Makes a page the parent of all overflow chains that begin in its cells.
  static func adoptOverflow(
    _ memory: UnsafeRawPointer, start: Int, skip: Int, parent: UInt32, pointers: ExtentWriter
  ) throws(PageError) {
    let cells = Bytes.get16(memory + PageField.cellCount)
    guard start + 2 * cells <= PageGeometry.pageSize else {
      throw PageError(.miswritten(page: parent))
    }
    for cell in 0..<cells {
      let offset = Bytes.get16(memory + start + 2 * cell) + skip
      guard let size = Bytes.varint(memory, offset: offset, limit: PageGeometry.pageSize),
        size.value < 1 << 31
      else { throw PageError(.miswritten(page: parent)) }
      guard size.value > UInt64(PageGeometry.indexLocalLimit) else { continue }
      let local = PageGeometry.localSize(Int(size.value), limit: PageGeometry.indexLocalLimit)
      guard size.end + local + 4 <= PageGeometry.pageSize else {
        throw PageError(.miswritten(page: parent))
      }
      try pointers.set(
        Bytes.get32(memory + size.end + local), kind: .firstOverflow, parent: parent)
    }
  }
}
