/// Puts leaf pages, written elsewhere in key order, under the root of a table.
package final class TableStitcher {
  private let file: PageFile
  private let pool: PagePool
  private let pointers: PointerMap
  private let writer: ExtentWriter

  package init(_ file: PageFile, _ pool: PagePool, _ pointers: PointerMap) {
    self.file = file
    self.pool = pool
    self.pointers = pointers
    writer = ExtentWriter(file, pool, pointers: pointers)
  }

  /// Makes the tree of one table; `next` gives its leaves in key order. The rows' leaves counted.
  @discardableResult
  package func stitch(
    root: UInt32, _ next: () throws(PageError) -> LeafEntry?
  ) throws(PageError) -> Int64 {
    guard var last = try next() else { return 0 }
    let tree = TreeBuilder(.table, root: root, writer)
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
  package func stitch(index root: UInt32, _ moved: SectionReader) throws(PageError) {
    let tree = TreeBuilder(.index, root: root, writer)
    while let head = try moved.next(8) {
      let page = head.loadUnaligned(as: UInt32.self)
      let count = Int(head.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
      if count > 0 {
        guard let cell = try moved.next(count) else { throw PageError(.read(0)) }
        try tree.add(child: page, key: UnsafeRawBufferPointer(start: cell, count: count))
      } else if tree.isEmpty {
        try move(page, to: root)
      } else {
        try tree.finish(lastChild: page)
      }
    }
  }

  /// Numbers the rows of a leaf anew; the leaves that hold them then, and the old ones are free.
  package func renumber(
    _ leaves: [LeafEntry], adding offset: Int64
  ) throws(PageError) -> [LeafEntry] {
    var result: [LeafEntry] = []
    let table = TableWriter(writer) { (leaf) throws(PageError) in result.append(leaf) }
    let page = UnsafeMutableRawPointer.allocate(
      byteCount: PageGeometry.pageSize, alignment: 16)
    defer { page.deallocate() }
    for leaf in leaves {
      try file.read(page: leaf.page, page)
      try LeafReader.forEach(page) { (key, payload, overflow) throws(PageError) in
        // Rows of join tables are a few integers long.
        guard overflow == nil else { throw PageError(.damaged(page: leaf.page)) }
        try table.add(key: key + offset, payload: payload)
      }
    }
    try table.finish()
    pool.giveBack(leaves.map { Extent(first: $0.page, count: 1) })
    return result
  }

  /// Copies the page of another file with its entry in the pointer map.
  package func place(
    page: UInt32, _ bytes: UnsafeRawPointer, kind: PagePointer, parent: UInt32
  ) throws(PageError) {
    try file.write(page: page, bytes)
    try pointers.set(page, kind, parent: parent)
  }

  /// Lists pages as free; the number of the first trunk page.
  package func setFree(_ free: [UInt32]) throws(PageError) -> UInt32 {
    let page = UnsafeMutableRawPointer.allocate(
      byteCount: PageGeometry.pageSize, alignment: 16)
    defer { page.deallocate() }
    // The last six places stay empty, as SQLite itself leaves them.
    let perTrunk = PageGeometry.pageSize / 4 - 8
    var next: UInt32 = 0
    var left = free[...]
    while let trunk = left.popFirst() {
      page.initializeMemory(as: UInt8.self, repeating: 0, count: PageGeometry.pageSize)
      let leaves = left.prefix(perTrunk)
      left = left.dropFirst(perTrunk)
      Bytes.put32(next, page)
      Bytes.put32(UInt32(leaves.count), page + 4)
      for (index, leaf) in leaves.enumerated() {
        Bytes.put32(leaf, page + 8 + 4 * index)
        try pointers.set(leaf, .free, parent: 0)
      }
      try place(page: trunk, page, kind: .free, parent: 0)
      next = trunk
    }
    return next
  }

  /// Writes what is left of interior pages.
  package func finish() throws(PageError) { pool.giveBack(try writer.finish()) }

  /// Makes the only leaf of a tree its root.
  private func move(_ leaf: UInt32, to root: UInt32) throws(PageError) {
    let page = UnsafeMutableRawPointer.allocate(
      byteCount: PageGeometry.pageSize, alignment: 16)
    defer { page.deallocate() }
    try file.read(page: leaf, page)
    let pointers = pointers
    if page.load(as: UInt8.self) == 10 {
      try IndexPage.adoptOverflow(page, start: 8, skip: 0, parent: root, writer)
    } else {
      try LeafReader.forEach(page) { (_, _, overflow) throws(PageError) in
        if let overflow { try pointers.set(overflow, .firstOverflow, parent: root) }
      }
    }
    try file.write(page: root, page)
    pool.giveBack([Extent(first: leaf, count: 1)])
  }
}

/// Reads the cells of a leaf page of a table that this module wrote.
enum LeafReader {
  static func forEach(
    _ page: UnsafeRawPointer,
    _ body: (
      _ key: Int64, _ local: UnsafeRawBufferPointer, _ overflow: UInt32?
    ) throws(PageError) -> Void
  ) throws(PageError) {
    let size = PageGeometry.pageSize
    let cells = Bytes.get16(page + 3)
    guard page.load(as: UInt8.self) == 13, 8 + 2 * cells <= size else {
      throw PageError(.damaged(page: 0))
    }
    for cell in 0..<cells {
      let offset = Bytes.get16(page + 8 + 2 * cell)
      guard let payload = Bytes.varint(page, offset, size), payload.value < 1 << 31,
        let key = Bytes.varint(page, payload.end, size)
      else { throw PageError(.damaged(page: 0)) }
      let total = Int(payload.value)
      let local = PageGeometry.localSize(total, limit: PageGeometry.tableLocalLimit)
      let hasOverflow = local < total
      guard key.end + local + (hasOverflow ? 4 : 0) <= size else {
        throw PageError(.damaged(page: 0))
      }
      try body(
        Int64(bitPattern: key.value),
        UnsafeRawBufferPointer(start: page + key.end, count: local),
        hasOverflow ? Bytes.get32(page + key.end + local) : nil)
    }
  }
}
