import StoreFormat

/// Puts leaf pages, written elsewhere in key order, under the root of a table.
package final class TableStitcher {
  private let file: PageFile
  private let pool: PagePool
  private let pointers: PointerMap
  private let writer: ExtentWriter

  /// Takes the result, its free pages, and its pointer map.
  package init(file: PageFile, pool: PagePool, pointers: PointerMap) {
    self.file = file
    self.pool = pool
    self.pointers = pointers
    writer = ExtentWriter(file: file, source: pool, pointers: pointers)
  }

  /// Makes the tree of one table, whose leaves `next` gives in key order.
  ///
  /// - Returns: how many leaves there were.
  @discardableResult
  package func stitch(
    root: UInt32, next: () throws(PageError) -> LeafEntry?
  ) throws(PageError) -> Int64 {
    guard var last = try next() else { return 0 }
    let tree = TreeBuilder(kind: .table, root: root, writer: writer)
    var leaves: Int64 = 1
    while let leaf = try next() {
      guard leaf.lastKey > last.lastKey else { throw PageError(.keysOutOfOrder) }
      try tree.add(last)
      last = leaf
      leaves += 1
    }
    if tree.isEmpty {
      try move(last.page, to: root)
    } else {
      try tree.finish(lastChild: last.page)
    }
    return leaves
  }

  /// Makes the tree of an index from the leaves that were moved and the cells between them.
  package func stitch(index root: UInt32, moved: SectionReader) throws(PageError) {
    let tree = TreeBuilder(kind: .index, root: root, writer: writer)
    var isClosed = false
    while let head = try moved.next(8) {
      let page = head.loadUnaligned(as: UInt32.self)
      let count = Int(head.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
      guard !isClosed, count <= PageGeometry.pageSize - 16 else {
        throw PageError(.miswritten(page: page))
      }
      isClosed = count == 0
      if count > 0 {
        guard let cell = try moved.next(count) else { throw PageError(.miswritten(page: 0)) }
        try tree.add(child: page, key: UnsafeRawBufferPointer(start: cell, count: count))
      } else if tree.isEmpty {
        try move(page, to: root)
      } else {
        try tree.finish(lastChild: page)
      }
    }
    guard isClosed else { throw PageError(.miswritten(page: 0)) }
  }

  /// Renumbers the rows of leaves, and adds the leaves that hold them then to `renumbered`.
  package func renumber(
    _ leaves: SectionReader, adding offset: Int64, into renumbered: EntryCollector
  ) throws(PageError) {
    let table = TableWriter(writer: writer) { (leaf) throws(PageError) in try renumbered.add(leaf) }
    let page = UnsafeMutableRawPointer.allocate(
      byteCount: PageGeometry.pageSize, alignment: 16)
    defer { page.deallocate() }
    while let leaf = try leaves.nextLeaf() {
      try file.read(page: leaf.page, into: page)
      try LeafReader.forEach(page) { (key, payload, overflow) throws(PageError) in
        // Rows of join tables are a few integers long.
        let (number, isOverflowing) = key.addingReportingOverflow(offset)
        guard overflow == nil, !isOverflowing, !payload.isEmpty else {
          throw PageError(.miswritten(page: leaf.page))
        }
        try table.add(key: number, payload: payload)
      }
      pool.retire(leaf.page)
    }
    try table.finish()
    try renumbered.flush()
  }

  /// Copies the page of another file with its entry in the pointer map.
  package func place(
    page: UInt32, bytes: UnsafeRawPointer, kind: PagePointer, parent: UInt32
  ) throws(PageError) {
    try file.write(page: page, from: bytes)
    try pointers.set(page, kind: kind, parent: parent)
  }

  /// Lists pages as free; the number of the first trunk page.
  package func setFree(_ free: FreePages) throws(PageError) -> UInt32 {
    let page = UnsafeMutableRawPointer.allocate(
      byteCount: PageGeometry.pageSize, alignment: 16)
    defer { page.deallocate() }
    var trunks = free.trunks[...]
    var next: UInt32 = 0
    var leaves = 0
    func finishTrunk() throws(PageError) {
      guard let trunk = trunks.popFirst() else { return }
      Bytes.put32(next, at: page)
      Bytes.put32(UInt32(leaves), at: page + 4)
      try place(page: trunk, bytes: page, kind: .free, parent: 0)
      (next, leaves) = (trunk, 0)
      page.initializeMemory(as: UInt8.self, repeating: 0, count: PageGeometry.pageSize)
    }
    page.initializeMemory(as: UInt8.self, repeating: 0, count: PageGeometry.pageSize)
    try free.forEachLeaf { (leaf) throws(PageError) in
      if leaves == FreePages.perTrunk { try finishTrunk() }
      Bytes.put32(leaf, at: page + 8 + 4 * leaves)
      try pointers.set(leaf, kind: .free, parent: 0)
      leaves += 1
    }
    while !trunks.isEmpty { try finishTrunk() }
    return next
  }

  /// Writes what is left of interior pages.
  package func finish() throws(PageError) { pool.giveBack(try writer.finish()) }

  /// Makes the only leaf of a tree its root.
  private func move(_ leaf: UInt32, to root: UInt32) throws(PageError) {
    let page = UnsafeMutableRawPointer.allocate(
      byteCount: PageGeometry.pageSize, alignment: 16)
    defer { page.deallocate() }
    try writer.makeReadable(leaf)
    try file.read(page: leaf, into: page)
    let pointers = pointers
    if page.load(as: UInt8.self) == PageType.leafIndex {
      try IndexPage.adoptOverflow(page, start: 8, skip: 0, parent: root, pointers: writer)
    } else {
      try LeafReader.forEach(page) { (_, _, overflow) throws(PageError) in
        if let overflow { try pointers.set(overflow, kind: .firstOverflow, parent: root) }
      }
    }
    try file.write(page: root, from: page)
    pool.retire(leaf)
  }
}

/// Reads the cells of a leaf page of a table that this module wrote.
enum LeafReader {
  static func forEach(
    _ page: UnsafeRawPointer,
    body: (
      _ key: Int64, _ local: UnsafeRawBufferPointer, _ overflow: UInt32?
    ) throws(PageError) -> Void
  ) throws(PageError) {
    let size = PageGeometry.pageSize
    let cells = Bytes.get16(page + PageField.cellCount)
    guard page.load(as: UInt8.self) == PageType.leafTable, PageField.leafPointer(cells) <= size
    else {
      throw PageError(.miswritten(page: 0))
    }
    for cell in 0..<cells {
      let offset = Bytes.get16(page + PageField.leafPointer(cell))
      guard let payload = Bytes.varint(page, offset: offset, limit: size), payload.value < 1 << 31,
        let key = Bytes.varint(page, offset: payload.end, limit: size)
      else { throw PageError(.miswritten(page: 0)) }
      let total = Int(payload.value)
      let local = PageGeometry.localSize(total, limit: PageGeometry.tableLocalLimit)
      let hasOverflow = local < total
      guard key.end + local + (hasOverflow ? 4 : 0) <= size else {
        throw PageError(.miswritten(page: 0))
      }
      try body(
        Int64(bitPattern: key.value),
        UnsafeRawBufferPointer(start: page + key.end, count: local),
        hasOverflow ? Bytes.get32(page + key.end + local) : nil)
    }
  }
}
