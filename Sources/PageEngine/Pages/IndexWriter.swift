import StoreFormat

/// Streams the records of an index, in its order, into a b-tree.
package final class IndexWriter {
  private let writer: ExtentWriter
  private let root: UInt32
  private let upper: TreeBuilder
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
    self.root = root
    upper = TreeBuilder(kind: .index, root: root, writer: writer)
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
      try upper.add(
        child: page, key: UnsafeRawBufferPointer(start: pending, count: pendingCount))
      pendingCount = 0
    }
    let local = PageGeometry.localSize(record.count, limit: PageGeometry.indexLocalLimit)
    let prefix = Bytes.varintSize(UInt64(record.count))
    let size = max(4, prefix + local + (local < record.count ? 4 : 0))
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
      try upper.add(child: page, key: UnsafeRawBufferPointer(start: key, count: size))
      content -= pendingCount
      (memory + content).copyMemory(from: pending, byteCount: pendingCount)
      Bytes.put16(content, at: memory + 8)
      cells = 1
      pendingCount = 0
    }
    if upper.isEmpty {
      close()
      try writer.write(root, bytes: memory)
      try adopt(root)
    } else {
      try upper.finish(lastChild: try completeLeaf())
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
      throw PageError(.miswritten(page: root))
    }
    let (page, target) = try writer.reserve()
    target.copyMemory(from: memory, byteCount: PageGeometry.pageSize)
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
